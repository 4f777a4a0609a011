"""Requests have a thread each, which is kept for the next request."""

import asyncio
import threading
from collections.abc import Awaitable, Callable
from typing import Any

from asgiref.sync import sync_to_async

from lab.web.threads import MAX_KEPT, kept_threads

Send = Callable[[dict[str, Any]], Awaitable[None]]


async def _no_message() -> dict[str, Any]:
    return {"type": "http.request"}


async def _gone(message: dict[str, Any]) -> None:
    """What is sent to a page goes nowhere."""


def _served(app: Any, requests: int, *, at_once: bool = False) -> list[int]:
    """The threads in which requests did their work."""
    seen: list[int] = []

    async def serve() -> None:
        serving = kept_threads(app(seen))
        calls = [serving({"type": "http"}, _no_message, _gone) for _ in range(requests)]
        if at_once:
            await asyncio.gather(*calls)
        else:
            for call in calls:
                await call

    asyncio.run(serve())
    return seen


def _answering(seen: list[int]) -> Any:
    async def app(scope: Any, receive: Any, send: Send) -> None:
        for _ in range(2):
            seen.append(await sync_to_async(threading.get_ident)())
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    return app


def test_requests_one_after_the_other_use_one_thread() -> None:
    assert len(set(_served(_answering, 3))) == 1


def test_requests_at_once_have_a_thread_each() -> None:
    requests = MAX_KEPT + 4

    def waiting_for_all(seen: list[int]) -> Any:
        together = threading.Barrier(requests)

        def work() -> int:
            # Passes only if each request has a thread of its own.
            together.wait(60)
            return threading.get_ident()

        async def app(scope: Any, receive: Any, send: Send) -> None:
            seen.append(await sync_to_async(work)())
            await send({"type": "http.response.body", "body": b""})

        return app

    assert len(set(_served(waiting_for_all, requests, at_once=True))) == requests


def test_thread_of_a_request_that_was_given_up_is_not_used_again() -> None:
    release = threading.Event()

    def given_up(seen: list[int]) -> Any:
        async def app(scope: Any, receive: Any, send: Send) -> None:
            if not seen:
                seen.append(await sync_to_async(threading.get_ident)())
                # The page is gone: its thread is still busy, and nothing is answered.
                working = asyncio.ensure_future(sync_to_async(release.wait)(60))
                await asyncio.sleep(0)
                working.cancel()
                return
            seen.append(await sync_to_async(threading.get_ident)())
            release.set()
            await send({"type": "http.response.body", "body": b""})

        return app

    first, second = _served(given_up, 2)
    assert first != second
