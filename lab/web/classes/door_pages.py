"""The door of a class: code, name, and the ways to come back. Attempts beyond the limits only cost a counter lookup.

The views are synchronous: many join at once, and each query of an asynchronous view switches threads.
"""

import math
import secrets
import time
from collections.abc import Mapping

from django.conf import settings
from django.contrib.auth.models import User
from django.core import signing
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods

from lab.actions.classes.door import class_of_code, class_of_link, ensure_open
from lab.actions.classes.join_class import claim_name, join_class, offered_name_in, return_by_key, use_pass
from lab.classroom.codes import parsed_code, shown_key
from lab.classroom.limits import Joins, KeyTries, Try, WrongCodes
from lab.classroom.notices import Notice, tell
from lab.models import Class, Consent, Participant, Presence
from lab.preferences import preferences_of
from lab.texts.refusal import Refusal
from lab.web.classes.guests import participant_of_cookie, remember

LINK_KEY_LENGTH = 20
"""A shorter key is a class code."""
BROWSER_AGE_S = 24 * 3600
KEY_SHOWN_S = 600
_BROWSER_SALT, _KEY_SALT = "lab.door", "lab.door.key"

wrong_codes = WrongCodes()
key_tries = KeyTries()
joins = Joins()


class TooManyTries(Refusal):
    """Answered with 429 and Retry-After."""

    def __init__(self, wait_s: float, id: str = "refusal.too_many_tries") -> None:
        self.seconds = max(1, math.ceil(wait_s))
        super().__init__(id, 429, seconds=self.seconds)


@never_cache
@require_http_methods(["GET", "POST"])
def join(request: HttpRequest, typed: str = "") -> HttpResponse:
    """The form for a class code, and its target. A valid code redirects to the class's link."""
    typed = request.POST.get("code", "") if request.method == "POST" else typed
    if not typed.strip():
        return _join_form(request)
    try:
        tried = _begin_try(request)
    except TooManyTries as refusal:
        return _join_form(request, refusal, typed)
    try:
        found = class_of_code(parsed_code(typed), timezone.now())
    except Refusal as refusal:
        _warn_staff()
        return _join_form(request, refusal, typed)
    wrong_codes.was_right(tried)
    return redirect("join-class", found.link_key)


@never_cache
@require_http_methods(["GET", "POST"])
def join_by_link(request: HttpRequest, key: str) -> HttpResponse:
    """The name and choices of a new participant; existing participants go directly to the class. A short key is a class
    code.
    """
    if len(key) < LINK_KEY_LENGTH:
        return join(request, key) if request.method == "GET" else redirect("join")
    linked = class_of_link(key)
    if linked is not None and _is_known(request, linked):
        return redirect("class", linked.slug)
    try:
        found = ensure_open(linked, timezone.now())
    except Refusal as refusal:
        return _join_form(request, refusal)
    if request.method == "GET":
        return _name_form(request, found)
    user = request.user
    account = user if isinstance(user, User) and user.has_usable_password() else None
    language = preferences_of(request).language
    name, consent = request.POST.get("name", ""), request.POST.get("consent", "")
    try:
        _count_join(request)
        joined = join_class(found, account, name, consent, language, timezone.now())
    except Refusal as refusal:
        return _name_form(request, found, refusal)
    return _into_class(joined.participant, joined.return_key)


@never_cache
@require_http_methods(["GET", "POST"])
def come_back(request: HttpRequest, slug: str) -> HttpResponse:
    """The way back into a class without a cookie: by return key, or by asking staff. Looks the same for every
    address.
    """
    if request.method == "GET":
        return _return_form(request, slug)
    is_claim = request.POST.get("op") == "claim"
    try:
        _count_key_try(request, slug)
        found = Class.objects.filter(slug=slug).first()
        if is_claim:
            if found is None:
                raise Refusal("refusal.no_class_to_return", 404, field="name")
            language = preferences_of(request).language
            joined = claim_name(found, request.POST.get("name", ""), language, timezone.now())
            return _into_class(joined.participant)
        if found is None:
            raise Refusal("refusal.wrong_return_key", 404, field="key")
        participant = return_by_key(found, request.POST.get("key", ""), timezone.now())
    except Refusal as refusal:
        return _return_form(request, slug, refusal)
    key_tries.was_right(slug, _browser(request), _address(request))
    return _into_class(participant)


@never_cache
@require_http_methods(["GET", "POST"])
def continue_here(request: HttpRequest, typed: str = "") -> HttpResponse:
    """The second device: accepts a pass. Opening the address does not consume the pass; the button does."""
    if request.method == "GET":
        return _continue_form(request, typed)
    typed = request.POST.get("pass", "")
    try:
        tried = _begin_try(request)
        participant = use_pass(typed, timezone.now())
    except Refusal as refusal:
        return _continue_form(request, typed, refusal)
    wrong_codes.was_right(tried)
    return _into_class(participant)


@never_cache
@require_GET
def offered_name(request: HttpRequest, key: str) -> HttpResponse:
    """Another unused name."""
    found = ensure_open(class_of_link(key), timezone.now())
    name = offered_name_in(found, preferences_of(request).language)
    return HttpResponse(name, content_type="text/plain; charset=utf-8")


def wrong_codes_are_many() -> bool:
    """Whether class codes are being guessed right now."""
    return wrong_codes.is_attack(time.monotonic())


