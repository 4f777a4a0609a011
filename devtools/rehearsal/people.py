"""The scripted participants: each joins through the door, and keeps a socket of the class."""

import asyncio
import contextlib
import itertools
import json
import random
import re
import time
from collections import deque
from typing import Any

from websockets.exceptions import ConnectionClosed, InvalidHandshake

from devtools.rehearsal.acknowledging import acknowledging, lab_frame
from devtools.rehearsal.figures import Figures
from devtools.rehearsal.lab_page import LAB_HELLO
from devtools.rehearsal.patience import patience
from devtools.rehearsal.visitor import ClientConnection, Visitor
from lab.exercises.lesson import Exercise
from lab.protocol.frames import CLOSE_NOT_FOUND, CLOSE_NOT_SIGNED_IN, CLOSE_RIGHT_ENDED, CLOSE_TOO_MUCH

LOST = (ConnectionClosed, InvalidHandshake, OSError, TimeoutError)
"""How a socket ends, or does not begin, by itself: a page opens it again."""
FINAL = (CLOSE_NOT_SIGNED_IN, CLOSE_RIGHT_ENDED, CLOSE_NOT_FOUND)
"""Codes with which a socket ends for good."""
HOLD_OFF_S = 30.0
"""How long a page that was closed for a flood waits (static/lab/core/socket.js)."""
_HANDOUT, _POLL = re.compile(r"/handouts/\d+"), re.compile(r"/polls/\d+")
TRACED = 5_000
LOOK_S = 2.0
SOON_S = 0.02

CLASS_HELLO = json.dumps({"k": "hello", "v": 1, "schema": "", "have": 0, "boot": "", "place": "lab"})


class Arrivals:
    """When things were done, and when they first came to a socket, in milliseconds of this process's clock.

    Attributes:
        acts_ms: when acts of the class were sent, by their id.
        votes_ms: when votes were sent, by the pointer of the poll and the participant.
        work_ms: when a learner did something in the lesson, by the kind of its event, participant and step.
        behind: by event, how much later it came to each observer than to the first socket.
    """

    def __init__(self) -> None:
        self._first_ms: dict[int, float] = {}
        self._reached_ms: dict[tuple[str, int], float] = {}
        self.acts_ms: dict[str, float] = {}
        self.votes_ms: dict[tuple[str, str], float] = {}
        self.work_ms: dict[tuple[str, str, int], float] = {}
        self.behind: dict[int, dict[str, float]] = {}

    def later_ms(self, seq: int) -> float:
        """Notes that an event is here; how much later than at the first."""
        now_ms = clock_ms()
        return now_ms - self._first_ms.setdefault(seq, now_ms)

    def reached(self, p: str, step: int) -> float | None:
        """Notes that a page shows a step as done: that of its learner, or the board. Returns how much later than the
        other one, once both do.
        """
        before_ms = self._reached_ms.pop((p, step), None)
        if before_ms is None:
            self._reached_ms[p, step] = clock_ms()
            return None
        return clock_ms() - before_ms


def clock_ms() -> float:
    return time.perf_counter() * 1000


