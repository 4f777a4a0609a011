"""Signing in with the token of the printed address, as notebooks do: a person who can read the terminal owns the lab.

A lab that serves a room over plain HTTP accepts the token only from this machine: on the network it could be read.
"""

from ipaddress import ip_address

from django.conf import settings
from django.contrib.auth import get_user_model, login
from django.contrib.auth.models import User
from django.http import HttpRequest
from django.utils.crypto import constant_time_compare
from django.utils.http import url_has_allowed_host_and_scheme

from lab.rights import LOCAL_USER
from lab.texts.refusal import Refusal

_BACKEND = "django.contrib.auth.backends.ModelBackend"


def sign_in(request: HttpRequest, token: str) -> None:
    """Signs the browser in. Raises Refusal (403) for a token of another start."""
    if not constant_time_compare(token, settings.SIGN_IN_TOKEN):
        raise Refusal("refusal.invalid_token", 403)
    if settings.SERVES_ROOM and not request.is_secure() and not _is_here(request):
        raise Refusal("refusal.token_from_afar", 403)
    login(request, local_user(), backend=_BACKEND)


def local_user() -> User:
    """The only user of a lab on loopback. It has no password: the token is the only way to sign in."""
    model = get_user_model()
    user, created = model.objects.get_or_create(username=LOCAL_USER)
    if created:
        user.set_unusable_password()
    if created or not user.is_staff:
        # The operator of the lab may teach classes.
        user.is_staff = True
        user.save()
    return user


def _is_here(request: HttpRequest) -> bool:
    """Whether the browser is on the server's machine: then both ends have the same address."""
    address = str(request.META.get("REMOTE_ADDR", ""))
    try:
        return ip_address(address).is_loopback or address == request.META.get("SERVER_NAME")
    except ValueError:
        return False


def safe_next(request: HttpRequest, address: str) -> str:
    """The redirect target: `address` if it is a path of this site, else the front page."""
    if address.startswith("/") and url_has_allowed_host_and_scheme(address, allowed_hosts={request.get_host()}):
        return address
    return "/"
