"""Converts a record of a recording to a row of bronze, typed by the vocabulary that it was written with.

Imports neither Spark nor Django, because executors import it.
"""

import base64
import re
import typing
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

import msgspec

from broker_core.events import CORE

UNREADABLE = "?"
"""The kind of a row in place of an event that cannot be read; its payload is an `Unreadable`. Bronze keeps none."""
UNDESCRIBED = ""
"""The vocabulary of a recording that was begun before recordings stated theirs: it is read as the present one."""
INT32, _INT64 = 2**31, 2**63
NON_INTEGER = r"[\[,:]\s*-?[0-9]+[.eE]"
"""Matches a JSON text with a number that has a fraction or an exponent."""
REMARKABLE = f"[0-9]{{10}}|{NON_INTEGER}"
"""Matches a text with a number that may need more than 32 bits, or that is not an integer."""
_is_remarkable = re.compile(REMARKABLE).search
_MAX_BYTES = 64 * 1024

Row = tuple[int, str, int, str, str, str]
"""at_us, node, cause_seq, kind, family, payload."""


class Unreadable(msgspec.Struct, omit_defaults=True):
    """Why an event cannot be read: `json`, `range`, `vocabulary` or `records`; and its first bytes in base64.

    `to_seq`: the last event that cannot be read for the same reason; 0: it is this one alone.
    """

    reason: str
    detail: str
    data: str
    to_seq: int = 0


class Written(NamedTuple):
    """The vocabulary of events from `first_seq` on. `kinds` are its kinds, None if unknown; `private` lists the
    positions of fields that are not in any table, `narrow` those of fields that Kafka keeps in 32 bits, `whole` those
    of integers and of lists of integers. `people`: pseudonyms by the source of a command; None leaves all as they are.
    """

    first_seq: int
    hash: str
    kinds: frozenset[str] | None
    private: dict[str, int]
    narrow: dict[str, tuple[int, ...]]
    whole: dict[str, tuple[int, ...]]
    people: Mapping[str, str] | None = None


class UnreadableError(ValueError):
    """A record is not a readable event."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason


_PRIVATE = {"NodeAdded": "settings", "GroupMemberAdded": "client_host", "RecordsConsumed": "records"}
"""Fields that identify people or hold the contents of records: a client's settings include its address."""
COMMAND = "CommandReceived"
_LINE, _SOURCE = (CORE.kinds[COMMAND].__struct_fields__.index(name) + 1 for name in ("line", "source"))
"""Positions in a command, which are those of all vocabularies."""
_ENGINE_SOURCES = ("", "exercise", "play")
NARROW = frozenset({
    "acks", "broker", "broker_id", "command", "controller", "controller_epoch", "coordinator_epoch", "count",
    "exit_code", "first_sequence", "from_isr", "generation_id", "handled", "in_hand", "isr", "last_producer_epoch",
    "last_sequence", "leader", "leader_epoch", "live_brokers", "loss_percent", "partition_count", "partition_epoch",
    "partitions", "producer_epoch", "rate", "rebalance_timeout_ms", "reorder_percent", "session_timeout_ms",
    "timeout_ms", "to_isr", "version",
})  # fmt: skip
"""Fields of events, numbers or lists of numbers, that columns of 32 bits are made of."""
_FAMILIES = {name: CORE.family_of(kind) for name, kind in CORE.kinds.items()}
_decode = msgspec.json.Decoder(tuple[int, str, int, msgspec.Raw]).decode


def written(first_seq: int, hash: str, fields: Mapping[str, Sequence[str]] | None) -> Written:
    """A vocabulary as tasks need it: the fields of its kinds in order, None for the current vocabulary."""
    every = fields if fields is not None else {name: kind.__struct_fields__ for name, kind in CORE.kinds.items()}
    found = ((kind, name) for kind, name in _PRIVATE.items() if name in every.get(kind, ()))
    private = {kind: list(every[kind]).index(name) + 1 for kind, name in found}
    narrow = _places(every, dict.fromkeys(every, NARROW))
    return Written(
        first_seq, hash, None if fields is None else frozenset(fields), private, narrow, _places(every, _whole())
    )


def _places(every: Mapping[str, Sequence[str]], wanted: Mapping[str, Collection[str]]) -> dict[str, tuple[int, ...]]:
    """The positions of fields with these names, by kind; kinds without any are left out."""
    found = {
        kind: tuple(place for place, name in enumerate(names, 1) if name in wanted.get(kind, ()))
        for kind, names in every.items()
    }
    return {kind: places for kind, places in found.items() if places}


@cache
def _whole() -> dict[str, frozenset[str]]:
    """The fields of the current vocabulary that are integers or lists of integers, by kind."""
    return {
        name: frozenset(field for field, hint in typing.get_type_hints(kind).items() if _is_whole(hint))
        for name, kind in CORE.kinds.items()
    }


def _is_whole(hint: Any) -> bool:
    parts = [part for part in typing.get_args(hint) if part is not Ellipsis]
    return all(map(_is_whole, parts)) if parts else hint in (int, type(None))


PRESENT = (written(0, UNDESCRIBED, None),)


