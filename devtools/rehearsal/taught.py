"""A class that is being taught: what its parts need of each other."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from devtools.rehearsal.door import StartedClass
from devtools.rehearsal.figures import Figures
from devtools.rehearsal.learners import Learner
from devtools.rehearsal.patience import PATIENCE_S, patience
from devtools.rehearsal.people import Arrivals, Board, Leader, Observer
from lab.exercises.lesson import Exercise

LOOK_S = 0.01


class OwnServer(Protocol):
    """The server of a rehearsal that has started it: it may be killed."""

    def kill(self) -> None: ...

    def start(self) -> str: ...


@dataclass
class Taught:
    """One class. `server`: its address. `own`: the process of the server, if the rehearsal has started it."""

    server: str
    given: StartedClass
    board: Board
    figures: Figures
    arrivals: Arrivals
    say: Callable[[str], None]
    lesson: Exercise | None = None
    own: OwnServer | None = None
    leader: Leader | None = None
    learners: list[Learner] = field(default_factory=list)
    observers: list[Observer] = field(default_factory=list)

    def at_work(self) -> list[Learner]:
        """The learners who are there and get on."""
        return [one for one in self.learners if one.is_here.is_set() and not one.code and not one.manner.stuck]


async def until(awaited: str, holds: Callable[[], bool], seconds: float = PATIENCE_S) -> None:
    """Waits until it holds, at most `seconds`. `awaited` completes "timed out waiting for"."""
    async with patience(awaited, seconds):
        while not holds():
            await asyncio.sleep(LOOK_S)
