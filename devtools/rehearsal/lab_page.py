"""The page of a learner's lab: acts, acknowledges frames, and knows the time of the lab and the lesson."""

import asyncio
import contextlib
import itertools
import json
from collections.abc import Callable
from typing import Any

from devtools.rehearsal.acknowledging import acknowledging, lab_frame
from devtools.rehearsal.patience import patience
from devtools.rehearsal.visitor import ClientConnection

LAB_HELLO = json.dumps({"k": "hello", "v": 1, "schema": "", "have": 0, "boot": ""})
PLAYING = ("play", "event_paced")
REACHED = "done"


class LabPage:
    """One socket of a lab. `read` it, while it is used.

    Attributes:
        mode: of the time of the lab, as last reported.
        seq: the last event that the page has.
        lesson: the frame of the lesson; empty before it came.
    """

    def __init__(self, connection: ClientConnection, reached: Callable[[int], None] = lambda _: None) -> None:
        """`reached` is called with the number of each step that is done, from 1, as soon as the page shows it."""
        self._connection, self._reached = connection, reached
        self._ids = itertools.count(1)
        self._waiting: dict[str, asyncio.Future[bool]] = {}
        self._news = asyncio.Event()
        self.mode = ""
        self.seq = 0
        self.lesson: dict[str, Any] = {}

    async def read(self) -> None:
        """Reads until the socket ends."""
        await self._connection.send(LAB_HELLO)
        async with acknowledging(self._connection) as acks:
            async for text in self._connection:
                frame = lab_frame.decode(text)
                self.mode = (frame.mode if frame.clock is None else frame.clock.mode) or self.mode
                if seq := frame.last_seq():
                    self.seq = seq
                    acks.has(seq)
                if frame.k == "exercise":
                    self._follow(json.loads(text))
                elif frame.k in ("done", "no") and (waiting := self._waiting.pop(frame.id or "", None)):
                    waiting.set_result(frame.k == "done")
                if frame.k != "d" or frame.clock is not None:
                    self._news.set()

    def _follow(self, lesson: dict[str, Any]) -> None:
        before = {number for number, one in enumerate(self.lesson.get("steps", ()), 1) if one["state"] == REACHED}
        now = {number for number, one in enumerate(lesson["steps"], 1) if one["state"] == REACHED}
        if self.lesson:
            for number in sorted(now - before):
                self._reached(number)
        self.lesson = lesson

    async def ask(self, k: str, **fields: Any) -> bool:
        """Sends a frame that is answered; whether it was done."""
        id = f"l{next(self._ids)}"
        answered: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._waiting[id] = answered
        try:
            await self._connection.send(json.dumps({"k": k, "id": id, **fields}))
            async with patience(f"an answer of a lab to {k} {fields}"):
                return await answered
        finally:
            self._waiting.pop(id, None)

    async def until(self, holds: Callable[[], bool], seconds: float) -> bool:
        """Waits until it holds, at most `seconds`; returns whether it does."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while not holds():
                    self._news.clear()
                    await self._news.wait()
        return holds()

    async def play(self, rate: float) -> bool:
        """The time of the lab runs, at `rate` simulated seconds a second."""
        return await self.ask("time", op="play", value=rate)

    @property
    def step(self) -> dict[str, Any] | None:
        """The active step of the lesson; None after the last one, and without a lesson."""
        return next((one for one in self.lesson.get("steps", ()) if one["state"] == "active"), None)

    @property
    def is_playing(self) -> bool:
        return self.mode in PLAYING