def key_to_show(request: HttpRequest, participant: Participant) -> str:
    """The return key of a participant who has just joined; empty for others."""
    try:
        value = signing.loads(request.COOKIES.get(_key_cookie(), ""), salt=_KEY_SALT, max_age=KEY_SHOWN_S)
    except signing.BadSignature:
        return ""
    return str(value[1]) if value[0] == participant.pk else ""


def forget_key(response: HttpResponse) -> None:
    """Notes that the return key has been shown."""
    response.delete_cookie(_key_cookie(), samesite="Lax")


def show_key(response: HttpResponse, participant: Participant, key: str) -> None:
    """Lets the next page of the class show the key."""
    response.set_cookie(
        _key_cookie(),
        signing.dumps([participant.pk, shown_key(key)], salt=_KEY_SALT),
        max_age=KEY_SHOWN_S,
        httponly=True,
        samesite="Lax",
        secure=settings.SESSION_COOKIE_SECURE,
    )


def _key_cookie() -> str:
    return f"{settings.SESSION_COOKIE_NAME}-key"


def _into_class(participant: Participant, key: str = "") -> HttpResponse:
    response = HttpResponseRedirect(reverse("class", args=(participant.classroom.slug,)))
    if participant.is_guest:
        remember(response, participant)
        if key:
            show_key(response, participant, key)
    return response


def _is_known(request: HttpRequest, classroom: Class) -> bool:
    if participant_of_cookie(request, classroom.slug) is not None:
        return True
    user = request.user
    gone = (Presence.LEFT, Presence.ERASED)
    return isinstance(user, User) and classroom.participants.filter(user=user).exclude(presence__in=gone).exists()


# Limits


def _address(request: HttpRequest) -> str:
    return str(request.META.get("REMOTE_ADDR", ""))


def _browser(request: HttpRequest) -> str:
    return browser_of(request.COOKIES, _address(request))


def browser_of(cookies: Mapping[str, str], address: str) -> str:
    """Identifies a browser to the limits. Browsers without our cookie count as one per address."""
    try:
        value = signing.loads(cookies.get(_browser_cookie(), ""), salt=_BROWSER_SALT, max_age=BROWSER_AGE_S)
    except signing.BadSignature:
        return f"of {address}"
    return str(value)


def _browser_cookie() -> str:
    return f"{settings.SESSION_COOKIE_NAME}-door"


def _begin_try(request: HttpRequest) -> Try:
    tried = wrong_codes.begin(_browser(request), _address(request), time.monotonic())
    if isinstance(tried, float):
        raise TooManyTries(tried)
    return tried


def _count_key_try(request: HttpRequest, slug: str) -> None:
    wait_s = key_tries.begin(slug, _browser(request), _address(request), time.monotonic())
    if wait_s > 0:
        raise TooManyTries(wait_s)


def _count_join(request: HttpRequest) -> None:
    wait_s = joins.begin(_address(request), time.monotonic())
    if wait_s > 0:
        raise TooManyTries(wait_s, "refusal.too_many_joins")


def _warn_staff() -> None:
    """Warns the staff of every class with an open door that codes are being guessed, at most once a minute."""
    if wrong_codes.should_warn(time.monotonic()):
        for one in Class.objects.filter(door_is_open=True):
            tell(Notice("under_attack", one.pk))


# Pages


def _answer(
    request: HttpRequest, template: str, context: Mapping[str, object], refusal: Refusal | None
) -> HttpResponse:
    language = preferences_of(request).language
    error = {**refusal.as_json(language), "field": refusal.field} if refusal else None
    response = render(request, template, {**context, "error": error}, status=refusal.status if refusal else 200)
    if isinstance(refusal, TooManyTries):
        response["Retry-After"] = str(refusal.seconds)
    if _browser_cookie() not in request.COOKIES:
        response.set_cookie(
            _browser_cookie(),
            signing.dumps(secrets.token_hex(8), salt=_BROWSER_SALT),
            max_age=BROWSER_AGE_S,
            httponly=True,
            samesite="Lax",
            secure=settings.SESSION_COOKIE_SECURE,
        )
    return response


def _join_form(request: HttpRequest, refusal: Refusal | None = None, typed: str = "") -> HttpResponse:
    return _answer(request, "class/join.html", {"typed": typed[:40]}, refusal)


def _name_form(request: HttpRequest, classroom: Class, refusal: Refusal | None = None) -> HttpResponse:
    user = request.user
    given = request.POST.get("name", "")[:80]
    name = given or offered_name_in(classroom, preferences_of(request).language)
    context = {
        "classroom": classroom,
        "name": name,
        "account": user.get_username() if isinstance(user, User) and user.has_usable_password() else "",
        "consents": Consent.values,
        "consent": request.POST.get("consent", Consent.NUMBER),
    }
    return _answer(request, "class/name.html", context, refusal)


def _return_form(request: HttpRequest, slug: str, refusal: Refusal | None = None) -> HttpResponse:
    context = {"slug": slug, "name": request.POST.get("name", "")[:80], "op": request.POST.get("op", "")}
    return _answer(request, "class/return.html", context, refusal)


def _continue_form(request: HttpRequest, typed: str, refusal: Refusal | None = None) -> HttpResponse:
    return _answer(request, "class/continue.html", {"typed": typed[:40]}, refusal)
