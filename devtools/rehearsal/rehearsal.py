"""The course of a rehearsal: a class is given, people join, work, are polled, and the figures are taken."""

import asyncio
import random
import re
import time
from collections.abc import Callable
from dataclasses import dataclass

from devtools.rehearsal.figures import Figures, ProcessUse
from devtools.rehearsal.looking import Looking
from devtools.rehearsal.people import Arrivals, Board, Leader, Learner, Observer, Participant, clock_ms
from devtools.rehearsal.visitor import Visitor

JOINING_AT_ONCE = 8
POLL_S = 20.0
PAUSE_S = 8.0
LATE_S = 0.01
"""Between two looks at how late this process is."""
SEED = 20261
_LINK = re.compile(r"/join/([A-Za-z0-9_-]{20,})/")


@dataclass(frozen=True)
class Plan:
    """`active`: learners whose labs play and who work quickly; the others take four times as long. `chapter`: slug of a
    lesson, or empty for an empty cluster. `analytics`: staff look at the charts of the class
    meanwhile.
    """

    learners: int = 40
    observers: int = 200
    minutes: float = 5.0
    active: int = 15
    chapter: str = ""
    faults: bool = False
    analytics: bool = False


class Rehearsal:
    """One class on a running server."""

    def __init__(self, address: str, pid: int, plan: Plan, say: Callable[[str], None]) -> None:
        """`address`: the one that signs the instructor in. `pid`: of the server."""
        self._sign_in = address
        self._server = re.sub(r"/sign-in/.*", "", address)
        self._pid, self._use, self._plan, self._say = pid, ProcessUse(pid), plan, say
        self.figures, self._arrivals = Figures(), Arrivals()
        self._chance = random.Random(SEED)
        self._staying: list[asyncio.Task[None]] = []
        self._learners: list[Learner] = []
        self._began_ms = clock_ms()

    async def run(self) -> Figures:
        """Gives the class and returns what was measured."""
        instructor = Visitor(self._server)
        await instructor.get(self._sign_in)
        title, self._began_ms = "Rehearsal", clock_ms()
        home = await instructor.post("/classes/", "/classes/new", title=title, chapter=self._plan.chapter)
        slug, link = home.url.rstrip("/").rpartition("/")[2], self._link(home.text)
        self._say(f"class {slug}: {self._server}/classes/{slug}/board/")
        board = Board(instructor, slug, "board", self.figures, self._arrivals)
        self._stay(board.stay())
        await board.ready.wait()
        try:
            await self._join(slug, link)
            self._stay(Leader(board, self.figures).lead())
            self._stay(self._measure_lateness())
            looking = Looking(instructor, slug, self._pid)
            if self._plan.analytics:
                self._stay(looking.stay())
            looks = self._staying[-1]
            await self._teach(board)
            acts = list(self.figures.acts)
            await self._once(board)
            # What is done once has figures of its own.
            self.figures.acts = acts
            if self._plan.analytics and looks.done():
                # It does not end by itself: what was in its way is why.
                looks.result()
            self.figures.learned = looking.delays(self.figures.learned_at_ms)
            self.figures.rounds, self.figures.rounds_share = len(looking.shown), looking.core_share()
            await instructor.post(f"/classes/{slug}/", f"/classes/{slug}/end", confirm="yes")
        finally:
            for task in self._staying:
                task.cancel()
            await asyncio.gather(*self._staying, return_exceptions=True)
        return self.figures

    async def _join(self, slug: str, link: str) -> None:
        plan, few = self._plan, asyncio.Semaphore(JOINING_AT_ONCE)

        async def come(kind: type[Participant], name: str) -> Participant:
            async with few:
                began_ms = clock_ms()
                visitor = Visitor(self._server)
                await visitor.post(f"/join/{link}/", f"/join/{link}/", name=name, consent="number")
                participant = kind(visitor, slug, "lab", self.figures, self._arrivals)
                self._stay(participant.stay())
                await participant.ready.wait()
                self.figures.joins.append(clock_ms() - began_ms)
                return participant

        everybody: list[tuple[type[Participant], str]] = [
            (Learner, f"Learner {n}") for n in range(1, plan.learners + 1)
        ]
        everybody += [(Observer, f"Observer {n}") for n in range(1, plan.observers + 1)]
        first = await come(*everybody.pop(0))
        if isinstance(first, Learner):
            await first.arrive()
            self.figures.first_lab = clock_ms() - self._began_ms
        joined = [first, *await asyncio.gather(*(come(kind, name) for kind, name in everybody))]
        self._say(f"{len(joined)} joined")
        self._learners = [one for one in joined if isinstance(one, Learner)]
        for number, participant in enumerate(self._learners):
            pause_s = PAUSE_S if number < plan.active else 4 * PAUSE_S
            learns = bool(plan.chapter)
            self._stay(participant.work(random.Random(SEED + number), pause_s, number < plan.active, learns=learns))

    async def _teach(self, board: Board) -> None:
        """Polls while the class works; figures of the server count from here."""
        began_s, cpu_s = time.monotonic(), self._use.cpu_s()
        # What came while people joined is not of the class.
        self.figures.behind.clear()
        poll = 0
        while time.monotonic() - began_s < self._plan.minutes * 60:
            await asyncio.sleep(min(POLL_S, self._plan.minutes * 60))
            if poll:
                for op in ("close_poll", "show_split", "end_poll"):
                    await board.act(op, poll=poll)
            poll += 1
            choices = ["it stays", "it rises by one", "it falls"]
            await board.act("make_poll", form="choice", text=f"Question {poll}", lang="en", choices=choices, right="1")
            await board.act("open_poll", poll=poll)
            if self._plan.faults:
                await self._fault()
        self.figures.wall_s = time.monotonic() - began_s
        self.figures.cpu_s = self._use.cpu_s() - cpu_s
        self.figures.rss_mb = self._use.rss_mb()

    async def _once(self, board: Board) -> None:
        """What happens to all labs, or to one, once in a class: a pause, a look, a state that is given."""
        figures, learners = self.figures, self._learners
        began_ms = clock_ms()
        await board.act("pause_all")
        await self._until(lambda: not any(one.mode in ("play", "event_paced") for one in learners))
        figures.paused = clock_ms() - began_ms
        await board.act("resume_all")
        if not learners:
            return
        began_ms = clock_ms()
        await board.act("look", p=learners[0].p)
        await self._until(lambda: bool(learners[0].sections["/mine"]["looked_by"]))
        figures.looked = clock_ms() - began_ms
        began_ms = clock_ms()
        if await board.act("give_state"):
            await self._until(lambda: bool(board.handouts()))
            newest = max(board.handouts())
            figures.given = max(await asyncio.gather(*(one.take(newest) for one in learners))) - began_ms
            began_ms = clock_ms()
            woken = await asyncio.gather(*(one.wake() for one in learners))
            figures.woken = min(woken) - began_ms, max(woken) - began_ms

    @staticmethod
    async def _until(holds: Callable[[], bool]) -> None:
        while not holds():
            await asyncio.sleep(LATE_S)

    async def _measure_lateness(self) -> None:
        while True:
            due_ms = clock_ms() + 1000 * LATE_S
            await asyncio.sleep(LATE_S)
            self.figures.late.append(clock_ms() - due_ms)

    async def _fault(self) -> None:
        """Sends invalid frames to the socket of a class, from a browser that has not joined one."""
        async with Visitor(self._server).socket("/ws/classes/nosuch/") as connection:
            for _ in range(self._chance.randrange(5, 20)):
                await connection.send("{" * 100)

    def _stay(self, staying: object) -> None:
        self._staying.append(asyncio.ensure_future(staying))  # type: ignore[call-overload]

    @staticmethod
    def _link(text: str) -> str:
        found = _LINK.search(text)
        assert found is not None, "the page of the class shows no link"
        return found[1]
