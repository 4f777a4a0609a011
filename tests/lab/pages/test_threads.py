"""Requests have a thread each, which is kept for the next request."""

import asyncio
import queue
import threading
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.db import connections

from lab.web.threads import MAX_IDLE_THREADS, with_request_threads

Send = Callable[[dict[str, Any]], Awaitable[None]]


async def _no_message() -> dict[str, Any]:
    return {"type": "http.request"}


async def _gone(message: dict[str, Any]) -> None:
    """Discards what is sent to a page."""


def _served(app: Any, requests: int, *, at_once: bool = False) -> list[int]:
    """The threads in which requests did their work."""
    seen: list[int] = []

    async def serve() -> None:
        serving = with_request_threads(app(seen))
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


def test_concurrent_requests_have_a_thread_each() -> None:
    requests = MAX_IDLE_THREADS + 4

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


@pytest.mark.parametrize("is_answered", [True, False])
def test_threads_beyond_those_kept_end_with_their_connections(is_answered: bool, monkeypatch) -> None:
    closed: queue.Queue[int] = queue.Queue()
    monkeypatch.setattr(connections, "close_all", lambda: closed.put(threading.get_ident()))
    requests = MAX_IDLE_THREADS + 4
    together = threading.Barrier(requests)

    def app_of(seen: list[int]) -> Any:
        async def app(scope: Any, receive: Any, send: Send) -> None:
            seen.append(await sync_to_async(threading.get_ident)())
            await sync_to_async(together.wait)(60)
            if is_answered:
                await send({"type": "http.response.body", "body": b""})

        return app

    threads = set(_served(app_of, requests, at_once=True))
    ended = 4 if is_answered else requests
    assert {closed.get(timeout=60) for _ in range(ended)} <= threads
    assert closed.empty()


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
