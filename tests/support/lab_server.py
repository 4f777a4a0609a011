"""The lab's own server in a thread, and a visitor that behaves like a browser."""

import asyncio
import json
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from http.cookiejar import Cookie, CookieJar
from typing import Any

import websockets.exceptions
from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.exceptions import SynchronousOnlyOperation
from django.db import connection
from django.test import Client
from websockets.sync.client import ClientConnection, connect

from lab.actions.classes.live_class import close_classes
from lab.management.commands.lab import HOST, Server, listen, server_config
from lab.protocol.event_schema import schema_hash
from lab.runtime.host import Host, close_host, host
from lab.texts.refusal import Refusal

PATIENCE_S = 120.0
"""How long to wait for what must come, on a machine that does much else; no test that passes waits for it."""
END_S = 600.0
"""For all labs that the tests of a process have left open to end, one after the other."""


class LabServer:
    """Serves until `stop`. Its labs use the ZooKeeper of `settings.ZOOKEEPER`: in memory where that is empty."""

    def __init__(self) -> None:
        self._listener = listen(0)
        self.port: int = self._listener.getsockname()[1]
        self.address = f"http://{HOST}:{self.port}"
        self._server = Server(server_config())
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        assert self._ready.wait(PATIENCE_S), "the server did not start in time"

    def call(self, function: Callable[[Host], Any]) -> Any:
        """Runs something with the host, on the server's event loop; a coroutine is awaited."""

        async def on_loop() -> Any:
            found = function(host())
            return await found if asyncio.iscoroutine(found) else found

        return asyncio.run_coroutine_threadsafe(on_loop(), self._loop).result(PATIENCE_S)

    def pause_labs(self) -> None:
        """Pauses every playing lab: it is not watched any more, and would take CPU time from later tests."""

        async def pause(host: Host) -> None:
            for lab in host.labs():
                if lab.is_playing:
                    with suppress(Refusal):  # its engine has failed, or it is being closed
                        await lab.rest()

        self.call(pause)

    def forget_labs(self) -> None:
        """As after a restart: all engines end, all recordings close."""
        asyncio.run_coroutine_threadsafe(close_host(), self._loop).result(END_S)

    def stop(self) -> None:
        self._server.should_exit = True
        self._thread.join(END_S)
        self._listener.close()
        assert not self._thread.is_alive(), "the server did not stop in time"

    def _run(self) -> None:
        with asyncio.Runner(loop_factory=self._server.config.get_loop_factory()) as runner:
            runner.run(self._serve())

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        # Of this thread. tests/conftest.py allows queries on event loops, for Playwright's; here they fail as in a lab.
        connection.execute_wrappers.append(_refuse_query)
        serving = asyncio.create_task(self._server.serve(sockets=[self._listener]))
        while not self._server.started and not serving.done():
            await asyncio.sleep(0.01)
        self._ready.set()
        await serving
        await close_classes()
        await close_host()


def _refuse_query(execute: object, sql: str, *_: object) -> None:
    raise SynchronousOnlyOperation(f"a query on the event loop of the server: {sql}")


