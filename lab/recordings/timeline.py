"""What is derived from the events of a recording: no request reads them all.

Two append-only files. `timeline.jsonl` has one line for each 1,000 events (a segment): its span of time, the number of
events in each quarter of a second, its marks. The first line names the fold that made the keyframes, and the kinds that
have marks; files made with others are discarded and derived again from the events. `keyframes.bin` is in
`lab.recordings.keyframes`.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from hashlib import blake2b
from operator import itemgetter
from pathlib import Path
from threading import Lock

import msgspec

from broker_core.events import KINDS, Envelope
from broker_core.view.fold import version
from lab.protocol.marks import MARKED_KINDS, Mark, mark_of, named_fields
from lab.recordings.base import Base, read_base, write_base
from lab.recordings.disk.file_changes import FILE_EVENTS
from lab.recordings.keyframes import FORMAT as KEYFRAMES_FORMAT
from lab.recordings.keyframes import KEYFRAMES, Keyframes

SEGMENT_EVENTS = 1_000
BUCKET_US = 250_000
TIMELINE = "timeline.jsonl"
_event_of = itemgetter(4)
_TOLD_KINDS = frozenset(FILE_EVENTS) | {KINDS[kind] for kind in MARKED_KINDS}


class SegmentFacts(msgspec.Struct, array_like=True):
    """One segment. `counts`: (quarter of a second, events) in order; `cuts`: the events that changed what is in files,
    or their names; `digest` is that of its records.
    """

    first_seq: int
    last_seq: int
    first_at_us: int
    last_at_us: int
    counts: list[tuple[int, int]]
    marks: list[Mark]
    cuts: list[int]
    digest: str


class Tally:
    """Collects the facts of the segment that is being filled."""

    def __init__(self, first_seq: int) -> None:
        self.first_seq = first_seq
        self.last_seq = first_seq - 1
        self._first_at_us = self._last_at_us = 0
        self._counts: dict[int, int] = {}
        self._marks: list[Mark] = []
        self._cuts: list[int] = []
        self._records: list[bytes] = []

    def add(self, envelopes: Sequence[Envelope], records: Sequence[bytes]) -> None:
        """The next events, which must not be more than `room`."""
        first_at_us, last_at_us = envelopes[0][1], envelopes[-1][1]
        if self.last_seq < self.first_seq:
            self._first_at_us = first_at_us
        self.last_seq = envelopes[-1][0]
        self._last_at_us = last_at_us
        self._records += records
        counts = self._counts
        bucket = last_at_us // BUCKET_US
        if first_at_us // BUCKET_US == bucket:
            counts[bucket] = counts.get(bucket, 0) + len(envelopes)
        else:
            for bucket, count in Counter([envelope[1] // BUCKET_US for envelope in envelopes]).items():
                counts[bucket] = counts.get(bucket, 0) + count
        if _TOLD_KINDS.isdisjoint(map(type, map(_event_of, envelopes))):
            return
        for seq, at_us, _, _, event in envelopes:
            if type(event) in _TOLD_KINDS:
                if isinstance(event, FILE_EVENTS):
                    self._cuts.append(seq)
                mark = mark_of(seq, at_us, event)
                if mark is not None:
                    self._marks.append(mark)

    @property
    def room(self) -> int:
        """The number of events that the segment lacks."""
        return SEGMENT_EVENTS - (self.last_seq - self.first_seq + 1)

    @property
    def is_full(self) -> bool:
        return self.room <= 0

    def facts(self) -> SegmentFacts:
        return SegmentFacts(
            self.first_seq,
            self.last_seq,
            self._first_at_us,
            self._last_at_us,
            sorted(self._counts.items()),
            list(self._marks),
            list(self._cuts),
            digest_of(self._records),
        )


def digest_of(records: Iterable[bytes]) -> str:
    """The digest by which a segment's records are compared."""
    return blake2b(b"\n".join(records), digest_size=16).hexdigest()


class Timeline:
    """The two files. Segment `n` holds the events from `n * 1000 + 1` on."""

    def __init__(self, folder: Path) -> None:
        self._lines = folder / TIMELINE
        self.base = read_base(folder)
        self.last_seq = self.begins_after
        """The last event that is covered."""
        self._load()
        self.keyframes = Keyframes(folder / KEYFRAMES, self.base)

    @property
    def begins_after(self) -> int:
        """The event after which the recording begins, a multiple of 1,000; 0 if it begins with the run."""
        return self.base.seq if self.base else 0

    @property
    def segments(self) -> list[SegmentFacts]:
        """All full segments, read from the file at each call: a cluster that runs for days has hundreds of thousands of
        them and needs none.
        """
        return list(_whole_lines(self._lines.read_bytes().split(b"\n")[1:-1]))

    def append(self, facts: SegmentFacts) -> None:
        """Adds a full segment."""
        with self._lines.open("ab") as stream:
            stream.write(msgspec.json.encode(facts) + b"\n")
        self.last_seq = facts.last_seq

    def keep(self, last_seq: int) -> None:
        """Removes what is past `last_seq`: events that a crash lost, or that a fork does not share."""
        if last_seq < self.last_seq:
            self._rewrite([facts for facts in self.segments if facts.last_seq <= last_seq])
        self.keyframes.keep(last_seq)

    def begin_at(self, base: Base) -> None:
        """Removes what is before a new beginning of the recording, which must be the end of a segment."""
        write_base(self._lines.parent, base)
        self.base = base
        self._rewrite([facts for facts in self.segments if facts.first_seq > base.seq])
        self.keyframes.begin_at(base)

    def _load(self) -> None:
        lines = self._lines.read_bytes().split(b"\n") if self._lines.exists() else [b""]
        if lines[0] != _first_line():
            (self._lines.parent / KEYFRAMES).unlink(missing_ok=True)
            self._rewrite([])
            return
        kept: list[SegmentFacts] = []
        for facts in _whole_lines(lines[1:]):
            if facts.last_seq <= self.begins_after:
                continue
            if facts.first_seq != self.last_seq + 1:
                break
            kept.append(facts)
            self.last_seq = facts.last_seq
        if len(kept) != len(lines) - 2:
            self._rewrite(kept)

    def _rewrite(self, kept: list[SegmentFacts]) -> None:
        self._lines.parent.mkdir(parents=True, exist_ok=True)
        temporary = self._lines.with_suffix(".tmp")
        temporary.write_bytes(_first_line() + b"\n" + b"".join(msgspec.json.encode(facts) + b"\n" for facts in kept))
        temporary.replace(self._lines)
        self.last_seq = kept[-1].last_seq if kept else self.begins_after


def _whole_lines(lines: list[bytes]) -> Iterator[SegmentFacts]:
    """The facts of each line up to the first that is torn."""
    for line in lines:
        try:
            yield msgspec.json.decode(line, type=SegmentFacts)
        except msgspec.MsgspecError:
            return


def _first_line() -> bytes:
    made_with = {
        "fold": fold_version(),
        "segment_events": SEGMENT_EVENTS,
        "marked": {kind: named_fields(kind) for kind in MARKED_KINDS},
    }
    return msgspec.json.encode({"keyframes": KEYFRAMES_FORMAT, **made_with})


def fold_version() -> str:
    """The fold of this process. One thread computes it: Python 3.11 fails where two parse code at the same time."""
    with _versioning:
        return _version()


_versioning = Lock()
_version = cache(version)
