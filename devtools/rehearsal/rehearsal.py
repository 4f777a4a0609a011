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
from devtools.rehearsal.door import StartedClass, join, start_class
from devtools.rehearsal.figures import Figures, percentile
from devtools.rehearsal.looking import Looking
from devtools.rehearsal.patience import patience
from devtools.rehearsal.people import Arrivals, Board, Leader, Learner, Observer, Participant, clock_ms, stall
from devtools.rehearsal.visitor import Refused, Visitor
from lab.actions.classes.lessons.start import lesson_of

JOINING_AT_ONCE = 8
POLL_S = 20.0
PAUSE_S = 8.0
LATE_S = 0.01
"""Between two looks at how late this process is."""
SEED = 20261
STALLS = 8
STALL_S = 4.0
STALL_ACT_S = 0.4
"""In every other of eight spells of so many seconds one page has stopped; this is between two acts."""
ROLE_S = 0.11
"""Between two roles that are given: staff may do ten things a second."""
LOOK_S = 1.0


@dataclass(frozen=True)
class Plan:
    """`active`: learners whose labs play and who work quickly; the others take four times as long. `chapter`: slug of a
    lesson, or empty for an empty cluster. `following`: observers whose pages also show the leading lab. `analytics`:
    staff look at the charts of the class meanwhile.
    """

    learners: int = 40
    observers: int = 200
    minutes: float = 5.0
    active: int = 15
    chapter: str = ""
    following: int = 0
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
        self._staying: list[asyncio.Task[Any]] = []
        self._learners: list[Learner] = []
        self._observers: list[Observer] = []
        self._given_roles = asyncio.Lock()
        self._began_ms = clock_ms()

    async def run(self) -> Figures:
        """Teaches the class and returns what was measured. Raises Refused, also if a participant cannot go on, or the
        server has ended.
        """
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
        instructor = Visitor(self._server)
        await instructor.get(self._sign_in)
        self._began_ms = clock_ms()
        given = await start_class(instructor, "Rehearsal", self._plan.chapter)
        self._say(f"class {given.slug}: {self._server}/classes/{given.slug}/board/")
        board = Board(instructor, given.slug, "board", self.figures, self._arrivals)
        self._stay(board.stay())
        await self._ready(board)
        await self._join(board, given)
        self._stay(Leader(board, self.figures).lead())
        self._stay(self._measure_lateness())
        looking = Looking(instructor, given.slug, self._pid)
        if self._plan.analytics:
            self._stay(looking.stay())
        await self._teach(board)
        acts, behind = list(self.figures.acts), list(self.figures.behind)
        await self._stall(board)
        await self._once(board)
        # What is done once has figures of its own.
        self.figures.acts, self.figures.behind = acts, behind
        self.figures.learned = looking.delays(self.figures.learned_at_ms)
        self.figures.rounds, self.figures.rounds_share = len(looking.shown), looking.core_share()
        await instructor.post(f"/classes/{given.slug}/", f"/classes/{given.slug}/end", confirm="yes")

    async def _join(self, board: Board, given: StartedClass) -> None:
        plan, few = self._plan, asyncio.Semaphore(JOINING_AT_ONCE)
        learners = [f"Learner {n}" for n in range(1, plan.learners + 1)]
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
                await self._make_observer(board, participant)
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
        self._learners = [one for one in joined if isinstance(one, Learner)]
        self._observers = [one for one in joined if isinstance(one, Observer)]
        lesson = lesson_of(plan.chapter)
        partition = lesson.partition if lesson is not None else ""
        for number, participant in enumerate(self._learners):
            pause_s = PAUSE_S if number < plan.active else 4 * PAUSE_S
            self._stay(
                participant.work(random.Random(SEED + number), pause_s, number < plan.active, partition=partition)
            )
        for observer in self._observers[: plan.following]:
            self._stay(observer.follow())

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
        # What came while people joined is not of the class.
        self.figures.behind.clear()
        self.figures.followed = 0
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
        if self._plan.following:
            self.figures.followed_per_s = self.figures.followed / self.figures.wall_s
        self.figures.cpu_s = self._use.cpu_s() - cpu_s
        self.figures.rss_mb = self._use.rss_mb()

    async def _stall(self, board: Board) -> None:
        """One page stops reading and is closed again, in turns: what else changes with time changes for both."""
        if not self._observers:
            return
        for turn in range(STALLS):
            until, behind = asyncio.Event(), self._arrivals.behind
            if turn % 2:
                self._stay(stall(self._observers[0].visitor, board.slug, board.sections["/lead"]["lab"], until))
            behind.clear()
            for _ in range(int(STALL_S / STALL_ACT_S)):
                await board.act("set_timer", seconds=600)
                await asyncio.sleep(STALL_ACT_S)
            until.set()
            of_all = [times for times in behind.values() if len(times) == len(self._observers)]
            (self.figures.stalled if turn % 2 else self.figures.free).extend(percentile(one, 0.99) for one in of_all)

    async def _once(self, board: Board) -> None:
        """What happens to all labs, or to one, once in a class: a pause, a look, a state that is given."""
        figures, learners = self.figures, self._learners
        began_ms = clock_ms()
        await board.act("pause_all")
        playing = ("play", "event_paced")
        await self._until("paused labs", lambda: not any(one.mode in playing for one in learners))
        figures.paused = clock_ms() - began_ms
        await board.act("resume_all")
        began_ms = clock_ms()
        await board.act("look", p=learners[0].p)
        await self._until("a look that is shown", lambda: bool(learners[0].sections["/mine"]["looked_by"]))
        figures.looked = clock_ms() - began_ms
        began_ms = clock_ms()
        if not await board.act("give_state"):
            raise Refused("The state of the leading lab was not given.")
        await self._until("the state that was given", lambda: bool(board.handouts()))
        newest = max(board.handouts())
        figures.given_seq = board.sections[f"/handouts/{newest}"]["seq"]
        async with patience("learners who take a state"):
            figures.given = max(await asyncio.gather(*(one.take(newest) for one in learners))) - began_ms
        began_ms = clock_ms()
        async with patience("engines of labs that were taken"):
            woken = await asyncio.gather(*(one.wake() for one in learners))
        figures.woken = min(woken) - began_ms, max(woken) - began_ms

    @staticmethod
    async def _until(awaited: str, holds: Callable[[], bool]) -> None:
        async with patience(awaited):
            while not holds():
                await asyncio.sleep(LATE_S)

    async def _watch_server(self) -> None:
        while self._use.is_running():
            await asyncio.sleep(LOOK_S)
        raise Refused(f"The server, process {self._pid}, has ended.")

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