class Answer:
    """What came back for a request."""

    def __init__(self, status: int, url: str, headers: Any, body: bytes) -> None:
        self.status = status
        self.url = url
        self.headers = headers
        self.body = body

    @property
    def text(self) -> str:
        return self.body.decode()

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Visitor:
    """A browser without a screen: keeps cookies, follows redirects, opens sockets."""

    def __init__(self, server: LabServer) -> None:
        self.server = server
        self.cookies = CookieJar()
        self._opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(self.cookies))

    def sign_in(self) -> "Visitor":
        """With the token of the server's start. The next page costs the same however many runs there are."""
        assert self.get(f"/sign-in/?token={settings.SIGN_IN_TOKEN}&next=/sign-in/").status == 200
        return self

    def sign_in_as(self, name: str) -> "Visitor":
        """As another user, whom only a hosted lab would have."""
        user, _ = get_user_model().objects.get_or_create(username=name)
        client = Client()
        client.force_login(user)
        morsel = client.cookies[settings.SESSION_COOKIE_NAME]
        self._add_cookie(morsel.key, morsel.value)
        return self

    def get(self, path: str, **headers: str) -> Answer:
        return self._send(urllib.request.Request(self.server.address + path, headers=headers))

    def post(self, path: str, **form: str) -> Answer:
        """Sends a form with its CSRF token."""
        return self.post_list(path, **{name: [value] for name, value in form.items()})

    def post_list(self, path: str, **form: list[str]) -> Answer:
        """The same with fields that may occur several times."""
        fields = {**form, "csrfmiddlewaretoken": [self.csrf_token()]}
        data = urllib.parse.urlencode(fields, doseq=True).encode()
        return self._send(urllib.request.Request(self.server.address + path, data))

    def post_file(self, path: str, content: bytes, field: str = "file") -> Answer:
        """Sends a file as a form does."""
        return self._send(self.file_request(path, content, field))

    def file_request(self, path: str, content: bytes, field: str = "file") -> urllib.request.Request:
        """The request that `post_file` sends."""
        boundary = "5b0bd1e7a0c24a3e"
        parts = [
            f'--{boundary}\r\nContent-Disposition: form-data; name="csrfmiddlewaretoken"\r\n\r\n{self.csrf_token()}',
            f'--{boundary}\r\nContent-Disposition: form-data; name="{field}"; filename="a.bin"\r\n'
            "Content-Type: application/octet-stream\r\n\r\n",
        ]
        body = "\r\n".join(parts).encode() + content + f"\r\n--{boundary}--\r\n".encode()
        headers = {"Content-Type": f"multipart/form-data; boundary={boundary}"}
        return urllib.request.Request(self.server.address + path, body, headers)

    def post_json(self, path: str, content: Any) -> Answer:
        return self.send_json("POST", path, content)

    def send_json(self, method: str, path: str, content: Any) -> Answer:
        headers = {"Content-Type": "application/json", "X-CSRFToken": self.csrf_token()}
        body = json.dumps(content).encode()
        return self._send(urllib.request.Request(self.server.address + path, body, headers, method=method))

    def put(self, path: str, content: bytes, kind: str) -> Answer:
        """Sends bytes of this type."""
        headers = {"Content-Type": kind, "X-CSRFToken": self.csrf_token()}
        return self._send(urllib.request.Request(self.server.address + path, content, headers, method="PUT"))

    def csrf_token(self) -> str:
        """The cookie's value, which forms have masked. A page with a form sets it."""
        if not self._csrf_cookie():
            self.get("/join/")
        return self._csrf_cookie()

    def new_run(self, **form: str) -> str:
        """Starts a run through the form; returns its slug."""
        answer = self.post("/runs/new", **{"name": "a run", "seed": "1", "brokers": "3", **form})
        assert answer.status == 200 and "/r/" in answer.url, answer.text
        return answer.url.split("/")[-2]

    @contextmanager
    def socket(
        self, run: str, branch: str = "main", hello: dict[str, Any] | None = None
    ) -> Iterator["LabSocketClient"]:
        """A socket that has said hello; one that has not, with `hello` {}."""
        cookies = "; ".join(f"{cookie.name}={cookie.value}" for cookie in self.cookies)
        with connect(
            f"ws://{HOST}:{self.server.port}/ws/runs/{run}/{branch}/",
            additional_headers={"Cookie": cookies, "Origin": self.server.address},
            max_size=None,
        ) as connection:
            client = LabSocketClient(connection)
            if hello is None:
                hello = {"have": 0, "boot": ""}
            if hello:
                client.send({"k": "hello", "v": 1, "schema": schema_hash(), **hello})
            yield client

    def _csrf_cookie(self) -> str:
        return next((cookie.value or "" for cookie in self.cookies if cookie.name == settings.CSRF_COOKIE_NAME), "")

    def _add_cookie(self, name: str, value: str) -> None:
        self.cookies.set_cookie(
            Cookie(0, name, value, None, False, HOST, False, False, "/", True, False, None, False, None, None, {})
        )

    def _send(self, request: urllib.request.Request) -> Answer:
        try:
            with self._opener.open(request, timeout=PATIENCE_S) as response:
                return Answer(response.status, response.url, response.headers, response.read())
        except urllib.error.HTTPError as error:
            return Answer(error.code, error.url, error.headers, error.read())


