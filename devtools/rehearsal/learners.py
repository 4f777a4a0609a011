"""The scripted learners: each does the lesson in an own lab, at an own speed, and takes part in the class."""

import asyncio
import contextlib
import itertools
import json
import random
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from devtools.rehearsal.lab_page import LAB_HELLO, LabPage
from devtools.rehearsal.lesson import Acted, Doing
from devtools.rehearsal.looking import wall_ms
from devtools.rehearsal.people import FINAL, LOOK_S, LOST, SOON_S, Participant, clock_ms
from devtools.rehearsal.visitor import ClientConnection, Refused
from lab.exercises.lesson import Exercise

REPEATED = 3
"""The number of last lines that a learner who types without a lesson repeats."""
OWN_PARTITION = "rehearsal-0"
"""What learners write to in a class without a lesson."""
SAYS = 3
"""One of this number of things that a learner does is something in the class."""
VOTE_S = (0.5, 6.0)
"""How long after a poll opens a learner votes."""
TYPED_S = 2.0
"""How long a lab plays after lines were typed."""
GETS_STUCK_AFTER = 1
"""The number of steps that learners do before they get stuck."""


@dataclass(frozen=True)
class Manner:
    """How a learner works. `pause_s`: the usual time between two things that they do in the lesson, `later_s`: after
    it. `plays_on`: their lab plays then. `stuck`: how they get stuck. `leaves_s`: when they leave the class, and for
    how long; empty for one who stays.
    """

    pause_s: float
    later_s: float = 32.0
    plays_on: bool = False
    stuck: Literal["", "struggles", "idle"] = ""
    leaves_s: tuple[float, float] | tuple[()] = ()


def lines_of(partition: str) -> tuple[str, ...]:
    """What a learner types besides the lesson: records go to the partition that the wall shows."""
    topic = partition.rpartition("-")[0]
    return (
        f"kafka-topics.sh --create --if-not-exists --topic {topic} --partitions 1 --replication-factor 3",
        "producer open mine --acks all",
        f"producer send mine {partition} a:1",
        f"producer send mine {partition} b:2",
        f"kafka-topics.sh --describe --topic {topic}",
    )


