"""Turns a table of fields into Python: one function that reads one version of a message, one that writes it.

What a version looks like is settled when the source is made, so that what runs is flat: numbers that follow each other
are read and written by one call of `struct`, nested structs are loops in the same function.
"""

import linecache
import struct
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from broker_core.wire.errors import WireError
from broker_core.wire.notation import Field, Struct
from broker_core.wire.primitives import SHORT_VARINTS, read_varint, uuid_bytes, uuid_text, write_varint

#: Types of a fixed size, as `struct` calls them.
FIXED = {
    "bool": "?",
    "int8": "b",
    "int16": "h",
    "uint16": "H",
    "int32": "i",
    "int64": "q",
    "float64": "d",
    "uuid": "16s",
}
_HELPERS: dict[str, Any] = {
    "WireError": WireError,
    "pack": struct.pack,
    "unpack_from": struct.unpack_from,
    "read_varint": read_varint,
    "write_varint": write_varint,
    "short_varints": SHORT_VARINTS,
    "uuid_bytes": uuid_bytes,
    "uuid_text": uuid_text,
}


class Source:
    """Lines of Python as they come, and what they refer to."""

    def __init__(self, version: int, is_flexible: bool) -> None:
        self.version = version
        self.is_flexible = is_flexible
        self.globals: dict[str, Any] = dict(_HELPERS)
        self._lines: list[str] = []
        self._depth = 1
        self._names = 0

    def line(self, text: str) -> None:
        self._lines.append("    " * self._depth + text)

    @contextmanager
    def block(self, opening: str) -> Iterator[None]:
        self.line(opening)
        self._depth += 1
        yield
        self._depth -= 1

    def new(self, stem: str) -> str:
        """A name that nothing else has."""
        self._names += 1
        return f"{stem}_{self._names}"

    def constant(self, stem: str, value: Any) -> str:
        """A global name for a value."""
        name = self.new(stem)
        self.globals[name] = value
        return name

    def function(self, name: str, parameters: str) -> Callable[..., Any]:
        """The function whose body the lines are. Tracebacks show them."""
        file = f"<{name}>"
        body = self._lines or ["    pass"]  # such as a request without fields
        text = "\n".join([f"def {name}({parameters}):", *body, ""])
        linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
        exec(compile(text, file, "exec"), self.globals)
        function: Callable[..., Any] = self.globals[name]
        return function


