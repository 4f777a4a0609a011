"""Annotates every byte of a message by reading it along its schema.

The compiled decoders are fast and do not record positions; this reader is slow and records all of them. Both use the
same tables, and a test checks that they give the same values.
"""

import struct
from collections.abc import Callable

import msgspec

from broker_core.errors import Errors
from broker_core.wire.codec import Api, Schema
from broker_core.wire.errors import WireError
from broker_core.wire.framing import request_header_version, response_header_version
from broker_core.wire.notation import Field, Struct
from broker_core.wire.primitives import read_tag, read_varint, uuid_text
from broker_core.wire.source import FIXED

MAX_VALUE_LENGTH = 120
UNREADABLE = "?"
"""The type of bytes that are not a field."""
LEFT_OVER = "not read"
"""The type of bytes after a message."""


class FrameField(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """`length` bytes at `position` of the frame. `path`: its path in the message, such as `topics[0].name`; `depth`:
    its nesting depth. `type` is Kafka's name of it, and `value` its value as text.
    """

    path: str
    position: int
    length: int
    type: str
    value: str
    depth: int = 0


def annotate_request(api: Api, version: int, frame: bytes) -> list[FrameField]:
    """The fields of a request with its length, by position, without gaps. Unreadable bytes are one field at the end."""
    header_version = request_header_version(api, version)
    walk = _Walk(frame)

    def header() -> None:
        walk.number("length", "i", "int32")
        walk.number("request_api_key", "h", "int16", says=api.name)
        walk.number("request_api_version", "h", "int16")
        walk.number("correlation_id", "i", "int32")
        if header_version > 0:
            walk.text("client_id", "string", "h", is_compact=False)
        if header_version > 1:
            walk.tags("header", ())

    return walk.frame(header, api.request, version)


def annotate_response(api: Api, version: int, frame: bytes) -> list[FrameField]:
    """As `annotate_request`, for a response in a version."""
    walk = _Walk(frame)

    def header() -> None:
        walk.number("length", "i", "int32")
        walk.number("correlation_id", "i", "int32")
        if response_header_version(api, version) > 0:
            walk.tags("header", ())

    return walk.frame(header, api.response, version)


class _Walk:
    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0
        self._is_flexible = False
        self._version = 0
        self._depth = 0
        self._fields: list[FrameField] = []

    def frame(self, header: Callable[[], None], schema: Schema, version: int) -> list[FrameField]:
        """A header, the message after it, and the remaining bytes."""
        what = UNREADABLE
        try:
            header()
            self._version, self._is_flexible = version, schema.is_flexible(version)
            self._struct(schema.structs[schema.name], "")
            what = LEFT_OVER
        except (struct.error, IndexError, WireError):
            self._depth = 0
        if self._at < len(self._data):
            self._add("", len(self._data) - self._at, what, "")
        return self._fields

    def _add(self, path: str, length: int, kind: str, value: str) -> None:
        if self._at + length > len(self._data):
            raise IndexError
        if len(value) > MAX_VALUE_LENGTH:
            value = value[: MAX_VALUE_LENGTH - 1] + "…"
        self._fields.append(FrameField(path, self._at, length, kind, value, self._depth))
        self._at += length

    def number(self, path: str, layout: str, kind: str, says: str = "") -> int:
        (value,) = struct.unpack_from(">" + layout, self._data, self._at)
        size = struct.calcsize(">" + layout)
        if kind == "uuid":
            text = uuid_text(value)
        elif kind == "bool":
            text = "true" if value else "false"
        else:
            text = f"{value} {says}".strip()
        self._add(path, size, kind, text)
        return value if isinstance(value, int) else 0

    def _length(self, layout: str, *, is_compact: bool) -> tuple[int, int]:
        """A length, -1 for null, and its size in bytes."""
        if is_compact:
            value, end = read_varint(self._data, self._at)
            return value - 1, end - self._at
        (value,) = struct.unpack_from(">" + layout, self._data, self._at)
        return value, struct.calcsize(layout)

    def text(self, path: str, kind: str, layout: str, *, is_compact: bool) -> None:
        """A string or bytes: the length, then the contents."""
        length, size = self._length(layout, is_compact=is_compact)
        if length < 0:
            self._add(path, size, kind, "null")
            return
        self._add(f"{path}.length", size, "unsigned varint" if is_compact else f"int{8 * size}", str(length))
        data = self._data[self._at : self._at + length]
        if len(data) < length:
            raise IndexError
        value = data.decode("utf-8", "replace") if kind == "string" else _bytes_text(data)
        if length:
            self._add(path, length, kind, value)

    def _struct(self, described: Struct, path: str) -> None:
        tagged = []
        for field in described.fields:
            if not field.is_in(self._version):
                continue
            if field.tag is not None:
                tagged.append(field)
            else:
                self._field(field, f"{path}{field.name}")
        if self._is_flexible:
            self.tags(path, tuple(tagged))

    def tags(self, path: str, known: tuple[Field, ...]) -> None:
        """Tagged fields (KIP-482)."""
        prefix = path if not path or path.endswith(".") else f"{path}."
        count, end = read_varint(self._data, self._at)
        self._add(f"{prefix}tagged_fields", end - self._at, "unsigned varint", str(count))
        by_tag = {field.tag: field for field in known}
        for _ in range(count):
            tag, size, start = read_tag(self._data, self._at)
            field = by_tag.get(tag)
            name = f"{prefix}{field.name if field else f'tag {tag}'}"
            self._add(f"{name}.tag", start - self._at, "tag, size", f"{tag}, {size}")
            end = self._at + size
            if field is not None:
                self._field(field, name)
            if end > self._at:
                self._add(name, end - self._at, "bytes", _bytes_text(self._data[self._at : end]))

    def _field(self, field: Field, path: str) -> None:
        if not field.is_array:
            self._one(field, path, field.is_nullable_in(self._version))
            return
        length, size = self._length("i", is_compact=self._is_flexible)
        kind = f"[{field.type}]"
        self._add(path, size, kind, "null" if length < 0 else f"{length}")
        self._depth += 1
        for number in range(length):
            self._one(field, f"{path}[{number}]", is_nullable=False)
        self._depth -= 1

    def _one(self, field: Field, path: str, is_nullable: bool) -> None:
        if field.struct is not None:
            if is_nullable and self.number(path, "b", "present") < 0:
                return
            self._depth += 1
            self._struct(field.struct, f"{path}.")
            self._depth -= 1
        elif field.type in FIXED:
            self.number(path, FIXED[field.type], field.type, _error_name(field.name, self._data, self._at))
        else:
            layout = "h" if field.type == "string" else "i"
            self.text(path, field.type, layout, is_compact=self._is_flexible)


def _bytes_text(data: bytes) -> str:
    return data[: MAX_VALUE_LENGTH // 2].hex(" ")


def _error_name(name: str, data: bytes, at: int) -> str:
    """The name of an error code."""
    if not name.endswith("error_code"):
        return ""
    (code,) = struct.unpack_from(">h", data, at)
    return Errors.of(code).name
