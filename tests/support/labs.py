"""Labs of a host without a server, for tests: a scene on its event loop, and what scenes do."""

import asyncio
import contextlib
import json
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from lab.class_rights import RIGHTS
from lab.runtime.host import Host
from lab.runtime.lab import Lab
from lab.runtime.live_run import LiveRun
from lab.runtime.streaming.watcher import BranchClosed, Visitor, Watcher
from tests.support.lab_server import PATIENCE_S

VISITOR = Visitor(user_id=1, user="me", run_name="a run", rights=frozenset(RIGHTS), language="en")
LOOKER = Visitor(user_id=2, user="you", run_name="a run", rights=frozenset({"see"}), language="en")


Scene = Callable[[Host], Awaitable[None]]


def play(root: Path, scene: Scene, zookeeper: str = "") -> None:
    """Runs a scene with a host of its own."""

    async def with_host() -> None:
        host = Host(root, zookeeper)
        try:
            await scene(host)
        finally:
            await host.close()

    asyncio.run(with_host())


async def connected(lab: Lab) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """A connection to the first broker, that has asked for ApiVersions and was answered with its correlation id."""
    host, port = lab.bootstrap.split(",")[0].split(":")
    deadline_s = time.monotonic() + PATIENCE_S
    while True:
        try:
            reader, writer = await asyncio.open_connection(host, port)
            break
        except ConnectionRefusedError:
            # its broker is up, and its port listens a moment later
            assert time.monotonic() < deadline_s
            await asyncio.sleep(0.01)
    writer.write(bytes.fromhex("0000000a 0012 0000 0000002a ffff"))
    head = await asyncio.wait_for(reader.readexactly(8), PATIENCE_S)
    assert head[4:] == bytes.fromhex("0000002a")
    return reader, writer


def submit(line: str) -> Callable[[LiveRun], int]:
    return lambda live: live.run.submit(line, "me")


def set_mode(mode: Any) -> Callable[[LiveRun], None]:
    return lambda live: live.pacer.set_mode(mode)


async def until(condition: Callable[[], bool], seconds: float = PATIENCE_S) -> None:
    """Waits for something that must come about."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not come about"
        await asyncio.sleep(0.01)


class Page(Watcher):
    """A watcher that stores what it receives."""

    def __init__(self, lab: Lab, visitor: Visitor = VISITOR) -> None:
        super().__init__(lab, visitor, have=0, boot="")
        self.said: list[Any] = []
        lab.watch(self)

    def send(self, frame: Any) -> None:
        self.said.append(frame)
        super().send(frame)


class Reader(Page):
    """A page that reads its frames and acknowledges them, as long as the branch is open."""

    def __init__(self, lab: Lab, visitor: Visitor = VISITOR) -> None:
        super().__init__(lab, visitor)
        self.sent: list[str] = []
        self.frames: list[dict[str, Any]] = []
        self.last_seq = 0
        self._reading = asyncio.create_task(self._read())

    @property
    def clocks(self) -> list[dict[str, Any]]:
        """The received clocks, including those within other frames."""
        return [frame if frame["k"] == "clock" else frame["clock"] for frame in self.frames if _has_clock(frame)]

    @property
    def counts(self) -> list[int]:
        """The received numbers of watchers."""
        return [frame["count"] for frame in self.frames if frame["k"] == "watchers"]

    async def _read(self) -> None:
        with contextlib.suppress(BranchClosed):
            while True:
                text = await self.next_frame()
                frame = json.loads(text)
                self.sent.append(text)
                self.frames.append(frame)
                if frame["k"] in ("d", "snap"):
                    self.last_seq = frame["seq"] if frame["k"] == "snap" else frame["ev"][-1][0]
                    self.acknowledged(self.last_seq)


def _has_clock(frame: dict[str, Any]) -> bool:
    return frame["k"] == "clock" or "clock" in frame
