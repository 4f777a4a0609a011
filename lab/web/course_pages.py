"""The front page, the pages of the lessons, and the glossary."""

from asgiref.sync import sync_to_async
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.utils.http import urlencode
from django.views.decorators.http import require_GET, require_POST

from lab import selectors
from lab.actions.adopt_clusters import adopt_clusters
from lab.actions.classes.demonstration import LESSON
from lab.actions.classes.give_labs import start_over_in_class
from lab.actions.classes.recorded.course import recording_of
from lab.actions.classes.recorded.lessons import watch as watch_recording
from lab.actions.open_lab import open_lab
from lab.actions.start_lesson import start_lesson
from lab.actions.take_over import take_over
from lab.course.attempts import Attempt, attempts_of
from lab.course.find import anchor
from lab.course.front_page import front_page
from lab.course.hero import hero_run
from lab.course.lesson_page import lesson_page
from lab.course.loader import Course, course
from lab.exercises.glossary import glossary
from lab.learning.log import summary_of
from lab.learning.summary import Summary
from lab.models import Branch
from lab.preferences import preferences_of
from lab.rights import LOCAL_USER, may, user_of
from lab.runtime.host import host
from lab.texts.i18n import translate
from lab.texts.refusal import Refusal
from lab.web.pages import live_branches, page

RUNS_SHOWN = CLASSES_SHOWN = 3


@login_required
@require_GET
async def front(request: HttpRequest) -> HttpResponse:
    """The course, due reviews, and the most recent runs."""
    user = await user_of(request)
    if user.get_username() == LOCAL_USER:
        await sync_to_async(adopt_clusters)(user)
    return await _front_page(request)


@login_required
@require_POST
async def open_a_lab(request: HttpRequest) -> HttpResponse:
    """Opens a lab with default settings."""
    user = await user_of(request)
    name = translate(preferences_of(request).language, "runs.proposed_name", n=await user.runs.acount() + 1)
    try:
        return _to_lab(await open_lab(host(), user, name), "orders-0")
    except Refusal as refusal:
        return await _front_page(request, refusal)


@login_required
@require_POST
async def take_over_recording(request: HttpRequest) -> HttpResponse:
    """Forks the recording of the front page into a run of the visitor's own, at the instant shown."""
    hero, given = hero_run(), request.POST.get("at", "")
    found = course().lessons.get(hero.lesson)
    language = preferences_of(request).language
    name = found.exercise.title if found else None
    at_us = int(given) if given.isdecimal() and len(given) < 16 else hero.at_us
    try:
        shown = (name.zh if language == "zh-CN" else name.en) if name else hero.lesson
        branch = await take_over(host(), await user_of(request), hero, shown, at_us)
    except Refusal as refusal:
        return await _front_page(request, refusal)
    return _to_lab(branch, hero.partition)


@login_required
@require_GET
async def lesson(request: HttpRequest, slug: str) -> HttpResponse:
    """A lesson's topic and requirements, and the visitor's attempts. Raises Refusal (404) for an unknown one."""
    return await _lesson_page(request, slug)


@login_required
@require_POST
async def start(request: HttpRequest, slug: str) -> HttpResponse:
    """Starts the lesson in a run of its own; from the user's lab in a class of this lesson, which the form names, in a
    new lab of that class.
    """
    found, user = course().lesson(slug), await user_of(request)
    try:
        branch = await start_over_in_class(host(), user, request.POST.get("run", ""), slug)
        if branch is None:
            branch = await start_lesson(host(), user, found.exercise, preferences_of(request).language)
    except Refusal as refusal:
        return await _lesson_page(request, slug, refusal)
    return _to_lab(branch, found.exercise.partition)


@login_required
@require_POST
async def watch(request: HttpRequest, slug: str) -> HttpResponse:
    """Opens the recording of a lesson."""
    found, user = course().lesson(slug), await user_of(request)
    try:
        recording = await recording_of(found.exercise)
        await sync_to_async(watch_recording)(recording, user, preferences_of(request).language, timezone.now())
    except Refusal as refusal:
        return await _lesson_page(request, slug, refusal)
    return redirect("class-replay", recording.slug)


@login_required
@require_GET
async def glossary_page(request: HttpRequest) -> HttpResponse:
    """The terms of docs/GLOSSARY.md."""
    terms = [{"term": term, "id": anchor(term.english)} for term in glossary().values()]
    return await page(request, "course/glossary.html", {"terms": terms})


def _to_lab(branch: Branch, partition: str) -> HttpResponse:
    query = urlencode({"p": partition})
    return HttpResponseRedirect(f"{reverse('lab', args=(branch.run.slug, branch.name))}?{query}")


async def _front_page(request: HttpRequest, refusal: Refusal | None = None) -> HttpResponse:
    whole, user = course(), await user_of(request)
    language = preferences_of(request).language
    attempts, summary = await sync_to_async(_learnt)(user, whole)
    runs, count = await sync_to_async(selectors.newest_run_cards)(user, language, live_branches(), RUNS_SHOWN)
    may_teach = await sync_to_async(may)(user, None, "staff")
    context = {
        **front_page(whole, attempts, summary, request.GET.get("view", "")),
        "summary": summary,
        "runs": runs,
        "run_count": count,
        "classes": (await sync_to_async(selectors.class_cards)(user))[:CLASSES_SHOWN],
        "may_teach": may_teach,
        "demonstration": reverse("demonstration") if may_teach else reverse("watch-recording", args=(LESSON,)),
        "error": refusal.as_json(language) if refusal else None,
    }
    return await page(request, "course/front.html", context, status=refusal.status if refusal else 200)


async def _lesson_page(request: HttpRequest, slug: str, refusal: Refusal | None = None) -> HttpResponse:
    whole = course()
    found = whole.lesson(slug)
    attempts, summary = await sync_to_async(_learnt)(await user_of(request), whole)
    error = refusal.as_json(preferences_of(request).language) if refusal else None
    context = {**lesson_page(whole, found, attempts, summary, glossary()), "error": error}
    return await page(request, "course/lesson.html", context, status=refusal.status if refusal else 200)


def _learnt(user: User, whole: Course) -> tuple[dict[str, list[Attempt]], Summary]:
    known = {slug: one.exercise for slug, one in whole.lessons.items()}
    return attempts_of(user, known), summary_of(user.pk)
