"""Refuses wrong class codes and return keys of an address that floods the door, before Django sees the request: a page
for each of them takes several milliseconds of the one process that runs the class.
"""

import re
import time
from http import HTTPStatus
from typing import Any

from django.http.cookie import parse_cookie

from broker_core.texts import LANGUAGES
from lab.web.classes import door_pages

_TAKES_CODES = re.compile(
    rf"POST /join/|POST /continue/(?:[^/]*/)?|GET /join/[^/]{{1,{door_pages.LINK_KEY_LENGTH - 1}}}/"
)
"""Method and path of the attempts that `WrongCodes` counts."""
_TAKES_KEYS = re.compile(r"POST /return/([^/]+)/")
"""The same for `KeyTries`, with the class."""


def refused_codes(app: Any) -> Any:
    """An ASGI application that answers attempts in a flood with 429 and two lines of text; see
    `WrongCodes.wait_in_flood_s`.
    """

    async def guarded(scope: dict[str, Any], receive: Any, send: Any) -> None:
        if scope["type"] == "http" and (wait_s := _wait_s(scope)) > 0:
            await _refuse(send, door_pages.TooManyTries(wait_s))
            return
        await app(scope, receive, send)

    return guarded


def _wait_s(scope: dict[str, Any]) -> float:
    """How long the sender of a request has to wait, in a flood; otherwise 0."""
    asked = f"{scope['method']} {scope['path']}"
    takes_key = _TAKES_KEYS.fullmatch(asked)
    if takes_key is None and _TAKES_CODES.fullmatch(asked) is None:
        return 0.0
    cookies = b"; ".join(value for name, value in scope["headers"] if name == b"cookie").decode("latin-1")
    address = scope["client"][0] if scope.get("client") else ""
    browser = door_pages.browser_of(parse_cookie(cookies), address)
    if takes_key is not None:
        return door_pages.key_tries.wait_in_flood_s(takes_key[1], browser, address, time.monotonic())
    return door_pages.wrong_codes.wait_in_flood_s(browser, address, time.monotonic())


async def _refuse(send: Any, refusal: door_pages.TooManyTries) -> None:
    body = "".join(" ".join(refusal.as_json(language).values()) + "\n" for language in LANGUAGES).encode()
    headers = [
        (b"content-type", b"text/plain; charset=utf-8"),
        (b"content-length", b"%d" % len(body)),
        (b"retry-after", b"%d" % refusal.seconds),
        (b"cache-control", b"no-store"),
    ]
    await send({"type": "http.response.start", "status": HTTPStatus.TOO_MANY_REQUESTS, "headers": headers})
    await send({"type": "http.response.body", "body": body})
