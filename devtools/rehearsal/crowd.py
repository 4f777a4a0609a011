"""Many who join at once: how long until the last of them works in the lesson, and how much each of them gets."""

import asyncio
import re
from collections.abc import Callable

from devtools.rehearsal.collector import collector_off
from devtools.rehearsal.door import StartedClass, join, start_class
from devtools.rehearsal.faults import Faults
from devtools.rehearsal.figures import Figures
from devtools.rehearsal.learners import Learner
from devtools.rehearsal.patience import patience
from devtools.rehearsal.people import Arrivals, Board, Leader, Participant, clock_ms
from devtools.rehearsal.rehearsal import CHAPTER
from devtools.rehearsal.taught import Taught, until
from devtools.rehearsal.visitor import Visitor, allow_requests
from lab.actions.classes.lessons.start import lesson_of

PEOPLE = 300
WITHIN_S = 5.0


class Crowd:
    """A class on a running server, into which all come within some seconds."""

    def __init__(
        self,
        address: str,
        figures: Figures,
        say: Callable[[str], None] = print,
        *,
        people: int = PEOPLE,
        within_s: float = WITHIN_S,
        chapter: str = CHAPTER,
    ) -> None:
        """`address`: the one that signs the instructor in. `chapter`: see `Plan`."""
        self._sign_in, self._server = address, re.sub(r"/sign-in/.*", "", address)
        self._people, self._within_s, self._chapter, self._say = people, within_s, chapter, say
        self._figures, self._arrivals = figures, Arrivals()
        self._began_ms = 0.0
        self._own = Figures()
        """The figures of the pages of this class."""
        self._reading: list[asyncio.Task[None]] = []

    async def run(self) -> None:
        """Starts the class and measures `crowd`, `crowd_class` and `crowd_frames`; then, where frames are deflated,
        `narrow`. Raises Refused.
        """
        allow_requests()
        with collector_off():
            await self._arrive_together()

    async def _arrive_together(self) -> None:
        instructor = Visitor(self._server)
        await instructor.get(self._sign_in)
        given = await start_class(instructor, "Crowd", self._chapter)
        try:
            board = Board(instructor, given.slug, "board", self._own, self._arrivals)
            await self._see(board)
            self._began_ms = clock_ms()
            coming = (self._join(number, given) for number in range(self._people))
            people = await asyncio.gather(*coming)
            self._figures.crowd = clock_ms() - self._began_ms
            self._figures.crowd_frames = max(one.frames for one in people)
            await self._narrow(board, given, people[0])
            self._figures.narrow, self._figures.lost = self._own.narrow, self._figures.lost + self._own.lost
            await instructor.post(f"/classes/{given.slug}/", f"/classes/{given.slug}/end", confirm="yes")
        finally:
            for task in self._reading:
                task.cancel()
            await asyncio.gather(*self._reading, return_exceptions=True)

    async def _narrow(self, board: Board, given: StartedClass, person: Learner) -> None:
        """Measures `narrow`, while the instructor leads: on this server frames may be deflated."""
        lesson = lesson_of(self._chapter)
        self._own.deflated = board.is_deflated
        taught = Taught(self._server, given, board, self._own, self._arrivals, self._say, lesson)
        taught.leader = Leader(board, self._own, lesson)
        leading = asyncio.create_task(taught.leader.lead())
        self._reading.append(leading)
        await until("a leading lab", lambda: taught.leader is not None and bool(taught.leader.trace))
        await Faults(taught).narrow(person.visitor)

    async def _join(self, number: int, given: StartedClass) -> Learner:
        await asyncio.sleep(number * self._within_s / self._people)
        visitor = Visitor(self._server)
        await join(visitor, given, f"Person {number}")
        person = Learner(visitor, given.slug, "lab", self._own, self._arrivals)
        await self._see(person)
        self._figures.crowd_class = clock_ms() - self._began_ms
        async with patience("the lab of one who has joined"):
            await person.read_lab()
        return person

    async def _see(self, person: Participant) -> None:
        """Returns when the page of a person shows the class; it is read from then on."""
        reading = asyncio.create_task(person.stay())
        self._reading.append(reading)
        async with patience("the page of one who has joined"):
            await person.ready.wait()