class Participant:
    """One page of the class: reads all frames, answers as the real page does."""

    def __init__(self, visitor: Visitor, slug: str, place: str, figures: Figures, arrivals: Arrivals) -> None:
        self.visitor, self.slug, self.place = visitor, slug, place
        self.figures, self.arrivals = figures, arrivals
        self.sections: dict[str, Any] = {}
        self.ready = asyncio.Event()
        self.is_here = asyncio.Event()
        self.is_here.set()
        self.p = ""
        """The number of the participant, once the server has sent it."""
        self.code = 0
        """With which the last socket ended."""
        self.frames = 0
        self.is_deflated = False
        self._ids = itertools.count(1)
        self._answers: dict[str, asyncio.Future[dict[str, Any]]] = {}
        self._unanswered: dict[str, dict[str, Any]] = {}
        self._connection: ClientConnection | None = None
        self._name = f"{id(self):x}"

    async def stay(self) -> None:
        """Reads until it is cancelled, or removed from the class; a socket that ends by itself is opened again."""
        while True:
            await self.is_here.wait()
            self.code = 0
            with contextlib.suppress(*LOST):
                async with self.visitor.socket(f"/ws/classes/{self.slug}/") as connection:
                    try:
                        await self._read(connection)
                    finally:
                        self._connection, self.code = None, connection.close_code or 0
            if self.code in FINAL:
                return
            if self.is_here.is_set():
                self.figures.lost += 1
                await asyncio.sleep(HOLD_OFF_S if self.code == CLOSE_TOO_MUCH else random.random())

    async def _read(self, connection: ClientConnection) -> None:
        self._connection, self.is_deflated = connection, bool(connection.protocol.extensions)
        await connection.send(CLASS_HELLO.replace('"lab"', f'"{self.place}"'))
        for unanswered in list(self._unanswered.values()):
            await self.send(unanswered)
        async for text in connection:
            await self._take(json.loads(text))

    async def leave(self) -> None:
        """Closes the page, until `come_back`."""
        self.is_here.clear()
        self.ready.clear()
        if self._connection is not None:
            await self._connection.close()

    async def come_back(self) -> float:
        """Opens the page again; returns when it shows the class, by `clock_ms`."""
        self.is_here.set()
        async with patience(f"the class of {self.p}, who has come back"):
            await self.ready.wait()
        return clock_ms()

    def lose_network(self) -> None:
        """The socket ends without a word."""
        self.ready.clear()
        if self._connection is not None:
            self._connection.transport.abort()

    async def act(self, op: str, **fields: Any) -> bool:
        """Does something; whether it was done."""
        id = f"{self._name}-{next(self._ids)}"
        waiting = self._answers[id] = asyncio.get_running_loop().create_future()
        self.arrivals.acts_ms[id] = clock_ms()
        frame = self._unanswered[id] = {"k": "act", "id": id, "do": {"op": op, **fields}}
        await self.send(frame)
        try:
            async with patience(f"an answer to {op} of {self.p}"):
                answer = await waiting
        finally:
            del self._answers[id], self._unanswered[id]
        is_done: bool = answer["k"] != "no"
        self.figures.refused += not is_done
        return is_done

    async def send(self, frame: dict[str, Any]) -> None:
        """Sends a frame, if there is a socket."""
        if self._connection is not None:
            with contextlib.suppress(ConnectionClosed):
                await self._connection.send(json.dumps(frame))

    async def _take(self, frame: dict[str, Any]) -> None:
        self.frames += 1
        waiting = self._answers.get(frame.get("id") or "")
        if waiting is not None and not waiting.done():
            waiting.set_result(frame)
        if frame["k"] == "welcome":
            self.p = frame["you"]["p"]
        if frame["k"] in ("snap", "e"):
            for pointer, *value in frame["patch"]:
                self.sections[pointer] = value[0] if value else None
            for event in frame.get("ev", ()):
                self.happened(event)
            await self.send({"k": "ack", "upto": frame["upto"]})
            self.ready.set()

    def happened(self, event: list[Any]) -> None:
        """An event of the class: `[seq, at_us, who, act, [kind, ...]]`."""
        self.arrivals.later_ms(event[0])


class Board(Participant):
    """The instructor's page. `shed`: how far the server reduces its work, as last reported. It is noted as a figure
    while `is_measured`.
    """

    shed = 0
    is_measured = True

    def handouts(self) -> list[int]:
        """The numbers of the states that were given."""
        return [
            int(pointer.split("/")[2]) for pointer, given in self.sections.items() if _HANDOUT.match(pointer) and given
        ]

    def happened(self, event: list[Any]) -> None:
        super().happened(event)
        now_ms = clock_ms()
        sent_ms = self.arrivals.acts_ms.pop(event[3], None)
        if sent_ms is not None:
            self.figures.acts.append(now_ms - sent_ms)
        if event[4][0] in ("StepReached", "HintTaken", "Predicted"):
            kind, p, step = event[4][:3]
            if (sent_ms := self.arrivals.work_ms.pop((kind, p, step), None)) is not None:
                self.figures.steps.append(now_ms - sent_ms)
            if kind == "StepReached" and (late_ms := self.arrivals.reached(p, step)) is not None:
                self.figures.reached.append(late_ms)

    async def _take(self, frame: dict[str, Any]) -> None:
        await super()._take(frame)
        if frame["k"] == "shed":
            self.shed = frame["step"]
            if self.is_measured:
                self.figures.shed = max(self.figures.shed, self.shed)
        for pointer, *value in frame.get("patch", ()):
            if _POLL.fullmatch(pointer) and value and value[0]:
                self._count_votes(pointer, value[0].get("voted", ()))

    def _count_votes(self, poll: str, voted: list[str]) -> None:
        for p in voted:
            if (sent_ms := self.arrivals.votes_ms.pop((poll, p), None)) is not None:
                self.figures.votes.append(clock_ms() - sent_ms)

    def person(self, p: str) -> dict[str, Any]:
        """What the board shows of a participant; empty for one who was removed."""
        return self.sections.get(f"/people/{p}") or {}


