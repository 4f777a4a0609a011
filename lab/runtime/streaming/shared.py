"""Frames that are encoded once for all watchers of a branch."""

from collections import OrderedDict
from dataclasses import dataclass
from functools import cached_property

import msgspec

from lab.protocol.frames import Clock, Snap, encode, encode_deltas
from lab.runtime.live_run import Snapshot
from lab.runtime.streaming.ring import Ring

MAX_EVENTS_PER_FRAME = 1_024
MAX_KEPT_FRAMES = 32
"""Pages that keep up ask for the newest ones; those that are behind, for a few ranges before."""
MAX_KEPT_BYTES = 1024 * 1024
"""Maximum size of these frames together, as long as there is more than one; their texts take as much again."""


@dataclass(frozen=True)
class Deltas:
    """A `d` frame up to event `last_seq`. `has_clock`: the clock is in it."""

    frame: bytes
    last_seq: int
    has_clock: bool = False

    @cached_property
    def text(self) -> str:
        """As a socket sends it."""
        return self.frame.decode()


class SharedFrames:
    """The frames of one branch."""

    def __init__(self) -> None:
        self._deltas: OrderedDict[tuple[int, int, bytes | None, int], Deltas] = OrderedDict()
        self._kept_bytes = 0
        self._clock: tuple[Clock, bytes] | None = None
        self._snap: tuple[Snapshot, int, str] | None = None

    def deltas(self, ring: Ring, position: int, sent_ms: int, clock: bytes | None, max_bytes: int) -> Deltas:
        """Events after `position`, as many as fit into a frame; with the clock if there are no more after them."""
        key = position, ring.last_seq, clock, max_bytes
        found = self._deltas.get(key)
        if found is None:
            events = ring.after(position, MAX_EVENTS_PER_FRAME, max_bytes)
            last_seq = position + len(events)
            if last_seq < ring.last_seq:
                clock = None
            found = self._deltas[key] = Deltas(encode_deltas(events, sent_ms, clock), last_seq, clock is not None)
            self._kept_bytes += len(found.frame)
            while len(self._deltas) > MAX_KEPT_FRAMES or (self._kept_bytes > MAX_KEPT_BYTES and len(self._deltas) > 1):
                self._kept_bytes -= len(self._deltas.popitem(last=False)[1].frame)
        return found

    def clock(self, clock: Clock) -> bytes:
        """The frame of a clock."""
        if self._clock is None or self._clock[0] != clock:
            self._clock = clock, encode(clock)
        return self._clock[1]

    def snap(self, snapshot: Snapshot, skipped: int) -> str:
        """The frame of a snapshot, as a socket sends it. Most pages that get one have skipped nothing."""
        if self._snap is None or self._snap[0] is not snapshot or self._snap[1] != skipped:
            frame = encode(Snap(snapshot.seq, snapshot.at_us, msgspec.Raw(snapshot.state), skipped))
            self._snap = snapshot, skipped, frame.decode()
        return self._snap[2]

    def forget(self) -> None:
        """The events are those of another ring from now on."""
        self._deltas.clear()
        self._kept_bytes = 0
