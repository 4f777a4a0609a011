"""Generates the function that encodes one version of a message. As with the decoder, the code is flat."""

import struct
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from broker_core.wire.notation import Field, Struct
from broker_core.wire.primitives import write_varint
from broker_core.wire.source import FIXED, SHORT_ARRAY, Source, short_array_writers


def compile_encoder(
    structs: dict[str, Struct], types: dict[str, type[Any]], version: int, *, is_flexible: bool
) -> Callable[[Any, Callable[[bytes], None]], None]:
    """`encode(value, out)` for the message, the first of `structs`; `out` collects pieces of bytes.

    A request cannot drop a field that is not ignorable (Kafka's UnsupportedVersionException), a response drops it,
    because a broker's response does not depend on the client's version.
    """
    message = next(iter(structs.values()))
    source = _Encoder(types, version, is_flexible, is_strict=message.name.endswith("Request"))
    source.write_struct(message, "value")
    source.flush()
    return source.function(f"encode_{message.name}_v{version}", "value, out")


class _Encoder(Source):
    """`self._out` collects the pieces: `out`, or the pieces of a tagged field."""

    def __init__(self, types: dict[str, type[Any]], version: int, is_flexible: bool, *, is_strict: bool) -> None:
        super().__init__(types, version, is_flexible)
        self._is_strict = is_strict
        self._out = "out"

    def flush(self) -> None:
        """Emits the write of the run."""
        if not self.run:
            return
        layout = struct.Struct(">" + "".join(kind for kind, _ in self.run))
        values = ", ".join(value for _, value in self.run if value)
        if values:
            self.line(f"{self._out}({self.constant('write', layout.pack)}({values}))")
        else:
            self.line(f"{self._out}({layout.pack()!r})")
        self.run.clear()

    def write_struct(self, described: Struct, value: str) -> None:
        tagged = []
        for field in described.fields:
            own = f"{value}.{field.name}"
            if not field.is_in(self.version):
                if self._is_strict and not field.is_ignorable:
                    with self.block(f"if {self.is_set(field, own)}:"):
                        self.line(f"raise missing_field('{field.name}')")
            elif field.tag is None:
                self.write(field, own)
            else:
                tagged.append((field, own))
        if self.is_flexible:
            self.write_tagged(sorted(tagged, key=lambda pair: pair[0].tag or 0))

    def is_set(self, field: Field, own: str) -> str:
        """An expression that is true if the field is not at its default."""
        if field.is_array and field.default == []:
            return f"{own} is None or {own}" if field.nullable_from is not None else own
        if field.struct and field.nullable_from is None:
            return f"{own} != {self.constant('default', self.types[field.struct.name]())}"
        return f"{own} is not None" if field.default is None else f"{own} != {field.default!r}"

    def write_tagged(self, tagged: Sequence[tuple[Field, str]]) -> None:
        """Emits the write of tagged fields (KIP-482) that are not at their default, by number."""
        if not tagged:
            self.run.append(("x", ""))
            return
        self.flush()
        parts, outer = self.new("tagged"), self._out
        self.line(f"{parts} = []")
        for field, own in tagged:
            with self.block(f"if {self.is_set(field, own)}:"):
                pieces = self.new("pieces")
                self._out = f"{pieces}.append"
                self.line(f"{pieces} = []")
                self.write(field, own)
                self.flush()
                self.line(f"{pieces} = b''.join({pieces})")
                self.line(f"{parts}.append({write_varint(field.tag or 0)!r} + write_varint(len({pieces})) + {pieces})")
        self._out = outer
        self.line(f"{outer}(write_varint(len({parts})))")
        with self.block(f"if {parts}:"):
            self.line(f"{outer}(b''.join({parts}))")

    def write(self, field: Field, own: str) -> None:
        if field.is_array:
            self.write_array(field, own)
        else:
            self.write_one(field, own, field.is_nullable_in(self.version))

    def write_array(self, field: Field, own: str) -> None:
        items, count = self.new(field.name), self.new("count")
        self.line(f"{items} = {own}")
        with self.unless_null(field, items, "i", field.is_nullable_in(self.version)):
            self.line(f"{count} = len({items})")
            if field.type in FIXED and field.type != "uuid":
                self.write_numbers(FIXED[field.type], items, count)
                return
            self.write_length("i", count)
            item = self.new("item")
            with self.block(f"for {item} in {items}:"):
                if field.struct:
                    self.write_struct(field.struct, item)
                else:
                    self.write_one(field, item, is_nullable=False)
                self.flush()

    def write_numbers(self, kind: str, items: str, count: str) -> None:
        length_kind, length = ("B", f"{count} + 1") if self.is_flexible else ("i", count)
        short = self.constant("short", short_array_writers(length_kind, kind))
        with self.block(f"if {count} < {SHORT_ARRAY}:"):
            self.line(f"{self._out}({short}[{count}]({length}, *{items}))")
        with self.block("else:"):
            self.write_length("i", count)
            self.line(f"{self._out}(pack(f'>{{{count}}}{kind}', *{items}))")

    def write_one(self, field: Field, own: str, is_nullable: bool) -> None:
        if field.type in FIXED:
            self.run.append((FIXED[field.type], f"uuid_bytes({own})" if field.type == "uuid" else own))
        elif field.struct and not is_nullable:
            self.write_struct(field.struct, own)
        elif field.struct:
            self.flush()
            with self.block(f"if {own} is None:"):
                self.line(f"{self._out}({struct.pack('b', -1)!r})")
            with self.block("else:"):
                self.line(f"{self._out}({struct.pack('b', 1)!r})")
                self.write_struct(field.struct, own)
                self.flush()
        else:
            self.write_text_or_bytes(field, own, is_nullable)

    def write_text_or_bytes(self, field: Field, own: str, is_nullable: bool) -> None:
        kind = "h" if field.type == "string" else "i"
        data, length = self.new(field.name), self.new("length")
        self.line(f"{data} = {own}")
        with self.unless_null(field, data, kind, is_nullable):
            if field.type == "string":
                self.line(f"{data} = {data}.encode()")
            self.line(f"{length} = len({data})")
            self.write_length(kind, length)
            self.line(f"{self._out}({data})")

    def write_length(self, kind: str, length: str) -> None:
        """Emits the write of a length; the run is written before it."""
        if self.is_flexible:
            short = f"short_varints[{length} + 1] if {length} < 127"
            long = "write_string_length" if kind == "h" else "write_varint"
            self.line(f"{self._out}({short} else {long}({length} + 1))")
        else:
            self.line(f"{self._out}({self.constant('write', struct.Struct('>' + kind).pack)}({length}))")

    @contextmanager
    def unless_null(self, field: Field, name: str, kind: str, is_nullable: bool) -> Iterator[None]:
        """Emits the block, or for null the length that encodes it, or an error if null is not allowed."""
        self.flush()
        with self.block(f"if {name} is None:"):
            null = b"\0" if self.is_flexible else struct.pack(f">{kind}", -1)
            self.line(f"{self._out}({null!r})" if is_nullable else f"raise null_field('{field.name}')")
        with self.block("else:"):
            yield
