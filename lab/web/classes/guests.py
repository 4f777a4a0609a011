"""Guests: people without an account, identified by one signed cookie per class.

A cookie holds the participant and an epoch; a participant who leaves, is erased or comes back by asking gets a new
epoch, which invalidates earlier cookies. The rights of a guest follow from the participant, as for everyone
(lab/rights.py).
"""

import re
from collections.abc import Collection, Mapping, Sequence
from http import HTTPStatus
from typing import Any, NamedTuple

from asgiref.sync import iscoroutinefunction, markcoroutinefunction, sync_to_async
from django.conf import settings
from django.contrib.auth import get_user
from django.contrib.auth.models import AnonymousUser, User
from django.contrib.sessions.backends.db import SessionStore
from django.core import signing
from django.http import HttpRequest, HttpResponse
from django.utils.functional import SimpleLazyObject

from lab.models import Class, Participant, Presence, Run
from lab.rights import grants, membership_in
from lab.texts.refusal import Refusal

MAX_AGE_S = 30 * 24 * 3600
MAX_COOKIES = 20
"""The most cookies of classes that are read of one browser."""
_SALT = "lab.guest"
_RUN = re.compile(r"^/(?:r|runs|api/runs|ws/runs)/([\w-]{1,16})/")
_CLASS = re.compile(r"^/(?:classes|api/classes|ws/classes|return)/([\w-]{1,16})/")


def _prefix() -> str:
    return f"{settings.SESSION_COOKIE_NAME}-class-"


def remember(response: HttpResponse, participant: Participant) -> None:
    """Remembers the browser as this guest for 30 days."""
    value = signing.dumps([participant.pk, participant.epoch], salt=_SALT)
    response.set_cookie(
        _prefix() + participant.classroom.slug,
        value,
        max_age=MAX_AGE_S,
        httponly=True,
        samesite="Lax",
        secure=settings.SESSION_COOKIE_SECURE,
    )


def forget(response: HttpResponse, classroom: Class) -> None:
    """Removes the cookie of this class."""
    response.delete_cookie(_prefix() + classroom.slug, samesite="Lax")


def forget_all(request: HttpRequest, response: HttpResponse) -> None:
    """Removes the cookies of all classes."""
    for name in request.COOKIES:
        if name.startswith(_prefix()):
            response.delete_cookie(name, samesite="Lax")


def participant_of_cookie(request: HttpRequest, slug: str) -> Participant | None:
    """The guest of a class, whether admitted, waiting, removed or merged; None for a forged, expired or invalidated
    cookie.
    """
    if sum(name.startswith(_prefix()) for name in request.COOKIES) > MAX_COOKIES:
        # The cookie of this class may not be among those that are read for the user.
        return next(iter(_participants(request.COOKIES, slug)), None)
    return next((one for one in _guests_of(request) if one.classroom.slug == slug), None)


def _guests_of(request: HttpRequest) -> list[Participant]:
    """The guests of a browser, read once a request."""
    found: list[Participant] | None = getattr(request, "_guests", None)
    if found is None:
        found = _participants(request.COOKIES)
        request._guests = found  # type: ignore[attr-defined]
    return found


def guest_of(guests: Collection[Participant], path: str) -> User | None:
    """The user, of the guests of a browser, for a page or socket: of the class or run of its address, otherwise of the
    class joined last. A participant who waits to be admitted does not count.
    """
    found = [one for one in guests if one.presence not in (Presence.WAITING, Presence.MERGED)]
    if len(found) < 2:
        return found[0].user if found else None
    chosen = _of_class(path, found) or _of_run(path, found) or max(found, key=lambda one: (one.seen_at, one.pk))
    return chosen.user


