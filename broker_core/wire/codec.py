"""Kafka's messages as bytes and as values: a schema, its struct types, and one compiled function per version.

The tables are in `broker_core.wire.schemas`. Kafka generates a Java class from each table when it is built
(org.apache.kafka.message.MessageGenerator); here the table is turned into Python when a version is first used.
"""

import struct
from collections.abc import Callable
from functools import cached_property
from typing import Any

import msgspec

from broker_core.texts import text
from broker_core.wire.decoder import compile_decoder
from broker_core.wire.encoder import compile_encoder
from broker_core.wire.errors import WireError
from broker_core.wire.notation import Struct, parse

#: A msgspec struct made from a table. Its attributes are the fields of the table.
StructType = type[Any]
_Decoder = Callable[[bytes, int], Any]
_Encoder = Callable[[Any, Callable[[bytes], None]], None]


class Schema:
    """A message in all its versions, such as `ProduceRequest`.

    `schema.type(...)` makes a value; its attributes are the fields of all versions with Kafka's names in snake case and
    Kafka's defaults, arrays are sequences (lists when decoded), a uuid is Kafka's text of 22 characters, records are
    unparsed bytes. Types of nested structs: `schema.TopicProduceData(...)`.
    """

    def __init__(self, name: str, *, flexible_from: int | None = None, fields: str = "") -> None:
        self.name = name
        self.flexible_from = flexible_from
        self._text = fields
        self._decoders: dict[tuple[int, bool], _Decoder] = {}
        self._encoders: dict[int, _Encoder] = {}

    def __repr__(self) -> str:
        return self.name

    @cached_property
    def structs(self) -> dict[str, Struct]:
        """The table, parsed; the first struct is the message."""
        return parse(self.name, self._text)

    @cached_property
    def types(self) -> dict[str, StructType]:
        """The type of each struct, by name."""
        types: dict[str, StructType] = {}
        for described in reversed(self.structs.values()):
            fields = [
                (field.name, Any, msgspec.field(default_factory=types[field.type]))
                if field.struct and not field.is_array and field.default is None and field.nullable_from is None
                else (field.name, Any, field.default)
                for field in described.fields
            ]
            types[described.name] = msgspec.defstruct(described.name, fields, gc=False, module=__name__)
        return types

    @cached_property
    def type(self) -> StructType:
        return self.types[self.name]

    def __getattr__(self, name: str) -> StructType:
        if not name[0].isupper():
            raise AttributeError(name)
        try:
            return self.types[name]
        except KeyError:
            raise AttributeError(f"{self.name} has no struct {name}; it has {', '.join(self.types)}") from None

    def is_flexible(self, version: int) -> bool:
        """Whether a version has compact lengths and tagged fields (KIP-482)."""
        return self.flexible_from is not None and version >= self.flexible_from

    def decode(self, version: int, data: bytes | memoryview, at: int = 0, *, orders_tags: bool = False) -> Any:
        """The message that starts at `at`. As in Kafka, bytes after it are ignored. `orders_tags`: unknown tagged
        fields must be in the order of their tags.

        Raises WireError if the bytes end early or a length is invalid.
        """
        decoder = self._decoders.get((version, orders_tags))
        if decoder is None:
            decoder = self._decoders[version, orders_tags] = compile_decoder(
                self.structs, self.types, version, is_flexible=self.is_flexible(version), orders_tags=orders_tags
            )
        try:
            return decoder(bytes(data), at)
        except (struct.error, IndexError):
            raise WireError(text("wire.cut_off", message=self.name, version=version)) from None
        except WireError as error:
            raise WireError(text("wire.in_message", message=self.name, version=version, rule=error.rule)) from None

    def encode(self, version: int, value: Any) -> bytes:
        """The bytes of a value of `type`.

        Raises WireError if the version cannot encode it: an invalid null or number, or, in a request, a field that the
        version lacks, that is not ignorable and not at its default.
        """
        parts: list[bytes] = []
        self.encode_into(version, value, parts)
        return b"".join(parts)

    def encode_into(self, version: int, value: Any, parts: list[bytes]) -> None:
        """As `encode`, but appends pieces, among them the records without a copy."""
        encoder = self._encoders.get(version)
        if encoder is None:
            encoder = self._encoders[version] = compile_encoder(
                self.structs, self.types, version, is_flexible=self.is_flexible(version)
            )
        try:
            encoder(value, parts.append)
        except (struct.error, AttributeError, TypeError, ValueError) as error:
            rule = error.rule if isinstance(error, WireError) else str(error)
            raise WireError(text("wire.cannot_send", message=self.name, version=version, rule=rule)) from error


class Api(msgspec.Struct, frozen=True):
    """A request and its response; `oldest_version`..`latest_version`: the versions that a broker offers."""

    key: int
    name: str
    request: Schema
    response: Schema
    oldest_version: int
    latest_version: int

    @property
    def flexible_from(self) -> int | None:
        return self.request.flexible_from

    def offers(self, version: int) -> bool:
        return self.oldest_version <= version <= self.latest_version
