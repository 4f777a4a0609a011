"""Keyframes: the view of a recording after some of its events.

`keyframes.bin` is append-only: for each keyframe a head (the event after which it is, the length of what follows) and
the view as JSON, compressed. A view between two keyframes is folded from the one before it, so a keyframe costs space
and time only where the events since the last one would take longer to fold than a page waits for, and never more than a
small part of the time in which they happened: the larger the view, the longer the distance.
"""

import shutil
import struct
from bisect import bisect_right
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import cramjam
import msgspec

from broker_core.view.fold import empty_view
from broker_core.view.tree import View
from lab.recordings.base import Base

FORMAT = 2
KEYFRAMES = "keyframes.bin"
MIN_DISTANCE = 4_000
"""Events, which take about 15 ms to fold."""
VIEW_BYTES_PER_EVENT = 200
"""A view of this number of bytes takes about 2 % of the time that an event takes to happen."""
_HEAD = struct.Struct(">QI")
_LEVEL = 1


def distance_of(view_bytes: int, least: int) -> int:
    """How many events there are at least from the keyframe of a view to the next one."""
    return max(least, view_bytes // VIEW_BYTES_PER_EVENT)


class _Place(NamedTuple):
    seq: int
    position: int
    length: int


class Keyframes:
    """The file of a recording."""

    def __init__(self, path: Path, base: Base | None = None) -> None:
        """Opens it. What a crash has left incomplete at its end is removed. `base`: where the recording begins."""
        self._path = path
        self._base = base
        self._places: list[_Place] = []
        self._distance = MIN_DISTANCE
        self._load()

    @property
    def last_seq(self) -> int:
        """The event of the last keyframe; that of the beginning when there is none."""
        return self._places[-1].seq if self._places else self.first_seq

    @property
    def first_seq(self) -> int:
        """The event after which the recording begins."""
        return self._base.seq if self._base else 0

    def is_due(self, seq: int, waiting: int = 0) -> bool:
        """Whether there should be one after event `seq`, when that after event `waiting` is yet to be appended."""
        return seq - max(self.last_seq, waiting) >= self._distance

    def append(self, seq: int, view: View) -> None:
        """Adds the view after event `seq`, which must be later than the others."""
        self.append_encoded(seq, msgspec.json.encode(view))

    def append_encoded(self, seq: int, encoded: bytes) -> None:
        """The same, of a view as JSON."""
        self._distance = distance_of(len(encoded), MIN_DISTANCE)
        data = bytes(cramjam.zstd.compress(encoded, level=_LEVEL))
        with self._path.open("ab") as stream:
            position = stream.tell() + _HEAD.size
            stream.write(_HEAD.pack(seq, len(data)) + data)
        self._places.append(_Place(seq, position, len(data)))

    def replace(self, views: Iterable[tuple[int, View]]) -> None:
        """Puts those after these events, in order, in the place of what there is."""
        temporary = self._path.with_suffix(".tmp")
        made = Keyframes(temporary, self._base)
        made.keep(-1)
        for seq, view in views:
            made.append(seq, view)
        if made._places:
            temporary.replace(self._path)
            self._places = made._places

    def before(self, seq: int) -> tuple[int, View]:
        """The last keyframe at or before event `seq`, with its event; the view at the beginning when there is none."""
        view: View
        index = bisect_right(self._places, seq, key=lambda place: place.seq) - 1
        if index < 0 and self._base:
            view = msgspec.json.decode(msgspec.json.encode(self._base.view))
            return self._base.seq, view
        if index < 0:
            return 0, empty_view()
        place = self._places[index]
        view = msgspec.json.decode(self._read(place))
        return place.seq, view

    def _read(self, place: _Place) -> bytes:
        with self._path.open("rb") as stream:
            stream.seek(place.position)
            return bytes(cramjam.zstd.decompress(stream.read(place.length)))

    def encoded_at(self, seq: int) -> bytes | None:
        """The view after event `seq` as JSON, if there is a keyframe of just this event."""
        index = bisect_right(self._places, seq, key=lambda place: place.seq) - 1
        if index < 0 or self._places[index].seq != seq:
            return None
        return self._read(self._places[index])

    def keep(self, last_seq: int) -> None:
        """Removes those after event `last_seq`."""
        count = bisect_right(self._places, last_seq, key=lambda place: place.seq)
        if count < len(self._places):
            self._truncate(count)

    def begin_at(self, base: Base) -> None:
        """Removes those before the new beginning of the recording."""
        self._base = base
        kept = self._places[bisect_right(self._places, base.seq, key=lambda place: place.seq) :]
        start = kept[0].position - _HEAD.size if kept else self._end
        temporary = self._path.with_suffix(".tmp")
        with temporary.open("wb") as target:
            if self._path.exists():
                with self._path.open("rb") as source:
                    source.seek(start)
                    shutil.copyfileobj(source, target)
        temporary.replace(self._path)
        self._places = [place._replace(position=place.position - start) for place in kept]

    def _truncate(self, count: int) -> None:
        del self._places[count:]
        with self._path.open("ab") as stream:
            stream.truncate(self._end)

    @property
    def _end(self) -> int:
        return self._places[-1].position + self._places[-1].length if self._places else 0

    def _load(self) -> None:
        if not self._path.exists():
            return
        size = self._path.stat().st_size
        position = 0
        with self._path.open("rb") as stream:
            while position + _HEAD.size <= size:
                stream.seek(position)
                seq, length = _HEAD.unpack(stream.read(_HEAD.size))
                position += _HEAD.size + length
                if position > size or seq <= self.last_seq:
                    break
                self._places.append(_Place(seq, position - length, length))
        if self._end < size:
            self._truncate(len(self._places))
