"""Generates the function that decodes one version of a message.

The layout of a version is resolved when the source is generated, so that the code is flat: consecutive numbers are read
by one call of `struct`, nested structs are loops in the same function.
"""

import struct
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from broker_core.wire.notation import Field, Struct
from broker_core.wire.source import FIXED, SHORT_ARRAY, Source, short_array_readers


def compile_decoder(
    structs: dict[str, Struct],
    types: dict[str, type[Any]],
    version: int,
    *,
    is_flexible: bool,
    orders_tags: bool = False,
) -> Callable[[bytes, int], Any]:
    """`decode(data, at) -> value` of the message, which is the first of `structs`. `orders_tags`: unknown tagged fields
    must be in the order of their tags.

    It raises IndexError or struct.error if the bytes end early, WireError for other faults.
    """
    message = next(iter(structs.values()))
    source = _Decoder(types, version, is_flexible)
    source.skips_tags = "skip_ordered_tags" if orders_tags else "skip_tags"
    source.message(message)
    return source.function(f"decode_{message.name}_v{version}", "data, at")


class _Decoder(Source):
    skips_tags: str
    """The function that skips unknown tagged fields."""

    def flush(self) -> None:
        """Emits the read of the run: after it, the names have their values."""
        if not self.run:
            return
        layout = struct.Struct(">" + "".join(kind for kind, _ in self.run))
        names = "".join(f"{name}, " for _, name in self.run).rstrip()
        if layout.format == ">B":
            self.line(f"{names.rstrip(',')} = data[at]")
        else:
            self.line(f"{names} = {self.constant('read', layout.unpack_from)}(data, at)")
        self.line(f"at += {layout.size}")
        for kind, name in self.run:
            if kind == FIXED["uuid"]:
                self.line(f"{name} = uuid_text({name})")
        self.run.clear()

    def message(self, described: Struct) -> None:
        self.line("size = len(data)")
        value = self.value_of(described)
        # A slice past the end is short without an error, but `at` is where it should have ended.
        with self.block("if at > size:"):
            self.line("raise IndexError")
        self.line(f"return {value}")

    def value_of(self, described: Struct) -> str:
        """Emits the read of a struct; returns the expression that makes its value."""
        arguments = []
        tagged = []
        for field in described.fields:
            if not field.is_in(self.version):
                arguments.append(self.default(field))
                continue
            name = self.new(field.name)
            arguments.append(name)
            if field.tag is None:
                self.read(field, name)
            else:
                tagged.append((field, name))
        if self.is_flexible:
            self.read_tagged(tagged)
        self.flush()
        return f"{self.constant(described.name, self.types[described.name])}({', '.join(arguments)})"

    def default(self, field: Field) -> str:
        if field.struct and not field.is_array and field.nullable_from is None:
            return f"{self.constant(field.struct.name, self.types[field.struct.name])}()"
        return repr(field.default)

    def read_tagged(self, tagged: Sequence[tuple[Field, str]]) -> None:
        """Emits the read of tagged fields (KIP-482): the count, then tag, size and value of each. Unknown ones are
        skipped.
        """
        count = self.new("tags")
        self.run.append(("B", count))
        self.flush()
        if not tagged:
            with self.block(f"if {count}:"):
                self.line(f"at = {self.skips_tags}(data, at - 1)")
            return
        for field, name in tagged:
            self.line(f"{name} = {self.default(field)}")
        with self.block(f"if {count}:"):
            self.line(f"{count}, at = read_varint(data, at - 1)")
            with self.block(f"for _ in range({count}):"):
                self.line("tag, length, at = read_tag(data, at)")
                for field, name in tagged:
                    with self.block(f"if tag == {field.tag}:"):
                        self.read(field, name)
                        self.flush()
                        self.line("continue")
                self.line("at += length")

    def read(self, field: Field, name: str) -> None:
        """Emits the read of a field into `name`, which is set when the run is flushed."""
        if field.is_array:
            self.read_array(field, name)
        else:
            self.read_one(field, name, field.is_nullable_in(self.version))

    def read_array(self, field: Field, name: str) -> None:
        count = self.read_length("i")
        with self.unless_null(field, name, count, field.is_nullable_in(self.version)):
            # Every entry has at least one byte.
            with self.block(f"if {count} > size - at:"):
                self.line(f"raise too_many_entries('{field.name}', {count}, size - at)")
            if field.type in FIXED and field.type != "uuid":
                kind = FIXED[field.type]
                short = self.constant("short", short_array_readers(kind))
                numbers = f"unpack_from(f'>{{{count}}}{kind}', data, at)"
                self.line(f"{name} = list({short}[{count}](data, at) if {count} < {SHORT_ARRAY} else {numbers})")
                self.line(f"at += {count} * {struct.calcsize('>' + kind)}")
                return
            self.line(f"{name} = []")
            with self.block(f"for _ in range({count}):"):
                if field.struct:
                    item = self.value_of(field.struct)
                else:
                    item = self.new("item")
                    self.read_one(field, item, is_nullable=False)
                    self.flush()
                self.line(f"{name}.append({item})")

    def read_one(self, field: Field, name: str, is_nullable: bool) -> None:
        if field.type in FIXED:
            self.run.append((FIXED[field.type], name))
        elif field.struct is None:
            length = self.read_length("h" if field.type == "string" else "i")
            with self.unless_null(field, name, length, is_nullable):
                end = self.new("end")
                self.line(f"{end} = at + {length}")
                # As in Java, bytes that are not UTF-8 become U+FFFD.
                text = ".decode('utf-8', 'replace')" if field.type == "string" else ""
                self.line(f"{name} = data[at:{end}]{text}")
                self.line(f"at = {end}")
        elif is_nullable:
            marker = self.new("marker")
            self.run.append(("b", marker))
            self.flush()
            with self.unless_null(field, name, marker, is_nullable):
                self.line(f"{name} = {self.value_of(field.struct)}")
        else:
            self.line(f"{name} = {self.value_of(field.struct)}")

    def read_length(self, kind: str) -> str:
        """The length of the next value, -1 for null: a fixed number (`h` for a string, `i`), or in a flexible version a
        varint of the length plus one.
        """
        length = self.new("length")
        self.run.append(("B" if self.is_flexible else kind, length))
        self.flush()
        if self.is_flexible:
            with self.block(f"if {length} > 127:"):
                self.line(f"{length}, at = {'read_string_length' if kind == 'h' else 'read_varint'}(data, at - 1)")
            self.line(f"{length} -= 1")
        return length

    @contextmanager
    def unless_null(self, field: Field, name: str, length: str, is_nullable: bool) -> Iterator[None]:
        """The value that the block emits; if `length` is negative, null, or an error if null is not allowed."""
        with self.block(f"if {length} < 0:"):
            self.line(f"{name} = None" if is_nullable else f"raise null_field('{field.name}')")
        with self.block("else:"):
            yield