class LabSocketClient:
    """A page's end of a socket."""

    def __init__(self, connection: ClientConnection) -> None:
        self.connection = connection
        self.frames: list[dict[str, Any]] = []
        self.acknowledges = True
        self._clock: dict[str, Any] | None = None

    def send(self, frame: dict[str, Any]) -> None:
        self.connection.send(json.dumps(frame))

    def until(self, wanted: Callable[[dict[str, Any]], bool], seconds: float = PATIENCE_S) -> dict[str, Any]:
        """Receives frames, acknowledging them, up to the first that is wanted."""
        deadline = time.monotonic() + seconds
        while True:
            try:
                frame = self._next(deadline - time.monotonic())
            except TimeoutError:
                kinds = [(frame["k"], frame.get("id")) for frame in self.frames[-20:]]
                raise AssertionError(f"the frame did not come; the last ones were {kinds}") from None
            self.frames.append(frame)
            if self.acknowledges and frame["k"] in ("d", "snap"):
                self.send({"k": "ack", "seq": frame["seq"] if frame["k"] == "snap" else frame["ev"][-1][0]})
            if wanted(frame):
                return frame

    def _next(self, seconds: float) -> dict[str, Any]:
        """The next frame; the clock of a `d` frame is one of its own, after it."""
        if self._clock is not None:
            frame, self._clock = self._clock, None
            return frame
        received: dict[str, Any] = json.loads(self.connection.recv(timeout=seconds))
        self._clock = received.pop("clock", None)
        return received

    def of_kind(self, kind: str) -> dict[str, Any]:
        """Receives up to the next frame of a kind."""
        return self.until(lambda frame: frame["k"] == kind)

    def ask(self, frame: dict[str, Any]) -> dict[str, Any]:
        """Sends a frame and receives up to its answer."""
        self.send({"id": "q1", **frame})
        return self.until(lambda answer: answer.get("id") == "q1")

    def event(self, kind: str, *fields: Any, after: int = 0) -> list[Any]:
        """The first event of a kind, after a seq, whose fields begin so; waits for it if it has not come yet."""

        def is_wanted(event: list[Any]) -> bool:
            return bool(event[0] > after and event[4][: 1 + len(fields)] == [kind, *fields])

        for event in self.events():
            if is_wanted(event):
                return event
        frame = self.until(lambda frame: any(map(is_wanted, frame.get("ev", ()))))
        return next(event for event in frame["ev"] if is_wanted(event))

    def events(self) -> list[list[Any]]:
        """All events received so far."""
        return [event for frame in self.frames if frame["k"] == "d" for event in frame["ev"]]

    def run(self, line: str, exit_code: int = 0) -> list[str]:
        """Runs a console line to its end, time playing; returns what it printed."""
        answer = self.ask({"k": "do", "line": line})
        assert answer["k"] == "done", answer
        command = answer["command"]
        assert self.event("CommandCompleted", command)[4][2] == exit_code, line
        printed = [event[4] for event in self.events() if event[4][:2] == ["CommandPrinted", command]]
        return [text for _, _, lines in printed for text in lines]

    def play(self, lines: Iterable[str]) -> None:
        """Runs console lines one after the other, at 20 times real time, and pauses."""
        self.ask({"k": "time", "op": "play", "value": 20.0})
        for line in lines:
            self.run(line)
        self.ask({"k": "time", "op": "pause"})

    def closed(self, seconds: float = PATIENCE_S) -> tuple[int, str]:
        """(code, reason) with which the server ends the socket."""
        try:
            while True:
                self.frames.append(json.loads(self.connection.recv(timeout=seconds)))
        except websockets.exceptions.ConnectionClosed as error:
            assert error.rcvd is not None
            return error.rcvd.code, error.rcvd.reason
