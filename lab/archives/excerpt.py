"""A recording, or an excerpt of it, in the form that the player reads: an index, and events with their patches."""

from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec

from broker_core.events import codec
from broker_core.view.fold import Fold
from lab.protocol.marks import MARKED_KINDS
from lab.recordings.history import MAX_BUCKETS, MAX_MARKS, segment_json
from lab.recordings.recording import Recording
from lab.recordings.timeline import BUCKET_US, SEGMENT_EVENTS
from lab.texts.refusal import Refusal

_RANKS = {kind: rank for rank, kind in enumerate(MARKED_KINDS)}


class Segment(NamedTuple):
    """At most 1,000 events of an excerpt; `data` is JSON as `history.segment_json` gives it."""

    n: int
    first_seq: int
    last_seq: int
    first_at_us: int
    last_at_us: int
    data: bytes


class Excerpt:
    """The events `first_seq` to `last_seq` of a recording; they never change, whatever happens in the lab later."""

    def __init__(
        self,
        recording: Recording,
        from_us: int | None = None,
        to_us: int | None = None,
        *,
        seqs: tuple[int, int] | None = None,
    ) -> None:
        """From the state at one instant to that at another; None: the beginning, or the newest event. `seqs` names the
        first and the last event instead. Raises Refusal for an excerpt without events.
        """
        self._recording = recording
        self.is_whole = from_us is None and to_us is None and seqs is None
        first = 0 if from_us is None else recording.seq_at(from_us)
        last = recording.last_seq if to_us is None else recording.seq_at(to_us)
        first, last = seqs or (first, last)
        self.first_seq = max(recording.first_seq, first)
        self.last_seq = min(last, recording.last_seq)
        is_backward = from_us is not None and to_us is not None and from_us >= to_us
        if is_backward or self.last_seq < self.first_seq:
            raise Refusal("refusal.empty_excerpt", field="to", last=_seconds(recording.last_at_us))
        (begin,), (end,) = (recording.stored(seq, seq) for seq in (self.first_seq, self.last_seq))
        self.from_us = max(begin.at_us, from_us or 0) if self.first_seq > 1 else 0
        self.to_us = end.at_us
        self._counts: Counter[int] = Counter()
        self._segments: list[Segment] = []

    def sample(self, count: int) -> list[bytes]:
        """The data of a few segments, spread over all of it, to judge how large it will be."""
        numbers = range(0, self.last_seq - self.first_seq + 1, SEGMENT_EVENTS)
        chosen = numbers[:: max(1, len(numbers) // count)]
        return [segment_json(self._recording, (self.first_seq - 1 + n) // SEGMENT_EVENTS)[0] for n in chosen]

    def segments(self) -> Iterator[Segment]:
        """All of it, in order, each with the view before its first event."""
        recording = self._recording
        before = recording.stored(self.first_seq - 1, self.first_seq - 1) if self.first_seq > 1 else []
        at_us = before[0].at_us if before else 0
        fold = Fold(recording.view_at(self.first_seq - 1))
        self._counts.clear()
        self._segments.clear()
        for n, first_seq in enumerate(range(self.first_seq, self.last_seq + 1, SEGMENT_EVENTS)):
            state = msgspec.json.encode(fold.view)
            stored = recording.stored(first_seq, min(self.last_seq, first_seq + SEGMENT_EVENTS - 1))
            events = [
                codec.encode_with_patch(seq, record, fold.fold(codec.decode(seq, record))) for seq, record in stored
            ]
            data = b'{"n":%d,"first_seq":%d,"at_us":%d,"state":%b,"ev":[%b]}' % (
                n,
                first_seq,
                at_us,
                state,
                b",".join(events),
            )
            self._counts.update(event.at_us // BUCKET_US for event in stored)
            segment = Segment(n, first_seq, stored[-1].seq, stored[0].at_us, stored[-1].at_us, data)
            self._segments.append(segment._replace(data=b""))
            at_us = segment.last_at_us
            yield segment

    def index(self) -> dict[str, Any]:
        """The data of the timeline; call it after all segments."""
        return {
            "first_seq": self.first_seq,
            "last_seq": self.last_seq,
            "last_at_us": self.to_us,
            **({} if self.is_whole else {"first_at_us": self.from_us}),
            "start_wall_ms": self._recording.config["start_wall_ms"],
            "segment_events": SEGMENT_EVENTS,
            "segments": [{k: v for k, v in one._asdict().items() if k != "data"} for one in self._segments],
            "density": self._density(),
            "marks": self._marks(),
        }

    def _density(self) -> dict[str, Any]:
        factor = 1
        while self.to_us // (BUCKET_US * factor) >= MAX_BUCKETS:
            factor *= 2
        counts: Counter[int] = Counter()
        for bucket, count in self._counts.items():
            counts[bucket // factor] += count
        most = max(counts, default=-1)
        return {"bucket_us": BUCKET_US * factor, "counts": [counts[bucket] for bucket in range(most + 1)]}

    def _marks(self) -> list[dict[str, Any]]:
        found = [
            mark
            for facts in self._recording.segments()
            for mark in facts.marks
            if self.first_seq <= mark.seq <= self.last_seq
        ]
        found = sorted(found, key=lambda mark: (_RANKS[mark.kind], -mark.seq))[:MAX_MARKS]
        marks = [{"seq": one.seq, "at_us": one.at_us, "kind": one.kind, "values": one.values} for one in found]
        return sorted(marks, key=lambda mark: mark["seq"])


def _seconds(at_us: int) -> str:
    return f"{at_us / 1e6:.6f} s"
