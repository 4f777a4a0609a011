"""Reads the logs of classes and learners into rows of `bronze.acts`. Uses neither Django nor Spark.

A record of a class is `[class_us, who, act, [kind, field, ...]]`, one of a learner an object with its kind under `k`. A
row has fields by name, and pseudonyms for people. References to unknown people are left out.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa

from broker_core.records.record_batch import iterate
from lab.analytics.build.segments import Span
from lab.analytics.build.values import UNREADABLE
from lab.analytics.store.ledger import BranchEntry
from lab.classroom.events import CLASS

_TEXT, _NUMBER = pa.string(), pa.int64()
ROWS = pa.schema(
    {
        "log": _TEXT, "seq": _NUMBER, "at_ms": _NUMBER, "class_us": _NUMBER, "who": _TEXT, "kind": _TEXT,
        "class": _TEXT, "scope": _TEXT, "payload": _TEXT,
    }
)  # fmt: skip
LEFT_OUT = frozenset({"seen", "map"})
"""Families of class events that stay in recordings alone: where somebody pointed and looked, where labs stood."""
_PARTICIPANT = re.compile(r"p\d+\Z")
_PEOPLE = ("p", "by", "voter")
_FAMILIES = {kind: CLASS.family_of(kind_class) for kind, kind_class in CLASS.kinds.items()}
_SHARED = {"v", "k", "classroom"}


@dataclass(frozen=True)
class FoundLog:
    """A log that a build reads.

    Attributes:
        folder: its folder.
        entry: its ledger entry before anything of it has been read.
        people: for a class, the pseudonyms of its participants.
        rooms: for a learner, the classes that runs belong to.
    """

    folder: Path
    entry: BranchEntry
    people: Mapping[str, str] = field(default_factory=dict)
    rooms: Mapping[str, str] = field(default_factory=dict)


class Clock(msgspec.Struct, frozen=True):
    """The wall clock at an instant of class time."""

    wall_ms: int = 0
    at_us: int = 0


def clock_of(text: bytes) -> Clock:
    """The clock from a class's header, or the one stored in the entry of its log by the previous read."""
    try:
        return msgspec.json.decode(text, type=Clock)
    except msgspec.MsgspecError:
        return Clock()


def rows_of(log: FoundLog, spans: Iterable[Span], clock: Clock) -> tuple[pa.Table, Clock]:
    """The acts in spans of a log, and the clock after them."""
    rows: list[dict[str, Any]] = []
    for span in spans:
        with Path(span.path).open("rb") as stream:
            stream.seek(span.start)
            data = stream.read(span.end - span.start)
        for record in iterate(data):
            # Offset 0 holds the log's header.
            if record.value is None or record.offset == 0:
                continue
            if log.entry.class_:
                clock = _class_row(log, record.offset, bytes(record.value), clock, rows)
            else:
                rows.append(_learner_row(log, record.offset, record.timestamp, bytes(record.value)))
    return pa.Table.from_pylist(rows, schema=ROWS), clock


def _class_row(log: FoundLog, seq: int, value: bytes, clock: Clock, rows: list[dict[str, Any]]) -> Clock:
    """Adds the row of a class's record, if it has one. Returns the clock after it."""
    try:
        found = msgspec.json.decode(value)
        class_us, who, _, event = found
        kind, *values = event
        family = _FAMILIES.get(kind)
    except (msgspec.MsgspecError, ValueError, KeyError, TypeError):
        rows.append(_row(log, seq, 0, None, "", UNREADABLE, log.entry.class_, {"text": value.decode(errors="replace")}))
        return clock
    if kind == "ClassResumed":
        clock = Clock(int(values[1]), class_us)
    if family in LEFT_OUT:
        return clock
    names = CLASS.kinds[kind].__struct_fields__ if family is not None else tuple(str(i) for i in range(len(values)))
    named = dict(zip(names, values, strict=False))
    people = {name: _person(log, str(named[name])) for name in _PEOPLE if name in named}
    if None in people.values() or (actor := _person(log, who)) is None:
        return clock
    at_ms = clock.wall_ms + (class_us - clock.at_us) // 1_000
    rows.append(_row(log, seq, at_ms, class_us, actor, kind, log.entry.class_, {**named, **people}))
    return clock


def _person(log: FoundLog, name: str) -> str | None:
    """The pseudonym of a participant, None for an unknown one; values that are not participants are returned
    unchanged.
    """
    return log.people.get(name) if _PARTICIPANT.match(name) else name


def _learner_row(log: FoundLog, seq: int, at_ms: int, value: bytes) -> dict[str, Any]:
    try:
        found = msgspec.json.decode(value)
        kind = str(found["k"])
    except (msgspec.MsgspecError, KeyError, TypeError):
        text = value.decode(errors="replace")
        return _row(log, seq, at_ms, None, log.entry.learner, UNREADABLE, "", {"text": text})
    room = str(found.get("classroom") or log.rooms.get(found.get("run", ""), ""))
    payload = {name: one for name, one in found.items() if name not in _SHARED}
    return _row(log, seq, at_ms, None, log.entry.learner, kind, room, payload)


def _row(
    log: FoundLog, seq: int, at_ms: int, class_us: int | None, who: str, kind: str, room: str, payload: dict[str, Any]
) -> dict[str, Any]:
    text = msgspec.json.encode(payload).decode()
    scope = "class" if room else "private"
    return {
        "log": log.entry.branch, "seq": seq, "at_ms": at_ms, "class_us": class_us, "who": who, "kind": kind,
        "class": room, "scope": scope, "payload": text,
    }  # fmt: skip
