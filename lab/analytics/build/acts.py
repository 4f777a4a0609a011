"""Reads the logs of classes and learners into rows of `bronze.acts`. Uses neither Django nor Spark.

A record of a class is `[class_us, who, act, [kind, field, ...]]`, one of a learner an object with its kind under `k`. A
row has fields by name, and pseudonyms for people. References to unknown people are left out.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

import msgspec
import pyarrow as pa

from lab.analytics.build.segments import Span, records
from lab.analytics.build.values import UNREADABLE
from lab.analytics.store.ledger import BranchEntry
from lab.analytics.store.objects import Folder, folder_at
from lab.classroom.events import CLASS

_TEXT, _NUMBER = pa.string(), pa.int64()
ROWS = pa.schema(
    {
        "log": _TEXT, "seq": _NUMBER, "at_ms": _NUMBER, "class_us": _NUMBER, "who": _TEXT, "kind": _TEXT,
        "class": _TEXT, "scope": _TEXT, "payload": _TEXT,
    }
)  # fmt: skip
LEFT_OUT = frozenset({"seen", "map"})
"""Families of class events that are only in recordings: pointers, views and positions of labs."""
_PARTICIPANT = re.compile(r"p\d+\Z")
_PEOPLE = ("p", "by", "voter")
_FAMILIES = {kind: CLASS.family_of(kind_class) for kind, kind_class in CLASS.kinds.items()}
_SHARED = {"v", "k", "classroom"}
_INT64 = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
_ClassRecord = tuple[_INT64, str, Any, list[Any]]
"""Class time, who, the act, and the event."""


@dataclass(frozen=True)
class FoundLog:
    """A log that a build reads.

    Attributes:
        folder: its folder.
        entry: its ledger entry before anything of it has been read.
        people: for a class, the pseudonyms of its participants.
        rooms: for a learner, the classes that runs belong to.
    """

    folder: Folder
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
        with folder_at(span.path).open("rb") as stream:
            stream.seek(span.start)
            data = stream.read(span.end - span.start)
        for seq, at_ms, value in records(data):
            # Offset 0 holds the log's header.
            if seq == 0:
                continue
            text = value[-1].encode() if isinstance(value, tuple) else bytes(value)
            try:
                if isinstance(value, tuple):
                    raise TypeError("no record can be read here")
                if log.entry.class_:
                    row, clock = _class_row(log, seq, text, clock)
                else:
                    row = _learner_row(log, seq, at_ms, text)
            except (msgspec.MsgspecError, ValueError, LookupError, TypeError, RecursionError):
                row = _row(log, seq, at_ms, None, log.entry.learner, UNREADABLE, log.entry.class_, _shown(text))
            if row is not None:
                rows.append(row)
    return pa.Table.from_pylist(rows, schema=ROWS), clock


def _class_row(log: FoundLog, seq: int, value: bytes, clock: Clock) -> tuple[dict[str, Any] | None, Clock]:
    """The row of a class's record, if it has one, and the clock after it. Raises what `rows_of` catches."""
    class_us, who, _, event = msgspec.json.decode(value, type=_ClassRecord)
    kind, *values = event
    family = _FAMILIES.get(kind)
    if kind == "ClassResumed":
        clock = Clock(msgspec.convert(values[1], _INT64), class_us)
    if family in LEFT_OUT:
        return None, clock
    names = CLASS.kinds[kind].__struct_fields__ if family is not None else tuple(str(i) for i in range(len(values)))
    named = dict(zip(names, values, strict=False))
    people = {name: _person(log, str(named[name])) for name in _PEOPLE if name in named}
    if None in people.values() or (actor := _person(log, who)) is None:
        return None, clock
    at_ms = msgspec.convert(clock.wall_ms + (class_us - clock.at_us) // 1_000, _INT64)
    return _row(log, seq, at_ms, class_us, actor, str(kind), log.entry.class_, {**named, **people}), clock


def _person(log: FoundLog, name: str) -> str | None:
    """The pseudonym of a participant, None for an unknown one; values that are not participants are returned
    unchanged.
    """
    return log.people.get(name) if _PARTICIPANT.match(name) else name


def _learner_row(log: FoundLog, seq: int, at_ms: int, value: bytes) -> dict[str, Any]:
    found = msgspec.json.decode(value, type=dict[str, Any])
    room = str(found.get("classroom") or log.rooms.get(found.get("run", ""), ""))
    payload = {name: one for name, one in found.items() if name not in _SHARED}
    return _row(log, seq, at_ms, None, log.entry.learner, str(found["k"]), room, payload)


def _shown(text: bytes) -> dict[str, Any]:
    return {"text": text.decode(errors="replace")}


def _row(
    log: FoundLog, seq: int, at_ms: int, class_us: int | None, who: str, kind: str, room: str, payload: dict[str, Any]
) -> dict[str, Any]:
    text = msgspec.json.encode(payload).decode()
    scope = "class" if room else "private"
    return {
        "log": log.entry.branch, "seq": seq, "at_ms": at_ms, "class_us": class_us, "who": who, "kind": kind,
        "class": room, "scope": scope, "payload": text,
    }  # fmt: skip
