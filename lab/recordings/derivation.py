"""Keeps the time line of a recording up with its events: while they happen, and again when it was left behind."""

from typing import Any

from broker_core.events import Envelope, codec
from broker_core.view.fold import Fold
from broker_core.view.patch import apply
from lab.recordings.logs import RecordedLogs
from lab.recordings.timeline import SEGMENT_EVENTS, SegmentFacts, Tally, Timeline

Patch = list[Any]


class Derivation:
    """A time line and, behind it, the open segment: its facts so far, and the view after its last event."""

    def __init__(self, logs: RecordedLogs) -> None:
        """Derives what a crash or another version of the fold has left underived: 0.2 M events a second."""
        self.timeline = Timeline(logs.folder.recording)
        self.timeline.keep(logs.last_seq)
        self.view = self.timeline.view_after(len(self.timeline.segments) - 1)
        self._tally = Tally(self.timeline.last_seq + 1)
        fold = Fold(self.view)
        while self._tally.last_seq < logs.last_seq:
            for stored in logs.events(self._tally.last_seq + 1, self._tally.last_seq + SEGMENT_EVENTS):
                envelope = codec.decode(stored.seq, stored.record)
                fold.fold(envelope)
                self._count(envelope, stored.record)

    def take(self, envelope: Envelope, patch: Patch, record: bytes) -> None:
        """The next event with its patch and its bytes."""
        apply(self.view, patch)
        self._count(envelope, record)

    def segments(self) -> list[SegmentFacts]:
        """All segments; the open one, if it holds anything, comes last."""
        open_segment = self._tally.facts()
        full = self.timeline.segments
        return [*full, open_segment] if open_segment.last_seq >= open_segment.first_seq else list(full)

    def _count(self, envelope: Envelope, record: bytes) -> None:
        self._tally.add(envelope, record)
        if self._tally.is_full:
            self.timeline.append(self._tally.facts(), self.view)
            self._tally = Tally(self._tally.last_seq + 1)
