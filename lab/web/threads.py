"""Threads of requests. A request that asks the database needs one thread for all its questions; making it, and a
connection in it, takes longer than most requests do, so both are kept for the next request.
"""

from typing import Any

from asgiref.sync import SyncToAsync, ThreadSensitiveContext

MAX_KEPT = 16
"""Threads that wait for a request. As many as requests at once are made; the others end with their request."""


def kept_threads(app: Any) -> Any:
    """An ASGI application whose requests each have a thread of their own, kept when they end."""
    free: list[ThreadSensitiveContext] = []

    async def with_thread(scope: dict[str, Any], receive: Any, send: Any) -> None:
        context = free.pop() if free else ThreadSensitiveContext()
        is_answered = False

        async def noted(message: dict[str, Any]) -> None:
            nonlocal is_answered
            await send(message)
            is_answered = message["type"] == "http.response.body" and not message.get("more_body", False)

        entered = SyncToAsync.thread_sensitive_context.set(context)
        try:
            await app(scope, receive, noted)
        finally:
            SyncToAsync.thread_sensitive_context.reset(entered)
        # The thread of a request that was given up may still be at work.
        if is_answered and len(free) < MAX_KEPT:
            free.append(context)

    return with_thread
