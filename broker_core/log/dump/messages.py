"""Kafka's generated messages, parsed by their definitions and shown as JSON, as its `JsonConverter` classes do.

A message whose bytes do not match its definition is rejected with the message of the generated code.
Source: `org.apache.kafka.message.MessageDataGenerator` and `JsonConverterGenerator`; KIP-482 (tagged fields).
"""

import base64
import re
import struct
from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeAlias

from broker_core.log.dump.java import decode, int32

Json: TypeAlias = int | str | list["Json"] | dict[str, "Json"] | None

MAX_VERSION = 32767
_MAX_STRING_BYTES = 0x7FFF
_INTEGERS = {
    "int8": struct.Struct(">b"),
    "int16": struct.Struct(">h"),
    "uint16": struct.Struct(">H"),
    "int32": struct.Struct(">i"),
    "int64": struct.Struct(">q"),
}


class Field(NamedTuple):
    """A field: `kind` is an integer, string, bytes, buffer (bytes that are not copied), uuid, Struct or [kind].

    It is present in versions `since` to `until`. `tag` is set for a tagged field.
    """

    name: str
    kind: "Kind"
    since: int = 0
    until: int = MAX_VERSION
    nullable: bool = False
    tag: int | None = None

    def is_in(self, version: int) -> bool:
        """Whether messages of this version have it; the generated code checks only where versions differ."""
        return (not self.since or self.since <= version) and version <= self.until


class Struct(NamedTuple):
    """A message, or a structure inside one; versions above `latest` cannot be read."""

    name: str
    fields: tuple[Field, ...]
    flexible_since: int = MAX_VERSION + 1
    latest: int = MAX_VERSION


Kind: TypeAlias = "str | Struct | Sequence[str | Struct]"


class UnreadableMessage(Exception):
    """A RuntimeException of the generated code. `message` is its Java message, or None."""

    def __init__(self, message: str | None) -> None:
        super().__init__(message)
        self.message = message


def read_message(definition: Struct, data: bytes, version: int) -> tuple[dict[str, Json], int]:
    """The message at the start of `data`, and its size. Raises UnreadableMessage."""
    reader = _Reader(data, version)
    return reader.struct(definition), reader.at


class _Reader:
    def __init__(self, data: bytes, version: int) -> None:
        self._data = data
        self._version = version
        self.at = 0

    @property
    def _remaining(self) -> int:
        return len(self._data) - self.at

    def struct(self, definition: Struct) -> dict[str, Json]:
        is_flexible = not definition.flexible_since or self._version >= definition.flexible_since
        found: dict[str, Json] = {}
        tagged: dict[int, Field] = {}
        for field in definition.fields:
            if not field.is_in(self._version):
                continue
            if field.tag is not None:
                # An absent tagged field has its default, which JSON omits.
                tagged[field.tag] = field
            else:
                found[field.name] = self._value(field.name, field.kind, field.nullable, is_flexible)
        if is_flexible:
            for _ in range(self._unsigned_varint()):
                tag, size = self._unsigned_varint(), self._unsigned_varint()
                if tag not in tagged:
                    self._array(size)
                elif self._unsigned_varint() <= 0:
                    found[tagged[tag].name] = None
                else:
                    found[tagged[tag].name] = self._nested(tagged[tag].kind)
        return found

    def _nested(self, definition: Kind) -> dict[str, Json]:
        assert isinstance(definition, Struct)
        if self._version > definition.latest:
            raise UnreadableMessage(f"Can't read version {self._version} of {definition.name}")
        return self.struct(definition)

    def _value(self, name: str, kind: Kind, nullable: bool, is_flexible: bool) -> Json:
        if isinstance(kind, Struct):
            return self._nested(kind)
        if not isinstance(kind, str):
            return self._list(name, kind[0], nullable, is_flexible)
        if kind == "uuid":
            return base64.urlsafe_b64encode(self._take(16)).decode().rstrip("=")
        if kind in _INTEGERS:
            return self._integer(kind)
        length = self._length("int16" if kind == "string" else "int32", is_flexible)
        if length < 0:
            if nullable:
                return None
            raise UnreadableMessage(f"non-nullable field {name} was serialized as null")
        if kind == "string":
            if length > _MAX_STRING_BYTES:
                raise UnreadableMessage(f"string field {name} had invalid length {length}")
            return decode(self._array(length))
        if kind == "buffer":
            if length > self._remaining:
                raise UnreadableMessage(f"newLimit > capacity: ({length} > {self._remaining})")
            return _base64(self._take(length))
        return _base64(self._array(length))

    def _list(self, name: str, kind: Kind, nullable: bool, is_flexible: bool) -> Json:
        length = self._length("int32", is_flexible)
        if length < 0:
            if nullable:
                return None
            raise UnreadableMessage(f"non-nullable field {name} was serialized as null")
        if length > self._remaining:
            raise UnreadableMessage(
                f"Tried to allocate a collection of size {length}, but there are only {self._remaining} bytes "
                "remaining."
            )
        return [self._value(f"{name} element", kind, False, is_flexible) for _ in range(length)]

    def _length(self, kind: str, is_flexible: bool) -> int:
        return int32(self._unsigned_varint() - 1) if is_flexible else self._integer(kind)

    def _integer(self, kind: str) -> int:
        field = _INTEGERS[kind]
        return int(field.unpack(self._take(field.size))[0])

    def _unsigned_varint(self) -> int:
        raw = 0
        for index in range(5):
            byte = self._take(1)[0]
            raw |= (byte & 0x7F if index < 4 else byte) << 7 * index
            if byte < 0x80:
                return int32(raw)
        raise UnreadableMessage(
            "Varint is too long, the most significant bit in the 5th byte is set, "
            f"converted value: {raw & 0xFFFFFFFF:x}"
        )

    def _array(self, size: int) -> bytes:
        if size > self._remaining:
            raise UnreadableMessage(
                f"Error reading byte array of {size} byte(s): only {self._remaining} byte(s) available"
            )
        if size < 0:
            raise UnreadableMessage(str(size))
        return self._take(size)

    def _take(self, size: int) -> bytes:
        if size > self._remaining:
            raise UnreadableMessage(None)
        self.at += size
        return self._data[self.at - size : self.at]


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


_ESCAPED = re.compile(r'["\\\x00-\x1f]')
_SHORT_ESCAPES = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r"}


def json_text(value: Json) -> str:
    """JSON as Jackson writes it: no spaces, and only the required escapes."""
    if value is None:
        return "null"
    if isinstance(value, str):
        return f'"{_ESCAPED.sub(_escape, value)}"'
    if isinstance(value, Mapping):
        return "{" + ",".join(f"{json_text(name)}:{json_text(each)}" for name, each in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(json_text, value)) + "]"
    return str(value)


def _escape(match: re.Match[str]) -> str:
    return _SHORT_ESCAPES.get(match[0]) or f"\\u{ord(match[0]):04X}"