class Learner(Participant):
    """Works in a lab of their own, raises a hand now and then, asks, votes."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.name = ""
        self.manner = Manner(8.0)
        self.chance = random.Random(0)
        self.page: LabPage | None = None
        """The page of the lab, while it is open."""
        self.lab_seq = 0
        """The last event of the lab that a page of theirs has had."""
        self.has_done_lesson = asyncio.Event()
        self._stops_lesson = asyncio.Event()
        self._voted: set[str] = set()
        self._voting: set[asyncio.Task[None]] = set()
        self._taken = ""
        self._lab_socket: ClientConnection | None = None

    @property
    def mode(self) -> str:
        """The mode of the lab's time, as last reported to its page; empty without one."""
        return self.page.mode if self.page is not None else ""

    # The lab

    async def work(self, lesson: Exercise | None) -> None:
        """Until it is cancelled, or removed from the class: does the lesson, and then types lines."""
        await self.ready.wait()
        lab = await self.own_lab()
        while True:
            await self.is_here.wait()
            with contextlib.suppress(*LOST):
                async with self.visitor.socket(f"/ws/runs/{lab}/") as connection:
                    self._lab_socket = connection
                    self.page = LabPage(connection, self._reached)
                    try:
                        await first_of(self.page.read(), self._work_in(self.page, lesson, lab))
                    finally:
                        self.lab_seq = max(self.lab_seq, self.page.seq)
                        self.page = self._lab_socket = None
            if self.code in FINAL:
                return
            if self.is_here.is_set():
                self.figures.lost += 1
                await asyncio.sleep(LOOK_S)

    async def _work_in(self, page: LabPage, lesson: Exercise | None, lab: str) -> None:
        if lesson is not None and not self._stops_lesson.is_set():
            await first_of(self._learn(page, lesson, lab), self._stops_lesson.wait())
        self.has_done_lesson.set()
        typed = lines_of(lesson.partition if lesson is not None else OWN_PARTITION)
        lines = itertools.chain(typed, itertools.cycle(typed[-REPEATED:]))
        if self.manner.plays_on:
            await page.play(1.0)
        while True:
            await self._rest(lab)
            await page.ask("do", line=next(lines))
            self.figures.commands += 1

    async def _learn(self, page: LabPage, lesson: Exercise, lab: str) -> None:
        # A page that acts in its own lab does not follow the presenter any more.
        await self.act("detach")
        # The engine wakes with the first act, which is not to count as a delay of the class.
        await page.ask("time", op="rate", value=1.0)
        doing = Doing(page, lesson, self.read_lab, lambda: self._rest(lab), self.chance, self._noted, self._dropped)
        await doing.do(GETS_STUCK_AFTER if self.manner.stuck else 0)
        if self.manner.stuck == "struggles":
            while await doing.hint():
                await self._rest(lab)
            for number in itertools.count(1):
                await self._rest(lab)
                await page.ask("do", line=f"producer send missing-{number} {lesson.partition} a:1")
        elif self.manner.stuck:
            await asyncio.Event().wait()

    async def _rest(self, lab: str) -> None:
        """The time between two things; now and then they do something in the class as well."""
        pause_s = self.manner.later_s if self.has_done_lesson.is_set() else self.manner.pause_s
        await asyncio.sleep(self.chance.uniform(0.5, 1.5) * pause_s)
        if not self.manner.stuck and self.chance.randrange(SAYS) == 0:
            await self._say_something(lab)

    def _reached(self, step: int) -> None:
        if self.arrivals.reached(self.p, step) is not None:
            # The board had it before.
            self.figures.reached.append(0.0)

    def _noted(self, acted: Acted) -> None:
        self.figures.learned_at_ms.append(wall_ms())
        self.arrivals.work_ms[acted.kind, self.p, acted.step] = clock_ms()

    def _dropped(self, acted: Acted) -> None:
        self.arrivals.work_ms.pop((acted.kind, self.p, acted.step), None)

    async def play_on(self) -> None:
        """Leaves the lesson, if they are still in it, and plays on."""
        self._stops_lesson.set()
        if self.page is not None and not self.page.is_playing:
            await self.page.play(1.0)

    async def pause(self) -> None:
        """Pauses the time of the lab."""
        if self.page is not None:
            await self.page.ask("time", op="pause")

    async def leave(self) -> None:
        await super().leave()
        if self._lab_socket is not None:
            await self._lab_socket.close()

    def lose_network(self) -> None:
        super().lose_network()
        if self._lab_socket is not None:
            self._lab_socket.transport.abort()

    async def own_lab(self) -> str:
        """The address of the learner's lab, once it has been made."""
        while not (lab := (self.sections.get("/mine") or {}).get("lab", "")):
            await asyncio.sleep(SOON_S)
        return str(lab)

    async def arrive(self) -> None:
        """Returns when a page of the learner's lab shows its brokers."""
        snap = await self.read_lab()
        if "b3" not in snap["state"]["nodes"]:
            raise Refused(f"The lab of {self.p} has no third broker.")

    async def read_lab(self) -> dict[str, Any]:
        """The lab as it stands."""
        lab = await self.own_lab()
        return await self._read_until(lab, lambda frame: frame["k"] == "snap")

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

    async def type_lines(self, *lines: str) -> None:
        """Types lines on another page of the lab, and plays until all are done."""
        async with self.visitor.socket(f"/ws/runs/{await self.own_lab()}/") as connection:
            page = LabPage(connection)
            await first_of(page.read(), self._type(page, lines))

    @staticmethod
    async def _type(page: LabPage, lines: Sequence[str]) -> None:
        for line in lines:
            await page.ask("do", line=line)
        await page.play(1.0)
        await asyncio.sleep(TYPED_S)
        await page.ask("time", op="pause")

    async def _read_until(self, lab: str, is_wanted: Callable[[dict[str, Any]], bool], *sent: str) -> dict[str, Any]:
        """Shows a lab on another page until the wanted frame is there, and returns that."""
        async with self.visitor.socket(f"/ws/runs/{lab}/") as connection:
            for frame in (LAB_HELLO, *sent):
                await connection.send(frame)
            async for text in connection:
                self.frames += 1
                found: dict[str, Any] = json.loads(text)
                if is_wanted(found):
                    return found
        raise Refused(f"The lab {lab} closed the page of {self.p}.")

    # The class

    async def come_and_go(self) -> None:
        """Leaves the class once, as `manner` says, and comes back as the same participant to the same lab."""
        if not self.manner.leaves_s:
            return
        after_s, away_s = self.manner.leaves_s
        await asyncio.sleep(after_s)
        await self.return_from(lambda: self._be_away(away_s))

    async def _be_away(self, away_s: float) -> None:
        await self.leave()
        await asyncio.sleep(away_s)

    async def return_from(self, go: Callable[[], Awaitable[None]]) -> float:
        """Goes, comes back, and notes what was found then: a learner who finds another number, another lab or an
        earlier instant of it is counted as astray. Returns how long the way back took, in milliseconds.
        """
        before = self.p, self.sections["/mine"]["lab"]
        await go()
        seq = max(self.lab_seq, self.page.seq if self.page is not None else 0)
        began_ms = clock_ms()
        took_ms = await self.come_back() - began_ms
        found = await self.read_lab()
        self.figures.returned.append(took_ms)
        if (self.p, self.sections["/mine"]["lab"]) != before or found["seq"] < seq:
            self.figures.astray += 1
        return took_ms

    async def _take(self, frame: dict[str, Any]) -> None:
        await super()._take(frame)
        for pointer, *value in frame.get("patch", ()):
            if pointer.startswith("/polls/") and value and value[0] and value[0]["phase"] == "open":
                named = f"{pointer} {value[0]['round']}"
                if named not in self._voted and self.manner.stuck != "idle":
                    self._voted.add(named)
                    voting = asyncio.create_task(self._vote(pointer, len(value[0]["choices"])))
                    self._voting.add(voting)
                    voting.add_done_callback(self._voting.discard)

    async def _vote(self, pointer: str, choices: int) -> None:
        await asyncio.sleep(self.chance.uniform(*VOTE_S))
        poll = self.sections.get(pointer) or {}
        if poll.get("phase") == "open" and self.is_here.is_set():
            answer = str(self.chance.randrange(max(1, choices)))
            self.arrivals.votes_ms[pointer, self.p] = clock_ms()
            await self.act("vote", poll=int(pointer.split("/")[2]), answer=answer, sure=60)

    async def _say_something(self, lab: str) -> None:
        mine = self.sections.get("/mine") or {}
        at = {"lab": lab, "seq": 1, "at_us": 0}
        if mine.get("hand_us"):
            await self.act("lower_hand")
        elif not mine.get("asked") and self.chance.random() < 0.2:
            await self.act("ask", text="Why does the high watermark wait?", lang="en", at=at)
        else:
            await self.act("raise_hand", at=at)


async def first_of(*jobs: Coroutine[Any, Any, Any]) -> None:
    """Runs jobs until one of them ends, and cancels the others. Raises what that one raised."""
    tasks = [asyncio.create_task(job) for job in jobs]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
