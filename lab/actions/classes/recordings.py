"""The recordings of classes, for who replays them: kept in memory, and grown while a class goes on."""

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from typing import TypeVar

from lab.actions.classes.live_class import LiveClass, live_classes
from lab.classroom.recorded.playback import Playback
from lab.models import Class

MAX_KEPT = 8
"""So many recordings are kept in memory."""
_READ_EVENTS = 2_000
"""So many events of a live class are read at once: its acts wait as long."""

T = TypeVar("T")


class _Kept:
    """A recording in memory, with the class that it was made from."""

    def __init__(self, live: LiveClass) -> None:
        self.live = live
        self.playback = Playback(live.words)
        self.lock = asyncio.Lock()


_kept: OrderedDict[str, _Kept] = OrderedDict()


async def look_into(classroom: Class, look: Callable[[Playback], T]) -> T:
    """What `look`, called in a thread, makes of the recording of a class as it is now."""
    live = await live_classes().of(classroom)
    kept = _kept.get(classroom.slug)
    if kept is None or kept.live is not live or kept.playback.log_seq > live.room.board.last_seq:
        # A power loss may have taken events that were replayed already.
        kept = _kept[classroom.slug] = _Kept(live)
    _kept.move_to_end(classroom.slug)
    while len(_kept) > MAX_KEPT:
        _kept.popitem(last=False)
    async with kept.lock:
        await _grow(kept)
        return await asyncio.to_thread(look, kept.playback)


async def _grow(kept: _Kept) -> None:
    room, playback = kept.live.room, kept.playback
    last_seq = room.board.last_seq
    while playback.log_seq < last_seq:
        first_seq = playback.log_seq + 1
        found = await room.events(first_seq, min(last_seq, first_seq + _READ_EVENTS - 1))
        await asyncio.to_thread(playback.take, found)
