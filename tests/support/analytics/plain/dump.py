"""Events out of a dumped log, and the parts of names."""

import json
from collections.abc import Iterable
from typing import Any, NamedTuple

from broker_core.events import KINDS

_PAYLOAD = " payload: "
_OFFSET = "| offset: "

Row = dict[str, Any]
Rows = list[Row]
Replica = tuple[str, int, int]
"""Topic, partition, broker."""


class Happened(NamedTuple):
    """An event with its fields by name."""

    seq: int
    at_us: int
    node: str
    cause_seq: int
    kind: str
    said: dict[str, Any]


def events_of(dump: str) -> list[Happened]:
    """The events of a dumped log. Its record 0 is the recording's header."""
    found = []
    for line in dump.split("\n"):
        if line.startswith(_OFFSET) and _PAYLOAD in line:
            seq = int(line.removeprefix(_OFFSET).split(" ", 1)[0])
            if seq:
                found.append(happened(seq, *json.loads(line.partition(_PAYLOAD)[2])))
    return found


def happened(seq: int, at_us: int, node: str, cause_seq: int, event: list[Any]) -> Happened:
    """An event as it was recorded."""
    kind, *fields = event
    return Happened(seq, at_us, node, cause_seq, kind, dict(zip(KINDS[kind].__struct_fields__, fields, strict=False)))


def json_of(text: str) -> dict[str, Any]:
    """What a znode holds, if that is an object: anybody may write to ZooKeeper."""
    try:
        found = json.loads(text)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def partition(name: str) -> tuple[str, int]:
    """Topic and number of `orders-0`."""
    topic, _, number = name.rpartition("-")
    return topic, int(number)


def broker(node: str) -> int | None:
    """1 of `b1`; None of other nodes."""
    return int(node[1:]) if node[:1] == "b" and node[1:].isdecimal() else None


def replica(name: str) -> Replica:
    """The parts of `orders-0@b1`."""
    of, _, node = name.partition("@")
    number = broker(node)
    assert number is not None
    return (*partition(of), number)


def where(name: str | None) -> Row:
    """The columns topic and partition of a partition's or a replica's name, with the replica's broker."""
    if name is None:
        return {}
    if "@" in name:
        return dict(zip(("topic", "partition", "broker"), replica(name), strict=True))
    return dict(zip(("topic", "partition"), partition(name), strict=True))


def spans(changes: Iterable[tuple[int, int, Any]]) -> list[tuple[int, int, int | None, Any]]:
    """Changes (seq, at_us, value), in order, as (from_seq, from_us, to_us, value) until the next one; without those
    that last no time.
    """
    listed = list(changes)
    ends: list[int | None] = [at_us for _, at_us, _ in listed[1:]]
    timed = zip(listed, [*ends, None], strict=False)
    return [(seq, at_us, to_us, value) for (seq, at_us, value), to_us in timed if to_us is None or to_us > at_us]
