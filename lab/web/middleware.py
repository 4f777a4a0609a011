"""Applied to every response: the content security policy, and refusals as pages or as JSON."""

import secrets
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import Any, cast

from asgiref.sync import iscoroutinefunction, markcoroutinefunction
from django.conf import settings
from django.core.exceptions import RequestDataTooBig
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.utils.decorators import sync_and_async_middleware

from lab.analytics.store.objects import PlaceError
from lab.preferences import preferences_of
from lab.runtime.machine.space import disk_full, is_disk_full
from lab.texts.refusal import Refusal, no_page

Answer = Callable[[HttpRequest], Any]


def policy(nonce: str, host: str, *, inline_styles: bool) -> str:
    """The value of Content-Security-Policy: only this origin, and only our scripts or those with the nonce.

    `inline_styles` is for pages with Plotly, which writes style attributes.
    """
    styles = "'self' 'unsafe-inline'" if inline_styles else f"'self' 'nonce-{nonce}'"
    return "; ".join(
        (
            "default-src 'none'",
            f"script-src 'self' 'nonce-{nonce}'",
            f"style-src {styles}",
            "img-src 'self' data: blob:",
            "font-src 'self'",
            # 'self' covers ws: only in newer browsers.
            f"connect-src 'self' ws://{host} wss://{host}",
            "media-src 'self' blob:",
            "worker-src 'self'",
            "manifest-src 'self'",
            "base-uri 'none'",
            "form-action 'self'",
            "frame-ancestors 'none'",
        )
    )


@sync_and_async_middleware
def content_security_policy(get_response: Answer) -> Answer:
    """Gives each request a nonce (`request.csp_nonce`, read by the templates) and each response a policy."""

    def begin(request: HttpRequest) -> str:
        nonce = secrets.token_urlsafe(16)
        request.csp_nonce = nonce  # type: ignore[attr-defined]
        return nonce

    def end(request: HttpRequest, response: HttpResponse, nonce: str) -> HttpResponse:
        inline_styles = bool(getattr(response, "inline_styles", False))
        response["Content-Security-Policy"] = policy(nonce, request.get_host(), inline_styles=inline_styles)
        # Staff pages record the class's audio; no page needs anything else.
        microphone = "(self)" if getattr(response, "uses_microphone", False) else "()"
        response["Permissions-Policy"] = f"microphone={microphone}, camera=(), geolocation=(), usb=(), payment=()"
        return response

    if iscoroutinefunction(get_response):

        async def middleware(request: HttpRequest) -> HttpResponse:
            nonce = begin(request)
            return end(request, await get_response(request), nonce)

        return middleware

    def sync_middleware(request: HttpRequest) -> HttpResponse:
        nonce = begin(request)
        return end(request, get_response(request), nonce)

    return sync_middleware


class refusals:
    """Turns a `Refusal` into a response: JSON below /api/, otherwise the error page."""

    sync_capable = True
    async_capable = True

    def __init__(self, get_response: Answer) -> None:
        self.get_response = get_response
        if iscoroutinefunction(get_response):
            markcoroutinefunction(self)

    def __call__(self, request: HttpRequest) -> HttpResponse | Awaitable[HttpResponse]:
        return cast(HttpResponse, self.get_response(request))

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        if isinstance(exception, Http404):
            exception = no_page(request.path)
        if isinstance(exception, PlaceError):
            # Of tables that pages read.
            exception = Refusal.of(exception.what, exception.expected, exception.todo)
            exception.status = PlaceError.status
        if isinstance(exception, RequestDataTooBig):
            size, most = request.headers.get("Content-Length", ""), settings.DATA_UPLOAD_MAX_MEMORY_SIZE
            exception = Refusal("refusal.request_too_large", HTTPStatus.REQUEST_ENTITY_TOO_LARGE, size=size, max=most)
        if is_disk_full(exception):
            exception = disk_full(exception)
        if not isinstance(exception, Refusal):
            return None
        return answer_refusal(request, exception)


def answer_refusal(request: HttpRequest, refusal: Refusal) -> HttpResponse:
    """The refusal in the format that the client accepts."""
    language = preferences_of(request).language
    if request.path.startswith("/api/"):
        return JsonResponse(refusal.as_json(language), status=refusal.status)
    context = {"status": refusal.status, **refusal.as_json(language)}
    return render(request, "error.html", context, status=refusal.status)
