"""Middleware on the event loop: what takes long is done in a thread."""

import asyncio
import threading
from typing import Any

import pytest
from django.http import HttpRequest, HttpResponse
from django.middleware.csrf import CsrfViewMiddleware

from lab.web.direct import MAX_DIRECT_BYTES, DirectCsrf


@pytest.mark.parametrize(("size", "is_direct"), [(MAX_DIRECT_BYTES, True), (MAX_DIRECT_BYTES + 1, False)])
@pytest.mark.parametrize("kind", ["application/x-www-form-urlencoded", "multipart/form-data; boundary=b"])
def test_large_form_is_parsed_in_a_thread(
    rf: Any, monkeypatch: pytest.MonkeyPatch, kind: str, size: int, is_direct: bool
) -> None:
    threads: list[int] = []

    def note(self: CsrfViewMiddleware, request: HttpRequest, *view: Any) -> None:
        threads.append(threading.get_ident())

    async def page(request: HttpRequest) -> HttpResponse:
        return HttpResponse()

    async def check() -> None:
        middleware: Any = DirectCsrf(page)
        await middleware.process_view(rf.post("/join/", b"a" * size, content_type=kind), page, (), {})

    monkeypatch.setattr(CsrfViewMiddleware, "process_view", note)
    asyncio.run(check())
    assert (threads == [threading.get_ident()]) is is_direct
    assert len(threads) == 1
