"""Accepts sockets only from pages of the same origin."""

from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import urlsplit

from channels.security.websocket import AllowedHostsOriginValidator, WebsocketDenier

Application = Callable[[Any, Any, Any], Awaitable[Any]]


def same_origin(application: Any) -> Application:
    """Accepts a socket if its page came from the same host *and port*.

    Browsers send cookies to every port of a host, so a page of another server on this machine could otherwise act for
    the visitor. The host must also be an allowed one, since a foreign domain name may resolve to this server.
    """
    allowed = AllowedHostsOriginValidator(application)

    async def validated(scope: Any, receive: Any, send: Any) -> Any:
        headers = dict(scope["headers"])
        try:
            origin = urlsplit(headers.get(b"origin", b"").decode("latin-1")).netloc
        except ValueError:
            origin = ""
        is_same = bool(origin) and origin == headers.get(b"host", b"").decode("latin-1")
        return await (allowed if is_same else WebsocketDenier())(scope, receive, send)

    return validated