def _participants(cookies: Mapping[str, str], slug: str = "") -> list[Participant]:
    named = [name for name in cookies if name.startswith(_prefix() + slug) and (not slug or name == _prefix() + slug)]
    epochs: dict[int, int] = {}
    for name in named[:MAX_COOKIES]:
        try:
            number, epoch = signing.loads(cookies[name], salt=_SALT, max_age=MAX_AGE_S)
            epochs[int(number)] = int(epoch)
        except (signing.BadSignature, TypeError, ValueError):
            continue
    if not epochs:
        return []
    chosen = Participant.objects.filter(pk__in=epochs).exclude(presence=Presence.ERASED).order_by()
    rows = chosen.select_related("user", "classroom", "run")
    return [
        one
        for one in rows
        if one.epoch == epochs[one.pk]
        and f"{_prefix()}{one.classroom.slug}" in named
        and (one.presence == Presence.MERGED or (one.user is not None and one.user.is_active))
    ]


def _of_class(path: str, found: list[Participant]) -> Participant | None:
    asked = _CLASS.match(path)
    return next((one for one in found if asked and one.classroom.slug == asked[1]), None)


def _of_run(path: str, found: list[Participant]) -> Participant | None:
    """The owner of the run, else a guest whose class it is shown to, else a guest of its class."""
    asked = _RUN.match(path)
    run = Run.objects.filter(slug=asked[1]).first() if asked else None
    if run is None:
        return None
    granting = {grant.class_id for grant in grants.of_run(run.slug)}
    return (
        next((one for one in found if one.user_id == run.owner_id), None)
        or next((one for one in found if one.classroom_id in granting), None)
        or next((one for one in found if one.classroom_id == run.classroom_id), None)
    )


class GuestMiddleware:
    """`request.user` and `request.auser` are the guest unless an account has signed in. They are evaluated lazily."""

    sync_capable = True
    async_capable = True

    def __init__(self, get_response: Any) -> None:
        self.get_response = get_response
        if iscoroutinefunction(get_response):
            markcoroutinefunction(self)

    def __call__(self, request: HttpRequest) -> Any:
        if any(name.startswith(_prefix()) for name in request.COOKIES):
            account, aaccount = request.user, request.auser
            known: dict[str, User | None] = {}

            def guest() -> User | None:
                if "guest" not in known:
                    known["guest"] = guest_of(_guests_of(request), request.path)
                return known["guest"]

            async def auser() -> User | AnonymousUser:
                user = await aaccount()
                return user if isinstance(user, User) else (await sync_to_async(guest)() or user)

            request.user = SimpleLazyObject(lambda: account if account.is_authenticated else (guest() or account))  # type: ignore[assignment]
            request.auser = auser
        return self.get_response(request)


class ScopePerson(NamedTuple):
    """The user of a socket. `guests`: the participations of a browser's cookies, if they were read for it: with their
    user, class and run.
    """

    user: User
    guests: Sequence[Participant] = ()

    def guest_in(self, slug: str) -> Participant | None:
        """Their participation as a guest in a class, if they are admitted to it."""
        found = (one for one in self.guests if one.classroom.slug == slug and one.user_id == self.user.pk)
        return next((one for one in found if one.presence == Presence.IN), None)


def person_of_scope(scope: Mapping[str, Any]) -> ScopePerson | None:
    """Who the user of a socket is now, read from the database: its session may have ended, or its cookie may have been
    invalidated.
    """
    request = HttpRequest()
    request.session = SessionStore(scope["cookies"].get(settings.SESSION_COOKIE_NAME))
    account = get_user(request)
    if isinstance(account, User):
        return ScopePerson(account)
    guests = _participants(scope["cookies"])
    user = guest_of(guests, scope["path"])
    return None if user is None else ScopePerson(user, guests)


class Removed(Exception):
    """The person was removed from the class."""


def participation_in(person: ScopePerson, slug: str) -> Participant:
    """The person's participation in a class. Raises Refusal (404) for a class that does not exist or that they are not
    in, and Removed.
    """
    member = person.guest_in(slug) or membership_in(person.user, slug)
    if member is None:
        if Participant.objects.filter(classroom__slug=slug, user=person.user, presence=Presence.KICKED).exists():
            raise Removed
        raise Refusal("class_act.no_class", HTTPStatus.NOT_FOUND, slug=slug)
    return member
