"""The annotations of a range of a file: parts, and their fields."""

from typing import Literal

import msgspec

PartKind = Literal["batch", "entry", "producer", "transaction", "line", "header", "room", "torn"]
Value = str | int
Row = tuple[str, int, str, str, dict[str, Value]]
"""(name, length, value, key of the sentence, values in it)"""

_SHOWN_BYTES = 120


class AnnotatedField(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """`length` bytes at `position` of the file. `says` is the key of a sentence, `values` are its placeholders.
    `offset`: the record that the field belongs to. `target`: the position in the .log that an index entry names.
    """

    name: str
    position: int
    length: int
    value: str
    says: str
    values: dict[str, Value] = {}
    offset: int | None = None
    target: int | None = None


class RecordSpan(msgspec.Struct, frozen=True, gc=False):
    """The position of a record. `size` is 0 for a record in a compressed batch."""

    offset: int
    position: int
    size: int


class Part(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """A batch, an entry, a line. Offsets are absolute; `fault` is the key of a sentence about what is wrong with it."""

    kind: PartKind
    position: int
    size: int
    fields: list[AnnotatedField]
    first_offset: int | None = None
    last_offset: int | None = None
    records: list[RecordSpan] = []
    fault: str = ""


def fields_of(position: int, rows: list[Row], offset: int | None = None, whole: bool = False) -> list[AnnotatedField]:
    """The fields of consecutive bytes. With `whole`, they belong to the batch, not to one record."""
    fields = []
    for name, length, value, says, values in rows:
        fields.append(AnnotatedField(name, position, length, value, says, values, None if whole else offset))
        position += length
    return fields


def leftover(data: bytes, position: int) -> Part:
    """The bytes of a file after its last complete part: preallocated if they are zeros, torn otherwise."""
    if not any(data):
        field = AnnotatedField("room", position, len(data), f"{len(data)} × 00", "log.room", {"n": len(data)})
        return Part("room", position, len(data), [field])
    field = AnnotatedField("torn", position, len(data), f"{len(data)} B", "log.torn", {"n": len(data)})
    return Part("torn", position, len(data), [field], fault="torn")


def shown_text(data: bytes) -> str:
    """The first bytes as text, with a dot for each character that cannot be printed."""
    text = data[:_SHOWN_BYTES].decode("utf-8", "backslashreplace")
    return "".join(letter if letter.isprintable() else "·" for letter in text) + (
        "…" if len(data) > _SHOWN_BYTES else ""
    )
