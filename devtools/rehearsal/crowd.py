"""Many who join at once: how long until the last of them has the class on the page, and how much each of them gets."""

import asyncio
import re

from devtools.rehearsal.collector import collector_off
from devtools.rehearsal.door import StartedClass, join, start_class
from devtools.rehearsal.figures import Figures
from devtools.rehearsal.patience import patience
from devtools.rehearsal.people import Arrivals, Board, Participant, clock_ms
from devtools.rehearsal.visitor import Visitor

PEOPLE = 300
WITHIN_S = 5.0


class Crowd:
    """A class on a running server, into which all come within some seconds."""

    def __init__(self, address: str, figures: Figures, *, people: int = PEOPLE, within_s: float = WITHIN_S) -> None:
        """`address`: the one that signs the instructor in."""
        self._sign_in, self._server = address, re.sub(r"/sign-in/.*", "", address)
        self._people, self._within_s = people, within_s
        self._figures, self._arrivals = figures, Arrivals()
        self._reading: list[asyncio.Task[None]] = []

    async def run(self) -> None:
        """Starts the class and measures `crowd` and `crowd_frames`. Raises Refused."""
        with collector_off():
            await self._arrive_together()

    async def _arrive_together(self) -> None:
        instructor = Visitor(self._server)
        await instructor.get(self._sign_in)
        given = await start_class(instructor, "Crowd")
        try:
            board = Board(instructor, given.slug, "board", self._figures, self._arrivals)
            await self._see(board)
            began_ms = clock_ms()
            coming = (self._join(number, given) for number in range(self._people))
            people = await asyncio.gather(*coming)
            self._figures.crowd = clock_ms() - began_ms
            self._figures.crowd_frames = max(one.frames for one in people)
            await instructor.post(f"/classes/{given.slug}/", f"/classes/{given.slug}/end", confirm="yes")
        finally:
            for task in self._reading:
                task.cancel()
            await asyncio.gather(*self._reading, return_exceptions=True)

    async def _join(self, number: int, given: StartedClass) -> Participant:
        await asyncio.sleep(number * self._within_s / self._people)
        visitor = Visitor(self._server)
        await join(visitor, given, f"Person {number}")
        person = Participant(visitor, given.slug, "lab", self._figures, self._arrivals)
        await self._see(person)
        return person

    async def _see(self, person: Participant) -> None:
        """Returns when the page of a person shows the class; it is read from then on."""
        reading = asyncio.create_task(person.stay())
        self._reading.append(reading)
        async with patience("the page of one who has joined"):
            await person.ready.wait()