class Leader:
    """The page of the lab that leads, at 200 records a second."""

    LINES = (
        "kafka-topics.sh --create --topic led --partitions 3 --replication-factor 3",
        "producer open led --acks all",
        "producer stream led led 200",
    )

    def __init__(self, board: Board, figures: Figures, lesson: Exercise | None) -> None:
        """`lesson`: with whose cluster the lab begins. Fetches that its set-up holds are released."""
        self._board, self._figures = board, figures
        held = [line for line in lesson.setup if line.startswith("hold fetch ")] if lesson is not None else []
        lines = [*(line.replace("hold", "release", 1) for line in held), *self.LINES]
        self._lines = [json.dumps({"k": "do", "id": f"led{n}", "line": line}) for n, line in enumerate(lines)]
        self.trace: deque[tuple[int, float]] = deque(maxlen=TRACED)
        """The last events of the newest frames, and when they were sent, in milliseconds since 1970."""
        self._given = ""
        """The event that completes the last line that was given, as a part of its frame."""

    async def lead(self) -> None:
        """Until it is cancelled: takes the lead, plays, and notes how late each frame of the lab comes."""
        while not (lab := (self._board.sections.get("/mine") or {}).get("lab", "")):
            await asyncio.sleep(LOOK_S)
        await self._board.act("take_lead", lab=lab)
        while True:
            with contextlib.suppress(*LOST):
                await self._show(lab)
            self._figures.lost += 1
            await asyncio.sleep(LOOK_S)

    async def _show(self, lab: str) -> None:
        async with self._board.visitor.socket(f"/ws/runs/{lab}/") as connection:
            await connection.send(LAB_HELLO)
            await connection.send(json.dumps({"k": "time", "id": "rate", "op": "rate", "value": 1}))
            await connection.send(json.dumps({"k": "time", "id": "play", "op": "play"}))
            await self._give_line(connection)
            async with acknowledging(connection) as acks:
                async for text in connection:
                    frame = lab_frame.decode(text)
                    if frame.k == "d":
                        self._figures.leader.append(time.time() * 1000 - frame.sent_ms)
                        self.trace.append((frame.last_seq(), frame.sent_ms))
                    acks.has(frame.last_seq())
                    if frame.command:
                        self._given = f'["CommandCompleted",{frame.command},'
                    if self._given and self._given in text:
                        self._given = ""
                        await self._give_line(connection)

    def behind_ms(self, seq: int) -> float:
        """How far a page is behind that has all events up to `seq`: since when there is a later one."""
        later = next((sent_ms for last, sent_ms in self.trace if last > seq), None)
        return 0.0 if later is None else time.time() * 1000 - later

    async def _give_line(self, connection: ClientConnection) -> None:
        """Each line after the one before it has completed: else the producer creates the topic, with one replica."""
        if self._lines:
            await connection.send(self._lines.pop(0))


class Observer(Participant):
    """Only looks: at the class, and at the lab that leads. `shows_lab`: whether a page shows it now."""

    shows_lab = False

    def happened(self, event: list[Any]) -> None:
        later_ms = self.arrivals.later_ms(event[0])
        self.arrivals.behind.setdefault(event[0], {})[self.p] = later_ms
        self.figures.behind.append(later_ms)

    async def follow(self) -> None:
        """Until it is cancelled, or removed from the class: shows the lab that leads."""
        while self.code not in FINAL:
            lead = self.sections.get("/lead")
            if lead is not None:
                with contextlib.suppress(*LOST):
                    await self._show(lead["lab"])
                self.figures.lost += 1
            await asyncio.sleep(LOOK_S)

    async def _show(self, lab: str) -> None:
        async with self.visitor.socket(f"/ws/runs/{lab}/") as connection:
            await connection.send(LAB_HELLO)
            async with acknowledging(connection) as acks:
                self.shows_lab = True
                try:
                    async for text in connection:
                        if seq := lab_frame.decode(text).last_seq():
                            acks.has(seq)
                            self.figures.followed += 1
                finally:
                    self.shows_lab = False


async def stall(visitor: Visitor, slug: str, lab: str, until: asyncio.Event) -> None:
    """A page that has stopped: the sockets of the class and of a lab are open until the event, and nothing is read."""
    addresses = {f"/ws/classes/{slug}/": CLASS_HELLO, f"/ws/runs/{lab}/": LAB_HELLO}
    async with contextlib.AsyncExitStack() as stack:
        for address, hello in addresses.items():
            connection = await stack.enter_async_context(visitor.socket(address))
            stack.callback(connection.transport.abort)
            await connection.send(hello)
            connection.transport.pause_reading()
        await until.wait()
