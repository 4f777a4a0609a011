"""Updates the time line of a recording from its events, both live and when it has fallen behind."""

from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

import msgspec

from broker_core.events import Envelope, codec
from broker_core.view.fold import Fold
from broker_core.view.patch import Patch
from broker_core.view.tree import View
from lab.recordings.keyframes import distance_of
from lab.recordings.logs import RecordedLogs
from lab.recordings.timeline import SEGMENT_EVENTS, SegmentFacts, Tally, Timeline

#: an event, what it changed in the view, and its bytes, as `Run.take` returns them
Made: TypeAlias = tuple[Envelope, Patch, bytes]


class Derivation:
    """A time line and, behind it, the facts of the open segment."""

    def __init__(self, logs: RecordedLogs, derived: Callable[[int], None] = lambda seq: None) -> None:
        """Derives what is missing after a crash or a change of the fold: 0.2 M events per second. `derived`: called
        with how many events are derived, which is done in two passes.
        """
        self._logs = logs
        self.timeline = Timeline(logs.folder.recording)
        self.timeline.keep(logs.last_seq)
        self._tally = Tally(self.timeline.last_seq + 1)
        self._derive(derived)

    def take(self, made: Sequence[Made]) -> None:
        """The next events."""
        self._count([envelope for envelope, _, _ in made], [record for _, _, record in made])

    def is_keyframe_due(self, seq: int, waiting: int = 0) -> bool:
        """Whether the view after event `seq` should be added. `waiting`: the event of one that is yet to be added."""
        return self.timeline.keyframes.is_due(seq, waiting)

    def add_keyframe(self, seq: int, view: bytes) -> None:
        """Adds the view after event `seq`, as JSON."""
        self.timeline.keyframes.append_encoded(seq, view)

    def spread_keyframes(self, spread: Callable[[int], None]) -> None:
        """Has a keyframe before each segment, or, where views are large, before fewer of them: a seek folds nothing.
        For a recording that nothing is added to.
        """
        self.timeline.keyframes.replace(self._spread(spread))

    def _spread(self, spread: Callable[[int], None]) -> Iterator[tuple[int, View]]:
        first_seq = self.timeline.keyframes.first_seq
        fold = Fold(self.timeline.keyframes.before(first_seq)[1])
        kept_seq, distance = first_seq, SEGMENT_EVENTS
        for first in range(first_seq + 1, self._logs.last_seq + 1, SEGMENT_EVENTS):
            if first - 1 - kept_seq >= distance:
                kept_seq = first - 1
                yield kept_seq, fold.view
                distance = distance_of(len(msgspec.json.encode(fold.view)), SEGMENT_EVENTS)
            for envelopes, _ in self._read(first, min(first + SEGMENT_EVENTS - 1, self._logs.last_seq)):
                fold.fold_all(envelopes)
                spread(envelopes[-1][0])

    def segments(self) -> list[SegmentFacts]:
        """All segments; the open one, if it holds anything, comes last."""
        open_segment = self._tally.facts()
        full = self.timeline.segments
        return [*full, open_segment] if open_segment.last_seq >= open_segment.first_seq else list(full)

    def _derive(self, derived: Callable[[int], None]) -> None:
        last_seq = self._logs.last_seq
        for envelopes, records in self._read(self._tally.first_seq, last_seq):
            self._count(envelopes, records)
            derived(envelopes[-1][0] // 2)
        keyframes = self.timeline.keyframes
        if keyframes.is_due(last_seq):
            start, view = keyframes.before(last_seq)
            fold = Fold(view)
            for envelopes, _ in self._read(start + 1, last_seq):
                fold.fold_all(envelopes)
                if keyframes.is_due(envelopes[-1][0]):
                    keyframes.append(envelopes[-1][0], fold.view)
                derived((last_seq + envelopes[-1][0]) // 2)

    def _read(self, first_seq: int, last_seq: int) -> Iterator[tuple[list[Envelope], list[bytes]]]:
        """The written events from `first_seq` to `last_seq`, about 1,000 at a time."""
        for first in range(first_seq, last_seq + 1, SEGMENT_EVENTS):
            stored = self._logs.events(first, min(last_seq, first + SEGMENT_EVENTS - 1))
            if not stored:
                # Damage: a batch that cannot be read hides the ones behind it.
                continue
            yield [codec.decode(event.seq, event.record) for event in stored], [event.record for event in stored]

    def _count(self, envelopes: Sequence[Envelope], records: Sequence[bytes]) -> None:
        while envelopes:
            room = self._tally.room
            self._tally.add(envelopes[:room], records[:room])
            envelopes, records = envelopes[room:], records[room:]
            if self._tally.is_full:
                self.timeline.append(self._tally.facts())
                self._tally = Tally(self._tally.last_seq + 1)
