"""The pages of the challenges: brief, entry, live progress, verdict."""

from asgiref.sync import sync_to_async
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import ensure_csrf_cookie
from django.views.decorators.http import require_GET, require_POST

from lab.actions.judge_entry import cancel_entry, open_case, open_seed, submit_entry
from lab.challenges.challenge_page import challenge_page, entry_of_user, progress_of
from lab.challenges.loader import Challenge, challenges
from lab.challenges.rules.c9_find import SLUG as CASE_SLUG
from lab.challenges.rules.c9_find import case_lines
from lab.course.loader import course
from lab.preferences import preferences_of
from lab.rights import user_of
from lab.runtime.host import host
from lab.texts.refusal import Refusal
from lab.web.pages import page


@never_cache
@ensure_csrf_cookie
@login_required
@require_GET
async def challenge(request: HttpRequest, slug: str) -> HttpResponse:
    """A challenge. Raises Refusal (404) for an unknown one."""
    return await _page(request, _found(slug))


@login_required
@require_POST
async def submit(request: HttpRequest, slug: str) -> HttpResponse:
    """Submits an entry to the judge."""
    found = _found(slug)
    try:
        entry = await submit_entry(await user_of(request), found, request.POST.dict())
    except Refusal as refusal:
        return await _page(request, found, refusal, request.POST.dict())
    return HttpResponseRedirect(f"{reverse('challenge', args=(slug,))}?entry={entry.pk}#verdict")


@never_cache
@login_required
@require_GET
async def progress(request: HttpRequest, slug: str, entry: int) -> HttpResponse:
    """The progress of a judgement."""
    found, user = _found(slug), await user_of(request)
    own = await sync_to_async(entry_of_user)(user, found, entry)
    return JsonResponse(progress_of(own, found, preferences_of(request).language))


@login_required
@require_POST
async def cancel(request: HttpRequest, slug: str, entry: int) -> HttpResponse:
    """Cancels a judgement."""
    own = await sync_to_async(entry_of_user)(await user_of(request), _found(slug), entry)
    await cancel_entry(own)
    return HttpResponseRedirect(f"{reverse('challenge', args=(slug,))}?entry={entry}#verdict")


@login_required
@require_POST
async def open_run(request: HttpRequest, slug: str, entry: int) -> HttpResponse:
    """Opens the deciding seed of an entry as a run."""
    found, user = _found(slug), await user_of(request)
    own = await sync_to_async(entry_of_user)(user, found, entry)
    try:
        branch, at_us = await open_seed(host(), user, own, _title(request, found))
    except Refusal as refusal:
        return await _page(request, found, refusal)
    address = reverse("lab", args=(branch.run.slug, branch.name))
    return redirect(f"{address}?t={at_us // 1_000_000}.{at_us % 1_000_000:06}")


@login_required
@require_POST
async def case(request: HttpRequest, slug: str) -> HttpResponse:
    """Opens the case of c9 as a run."""
    found, user = _found(slug), await user_of(request)
    if slug != CASE_SLUG:
        raise Refusal("refusal.no_challenge", 404, slug=slug, slugs=CASE_SLUG)
    try:
        branch = await open_case(host(), user, _title(request, found))
    except Refusal as refusal:
        return await _page(request, found, refusal)
    return redirect("lab", branch.run.slug, branch.name)


def _found(slug: str) -> Challenge:
    found = challenges().get(slug)
    if found is None:
        raise Refusal("refusal.no_challenge", 404, slug=slug, slugs=", ".join(challenges()))
    return found


def _title(request: HttpRequest, found: Challenge) -> str:
    return found.title.zh if preferences_of(request).language == "zh-CN" else found.title.en


async def _page(
    request: HttpRequest, found: Challenge, refusal: Refusal | None = None, form: dict[str, str] | None = None
) -> HttpResponse:
    language = preferences_of(request).language
    user = await user_of(request)
    context = await sync_to_async(challenge_page)(found, user, language, request.GET.get("entry", ""), form)
    whole = course()
    lessons = [whole.lessons[slug] for slug in found.needs if slug in whole.lessons]
    context |= {
        "chapter": whole.challenge_chapter,
        "required": lessons,
        "case": list(enumerate(case_lines(), 1)) if found.slug == CASE_SLUG else [],
        "error": {**refusal.as_json(language), "field": refusal.field} if refusal else None,
    }
    return await page(request, "challenges/challenge.html", context, status=refusal.status if refusal else 200)
