"""Django's middleware on the event loop. Django runs each method of middleware in a thread: nine thread switches per
request for microseconds of work without database access, except where a session is stored or a large form is parsed.
"""

from collections.abc import Callable
from typing import Any

from asgiref.sync import sync_to_async
from django.contrib.auth.middleware import AuthenticationMiddleware
from django.contrib.sessions.middleware import SessionMiddleware
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.middleware.csrf import CsrfViewMiddleware
from django.middleware.security import SecurityMiddleware
from django.utils.deprecation import MiddlewareMixin

MAX_DIRECT_BYTES = 16 * 1024
"""A longer form is parsed in a thread: megabytes of it take a third of a second."""


class _Direct(MiddlewareMixin):
    """Middleware whose methods neither wait nor compute."""

    async def __acall__(self, request: HttpRequest) -> HttpResponseBase:
        begin: Callable[[HttpRequest], HttpResponseBase | None] | None = getattr(self, "process_request", None)
        answered = begin(request) if begin is not None else None
        response: HttpResponseBase = answered or await self.get_response(request)  # type: ignore[misc]
        end: Callable[[HttpRequest, HttpResponseBase], HttpResponseBase] | None
        end = getattr(self, "process_response", None)
        return end(request, response) if end is not None else response


class DirectSecurity(_Direct, SecurityMiddleware):
    """Security headers."""


class DirectAuthentication(_Direct, AuthenticationMiddleware):
    """`request.user` and `request.auser`, which read the database once they are used."""


class DirectCsrf(_Direct, CsrfViewMiddleware):
    """CSRF tokens of forms, kept in a cookie."""

    def __init__(self, get_response: Callable[[HttpRequest], Any]) -> None:
        super().__init__(get_response)
        if self.async_mode:  # type: ignore[attr-defined]
            self.process_view = self._process_view  # type: ignore[method-assign, assignment]

    async def _process_view(self, request: HttpRequest, *view: Any) -> HttpResponse | None:
        check = super().process_view
        if request.method == "POST" and not _is_short(request):
            return await sync_to_async(check)(request, *view)
        return check(request, *view)


def _is_short(request: HttpRequest) -> bool:
    length = request.headers.get("Content-Length", "")
    return length.isdecimal() and int(length) <= MAX_DIRECT_BYTES


class DirectSession(SessionMiddleware):
    """Sessions: only a changed one is stored."""

    async def __acall__(self, request: HttpRequest) -> HttpResponseBase:
        self.process_request(request)
        response: HttpResponseBase = await self.get_response(request)  # type: ignore[misc]
        if request.session.modified:
            return await sync_to_async(self.process_response)(request, response)  # type: ignore[arg-type]
        return self.process_response(request, response)  # type: ignore[arg-type]
