"""Rejects request bodies above the limit before they are read."""

from typing import Any

MAX_BODY_BYTES = 256 * 1024 * 1024
"""A run that is imported is the largest."""
_TOO_LARGE = b"The request is larger than %d MiB. Expected less; nothing of it was kept.\n" % (MAX_BODY_BYTES // 2**20)


class _TooLarge(Exception):
    """The body exceeds the limit."""


def limited_bodies(app: Any) -> Any:
    """An ASGI application that answers 413 for a body above the limit, with or without Content-Length."""

    async def limited(scope: dict[str, Any], receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await app(scope, receive, send)
            return
        announced = dict(scope["headers"]).get(b"content-length", b"0")
        if announced.isdigit() and int(announced) > MAX_BODY_BYTES:
            await _refuse(send)
            return
        received = 0
        has_begun = False

        async def counted() -> dict[str, Any]:
            nonlocal received
            message: dict[str, Any] = await receive()
            received += len(message.get("body", b""))
            if received > MAX_BODY_BYTES:
                raise _TooLarge
            return message

        async def noted(message: dict[str, Any]) -> None:
            nonlocal has_begun
            has_begun = True
            await send(message)

        try:
            await app(scope, counted, noted)
        except _TooLarge:
            if not has_begun:
                await _refuse(send)

    return limited


async def _refuse(send: Any) -> None:
    headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", b"%d" % len(_TOO_LARGE))]
    await send({"type": "http.response.start", "status": 413, "headers": headers})
    await send({"type": "http.response.body", "body": _TOO_LARGE})
