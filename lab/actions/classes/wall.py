"""The wall of a class: the newest picture of each learner's lab, for staff, twice a second."""

import asyncio
import logging
from contextvars import Context

from lab.classroom.board import Now
from lab.classroom.room import REPLAYS, Room, Seat
from lab.classroom.wall_rows import NO_ROW, WallRows
from lab.protocol.frames import encode
from lab.runtime.classes.tiles import LabName, Tiles
from lab.runtime.host import Host
from lab.runtime.sharing.load import load

logger = logging.getLogger(__name__)


class ClassWall:
    """Reads labs only while staff look. Use it from the room's event loop."""

    def __init__(self, room: Room, host: Host) -> None:
        self._room = room
        self._tiles = Tiles(host)
        self._rows: WallRows[Seat] = WallRows()
        self._shown: dict[LabName, str] = {}
        self._gone: set[str] = set()
        self._sweeping = asyncio.create_task(self._sweep(), context=Context())

    def apply(self, now: Now) -> None:
        """Updates the board's tiles to the labs of all present learners."""
        wanted = {_lab_name(lab): p for p, lab in now.fronts.items()}
        for name in self._shown.keys() - wanted.keys():
            self._tiles.hide(name)
            self._gone.add(self._shown[name])
        for name in wanted.keys() - self._shown.keys():
            self._tiles.show(name)
        self._gone -= set(wanted.values())
        self._shown = wanted

    def close(self) -> None:
        """Stops reading."""
        self._sweeping.cancel()

    async def _sweep(self) -> None:
        while True:
            await asyncio.sleep(load.tiles_s)
            staff = [seat for seat in self._room.staff_seats() if seat.place != REPLAYS]
            if staff:
                try:
                    read = await self._tiles.sweep()
                    changed = {self._shown[name]: encode(row) for name, row in read.items() if name in self._shown}
                    changed |= dict.fromkeys(self._gone, NO_ROW)
                    self._gone.clear()
                    for seat, rows in self._rows.due(changed, staff):
                        seat.outbox.set_tiles(self._room.now_us(), rows)
                except Exception:
                    logger.exception("the wall of a class was not read")


def _lab_name(lab: str) -> LabName:
    run, _, branch = lab.partition("/")
    return run, branch
