"""The scripted participants: each joins through the door, keeps a socket of the class, and acts at its own speed."""

import asyncio
import contextlib
import itertools
import json
import random
import re
import time
from collections.abc import Callable, Iterator
from typing import Any

from websockets.exceptions import ConnectionClosed, InvalidHandshake

from devtools.rehearsal.acknowledging import acknowledging, lab_frame
from devtools.rehearsal.figures import Figures
from devtools.rehearsal.looking import wall_ms
from devtools.rehearsal.patience import patience
from devtools.rehearsal.visitor import ClientConnection, Refused, Visitor

LOST = (ConnectionClosed, InvalidHandshake, OSError, TimeoutError)
"""How a socket ends, or does not begin, by itself: a page opens it again."""
REPEATED = 3
"""Of the lines that a learner types, the last ones are repeated."""
OWN_PARTITION = "rehearsal-0"
"""What learners write to in a class without a lesson."""
_HANDOUT = re.compile(r"/handouts/\d+")
LOOK_S = 2.0
SOON_S = 0.02
LEARNS = 0.3
"""How often a learner does something in the lesson, too, of the times that they do something in the lab."""
HINTS = 0.4


CLASS_HELLO = json.dumps({"k": "hello", "v": 1, "schema": "", "have": 0, "boot": "", "place": "lab"})
LAB_HELLO = json.dumps({"k": "hello", "v": 1, "schema": "", "have": 0, "boot": ""})


class Arrivals:
    """When the first socket got an event, by its seq, in milliseconds of this process's clock."""

    def __init__(self) -> None:
        self._first_ms: dict[int, float] = {}
        self.acts_ms: dict[str, float] = {}
        self.behind: dict[int, list[float]] = {}
        """By event, how much later it came to each observer."""

    def later_ms(self, seq: int) -> float:
        """Notes that an event is here; how much later than at the first."""
        now_ms = clock_ms()
        return now_ms - self._first_ms.setdefault(seq, now_ms)


def clock_ms() -> float:
    return time.perf_counter() * 1000


class Participant:
    """One page of the class: reads all frames, answers as the real page does."""

    def __init__(self, visitor: Visitor, slug: str, place: str, figures: Figures, arrivals: Arrivals) -> None:
        self.visitor, self.slug, self.place = visitor, slug, place
        self.figures, self.arrivals = figures, arrivals
        self.sections: dict[str, Any] = {}
        self.ready = asyncio.Event()
        self.p = ""
        """The number of the participant, once the server has sent it."""
        self.frames = 0
        self._ids = itertools.count(1)
        self._answers: dict[str, asyncio.Future[dict[str, Any]]] = {}
        self._unanswered: dict[str, dict[str, Any]] = {}
        self._connection: ClientConnection | None = None
        self._name = f"{id(self):x}"

    async def stay(self) -> None:
        """Reads until it is cancelled; a socket that ends by itself is opened again."""
        while True:
            with contextlib.suppress(*LOST):
                async with self.visitor.socket(f"/ws/classes/{self.slug}/") as connection:
                    self._connection = connection
                    await connection.send(CLASS_HELLO.replace('"lab"', f'"{self.place}"'))
                    for unanswered in list(self._unanswered.values()):
                        await self.send(unanswered)
                    async for text in connection:
                        await self._take(json.loads(text))
            self.figures.lost += 1
            await asyncio.sleep(random.random())

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
    """The instructor's page."""

    def handouts(self) -> list[int]:
        """The numbers of the states that were given."""
        return [
            int(pointer.split("/")[2]) for pointer, given in self.sections.items() if _HANDOUT.match(pointer) and given
        ]

    def happened(self, event: list[Any]) -> None:
        super().happened(event)
        sent_ms = self.arrivals.acts_ms.pop(event[3], None)
        if sent_ms is not None:
            self.figures.acts.append(clock_ms() - sent_ms)