class _Decoder(Source):
    """`names` of fixed parts wait in a run until something of another kind follows; then one call reads them all."""

    def __init__(self, types: dict[str, type[Any]], version: int, is_flexible: bool) -> None:
        super().__init__(version, is_flexible)
        self._types = types
        self._run: list[tuple[str, str]] = []

    def flush(self) -> None:
        if not self._run:
            return
        layout = struct.Struct(">" + "".join(kind for kind, _ in self._run))
        names = "".join(f"{name}, " for _, name in self._run)
        self.line(f"{names.rstrip()} = {self.constant('read', layout.unpack_from)}(data, at)")
        self.line(f"at += {layout.size}")
        for kind, name in self._run:
            if kind == FIXED["uuid"]:
                self.line(f"{name} = uuid_text({name})")
        self._run.clear()

    def message(self, described: Struct) -> None:
        self.line("size = len(data)")
        value = self.value_of(described)
        with self.block("if at > size:"):
            self.line("raise IndexError")
        self.line(f"return {value}")

    def value_of(self, described: Struct) -> str:
        """Reads a struct; the expression that makes its value."""
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
        return f"{self.constant(described.name, self._types[described.name])}({', '.join(arguments)})"

    def default(self, field: Field) -> str:
        if field.struct and not field.is_array and field.nullable_from is None:
            return f"{self.constant(field.struct.name, self._types[field.struct.name])}()"
        return repr(field.default)

    def read_tagged(self, tagged: Sequence[tuple[Field, str]]) -> None:
        """Tagged fields (KIP-482): how many, then number, size and value of each. Unknown ones are skipped."""
        count = self.new("tags")
        self._run.append(("B", count))
        self.flush()
        for field, name in tagged:
            self.line(f"{name} = {self.default(field)}")
        with self.block(f"if {count}:"):
            self.line(f"{count}, at = read_varint(data, at - 1)")
            with self.block(f"for _ in range({count}):"):
                self.line("tag, at = read_varint(data, at)")
                self.line("length, at = read_varint(data, at)")
                for field, name in tagged:
                    with self.block(f"if tag == {field.tag}:"):
                        self.read(field, name)
                        self.flush()
                        self.line("continue")
                self.line("at += length")

    def read(self, field: Field, name: str) -> None:
        """Reads a field into `name`, which holds it when the run is flushed."""
        is_nullable = field.is_nullable_in(self.version)
        if not field.is_array:
            self.read_one(field, name, is_nullable)
            return
        count = self.read_length("i")
        with self.unless_null(field, name, count, is_nullable):
            with self.block(f"if {count} > size - at:"):
                self.line(f"raise WireError(f'{field.name} of {{{count}}} entries in {{size - at}} bytes')")
            if field.type in FIXED and field.type != "uuid":
                kind = FIXED[field.type]
                self.line(f"{name} = list(unpack_from(f'>{{{count}}}{kind}', data, at))")
                self.line(f"at += {count} * {struct.calcsize('>' + kind)}")
                return
            self.line(f"{name} = []")
            with self.block(f"for _ in range({count}):"):
                if field.struct:
                    item = self.value_of(field.struct)
                else:
                    item = self.new("item")
                    self.read_one(field, item, False)
                    self.flush()
                self.line(f"{name}.append({item})")

    def read_one(self, field: Field, name: str, is_nullable: bool) -> None:
        if field.type in FIXED:
            self._run.append((FIXED[field.type], name))
        elif field.struct is None:
            length = self.read_length("h" if field.type == "string" else "i")
            with self.unless_null(field, name, length, is_nullable):
                end = self.new("end")
                self.line(f"{end} = at + {length}")
                part = f"data[at:{end}]"
                self.line(f"{name} = str({part}, 'utf-8')" if field.type == "string" else f"{name} = bytes({part})")
                self.line(f"at = {end}")
        elif is_nullable:
            marker = self.new("marker")
            self._run.append(("b", marker))
            self.flush()
            with self.unless_null(field, name, marker, is_nullable):
                self.line(f"{name} = {self.value_of(field.struct)}")
        else:
            self.line(f"{name} = {self.value_of(field.struct)}")

    def read_length(self, kind: str) -> str:
        """The length of what follows, -1 for null: a fixed number, or a varint of one more in a flexible version."""
        length = self.new("length")
        self._run.append(("B" if self.is_flexible else kind, length))
        self.flush()
        if self.is_flexible:
            with self.block(f"if {length} > 127:"):
                self.line(f"{length}, at = read_varint(data, at - 1)")
            self.line(f"{length} -= 1")
        return length

    @contextmanager
    def unless_null(self, field: Field, name: str, length: str, is_nullable: bool) -> Iterator[None]:
        """What the block writes, or, if `length` is negative, null, or an error where that is not allowed."""
        with self.block(f"if {length} < 0:"):
            self.line(f"{name} = None" if is_nullable else f"raise WireError('{field.name} is null')")
        with self.block("else:"):
            yield


