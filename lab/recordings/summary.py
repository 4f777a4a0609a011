"""A few facts of a branch beside its recording, so that the list of runs opens none of them."""

import msgspec

from lab.recordings.folder import BranchFolder
from lab.recordings.history import density
from lab.recordings.recording import Recording

SUMMARY = "summary.json"
BARS = 44


class RecordingSummary(msgspec.Struct):
    """`density`: events in each of up to 44 equal spans; `alarms`: the spans with alarms. `happened`: the number of
    marks of each kind. `plays`: the run was playing, or paused only because no page was connected.
    """

    last_seq: int = 0
    last_at_us: int = 0
    bytes: int = 0
    topics: list[str] = []
    density: list[int] = []
    alarms: list[int] = []
    happened: dict[str, int] = {}
    plays: bool = False


def summarise(recording: Recording, plays: bool, topics: list[str] | None = None) -> RecordingSummary:
    """The current facts. `topics`: existing topics, if known."""
    segments = recording.segments()
    counts, bucket_us = (density(segments)[name] for name in ("counts", "bucket_us"))
    happened: dict[str, int] = {}
    alarms = set()
    for facts in segments:
        for mark in facts.marks:
            happened[mark.kind] = happened.get(mark.kind, 0) + 1
            if mark.kind == "InvariantViolated":
                alarms.add(_bar(mark.at_us // bucket_us, len(counts)))
    if topics is None:
        topics = recording.last_topics()
    return RecordingSummary(
        last_seq=recording.last_seq,
        last_at_us=recording.last_at_us,
        bytes=recording.size_bytes,
        topics=topics,
        density=_bars(counts),
        alarms=sorted(alarms),
        happened=happened,
        plays=plays,
    )


def write_summary(recording: Recording, plays: bool = False, topics: list[str] | None = None) -> None:
    """Puts the facts beside the recording. Without new events only `plays` may have changed."""
    path = recording.folder.recording / SUMMARY
    known = read_summary(recording.folder)
    if known.last_seq == recording.last_seq > 0:
        facts = msgspec.structs.replace(known, plays=plays)
    else:
        facts = summarise(recording, plays, topics)
    temporary = path.with_suffix(".tmp")
    temporary.write_bytes(msgspec.json.encode(facts))
    temporary.replace(path)


def read_summary(folder: BranchFolder) -> RecordingSummary:
    """The stored summary; empty if it cannot be read."""
    try:
        return msgspec.json.decode((folder.recording / SUMMARY).read_bytes(), type=RecordingSummary)
    except (OSError, msgspec.MsgspecError):
        return RecordingSummary()


def _bars(counts: list[int]) -> list[int]:
    if len(counts) <= BARS:
        return counts
    return [sum(counts[len(counts) * bar // BARS : len(counts) * (bar + 1) // BARS]) for bar in range(BARS)]


def _bar(bucket: int, buckets: int) -> int:
    """The span that a bucket belongs to."""
    return bucket if buckets <= BARS else next(bar for bar in range(BARS) if bucket < buckets * (bar + 1) // BARS)