def family_of(kind: str) -> str:
    """The family of a kind; empty if it is unknown."""
    return _FAMILIES.get(kind, "")


def row_of(value: bytes, vocabulary: Written) -> Row:
    """The row of an event; a row of kind `UNREADABLE` if the record is invalid."""
    try:
        return _row(value, vocabulary)
    except UnreadableError as error:
        return not_read(value, error.reason, str(error))
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        return not_read(value, "json", str(error))


def _row(value: bytes, vocabulary: Written) -> Row:
    at_us, node, cause_seq, raw = _decode(value)
    if not (-_INT64 <= at_us < _INT64 and -_INT64 <= cause_seq < _INT64):
        raise UnreadableError("range", "its instant or its cause is not a 64-bit integer")
    payload = bytes(raw).decode()
    end = payload.find('"', 2)
    if not payload.startswith('["') or end < 0 or "\\" in payload[2:end]:
        # JSON from other writers: with spaces, or escaped letters.
        payload = _plain(raw)
        end = payload.index('"', 2)
    kind = payload[2:end]
    if vocabulary.kinds is not None and kind not in vocabulary.kinds:
        raise UnreadableError("vocabulary", f"its vocabulary {vocabulary.hash} has no kind {kind}")
    if _is_remarkable(payload):
        _insist_on_range(raw, vocabulary.narrow.get(kind, ()), vocabulary.whole.get(kind, ()))
    if kind in vocabulary.private:
        payload = _without_private(raw, kind, vocabulary.private[kind])
    if kind == COMMAND and vocabulary.people is not None:
        payload = _under_pseudonym(raw, vocabulary.people)
    return at_us, node, cause_seq, kind, family_of(kind), payload


def _insist_on_range(raw: msgspec.Raw, narrow: Sequence[int], whole: Sequence[int]) -> None:
    """Raises UnreadableError for a number that no column holds: Spark would end the build at a cast, or read null."""
    try:
        fields = msgspec.json.decode(raw)
    except msgspec.DecodeError as error:
        # Only decoding evaluates an exponent.
        raise UnreadableError("range" if "out of range" in str(error) else "json", str(error)) from error
    for place, value in enumerate(fields):
        bits, most = (32, INT32) if place in narrow else (64, _INT64)
        if not is_within(value, most, is_whole=place in whole):
            raise UnreadableError("range", f"a number in its field {place} is not a {bits}-bit integer")


def is_within(value: Any, most: int, *, is_whole: bool = False) -> bool:
    """Whether a number, or each number in nested lists, is from -`most` to below `most`; `is_whole`: and is an integer,
    however it is written.
    """
    if isinstance(value, list):
        return all(is_within(one, most, is_whole=is_whole) for one in value)
    if isinstance(value, float):
        return not is_whole or (value.is_integer() and -most <= value < most)
    return not isinstance(value, int) or -most <= value < most


def _plain(raw: msgspec.Raw) -> str:
    fields = msgspec.json.decode(raw)
    if not isinstance(fields, list) or not fields or not isinstance(fields[0], str):
        raise UnreadableError("json", "it is no list that begins with its kind")
    if any(letter in fields[0] for letter in '"\\'):
        raise UnreadableError("vocabulary", f"there is no kind {fields[0][:80]}")
    return msgspec.json.encode(fields).decode()


def _without_private(raw: msgspec.Raw, kind: str, place: int) -> str:
    fields: list[Any] = msgspec.json.decode(raw, type=list[Any])
    if place < len(fields):
        if kind != "GroupMemberAdded" and not isinstance(fields[place], list):
            raise UnreadableError("json", f"the {_PRIVATE[kind]} of {kind} are no list")
        match kind:
            case "RecordsConsumed":
                fields[place] = len(fields[place])
            case "GroupMemberAdded":
                fields[place] = ""
            case "NodeAdded":
                fields[place] = [pair for pair in fields[place] if isinstance(pair, list) and pair[:1] != ["host"]]
    return msgspec.json.encode(fields).decode()


def _under_pseudonym(raw: msgspec.Raw, people: Mapping[str, str]) -> str:
    """A command under the pseudonym of its sender; of others, such as people who were erased, only its first word."""
    fields: list[Any] = msgspec.json.decode(raw, type=list[Any])
    source = fields[_SOURCE] if len(fields) > _SOURCE else ""
    if source not in _ENGINE_SOURCES:
        fields[_SOURCE] = people.get(str(source), "")
        if not fields[_SOURCE]:
            fields[_LINE] = str(fields[_LINE]).strip().partition(" ")[0]
    return msgspec.json.encode(fields).decode()


def not_read(value: bytes, reason: str, detail: str, to_seq: int = 0) -> Row:
    """The row in place of an event that cannot be read, or of several up to `to_seq`."""
    return 0, "", 0, UNREADABLE, "", unreadable(bytes(value)[:_MAX_BYTES], reason, detail, to_seq)


def unreadable(data: bytes, reason: str, detail: str, to_seq: int = 0) -> str:
    """The payload of the row for an unreadable event."""
    return msgspec.json.encode(Unreadable(reason, detail[:200], base64.b64encode(data).decode(), to_seq)).decode()