class _Encoder(Source):
    """Fixed parts wait in a run, as in the decoder; one call packs them all. `self._out` is what takes the pieces."""

    def __init__(self, types: dict[str, type[Any]], version: int, is_flexible: bool, is_strict: bool) -> None:
        super().__init__(version, is_flexible)
        self._types = types
        self._is_strict = is_strict
        self._run: list[tuple[str, str]] = []
        self._out = "out"

    def flush(self) -> None:
        if not self._run:
            return
        layout = struct.Struct(">" + "".join(kind for kind, _ in self._run))
        values = ", ".join(value for _, value in self._run if value)
        self.line(f"{self._out}({self.constant('write', layout.pack)}({values}))")
        self._run.clear()

    def message(self, described: Struct) -> None:
        self.write_struct(described, "value")
        self.flush()

    def write_struct(self, described: Struct, value: str) -> None:
        tagged = []
        for field in described.fields:
            own = f"{value}.{field.name}"
            if not field.is_in(self.version):
                if self._is_strict and not field.is_ignorable:
                    with self.block(f"if {self.is_set(field, own)}:"):
                        self.line(f"raise WireError('this version has no {field.name}')")
            elif field.tag is None:
                self.write(field, own)
            else:
                tagged.append((field, own))
        if self.is_flexible:
            self.write_tagged(sorted(tagged, key=lambda pair: pair[0].tag or 0))

    def is_set(self, field: Field, own: str) -> str:
        """An expression: the field is not at its default."""
        if field.is_array and field.default == []:
            return f"{own} is None or {own}" if field.nullable_from is not None else own
        if field.default is None and not (field.struct and field.nullable_from is None):
            return f"{own} is not None"
        default = field.default
        if field.struct:
            default = self._types[field.struct.name]()
        return f"{own} != {self.constant('default', default)}"

    def write_tagged(self, tagged: Sequence[tuple[Field, str]]) -> None:
        """Tagged fields (KIP-482), rising by number, those that are not at their default."""
        if not tagged:
            self._run.append(("x", ""))
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
                number = self.constant("tag", write_varint(field.tag or 0))
                self.line(f"{parts}.append({number} + write_varint(len({pieces})) + {pieces})")
        self._out = outer
        self.line(f"{outer}(write_varint(len({parts})))")
        with self.block(f"if {parts}:"):
            self.line(f"{outer}(b''.join({parts}))")

    def write(self, field: Field, own: str) -> None:
        is_nullable = field.is_nullable_in(self.version)
        if not field.is_array:
            self.write_one(field, own, is_nullable)
            return
        items = self.new(field.name)
        self.line(f"{items} = {own}")
        length = self.length_or_null(field, items, is_nullable)
        self.write_length("i", length)
        self.flush()
        if field.type in FIXED and field.type != "uuid":
            with self.block(f"if {items}:"):
                self.line(f"{self._out}(pack(f'>{{len({items})}}{FIXED[field.type]}', *{items}))")
            return
        item = self.new("item")
        with self.block(f"for {item} in {items}{' or ()' if is_nullable else ''}:"):
            if field.struct:
                self.write_struct(field.struct, item)
            else:
                self.write_one(field, item, False)
            self.flush()

    def write_one(self, field: Field, own: str, is_nullable: bool) -> None:
        if field.type in FIXED:
            self._run.append((FIXED[field.type], f"uuid_bytes({own})" if field.type == "uuid" else own))
        elif field.struct is None:
            text = self.new(field.name)
            self.line(f"{text} = {own}")
            length = self.length_or_null(field, text, is_nullable, is_text=field.type == "string")
            self.write_length("h" if field.type == "string" else "i", length)
            self.flush()
            with self.block(f"if {text}:"):
                self.line(f"{self._out}({text})")
        elif is_nullable:
            self.flush()
            with self.block(f"if {own} is None:"):
                self.line(f"{self._out}(b'\\xff')")
            with self.block("else:"):
                self.line(f"{self._out}(b'\\x01')")
                self.write_struct(field.struct, own)
                self.flush()
        else:
            self.write_struct(field.struct, own)

    def length_or_null(self, field: Field, name: str, is_nullable: bool, is_text: bool = False) -> str:
        """The name of the length of what `name` holds, -1 for null. Text is turned into bytes."""
        length = self.new("length")
        with self.block(f"if {name} is None:"):
            self.line(f"{length} = -1" if is_nullable else f"raise WireError('{field.name} is null')")
        with self.block("else:"):
            if is_text:
                self.line(f"{name} = {name}.encode()")
            self.line(f"{length} = len({name})")
        return length

    def write_length(self, kind: str, length: str) -> None:
        if not self.is_flexible:
            self._run.append((kind, length))
            return
        self.flush()
        self.line(f"{self._out}(short_varints[{length} + 1] if {length} < 127 else write_varint({length} + 1))")


def compile_decoder(
    structs: dict[str, Struct], types: dict[str, type[Any]], version: int, *, is_flexible: bool
) -> Callable[[bytes | memoryview, int], Any]:
    """`decode(data, at) -> value` of the message, which is the first of `structs`."""
    message = next(iter(structs.values()))
    source = _Decoder(types, version, is_flexible)
    source.message(message)
    return source.function(f"decode_{message.name}_v{version}", "data, at")


def compile_encoder(
    structs: dict[str, Struct], types: dict[str, type[Any]], version: int, *, is_flexible: bool
) -> Callable[[Any, Callable[[bytes], None]], None]:
    """`encode(value, out)`, where `out` takes pieces of bytes. A request refuses to drop what is not ignorable."""
    message = next(iter(structs.values()))
    source = _Encoder(types, version, is_flexible, is_strict=message.name.endswith("Request"))
    source.message(message)
    return source.function(f"encode_{message.name}_v{version}", "value, out")
