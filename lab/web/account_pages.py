"""Signing in and out, and changing a password. The operator creates accounts with `manage.py createinstructor`."""

import math
import time

from asgiref.sync import sync_to_async
from django.conf import settings
from django.contrib.auth import authenticate, login, logout, update_session_auth_hash
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST

from lab.classroom.limits import KeyTries
from lab.preferences import preferences_of
from lab.rights import rights_changed, user_of
from lab.texts.refusal import Refusal
from lab.web.classes.guests import forget_all
from lab.web.pages import page
from lab.web.sign_in import safe_next, sign_in

MAX_PASSWORD_LENGTH = 256
password_tries = KeyTries()


@never_cache
@sensitive_post_parameters("password")
@require_http_methods(["GET", "POST"])
def sign_in_page(request: HttpRequest) -> HttpResponse:
    """With a token in the address: signs in and redirects, so that the token does not stay in the address. With name
    and password: signs in to an account. Otherwise asks for one of them, or for a class code.
    """
    asked = request.POST if request.method == "POST" else request.GET
    following = safe_next(request, asked.get("next", ""))
    try:
        if request.method == "POST":
            _sign_in_account(request)
        elif "token" in request.GET:
            sign_in(request, request.GET["token"])
        else:
            return _sign_in_form(request, following)
    except Refusal as refusal:
        return _sign_in_form(request, following, refusal)
    return HttpResponseRedirect(following)


def _sign_in_form(request: HttpRequest, following: str, refusal: Refusal | None = None) -> HttpResponse:
    language = preferences_of(request).language
    context = {
        "next": following,
        "serves_room": settings.SERVES_ROOM,
        "user_tried": request.POST.get("user", "")[:150],
        "error": {**refusal.as_json(language), "field": refusal.field} if refusal else None,
    }
    return render(request, "sign_in.html", context, status=refusal.status if refusal else 200)


@require_POST
def sign_out(request: HttpRequest) -> HttpResponse:
    """Signs the browser out, both as an account and as a guest."""
    user_id = request.user.pk
    logout(request)
    if user_id is not None:
        rights_changed([user_id])
    response = redirect("sign-in")
    forget_all(request, response)
    return response


@never_cache
@sensitive_post_parameters("old", "new")
@login_required
@require_http_methods(["GET", "POST"])
async def account(request: HttpRequest) -> HttpResponse:
    """Changes the account's password, which ends all other sessions."""
    user = await user_of(request)
    error, has_changed = None, False
    if request.method == "POST":
        try:
            await sync_to_async(_change_password)(request, user)
            has_changed = True
        except Refusal as refusal:
            error = {**refusal.as_json(preferences_of(request).language), "field": refusal.field}
    context = {"error": error, "has_changed": has_changed, "has_password": user.has_usable_password()}
    return await page(request, "account.html", context, status=400 if error else 200)


def _sign_in_account(request: HttpRequest) -> None:
    """Raises the same Refusal for an unknown name and a wrong password, and 429 after five failures in ten minutes."""
    name, password = request.POST.get("user", ""), request.POST.get("password", "")
    address = str(request.META.get("REMOTE_ADDR", ""))
    browser = f"{name[:150].casefold()} {address}"
    wait_s = password_tries.begin("sign-in", browser, address, time.monotonic())
    if wait_s > 0:
        raise Refusal("refusal.too_many_tries", 429, seconds=math.ceil(wait_s))
    user = authenticate(request, username=name[:150], password=password[:MAX_PASSWORD_LENGTH])
    if user is None:
        raise Refusal("refusal.wrong_password", 403, field="password")
    password_tries.was_right("sign-in", browser, address)
    login(request, user)


def _change_password(request: HttpRequest, user: User) -> None:
    old, new = request.POST.get("old", ""), request.POST.get("new", "")
    wait_s = password_tries.begin("password", str(user.pk), str(user.pk), time.monotonic())
    if wait_s > 0:
        raise Refusal("refusal.too_many_tries", 429, seconds=math.ceil(wait_s))
    if not user.has_usable_password() or not user.check_password(old[:MAX_PASSWORD_LENGTH]):
        raise Refusal("refusal.wrong_old_password", 403, field="old")
    password_tries.was_right("password", str(user.pk), str(user.pk))
    try:
        if len(new) > MAX_PASSWORD_LENGTH:
            raise ValidationError("too long")
        validate_password(new, user)
    except ValidationError:
        raise Refusal("refusal.weak_password", field="new") from None
    user.set_password(new)
    user.save(update_fields=["password"])
    update_session_auth_hash(request, user)
    rights_changed([user.pk])
