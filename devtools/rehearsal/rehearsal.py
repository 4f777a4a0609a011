"""The course of a rehearsal: a class is started, people join, work, are polled, and the figures are taken."""

import asyncio
import random
import re
import time
from collections.abc import Callable, Coroutine, Iterator
from dataclasses import dataclass
from typing import Any

from devtools.processes import ProcessUse
from devtools.rehearsal.collector import collector_off
from devtools.rehearsal.door import join, start_class
from devtools.rehearsal.faults import Faults
from devtools.rehearsal.figures import Figures
from devtools.rehearsal.learners import Learner
from devtools.rehearsal.looking import Looking
from devtools.rehearsal.manners import people_of, work_lines
from devtools.rehearsal.once import give_state, look, pause_all
from devtools.rehearsal.patience import patience
from devtools.rehearsal.people import Arrivals, Board, Leader, Observer, Participant, clock_ms, stall
from devtools.rehearsal.spells import AGAIN, FREE, Disturbance, Spells, in_turns, worst_observer
from devtools.rehearsal.taught import OwnServer, Taught, until
from devtools.rehearsal.visitor import Refused, Visitor, allow_requests
from lab.actions.classes.lessons.start import lesson_of

JOINING_AT_ONCE = 8
POLL_EVERY_S, POLL_OPEN_S = 20.0, 8.0
LATE_S = 0.01
"""Between two looks at how late this process is."""
SEED = 20261
ROLE_S = 0.11
"""Between two roles that are given: staff may do ten things a second."""
LOOK_S = 1.0
WORK = ("acts", "votes", "steps", "reached", "behind", "leader", "late")
"""The figures of a class at work, without those who join and without what is done to it afterwards."""
LESSON_S = 400.0
"""How long a quick learner may take for a lesson, on a busy machine."""
CHAPTER = "replicate"
"""The slug of what a rehearsed class is about."""


@dataclass(frozen=True)
class Plan:
    """`active`: learners who are quick, and whose labs play when they have done the lesson. `stuck`: learners who do
    not get beyond its first step, `leaving`: those who leave the class and come back. `chapter`: slug of a chapter of
    the course or of a lesson, or empty for an empty cluster. `following`: observers whose pages also show the leading
    lab. `analytics`: staff look at the charts of the class meanwhile. `waits`: the figures are taken when all active
    learners have done the lesson.
    """

    learners: int = 40
    observers: int = 200
    minutes: float = 5.0
    active: int = 15
    stuck: int = 0
    leaving: int = 0
    chapter: str = CHAPTER
    following: int = 0
    faults: bool = False
    analytics: bool = False
    waits: bool = False


