"""Rooms on disk without sockets, for tests: a class with six people, pages of it, a clock that is set by hand."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from lab.classroom.acts import At, Given, facts, ops
from lab.classroom.frames import Place
from lab.classroom.journal import FORMAT, Header
from lab.classroom.lanes import Outbox
from lab.classroom.room import Room
from tests.support.classroom.memory_class import ROLES, NoWords

HEADER = Header(FORMAT, "k7f3", wall_ms=1_700_000_000_000, chapter="a-lesson", languages=("en",))


class HandClocks:
    """Clocks that are set by hand."""

    def __init__(self) -> None:
        self.us = 5_000_000
        self.ms = HEADER.wall_ms

    def monotonic_us(self) -> int:
        self.us += 1
        return self.us

    def wall_ms(self) -> int:
        return self.ms


class Chair:
    """A seat without a socket."""

    def __init__(self, room_: Room, p: str, have: int = -1, place: Place = "lab") -> None:
        viewer = room_.board.viewer(p)
        assert viewer is not None
        self.p = p
        self.place = place
        self.outbox = Outbox(room_.board, viewer, have)
        self.sight: frozenset[str] = frozenset()
        self.ended = ""
        self.welcomed = 0
        room_.enter(p, self)

    def welcome(self) -> None:
        self.welcomed += 1

    def end(self, why: str, *, again: bool) -> None:
        self.ended = why

    async def frames(self) -> list[dict[str, Any]]:
        """What is there to send, after the pace of everybody's frames."""
        await asyncio.sleep(0.08)
        found = []
        while (frame := self.outbox._next()) is not None:
            found.append(json.loads(frame))
            if "upto" in found[-1]:
                self.outbox.acknowledge(found[-1]["upto"])
        return found


async def opened(folder: Path, clocks: HandClocks | None = None) -> Room:
    return await Room.open(folder, NoWords(), HEADER, clocks)


async def begun(folder: Path, clocks: HandClocks | None = None) -> Room:
    """A class that six people have joined."""
    room_ = await opened(folder, clocks)
    await room_.do(Given("room", facts.OpenClass("a-lesson", 4, 8)))
    for p, role in ROLES.items():
        await room_.do(Given("room", facts.SetPerson(p, role, lab=f"run-{p}/main")))  # type: ignore[arg-type]
    return room_


def run(test: Callable[[], Awaitable[None]]) -> None:
    async def limited() -> None:
        async with asyncio.timeout(60):
            await test()

    asyncio.run(limited())


def hand(p: str, id: str) -> Given:
    return Given(p, ops.RaiseHand(At(f"run-{p}/main")), id)
