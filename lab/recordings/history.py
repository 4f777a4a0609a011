"""A recording for the page: data of the time line, and segments of 1,000 events with the view before them."""

import re
from collections import Counter
from collections.abc import Mapping
from typing import Any

import msgspec

from broker_core.events import codec
from broker_core.texts import Value
from broker_core.view.fold import Fold
from lab.protocol.marks import Mark
from lab.recordings.recording import Recording
from lab.recordings.timeline import BUCKET_US, SEGMENT_EVENTS, SegmentFacts
from lab.texts.refusal import Refusal

MAX_BUCKETS = 4_000
MAX_MARKS = 2_000
MAX_DIGITS = 12
SLACK_US = 1_000_000
"""Simulated time runs on after the last event, and addresses are copied from there: up to a second is still the end."""


def segments_of(segments: list[SegmentFacts]) -> list[dict[str, int]]:
    """One entry a segment: what the page needs to ask for the right one."""
    return [
        {
            "n": facts.first_seq // SEGMENT_EVENTS,
            "first_seq": facts.first_seq,
            "last_seq": facts.last_seq,
            "first_at_us": facts.first_at_us,
            "last_at_us": facts.last_at_us,
        }
        for facts in segments
    ]


def density(segments: list[SegmentFacts]) -> dict[str, Any]:
    """The number of events per bucket, from the start of the run. A bucket is a quarter of a second, doubled until
    there are at most 4,000.
    """
    last_at_us = segments[-1].last_at_us if segments else 0
    factor = 1
    while last_at_us // (BUCKET_US * factor) >= MAX_BUCKETS:
        factor *= 2
    counts: Counter[int] = Counter()
    for facts in segments:
        for bucket, count in facts.counts:
            counts[bucket // factor] += count
    return {
        "bucket_us": BUCKET_US * factor,
        "counts": [counts[bucket] for bucket in range(max(counts, default=-1) + 1)],
    }


def marks(segments: list[SegmentFacts]) -> list[Mark]:
    """The marks of the time line, in order; if there are too many, the most significant."""
    found = [mark for facts in segments for mark in facts.marks]
    if len(found) > MAX_MARKS:
        found = sorted(sorted(found, key=lambda mark: (mark.rank, -mark.seq))[:MAX_MARKS], key=lambda mark: mark.seq)
    return found


def index_of(recording: Recording, last_seq: int | None = None) -> dict[str, Any]:
    """What the time line shows of a recording, up to event `last_seq`: segments, density, marks."""
    last = recording.last_seq if last_seq is None else min(last_seq, recording.last_seq)
    segments = [_until(recording, facts, last) for facts in recording.segments() if facts.first_seq <= last]
    is_whole = last == recording.last_seq
    return {
        "first_seq": 1,
        "last_seq": last,
        "last_at_us": recording.last_at_us if is_whole else seek(recording, seq=last)["at_us"],
        "start_wall_ms": recording.config["start_wall_ms"],
        "segment_events": SEGMENT_EVENTS,
        "segments": segments_of(segments),
        "density": density(segments),
        "marks": [
            {"seq": mark.seq, "at_us": mark.at_us, "kind": mark.kind, "values": mark.values} for mark in marks(segments)
        ],
    }


def _until(recording: Recording, facts: SegmentFacts, last_seq: int) -> SegmentFacts:
    """A segment without what comes after an event."""
    if facts.last_seq <= last_seq:
        return facts
    times = [event.at_us for event in recording.stored(facts.first_seq, last_seq)]
    return msgspec.structs.replace(
        facts,
        last_seq=last_seq,
        last_at_us=times[-1],
        counts=sorted(Counter(at_us // BUCKET_US for at_us in times).items()),
        marks=[mark for mark in facts.marks if mark.seq <= last_seq],
    )


def segment_json(recording: Recording, n: int, last_seq: int | None = None) -> tuple[bytes, bool]:
    """Segment `n` as JSON, up to event `last_seq`: the view before it, and its events with their patches; and whether
    it is full, so final.

    Raises Refusal (404) when the recording has no such segment.
    """
    first_seq = n * SEGMENT_EVENTS + 1
    end = recording.last_seq if last_seq is None else min(last_seq, recording.last_seq)
    if not recording.first_seq <= first_seq <= max(end, 1):
        raise _absent("refusal.no_segment", recording, segment=n)
    view = recording.view_at(first_seq - 1)
    state = msgspec.json.encode(view)
    before = recording.stored(first_seq - 1, first_seq - 1) if n else []
    fold = Fold(view)
    events = [
        codec.encode_with_patch(seq, record, fold.fold(codec.decode(seq, record)))
        for seq, record in recording.stored(first_seq, min(end, first_seq + SEGMENT_EVENTS - 1))
    ]
    data = b'{"n":%d,"first_seq":%d,"at_us":%d,"state":%b,"ev":[%b]}' % (
        n,
        first_seq,
        before[0].at_us if before else 0,
        state,
        b",".join(events),
    )
    return data, len(events) == SEGMENT_EVENTS


def seek(recording: Recording, *, t_us: int | None = None, seq: int | None = None, now_us: int = 0) -> dict[str, int]:
    """The event to show for an instant: the last at or before `t_us`, or `seq` itself.

    `now_us` is how far the lab has come, which may be long after the last event of a cluster without work.
    Raises Refusal (404) for an instant that the recording does not have.
    """
    if seq is None:
        if t_us is None or not recording.first_at_us <= t_us <= max(recording.last_at_us, now_us) + SLACK_US:
            raise _absent("refusal.no_instant", recording, instant=_seconds(t_us or 0))
        seq = recording.seq_at(t_us)
    if not recording.first_seq - 1 <= seq <= recording.last_seq:
        raise _absent("refusal.no_event", recording, seq=seq)
    found = recording.stored(seq, seq) if seq >= recording.first_seq else []
    at_us = found[0].at_us if found else recording.first_at_us
    return {"seq": seq, "at_us": at_us, "n": max(0, seq - 1) // SEGMENT_EVENTS}


def parse_instant(query: Mapping[str, str]) -> dict[str, int | None]:
    """What `seek` takes, from the address of a page: `t` in seconds or `seq`; neither means the newest instant.

    Raises Refusal (404) for an invalid instant.
    """
    if seq := query.get("seq"):
        if not (seq.isdecimal() and len(seq) <= MAX_DIGITS):
            raise Refusal("refusal.invalid_instant", 404, instant=seq[:40])
        return {"t_us": None, "seq": int(seq)}
    return {"t_us": parse_seconds(query.get("t", "")) or 0, "seq": None}


def parse_seconds(t: str) -> int | None:
    """An instant in microseconds, written as seconds; None where none is given. Raises Refusal (404) for other text."""
    if not t:
        return None
    if not re.fullmatch(rf"\d{{1,{MAX_DIGITS}}}(\.\d{{1,6}})?", t):
        raise Refusal("refusal.invalid_instant", 404, instant=t[:40])
    seconds, _, fraction = t.partition(".")
    return int(seconds) * 1_000_000 + int(fraction.ljust(6, "0"))


def _absent(id: str, recording: Recording, **values: Value) -> Refusal:
    end, last = _seconds(recording.last_at_us), recording.last_seq
    return Refusal(id, 404, field="", end=end, last=last, **values)


def _seconds(at_us: int) -> str:
    return f"{at_us // 1_000_000}.{at_us % 1_000_000:06d} s" if at_us >= 0 else f"{at_us} us"


def history_not_kept(recording: Recording) -> Refusal:
    """The history that would have to be executed again was not kept: the cluster ran with `--keep`."""
    return Refusal("refusal.history_not_kept", 409, start=_seconds(recording.first_at_us))
