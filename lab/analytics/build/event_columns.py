"""Converts many records of a recording to columns of bronze: the same values as `row_of`, in a third of the time.

Imports neither Spark nor Django, because executors import it.
"""

from collections.abc import Sequence
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from lab.analytics.build.values import (
    COMMAND,
    INT32,
    NON_INTEGER,
    REMARKABLE,
    Row,
    Written,
    family_of,
    is_within,
    row_of,
)

TYPES = (pa.int64(), pa.string(), pa.int64(), pa.string(), pa.string(), pa.string())
"""The types of the fields of a `Row`."""
_KIND = r'^\["(?P<kind>[^"\\]*)"'
_SPECIAL = f"[0-9]{{19}}|{NON_INTEGER}"
"""Matches a text with a number that may need more than 64 bits, or that is not written as an integer."""


class _Event(msgspec.Struct, array_like=True, forbid_unknown_fields=True, gc=False):
    at_us: int
    node: str
    cause_seq: int
    event: msgspec.Raw


_decode_events = msgspec.json.Decoder(_Event).decode_lines
_decode_fields = msgspec.json.Decoder(list[Any]).decode_lines


def columns_of(values: Sequence[bytes], vocabulary: Written) -> list[pa.Array]:
    """The columns of the rows that `row_of` makes of some records: at_us, node, cause_seq, kind, family, payload."""
    try:
        columns = _columns(values, vocabulary)
    except (msgspec.MsgspecError, ValueError, OverflowError, RecursionError):
        columns = None
    if columns is None:
        # At least one record is not an event.
        return columns_of_rows([row_of(value, vocabulary) for value in values])
    return columns


def columns_of_rows(rows: Sequence[Row]) -> list[pa.Array]:
    """The columns of some rows."""
    return [pa.array(column, type) for column, type in zip(zip(*rows, strict=True), TYPES, strict=True)]


def _columns(values: Sequence[bytes], vocabulary: Written) -> list[pa.Array] | None:
    """The columns; None unless each record is one JSON array. Raises the errors of decoding."""
    lines = b"\n".join(values)
    # `]`, a line break and `[` do not occur inside a JSON array, so with these counts each record is one array.
    breaks = len(values) - 1
    if lines.count(b"\n") != breaks or lines.count(b"]\n[") != breaks:
        return None
    events = _decode_events(lines)
    if len(events) != len(values):
        return None
    payloads = pa.array([str(event.event, "utf-8") for event in events], pa.string())
    kinds = pc.struct_field(pc.extract_regex(payloads, _KIND), "kind")
    families = {kind: family_of(kind) for kind in pc.unique(kinds).to_pylist() if kind is not None}
    columns = [
        pa.array([event.at_us for event in events], pa.int64()),
        pa.array([event.node for event in events], pa.string()),
        pa.array([event.cause_seq for event in events], pa.int64()),
        kinds, _mapped(kinds, families), payloads,
    ]  # fmt: skip
    apart = _apart(kinds, payloads, vocabulary)
    rows = [row_of(values[place], vocabulary) for place in pc.indices_nonzero(apart).to_pylist()]
    if not rows:
        return columns
    replaced = columns_of_rows(rows)
    return [pc.replace_with_mask(column, apart, one) for column, one in zip(columns, replaced, strict=True)]


def _apart(kinds: pa.Array, payloads: pa.Array, vocabulary: Written) -> pa.Array:
    """Which records `row_of` has to check or change: because of their kind, their numbers or their spelling."""
    named = set(pc.unique(kinds).to_pylist()) - {None}
    unknown = set() if vocabulary.kinds is None else named - vocabulary.kinds
    changed = vocabulary.private.keys() | (set() if vocabulary.people is None else {COMMAND})
    of_kind = pc.is_in(kinds, pa.array(sorted(unknown | (changed & named)), pa.string()))
    apart = pc.or_(pc.is_null(kinds), of_kind)
    remarkable = pc.match_substring_regex(payloads, REMARKABLE)
    if not pc.any(remarkable).as_py():
        return apart
    some, texts = kinds.filter(remarkable), payloads.filter(remarkable)
    found = pc.or_(pc.match_substring_regex(texts, _SPECIAL), _has_large_number(some, texts, vocabulary))
    return pc.or_(apart, pc.replace_with_mask(remarkable, remarkable, found))


def _has_large_number(kinds: pa.Array, payloads: pa.Array, vocabulary: Written) -> pa.Array:
    """Whether a field of 32 bits has a larger number, where the payload has a long one."""
    long = pc.is_in(kinds, pa.array(list(vocabulary.narrow), pa.string()))
    texts = "\n".join(payloads.filter(long).to_pylist())
    found = [
        any(not is_within(value, INT32) for place in vocabulary.narrow[kind] for value in fields[place : place + 1])
        for kind, fields in zip(kinds.filter(long).to_pylist(), _decode_fields(texts), strict=True)
    ]
    return pc.replace_with_mask(long, long, pa.array(found, pa.bool_()))


def _mapped(column: pa.Array, values: dict[str, str]) -> pa.Array:
    """Each value of a column replaced with another one; null stays."""
    encoded = column.dictionary_encode()
    return pc.take(pa.array([values[one] for one in encoded.dictionary.to_pylist()], pa.string()), encoded.indices)
