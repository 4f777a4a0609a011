"""A browser without a screen: cookies, forms with their token, sockets."""

import asyncio
import json
import re
import urllib.error
import urllib.parse
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from http.cookiejar import CookieJar
from typing import NamedTuple

from websockets.asyncio.client import ClientConnection, connect

ANSWER_S = 60.0
REQUESTS_AT_ONCE = 64
"""The requests of all visitors of an event loop. Its usual executor has six threads on two cores, for which joins would
wait.
"""
_TOKEN = re.compile(r'name="csrfmiddlewaretoken" value="([^"]+)"')


class Refused(Exception):
    """The server answered with an error. The message names the address and the status."""


class Page(NamedTuple):
    """What came after all redirects: its address and text."""

    url: str
    text: str


def token_in(page: str) -> str:
    """The token of the forms of a page; empty for a page without a form."""
    found = _TOKEN.search(page)
    return found[1] if found is not None else ""


def allow_requests() -> None:
    """Lets the visitors of the running event loop send REQUESTS_AT_ONCE requests at the same time."""
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(REQUESTS_AT_ONCE))


class Visitor:
    """One person's browser. Its requests run in threads, so that many visitors can share an event loop."""

    def __init__(self, address: str, cookies: CookieJar | None = None) -> None:
        """`address`: of the server, without a path: `http://127.0.0.1:8000`. `cookies`: those of the browser, if it has
        been used before.
        """
        self.address = address.rstrip("/")
        self._cookies = CookieJar() if cookies is None else cookies
        self._opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(self._cookies))

    async def get(self, path: str) -> Page:
        """Opens a page. Raises Refused."""
        return await asyncio.to_thread(self._send, urllib.request.Request(self._absolute(path)))

    async def post(self, page: str, path: str, **form: str) -> Page:
        """Sends a form of a page. Raises Refused, also for a page without a form."""
        data = urllib.parse.urlencode({**form, "csrfmiddlewaretoken": await self.token(page)}).encode()
        return await asyncio.to_thread(self._send, urllib.request.Request(self._absolute(path), data))

    async def token(self, page: str) -> str:
        """The token of the forms of a page, which `send` needs. Raises Refused for a page without a form."""
        found = token_in((await self.get(page)).text)
        if not found:
            raise Refused(f"{page} has no form.")
        return found

    def at(self, address: str) -> "Visitor":
        """The same browser, to which the server has this address."""
        return Visitor(address, self._cookies)

    async def send(self, method: str, path: str, data: bytes, kind: str, token: str) -> None:
        """Sends bytes of a type, as a page's script does. Raises Refused."""
        headers = {"Content-Type": kind, "X-CSRFToken": token}
        await asyncio.to_thread(self._send, urllib.request.Request(self._absolute(path), data, headers, method=method))

    async def ask(self, path: str, content: object) -> Page:
        """Sends JSON, as the script of a page that was opened before does, and returns the answer. Raises Refused."""
        token = next((cookie.value for cookie in self._cookies if "csrf" in cookie.name.lower()), None)
        headers = {"Content-Type": "application/json", "X-CSRFToken": token or ""}
        request = urllib.request.Request(self._absolute(path), json.dumps(content).encode(), headers)
        return await asyncio.to_thread(self._send, request)

    async def file(self, path: str) -> bytes:
        """What an address gives as a file. Raises Refused."""
        return await asyncio.to_thread(self._read, urllib.request.Request(self._absolute(path)))

    def socket(self, path: str) -> connect:
        """A socket with this browser's cookies, to be used with `async with`."""
        cookies = "; ".join(f"{cookie.name}={cookie.value}" for cookie in self._cookies)
        return connect(
            self._absolute(path).replace("http", "ws", 1),
            additional_headers={"Cookie": cookies},
            origin=self.address,  # type: ignore[arg-type]
            max_size=None,
        )

    def _absolute(self, path: str) -> str:
        return path if path.startswith("http") else self.address + path

    def _send(self, request: urllib.request.Request) -> Page:
        try:
            with self._opener.open(request, timeout=ANSWER_S) as answer:
                return Page(answer.url, answer.read().decode())
        except urllib.error.HTTPError as error:
            raise Refused(f"{request.full_url} answered {error.code}.") from error

    def _read(self, request: urllib.request.Request) -> bytes:
        try:
            with self._opener.open(request, timeout=ANSWER_S) as answer:
                data: bytes = answer.read()
                return data
        except urllib.error.HTTPError as error:
            raise Refused(f"{request.full_url} answered {error.code}.") from error


__all__ = ["ClientConnection", "Page", "Refused", "Visitor", "allow_requests", "token_in"]
