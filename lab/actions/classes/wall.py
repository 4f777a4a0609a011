"""The wall of a class: the newest picture of each learner's lab, for staff, twice a second."""

import asyncio
import logging

from lab.classroom.board import Now
from lab.classroom.room import Room, Seat
from lab.protocol.frames import encode
from lab.runtime.host import Host
from lab.runtime.sharing.load import load
from lab.runtime.tiles import LabName, Tiles

logger = logging.getLogger(__name__)


class ClassWall:
    """Reads labs only while staff look. Use it from the room's event loop."""

    def __init__(self, room: Room, host: Host) -> None:
        self._room = room
        self._tiles = Tiles(host)
        self._shown: dict[LabName, str] = {}
        self._sweeping = asyncio.create_task(self._sweep())

    def apply(self, now: Now) -> None:
        """The wall has the labs of all learners who are in."""
        wanted = {_lab_name(lab): p for p, lab in now.labs.items()}
        for name in self._shown.keys() - wanted.keys():
            self._tiles.hide(name)
        for name in wanted.keys() - self._shown.keys():
            self._tiles.show(name)
        self._shown = wanted

    def close(self) -> None:
        """Nothing is read any more."""
        self._sweeping.cancel()

    async def _sweep(self) -> None:
        told: set[Seat] = set()
        while True:
            await asyncio.sleep(load.tiles_s)
            staff = {seat for seat in self._room.seats() if seat.outbox.viewer.audience == "staff"}
            if staff:
                try:
                    # A page that has just come has no tile; the slot of a lane holds the newest frame alone.
                    if await self._tiles.sweep() or staff - told:
                        self._tell()
                except Exception:
                    logger.exception("the wall of a class was not read")
            told = staff

    def _tell(self) -> None:
        rows = {self._shown[name]: row for name, row in self._tiles.rows.items() if name in self._shown}
        self._room.tell_staff("tiles", encode({"k": "tiles", "class_us": self._room.now_us(), "tiles": rows}))


def _lab_name(lab: str) -> LabName:
    run, _, branch = lab.partition("/")
    return run, branch
