"""A passage of a recorded class, between two instants of class time, to be saved as a page."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, TypeAlias

import msgspec

from lab.classroom.audience import Viewer
from lab.classroom.events.seen import ViewChanged
from lab.classroom.frames import LookedAt
from lab.classroom.recorded.class_map import NO_LAB, Row
from lab.classroom.recorded.description import describe
from lab.classroom.recorded.playback import Playback
from lab.texts.refusal import Refusal

ANYBODY = Viewer("", "observer")
"""A page may go to anybody: it has what all members of the class may see, and nothing that is for one of them."""
Span: TypeAlias = tuple[int, int]


class LabSpan(NamedTuple):
    """A lab that is shown in the passage: its events, and its instant at the end."""

    address: str
    first_seq: int
    last_seq: int
    to_us: int


class ClassExcerpt(NamedTuple):
    """The passage. `manifest`: the description that a page gets first; `labs` by number; `segments`: the JSON of
    each.
    """

    from_us: int
    to_us: int
    manifest: dict[str, Any]
    rows: list[Row]
    labs: dict[int, LabSpan]
    segments: list[bytes]


def span_of(playback: Playback, from_us: int | None, to_us: int | None) -> Span:
    """The passage clipped to the recording. Raises Refusal if it is empty."""
    begin, end = max(0, from_us or 0), min(playback.length_us, playback.length_us if to_us is None else to_us)
    if begin >= end:
        raise Refusal("refusal.empty_excerpt", field="to", last=f"{playback.length_us // 1_000_000} s")
    return begin, end


def excerpt_of(playback: Playback, titles: Sequence[str], span: Span) -> ClassExcerpt:
    """A passage of a recording. `titles`: of its labs, by number."""
    from_us, to_us = span
    # Events at the start of the passage belong to it.
    found = list(playback.excerpt(ANYBODY, from_us - 1, to_us))
    rows = rows_between(playback.map.rows, from_us, to_us)
    labs = labs_between(playback, rows, span)
    manifest = {
        **described(playback, titles, span),
        "first_us": from_us,
        "length_us": to_us,
        "segments": [max(from_us, begins_us) for begins_us, _ in found],
        "first_seq": found[0][1].first_seq,
        "last_seq": found[-1][1].last_seq,
    }
    for lab in manifest["labs"]:
        if lab["n"] not in labs:
            lab |= {"title": "", "address": ""}
    return ClassExcerpt(from_us, to_us, manifest, rows, labs, [msgspec.json.encode(segment) for _, segment in found])


def described(playback: Playback, titles: Sequence[str], span: Span) -> dict[str, Any]:
    """The description of the class, limited to the passage."""
    from_us, to_us = span
    full = describe(playback, ANYBODY, titles)
    bucket_us, counts = full["density"]["bucket_us"], full["density"]["counts"]
    kept = [count if from_us <= n * bucket_us <= to_us else 0 for n, count in enumerate(counts)]
    return {
        **full,
        "density": {"bucket_us": bucket_us, "counts": kept[: to_us // bucket_us + 1]},
        **{name: clipped(full[name], span) for name in ("off_record", "quiet")},
        **{name: [one for one in full[name] if from_us <= one["at_us"] <= to_us] for name in ("questions", "polls")},
    }


def clipped(spans: Iterable[Span], within: Span) -> list[Span]:
    """The parts of spans that are within another."""
    from_us, to_us = within
    return [(max(begin, from_us), min(end, to_us)) for begin, end in spans if begin < to_us and end > from_us]


def rows_between(rows: Sequence[Row], from_us: int, to_us: int) -> list[Row]:
    """The rows of the map between two instants, starting with the row in effect at the first."""
    before = [row for row in rows if row.class_us <= from_us]
    return [*([before[-1].moved_to(from_us)] if before else []), *(r for r in rows if from_us < r.class_us <= to_us)]


def labs_between(playback: Playback, rows: Sequence[Row], span: Span) -> dict[int, LabSpan]:
    """The labs that these rows show, including earlier instants that the presenter looked at."""
    found: dict[int, LabSpan] = {}
    for row, end_us in zip(rows, [*(row.class_us for row in rows[1:]), span[1]], strict=True):
        if row.lab == NO_LAB or not row.seq:
            continue
        known = found.get(row.lab)
        address = playback.map.labs[row.lab].address
        low, high = (known.first_seq, known.last_seq) if known else (row.seq, row.seq)
        to_us = max(row.moved_to(end_us).at_us, known.to_us if known else 0)
        found[row.lab] = LabSpan(address, min(low, row.seq), max(high, row.seq), to_us)
    looked = _looked_at(playback, span)
    for number, lab in found.items():
        seqs = [seq for seq in looked.get(lab.address, ()) if 0 < seq <= playback.map.last_seqs[number]]
        first, last = min([lab.first_seq, *seqs]), max([lab.last_seq, *seqs])
        found[number] = lab._replace(first_seq=first, last_seq=last)
    return found


def _looked_at(playback: Playback, span: Span) -> dict[str, set[int]]:
    """By lab, the events that the presenter looked at, starting with the view at the start of the passage."""
    found: dict[str, set[int]] = {}
    before: LookedAt | None = None
    for _, at_us, _, _, event in playback.events():
        if at_us > span[1]:
            break
        if isinstance(event, ViewChanged):
            view = msgspec.json.decode(event.view, type=LookedAt)
            if at_us < span[0]:
                before = view
            elif view.seq is not None:
                found.setdefault(view.branch, set()).add(view.seq)
    if before is not None and before.seq is not None:
        found.setdefault(before.branch, set()).add(before.seq)
    return found
