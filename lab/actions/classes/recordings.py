"""The recordings of classes for replay: cached in memory, and extended during a class.

The recording of a sealed class is made from the sealed files, any other from the class's log.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from typing import TypeVar
from weakref import WeakKeyDictionary

from asgiref.sync import sync_to_async

from lab.actions.classes.live_class import LiveClass, LiveClasses, class_folder, live_classes
from lab.classroom.recorded.playback import Playback
from lab.classroom.recorded.sealed import WORDS, SealedManifest, read_events, read_manifest, read_words
from lab.models import Class, Presence

STAGE = "recording"
"""In a class's settings: `kept`, when the log is that of the recording; `imported`, when it never was another one;
`deleted`, when there is no recording.
"""
IMPORTED = {STAGE: "imported"}
"""The settings of a class that was imported."""
MAX_KEPT = 8
"""Maximum number of recordings in memory."""
_READ_EVENTS = 2_000
"""Number of events of a live class that are read at once: its acts wait meanwhile."""

T = TypeVar("T")


class _Kept:
    """A cached recording, with its sources."""

    def __init__(self, made_from: object, playback: Playback) -> None:
        self.made_from = made_from
        self.playback = playback
        self.lock = asyncio.Lock()


_of_process: WeakKeyDictionary[LiveClasses, OrderedDict[str, _Kept]] = WeakKeyDictionary()


async def look_into(classroom: Class, look: Callable[[Playback], T]) -> T:
    """The result of `look`, called in a thread with the current recording of a class."""
    kept_ones = _of_process.setdefault(live_classes(), OrderedDict())
    manifest = await asyncio.to_thread(read_manifest, class_folder(classroom.slug))
    if manifest is not None:
        kept, made_from = kept_ones.get(classroom.slug), _read_of(manifest)
        if kept is None or kept.made_from != made_from:
            playback = await asyncio.to_thread(_sealed, classroom.slug)
            kept = kept_ones[classroom.slug] = _Kept(made_from, playback)
        live = None
    else:
        live = await live_classes().of(classroom)
        kept = kept_ones.get(classroom.slug)
        erased = await sync_to_async(erased_of)(classroom)
        if kept is None or kept.made_from != (live, erased) or kept.playback.log_seq > live.room.board.last_seq:
            # A power loss may have taken events that were replayed already.
            kept = kept_ones[classroom.slug] = _Kept((live, erased), Playback(live.words, erased))
    kept_ones.move_to_end(classroom.slug)
    while len(kept_ones) > MAX_KEPT:
        kept_ones.popitem(last=False)
    async with kept.lock:
        if live is not None:
            await grow(kept.playback, live)
        return await asyncio.to_thread(look, kept.playback)


def is_imported(classroom: Class) -> bool:
    """Whether the class took place in another lab, which knows its names, texts and runs."""
    return bool(classroom.settings.get(STAGE) == "imported")


async def sealed_of(classroom: Class) -> SealedManifest | None:
    """The sealed files of a class; None before sealing."""
    return await asyncio.to_thread(read_manifest, class_folder(classroom.slug))


async def instant_within(classroom: Class, at_us: int) -> int:
    """The instant of the recording that is nearest to an instant of class time."""
    length_us = await look_into(classroom, lambda playback: playback.length_us)
    return max(0, min(at_us, max(length_us, await now_of(classroom) or 0)))


async def now_of(classroom: Class) -> int | None:
    """Class time of a class that goes on; None after its end."""
    if classroom.state == Class.State.ENDED:
        return None
    return (await live_classes().of(classroom)).room.now_us()


async def grow(playback: Playback, live: LiveClass) -> None:
    """Adds the newly written events of a class to a recording."""
    room = live.room
    last_seq = room.board.last_seq
    while playback.log_seq < last_seq:
        first_seq = playback.log_seq + 1
        found = await room.events(first_seq, min(last_seq, first_seq + _READ_EVENTS - 1))
        await asyncio.to_thread(playback.take, found)


def erased_of(classroom: Class) -> frozenset[str]:
    """The erased participants of a class."""
    return frozenset(one.source for one in classroom.participants.filter(presence=Presence.ERASED))


def _read_of(manifest: SealedManifest) -> object:
    """The files read by `_sealed`, without chapters, captions and sound, which staff can correct."""
    files = {name: one for name, one in manifest.files.items() if name == WORDS or name.startswith("class-0/")}
    return manifest.sealed_ms, files


def _sealed(slug: str) -> Playback:
    folder = class_folder(slug)
    playback = Playback(read_words(folder))
    playback.take(read_events(folder))
    return playback
