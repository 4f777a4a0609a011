"""Request threads. All database queries of a request run in one thread; starting it, and connecting to the database in
it, takes longer than most requests do, so both are kept for the next request.

Django closes a connection that has become unusable before and after each request, in a thread switch each. After it is
enough.
"""

from typing import Any

from asgiref.sync import SyncToAsync, ThreadSensitiveContext
from django.core.signals import request_started
from django.db import close_old_connections, connections, reset_queries

MAX_IDLE_THREADS = 16
"""Maximum number of idle threads kept; the others end with their request."""


def with_request_threads(app: Any) -> Any:
    """An ASGI application each of whose requests has a thread of its own, which is kept when the request ends."""
    idle: list[ThreadSensitiveContext] = []
    for receiver in (close_old_connections, reset_queries):
        request_started.disconnect(receiver)

    async def with_thread(scope: dict[str, Any], receive: Any, send: Any) -> None:
        context = idle.pop() if idle else ThreadSensitiveContext()
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
            if is_answered and len(idle) < MAX_IDLE_THREADS:
                idle.append(context)
            else:
                _end(context)

    return with_thread


def _end(context: ThreadSensitiveContext) -> None:
    """Ends the thread of a context, after what it still works at."""
    executor = SyncToAsync.context_to_thread_executor.pop(context, None)
    if executor is not None:
        executor.submit(connections.close_all)
        executor.shutdown(wait=False)
