"""Reviews, and a learner's own data: display, export, deletion."""

from typing import Any

from asgiref.sync import sync_to_async
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST

from broker_core.texts import render
from lab import selectors
from lab.actions.answer_review import AskedReview, Verdict, answer_review, ask_review, last_verdict
from lab.actions.delete_learning import delete_learning
from lab.challenges.loader import challenges
from lab.course.calibration import curve
from lab.course.loader import course
from lab.learning.events import PredictionSettled
from lab.learning.export import as_csv, as_xapi
from lab.learning.log import history_of, summary_of
from lab.learning.misconceptions import says
from lab.learning.scoring import CONFIDENT_P, skill, stop_name
from lab.preferences import preferences_of
from lab.rights import user_of
from lab.runtime.host import host
from lab.texts.refusal import Refusal
from lab.web.pages import page


@login_required
@never_cache
@require_GET
async def review(request: HttpRequest) -> HttpResponse:
    """The next question of today."""
    return await _review_page(request)


@login_required
@require_POST
async def answer(request: HttpRequest, slug: str) -> HttpResponse:
    """Stores an answer, and redirects to its verdict."""
    user = await user_of(request)
    try:
        await sync_to_async(answer_review)(user.pk, slug, request.POST.dict())
    except Refusal as refusal:
        return await _review_page(request, refusal)
    return redirect("review-verdict")


@login_required
@never_cache
@require_GET
async def verdict(request: HttpRequest) -> HttpResponse:
    """The verdict on the newest answer."""
    user = await user_of(request)
    found = await sync_to_async(last_verdict)(user.pk)
    if found is None:
        return redirect("review")
    summary = await sync_to_async(summary_of)(user.pk)
    context = {
        **_shown_verdict(found, preferences_of(request).language, summary.at_ms),
        "step_address": await sync_to_async(_step_address)(user, found.decided),
        "left": summary.due_today,
    }
    return await page(request, "learning/verdict.html", context)


@login_required
@never_cache
@require_GET
async def learning(request: HttpRequest) -> HttpResponse:
    """Everything that the lab stores about the learner."""
    return await _learning_page(request)


@login_required
@require_GET
async def export_csv(request: HttpRequest) -> HttpResponse:
    """Answers and steps as CSV."""
    user = await user_of(request)
    summary, history = await sync_to_async(lambda: (summary_of(user.pk), history_of(user.pk)))()
    return _file(as_csv(summary.learner, history), "text/csv; charset=utf-8", "highwater-learning.csv")


@login_required
@require_GET
async def export_xapi(request: HttpRequest) -> HttpResponse:
    """XAPI statements as JSON lines."""
    user = await user_of(request)
    summary, history = await sync_to_async(lambda: (summary_of(user.pk), history_of(user.pk)))()
    whole = course()
    titles = {slug: lesson.exercise.title for slug, lesson in whole.lessons.items()}
    titles |= {slug: challenge.title for slug, challenge in challenges().items()}
    chapters = {slug: whole.chapters[lesson.chapter - 1].slug for slug, lesson in whole.lessons.items()}
    chapters |= dict.fromkeys(challenges(), whole.challenge_chapter.slug)
    home = f"{request.scheme}://{request.get_host()}"
    lines = "".join(f"{line}\n" for line in as_xapi(home, summary, history, titles, chapters))
    return _file(lines, "application/x-ndjson; charset=utf-8", "highwater-learning.jsonl")


@login_required
@require_POST
async def delete(request: HttpRequest) -> HttpResponse:
    """Deletes the learner's events and progress."""
    user = await user_of(request)
    try:
        await delete_learning(host(), user, confirmed=request.POST.get("confirm") == "yes")
    except Refusal as refusal:
        return await _learning_page(request, refusal)
    return HttpResponseRedirect(f"{reverse('learning')}?deleted=1")


async def _review_page(request: HttpRequest, refusal: Refusal | None = None) -> HttpResponse:
    user = await user_of(request)
    language = preferences_of(request).language
    asked = await sync_to_async(ask_review)(user.pk)
    summary = await sync_to_async(summary_of)(user.pk)
    context = {
        "asked": _shown_question(asked, language) if asked else None,
        "summary": summary,
        "error": {**refusal.as_json(language), "field": refusal.field} if refusal else None,
        "form": request.POST.dict(),
    }
    return await page(request, "learning/review.html", context, status=refusal.status if refusal else 200)


def _shown_question(asked: AskedReview, language: str) -> dict[str, Any]:
    question = asked.question
    count = len(question.choices)
    return {
        "slug": asked.card.lesson,
        "lesson": course().lessons.get(asked.card.lesson),
        "count": asked.card.count,
        "left": asked.left,
        "ask": render(question.ask, language),
        "given": question.given,
        "choices": [{"id": one.id, "text": render(one.text, language)} for one in question.choices],
        "stops": [{"value": f"{p:.6f}", "name": stop_name(p, count), "p": round(p * 100)} for p in asked.stops],
    }


def _shown_verdict(found: Verdict, language: str, now_ms: int) -> dict[str, Any]:
    answered, question = found.answered, found.question
    return {
        "answered": answered,
        "lesson": course().lessons.get(answered.lesson),
        "ask": render(question.ask, language),
        "given": question.given,
        "choices": [
            {
                "text": render(one.text, language),
                "is_right": one.id == answered.outcome,
                "is_chosen": one.id == answered.choice,
            }
            for one in question.choices
        ],
        "reason": render(question.reason, language),
        "belief": says(answered.misconception, language) if answered.misconception and not answered.right else "",
        "is_confident_error": not answered.right and answered.p >= CONFIDENT_P,
        "p": round(answered.p * 100),
        "skill": round(skill(answered.brier, answered.choices), 2),
        "days": max(1, round((found.due_at_ms - now_ms) / 86_400_000)),
        "offers_step": found.offers_step,
    }


def _step_address(user: User, decided: PredictionSettled | None) -> str:
    """The instant of the lesson's prediction in the learner's own run; empty if that run was deleted."""
    if decided is None:
        return ""
    try:
        selectors.branch_of(user, decided.run, decided.branch)
    except Refusal:
        return ""
    return f"{reverse('lab', args=(decided.run, decided.branch))}?seq={decided.seq}"


async def _learning_page(request: HttpRequest, refusal: Refusal | None = None) -> HttpResponse:
    user = await user_of(request)
    language = preferences_of(request).language
    summary = await sync_to_async(summary_of)(user.pk)
    lessons = course().lessons
    context = {
        "summary": summary,
        "curve": curve(summary),
        "gap_lesson": lessons.get(summary.gap.lesson) if summary.gap else None,
        "points": [point for point in summary.calibration if point.count],
        "concepts": [
            {
                "lesson": lesson,
                "state": state,
                # Whatever is stored of a lesson, it was started.
                "look": "started" if state.mastery == "unseen" else state.mastery,
            }
            for lesson in lessons.values()
            if (state := summary.lessons.get(lesson.slug)) is not None
        ],
        "beliefs": [{"said": says(one.tag, language), "state": one} for one in summary.misconceptions],
        "is_deleted": request.GET.get("deleted") == "1",
        "error": refusal.as_json(language) if refusal else None,
    }
    return await page(request, "learning/learning.html", context, status=refusal.status if refusal else 200)


def _file(content: str, kind: str, name: str) -> HttpResponse:
    return HttpResponse(content, content_type=kind, headers={"Content-Disposition": f'attachment; filename="{name}"'})