class Rehearsal:
    """One class on a running server."""

    def __init__(
        self, address: str, pid: int, plan: Plan, say: Callable[[str], None], own: OwnServer | None = None
    ) -> None:
        """`address`: the one that signs the instructor in. `pid`: of the server. `own`: its process, if it may be
        killed.
        """
        self._sign_in = address
        self._server = re.sub(r"/sign-in/.*", "", address)
        self._pid, self._use, self._plan, self._say = pid, ProcessUse(pid), plan, say
        self._own = own
        self.figures, self._arrivals = Figures(), Arrivals()
        self._staying: list[asyncio.Task[Any]] = []
        self._is_broken = False
        """Whether the server may be killed by the rehearsal itself."""
        self._lesson = lesson_of(plan.chapter)
        self._given_roles = asyncio.Lock()
        self._began_ms = clock_ms()

    async def run(self) -> Figures:
        """Teaches the class and returns what was measured. Raises Refused, also if a participant cannot continue, or
        the server has ended.
        """
        allow_requests()
        try:
            with collector_off():
                async with asyncio.TaskGroup() as self._tasks:
                    self._stay(self._watch_server())
                    await self._teach_class()
                    for task in self._staying:
                        task.cancel()
        except BaseExceptionGroup as failed:
            raise _cause_of(failed) from failed
        return self.figures

    async def _teach_class(self) -> None:
        plan, figures = self._plan, self.figures
        instructor = Visitor(self._server)
        await instructor.get(self._sign_in)
        self._began_ms = clock_ms()
        given = await start_class(instructor, "Rehearsal", plan.chapter)
        self._say(f"class {given.slug}: {self._server}/classes/{given.slug}/board/")
        board = Board(instructor, given.slug, "board", figures, self._arrivals)
        self._stay(board.stay())
        await self._ready(board)
        taught = Taught(self._server, given, board, figures, self._arrivals, self._say, self._lesson, self._own)
        await self._join(taught)
        taught.leader = Leader(board, figures, self._lesson)
        self._stay(taught.leader.lead())
        self._stay(self._measure_lateness())
        looking = Looking(instructor, given.slug, self._pid)
        if plan.analytics:
            self._stay(looking.stay())
        await self._begin_work(taught)
        await self._teach(board)
        kept = {name: list(getattr(figures, name)) for name in WORK}
        figures.work = list(work_lines(taught))
        faults = Faults(taught)
        await self._disturb(taught, faults)
        await pause_all(taught)
        await look(taught)
        await give_state(taught)
        if plan.faults:
            self._is_broken = True
            await faults.run()
        # What is done once has figures of its own.
        for name, values in kept.items():
            setattr(figures, name, values)
        figures.learned = looking.delays(figures.learned_at_ms)
        figures.rounds, figures.rounds_share = len(looking.shown), looking.core_share()
        await instructor.post(f"/classes/{given.slug}/", f"/classes/{given.slug}/end", confirm="yes")

    async def _join(self, taught: Taught) -> None:
        plan, given, few = self._plan, taught.given, asyncio.Semaphore(JOINING_AT_ONCE)
        people = list(people_of(plan.learners, plan.active, plan.stuck, plan.leaving, plan.minutes * 60))
        learners = [name for name, _ in people]
        observers = [f"Observer {n}" for n in range(1, plan.observers + 1)]

        async def enter(kind: type[Participant], name: str) -> Participant:
            async with few:
                began_ms = clock_ms()
                visitor = Visitor(self._server)
                await join(visitor, given, name)
                participant = kind(visitor, given.slug, "lab", self.figures, self._arrivals)
                self._stay(participant.stay())
                await self._ready(participant)
                self.figures.joins.append(clock_ms() - began_ms)
            if isinstance(participant, Learner):
                async with patience("the lab of a learner"):
                    await participant.own_lab()
                self.figures.labs = clock_ms() - self._others_ms
            else:
                await self._make_observer(taught.board, participant)
            return participant

        self._others_ms = clock_ms()
        first = await enter(Learner, learners.pop(0))
        assert isinstance(first, Learner)
        async with patience("the lab of the first learner"):
            await first.arrive()
        self.figures.first_lab, self._others_ms = clock_ms() - self._began_ms, clock_ms()
        coming = [(Learner, name) for name in learners] + [(Observer, name) for name in observers]
        joined = [first, *await asyncio.gather(*(enter(kind, name) for kind, name in coming))]
        self._say(f"{len(joined)} joined")
        taught.learners = [one for one in joined if isinstance(one, Learner)]
        taught.observers = [one for one in joined if isinstance(one, Observer)]
        for number, (learner, person) in enumerate(zip(taught.learners, people, strict=True)):
            learner.name, learner.manner, learner.chance = *person, random.Random(SEED + number)
        self.figures.deflated = first.is_deflated

    async def _begin_work(self, taught: Taught) -> None:
        """All learners begin to work; observers follow the leading lab."""
        # What was measured while people joined is not of the class at work.
        self._forget(*WORK)
        for observer in taught.observers[: self._plan.following]:
            self._stay(observer.follow())
        for learner in taught.learners:
            self._stay(learner.work(self._lesson))
            self._stay(learner.come_and_go())
        if self._plan.waits:
            quick = [one for one in taught.learners if one.manner.plays_on]
            is_done = "quick learners who have done the lesson"
            await until(is_done, lambda: all(one.has_done_lesson.is_set() for one in quick), LESSON_S)

    async def _make_observer(self, board: Board, participant: Participant) -> None:
        """All come in as learners; the instructor gives other roles."""
        async with self._given_roles:
            await asyncio.sleep(ROLE_S)
            if not await board.act("give_role", p=participant.p, role="observer"):
                raise Refused(f"{participant.p} was not made an observer.")

    async def _ready(self, participant: Participant) -> None:
        async with patience("the first picture of the class on a page"):
            await participant.ready.wait()

    async def _teach(self, board: Board) -> None:
        """Polls while the class works; figures of the server count from here."""
        began_s, cpu_s = time.monotonic(), self._use.cpu_s()
        figures, seconds = self.figures, self._plan.minutes * 60
        # The engines of all labs start while the class begins to work.
        self._forget("behind", "leader", "late")
        figures.followed, figures.shed = 0, board.shed
        poll = 0
        while (left_s := began_s + seconds - time.monotonic()) > 0:
            poll += 1
            await self._poll(board, poll, min(POLL_OPEN_S, left_s))
            left_s = began_s + seconds - time.monotonic()
            await asyncio.sleep(max(0.0, min(POLL_EVERY_S - POLL_OPEN_S, left_s)))
        figures.wall_s = time.monotonic() - began_s
        if self._plan.following:
            figures.followed_per_s = figures.followed / figures.wall_s
        figures.cpu_s = self._use.cpu_s() - cpu_s
        figures.rss_mb = self._use.rss_mb()
        board.is_measured = False

    def _forget(self, *names: str) -> None:
        for name in names:
            getattr(self.figures, name).clear()

    async def _poll(self, board: Board, poll: int, seconds: float) -> None:
        """A poll is open for some seconds, and then shown. With names: an anonymous vote waits for others."""
        choices = ["it stays", "it rises by one", "it falls"]
        asked = {"form": "choice", "text": f"Question {poll}", "lang": "en", "choices": choices, "right": "1"}
        await board.act("make_poll", **asked, anonymous=False)
        await board.act("open_poll", poll=poll)
        await asyncio.sleep(seconds)
        for op in ("close_poll", "show_split", "end_poll"):
            await board.act(op, poll=poll)

    async def _disturb(self, taught: Taught, faults: Faults) -> None:
        """One page stops reading, and is closed again; with faults, the class is flooded, and codes are guessed."""
        if self._plan.faults:
            lost = self.figures.lost
            async with faults.disturbances() as disturbances:
                spells = await self._spells(taught, disturbances)
            faults.compared(spells)
            self.figures.lost = lost
        elif taught.observers:
            await self._spells(taught, {})

    async def _spells(self, taught: Taught, disturbances: dict[str, Disturbance]) -> dict[str, Spells]:
        figures, observers = self.figures, taught.observers
        if observers:
            lab = taught.board.sections["/lead"]["lab"]
            disturbances["stall"] = lambda over: stall(observers[0].visitor, taught.board.slug, lab, over)
        spells = await in_turns(taught, disturbances)
        quiet = spells[FREE], spells[AGAIN]
        if observers:
            figures.stalled = spells["stall"].events_p99()
            figures.free = [ms for each in quiet for ms in each.events_p99()]
            figures.stalled_worst = worst_observer(spells["stall"], *quiet)
        return spells

    async def _watch_server(self) -> None:
        while self._use.is_running() or self._is_broken:
            await asyncio.sleep(LOOK_S)
        raise Refused(f"The server, process {self._pid}, has ended.")

    async def _measure_lateness(self) -> None:
        while True:
            due_ms = clock_ms() + 1000 * LATE_S
            await asyncio.sleep(LATE_S)
            self.figures.late.append(clock_ms() - due_ms)

    def _stay(self, staying: Coroutine[Any, Any, None]) -> None:
        self._staying.append(self._tasks.create_task(staying))


def _cause_of(failed: BaseExceptionGroup[BaseException]) -> BaseException:
    """Why a rehearsal ended: what has a message for its reader, else what was first."""
    leaves = list(_leaves(failed))
    return next((one for one in leaves if isinstance(one, Refused)), leaves[0])


def _leaves(failed: BaseException) -> Iterator[BaseException]:
    if isinstance(failed, BaseExceptionGroup):
        for one in failed.exceptions:
            yield from _leaves(one)
    else:
        yield failed
