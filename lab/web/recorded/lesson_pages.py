"""Recording a lesson without a class, and watching one by its link."""

from asgiref.sync import sync_to_async
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from lab.actions.classes.recorded.lessons import lesson_of_link, record_lesson, watch
from lab.actions.classes.recordings import look_into
from lab.actions.classes.seal_class import ensure_sealed
from lab.models import Class, Presence
from lab.preferences import preferences_of
from lab.rights import LOCAL_USER, require, user_of
from lab.runtime.host import host
from lab.texts.refusal import Refusal
from lab.web.classes.class_pages import classes_page, starts
from lab.web.classes.guests import participant_of_cookie, remember
from lab.web.recorded.replay_pages import shown_class_instant


@login_required
@require_POST
async def new_lesson(request: HttpRequest) -> HttpResponse:
    """Starts to record a lesson. Raises Refusal (403) if the user may not teach classes."""
    user = await user_of(request)
    await sync_to_async(require)(user, None, "staff")
    language = preferences_of(request).language
    form = request.POST.dict()
    form["start"] = form.get("origin", "").strip() or form.get("chapter", "")
    chapters = tuple(value for value, _ in starts(language))
    try:
        made = await record_lesson(host(), user, form, chapters, language, timezone.now())
    except Refusal as refusal:
        return await classes_page(request, refusal, {**form, "kind": "lesson"})
    return redirect("class-board", made.slug)


@never_cache
@require_http_methods(["GET", "POST"])
async def watch_lesson(request: HttpRequest, key: str) -> HttpResponse:
    """The description of the recording, with the button to watch it. Viewers who have watched before go to it
    directly.
    """
    found = await sync_to_async(lesson_of_link)(key)
    await ensure_sealed(found)
    user = await sync_to_async(_account)(await request.auser())
    if await sync_to_async(_is_known)(request, found, user):
        return redirect("class-replay", found.slug)
    language = preferences_of(request).language
    if request.method == "GET":
        length_us = await look_into(found, lambda playback: playback.length_us)
        context = {"classroom": found, "length": shown_class_instant(length_us)}
        # There may be no signed-in user.
        return await sync_to_async(render)(request, "class/watch.html", context)
    me = await sync_to_async(watch)(found, user, language, timezone.now())
    response = HttpResponseRedirect(reverse("class-replay", args=(found.slug,)))
    if me.is_guest:
        remember(response, me)
    return response


def _account(user: object) -> User | None:
    """A user with an account, or the one user of a lab on this machine; a guest of another class does not count."""
    if isinstance(user, User) and (user.has_usable_password() or user.get_username() == LOCAL_USER):
        return user
    return None


def _is_known(request: HttpRequest, classroom: Class, user: User | None) -> bool:
    known = participant_of_cookie(request, classroom.slug)
    if user is not None:
        known = classroom.participants.filter(user=user).first()
    return known is not None and known.presence == Presence.IN