class Leader:
    """The page of the lab that leads, at 200 records a second."""

    LINES = (
        "kafka-topics.sh --create --topic led --partitions 3 --replication-factor 3",
        "producer open p1 --acks all",
        "producer stream p1 led 200",
    )

    def __init__(self, board: Board, figures: Figures) -> None:
        self._board, self._figures = board, figures
        self._lines = [json.dumps({"k": "do", "id": f"led{n}", "line": line}) for n, line in enumerate(self.LINES)]
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
                    acks.has(frame.last_seq())
                    if frame.command:
                        self._given = f'["CommandCompleted",{frame.command},'
                    if self._given and self._given in text:
                        self._given = ""
                        await self._give_line(connection)

    async def _give_line(self, connection: ClientConnection) -> None:
        """Each line after the one before it has completed: else the producer creates the topic, with one replica."""
        if self._lines:
            await connection.send(self._lines.pop(0))


class Observer(Participant):
    """Only looks: at the class, and at the lab that leads."""

    def happened(self, event: list[Any]) -> None:
        later_ms = self.arrivals.later_ms(event[0])
        self.arrivals.behind.setdefault(event[0], []).append(later_ms)
        self.figures.behind.append(later_ms)

    async def follow(self) -> None:
        """Until it is cancelled: shows the lab that leads."""
        while True:
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
                async for text in connection:
                    if seq := lab_frame.decode(text).last_seq():
                        acks.has(seq)
                        self.figures.followed += 1


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


def lines_of(partition: str) -> tuple[str, ...]:
    """What a learner types: records go to the partition that the wall shows."""
    topic = partition.rpartition("-")[0]
    return (
        f"kafka-topics.sh --create --if-not-exists --topic {topic} --partitions 1 --replication-factor 3",
        "producer open p1 --acks all",
        f"producer send p1 {partition} a:1",
        f"producer send p1 {partition} b:2",
        f"kafka-topics.sh --describe --topic {topic}",
    )


