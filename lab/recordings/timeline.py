"""What is derived from the events of a recording, 1,000 events (a segment) at a time: no request reads them all.

Two append-only files: `keyframes.bin` with the view after each full segment, compressed, and `timeline.jsonl` with one
line per segment: its span of time, the number of events in each quarter of a second, its marks, and the position of its
keyframe. The first line names the fold that made them, and the kinds that have marks; files made with others are
discarded and derived again from the events.
"""

import zlib
from collections.abc import Iterable, Iterator
from functools import cache
from hashlib import blake2b
from pathlib import Path

import msgspec

from broker_core.events import Envelope
from broker_core.view.fold import empty_view, version
from broker_core.view.tree import View
from lab.protocol.marks import MARKED_KINDS, Mark, mark_of
from lab.recordings.file_changes import FILE_EVENTS

SEGMENT_EVENTS = 1_000
BUCKET_US = 250_000
KEYFRAMES = "keyframes.bin"
TIMELINE = "timeline.jsonl"


class SegmentFacts(msgspec.Struct, array_like=True):
    """One segment. `counts`: (quarter of a second, events) in order; `cuts`: the events that changed what is in files,
    or their names; `digest` is that of its records; the keyframe is the view after its last event.
    """

    first_seq: int
    last_seq: int
    first_at_us: int
    last_at_us: int
    counts: list[tuple[int, int]]
    marks: list[Mark]
    cuts: list[int]
    digest: str
    keyframe_position: int = 0
    keyframe_length: int = 0


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

    def add(self, envelope: Envelope, record: bytes) -> None:
        seq, at_us, _, _, event = envelope
        if seq == self.first_seq:
            self._first_at_us = at_us
        self.last_seq = seq
        self._last_at_us = at_us
        self._records.append(record)
        bucket = at_us // BUCKET_US
        self._counts[bucket] = self._counts.get(bucket, 0) + 1
        if isinstance(event, FILE_EVENTS):
            self._cuts.append(seq)
        mark = mark_of(seq, at_us, event)
        if mark is not None:
            self._marks.append(mark)

    @property
    def is_full(self) -> bool:
        return self.last_seq - self.first_seq + 1 >= SEGMENT_EVENTS

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
    """What a segment's records are compared by."""
    return blake2b(b"\n".join(records), digest_size=16).hexdigest()


class Timeline:
    """The two files, open. Segment `n` holds the events from `n * 1000 + 1` on."""

    def __init__(self, folder: Path) -> None:
        self._keyframes = folder / KEYFRAMES
        self._lines = folder / TIMELINE
        self.segments: list[SegmentFacts] = []
        self._load()

    @property
    def last_seq(self) -> int:
        """The last event that is covered."""
        return self.segments[-1].last_seq if self.segments else 0

    def append(self, facts: SegmentFacts, view: View) -> None:
        """Adds a full segment and the view after it. The keyframe is written first: a line never points at nothing."""
        data = zlib.compress(msgspec.json.encode(view), 1)
        with self._keyframes.open("ab") as stream:
            facts.keyframe_position = stream.tell()
            facts.keyframe_length = len(data)
            stream.write(data)
        with self._lines.open("ab") as stream:
            stream.write(msgspec.json.encode(facts) + b"\n")
        self.segments.append(facts)

    def view_after(self, segment: int) -> View:
        """The view after the last event of a full segment; -1 is before the first event of all."""
        if segment < 0:
            return empty_view()
        facts = self.segments[segment]
        with self._keyframes.open("rb") as stream:
            stream.seek(facts.keyframe_position)
            data = stream.read(facts.keyframe_length)
        view: View = msgspec.json.decode(zlib.decompress(data))
        return view

    def keep(self, last_seq: int) -> None:
        """Forgets the segments that reach beyond `last_seq`: a crash took events, or a fork leaves them behind."""
        kept = [facts for facts in self.segments if facts.last_seq <= last_seq]
        if len(kept) < len(self.segments):
            self._rewrite(kept)

    def _load(self) -> None:
        if not self._lines.exists():
            self._rewrite([])
            return
        lines = self._lines.read_bytes().split(b"\n")
        if lines[0] != _first_line():
            self._rewrite([])
            return
        size = self._keyframes.stat().st_size if self._keyframes.exists() else 0
        for facts in _whole_lines(lines[1:]):
            if facts.first_seq != self.last_seq + 1 or facts.keyframe_position + facts.keyframe_length > size:
                break
            self.segments.append(facts)
        if len(self.segments) != len(lines) - 2:
            self._rewrite(self.segments)

    def _rewrite(self, kept: list[SegmentFacts]) -> None:
        self._lines.parent.mkdir(parents=True, exist_ok=True)
        temporary = self._lines.with_suffix(".tmp")
        temporary.write_bytes(_first_line() + b"\n" + b"".join(msgspec.json.encode(facts) + b"\n" for facts in kept))
        temporary.replace(self._lines)
        end = max((facts.keyframe_position + facts.keyframe_length for facts in kept), default=0)
        with self._keyframes.open("ab") as stream:
            stream.truncate(end)
        self.segments = kept


def _whole_lines(lines: list[bytes]) -> Iterator[SegmentFacts]:
    """The facts of each line up to the first that is torn."""
    for line in lines:
        try:
            yield msgspec.json.decode(line, type=SegmentFacts)
        except msgspec.MsgspecError:
            return


def _first_line() -> bytes:
    made_with = {"fold": fold_version(), "segment_events": SEGMENT_EVENTS, "marked": MARKED_KINDS}
    return msgspec.json.encode(made_with)


@cache
def fold_version() -> str:
    """The fold of this process."""
    return version()
