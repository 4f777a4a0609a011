"""Signing in with the token of the printed address, as notebooks do: who reads the terminal owns the lab."""

from django.conf import settings
from django.contrib.auth import get_user_model, login
from django.contrib.auth.models import User
from django.http import HttpRequest
from django.utils.crypto import constant_time_compare
from django.utils.http import url_has_allowed_host_and_scheme

from lab.texts.refusal import Refusal

LOCAL_USER = "learner"
_BACKEND = "django.contrib.auth.backends.ModelBackend"


def sign_in(request: HttpRequest, token: str) -> None:
    """Signs the browser in. Raises Refusal (403) for a token that is not this start's."""
    if not constant_time_compare(token, settings.SIGN_IN_TOKEN):
        raise Refusal("refusal.invalid_token", 403)
    login(request, local_user(), backend=_BACKEND)


def local_user() -> User:
    """The one user of a lab on loopback. Has no password: the token is the only way in."""
    model = get_user_model()
    user, created = model.objects.get_or_create(username=LOCAL_USER)
    if created:
        user.set_unusable_password()
        user.save()
    return user


def safe_next(request: HttpRequest, address: str) -> str:
    """The redirect target: `address` if it is a path of this site, else the front page."""
    if address.startswith("/") and url_has_allowed_host_and_scheme(address, allowed_hosts={request.get_host()}):
        return address
    return "/"