class Learner(Participant):
    """Works in a lab of their own, raises a hand now and then, asks, votes."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._lesson: dict[str, Any] = {}
        self.mode = ""
        """Of the time of the learner's lab, as last reported to its page."""
        self._taken = ""

    async def work(self, chance: random.Random, pause_s: float, plays: bool, *, partition: str = "") -> None:
        """Until it is cancelled. `pause_s`: the usual time between two things that they do. `plays`: the lab plays.
        `partition`: that of the lesson of the class, at which they also work; empty without a lesson.
        """
        await self.ready.wait()
        lab = await self.own_lab()
        typed = lines_of(partition or OWN_PARTITION)
        lines = itertools.chain(typed, itertools.cycle(typed[-REPEATED:]))
        while True:
            with contextlib.suppress(*LOST):
                await self._work_in(lab, lines, chance, pause_s, plays, bool(partition))
            self.figures.lost += 1
            await asyncio.sleep(LOOK_S)

    async def _work_in(
        self, lab: str, lines: Iterator[str], chance: random.Random, pause_s: float, plays: bool, learns: bool
    ) -> None:
        async with self.visitor.socket(f"/ws/runs/{lab}/") as connection:
            await connection.send(LAB_HELLO)
            reading = asyncio.create_task(self._acknowledge(connection))
            try:
                if plays:
                    await connection.send(json.dumps({"k": "time", "id": "play", "op": "play"}))
                for number in itertools.count(1):
                    await asyncio.sleep(chance.uniform(0.5, 1.5) * pause_s)
                    await connection.send(json.dumps({"k": "do", "id": f"l{number}", "line": next(lines)}))
                    self.figures.commands += 1
                    if learns and chance.random() < LEARNS and (act := self._next_act(chance)) is not None:
                        await connection.send(json.dumps({"k": "exercise", "id": f"x{number}", **act}))
                    await self._say_something(chance, lab)
            finally:
                reading.cancel()
                self.mode = ""

    async def take(self, handout: int) -> float:
        """Takes a state that was given; returns when the page of the new lab shows it, by `clock_ms`. The lab wakes as
        soon as `wake` is called.
        """
        if not await self.act("take_state", handout=handout):
            raise Refused(f"{self.p} was refused a state that was given.")
        while not (lab := (self.sections["/mine"]["taken"] or {}).get(str(handout), "")):
            await asyncio.sleep(SOON_S)
        self._taken = lab
        await self._read_until(lab, lambda frame: frame["k"] == "snap")
        return clock_ms()

    async def wake(self) -> float:
        """Acts in the lab of the state that was taken; returns when the act is done, by `clock_ms`."""
        line = json.dumps({"k": "do", "id": "woken", "line": "kafka-topics.sh --list"})
        await self._read_until(self._taken, lambda frame: frame.get("id") == "woken", line)
        return clock_ms()

    async def arrive(self) -> None:
        """Returns when the page of the learner's lab shows its brokers."""
        lab = await self.own_lab()
        await self._read_until(lab, lambda frame: frame["k"] == "snap" and "b3" in frame["state"]["nodes"])

    async def _read_until(self, lab: str, is_wanted: Callable[[dict[str, Any]], bool], *sent: str) -> None:
        """Shows a lab until the wanted frame is there."""
        async with self.visitor.socket(f"/ws/runs/{lab}/") as connection:
            for frame in (LAB_HELLO, *sent):
                await connection.send(frame)
            async for text in connection:
                if is_wanted(json.loads(text)):
                    return
        raise Refused(f"The lab {lab} closed the page of {self.p}.")

    async def _acknowledge(self, connection: ClientConnection) -> None:
        """Reads a lab's frames as its page does."""
        async with acknowledging(connection) as acks:
            async for text in connection:
                frame = lab_frame.decode(text)
                self.mode = (frame.mode if frame.clock is None else frame.clock.mode) or self.mode
                acks.has(frame.last_seq())
                if frame.k == "exercise":
                    self._lesson = json.loads(text)
                elif frame.k == "done" and frame.id is not None and frame.id.startswith("x"):
                    self.figures.learned_at_ms.append(wall_ms())

    def _next_act(self, chance: random.Random) -> dict[str, Any] | None:
        """What to do in the lesson: a prediction or a hint, or on without the step; None after the last one."""
        step = next((one for one in self._lesson.get("steps", ()) if one["state"] == "active"), None)
        if step is None:
            return None
        if step["kind"] == "prediction" and not step["given"]:
            return {
                "op": "predict",
                "step": step["id"],
                "choice": chance.choice(step["choices"])["value"],
                "confidence": 0.7,
            }
        if len(self._lesson["hints"]) < self._lesson["hints_in_all"] and chance.random() < HINTS:
            return {"op": "hint"}
        return {"op": "skip", "step": step["id"]}

    async def own_lab(self) -> str:
        """The address of the learner's lab, once it has been made."""
        while not (lab := (self.sections.get("/mine") or {}).get("lab", "")):
            await asyncio.sleep(SOON_S)
        return str(lab)

    async def _say_something(self, chance: random.Random, lab: str) -> None:
        mine = self.sections.get("/mine") or {}
        at = {"lab": lab, "seq": 1, "at_us": 0}
        match chance.randrange(6):
            case 0 | 1 if mine.get("hand_us"):
                await self.act("lower_hand")
            case 0 | 1:
                await self.act("raise_hand", at=at)
            case 2 if not mine.get("asked"):
                await self.act("ask", text="Why does the high watermark wait?", lang="en", at=at)
            case _:
                for pointer, poll in list(self.sections.items()):
                    if pointer.startswith("/polls/") and poll and poll["phase"] == "open":
                        answer = str(chance.randrange(max(1, len(poll["choices"]))))
                        await self.act("vote", poll=int(pointer.split("/")[2]), answer=answer, sure=60)
