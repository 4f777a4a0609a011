"""How a visitor wants the pages: language, theme and density, kept in cookies.

A link `?language=zh-CN`, `?theme=light` or `?density=comfortable` on any page sets one, with or without JavaScript.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from asgiref.sync import iscoroutinefunction
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils.decorators import sync_and_async_middleware
from django.utils.http import escape_leading_slashes

from lab.texts.i18n import LANGUAGES

THEMES = ("dark", "light")
DENSITIES = ("compact", "comfortable")
"""`comfortable` enlarges the lab by a quarter, for a projector."""
CHOICES = {"language": LANGUAGES, "theme": THEMES, "density": DENSITIES}
_YEAR_S = 365 * 24 * 3600


@dataclass(frozen=True)
class Preferences:
    language: str
    theme: str
    density: str = "compact"


def preferences_of(request: HttpRequest) -> Preferences:
    """The cookies' choice; else the language that the browser prefers, the dark theme, and the compact density. Read
    once a request: each text of a page asks for them.
    """
    found: Preferences | None = getattr(request, "_preferences", None)
    if found is None:
        found = _read_preferences(request)
        request._preferences = found  # type: ignore[attr-defined]
    return found


def _read_preferences(request: HttpRequest) -> Preferences:
    language = chosen_language(request.COOKIES, request.headers.get("Accept-Language", ""))
    theme = request.COOKIES.get("theme", "")
    density = request.COOKIES.get("density", "")
    return Preferences(
        language, theme if theme in THEMES else "dark", density if density in DENSITIES else DENSITIES[0]
    )


def chosen_language(cookies: Mapping[str, str], accepted: str = "") -> str:
    """The language of a visitor with these cookies and this Accept-Language."""
    language = cookies.get("language", "")
    if language in LANGUAGES:
        return language
    return "zh-CN" if accepted.split(",")[0].strip().lower().startswith("zh") else "en"


@sync_and_async_middleware
def keep_preferences(get_response: Callable[[HttpRequest], Any]) -> Callable[[HttpRequest], Any]:
    """Keeps a choice that comes in the address and sends the browser on to the address without it."""
    if iscoroutinefunction(get_response):

        async def middleware(request: HttpRequest) -> HttpResponse:
            return _redirect_of_choice(request) or await get_response(request)

        return middleware

    def sync_middleware(request: HttpRequest) -> HttpResponse:
        return _redirect_of_choice(request) or get_response(request)

    return sync_middleware


def _redirect_of_choice(request: HttpRequest) -> HttpResponse | None:
    """The redirect that sets the cookies of what the address chooses; None if it chooses nothing."""
    if not request.META.get("QUERY_STRING"):
        return None
    chosen = {
        name: request.GET[name]
        for name, values in CHOICES.items()
        if request.method == "GET" and request.GET.get(name) in values
    }
    if not chosen:
        return None
    left = request.GET.copy()
    for name in chosen:
        del left[name]
    # A path such as //example.org would send the browser to another host.
    path = escape_leading_slashes(request.path)
    response = HttpResponseRedirect(path + ("?" + left.urlencode() if left else ""))
    for name, value in chosen.items():
        response.set_cookie(name, value, max_age=_YEAR_S, samesite="Lax")
    return response
