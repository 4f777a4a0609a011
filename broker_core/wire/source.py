"""Python source that is generated line by line and compiled: the base of decoders and encoders."""

import linecache
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from broker_core.wire.errors import missing_field, null_field, too_many_entries
from broker_core.wire.primitives import (
    SHORT_VARINTS,
    read_string_length,
    read_tag,
    read_varint,
    skip_ordered_tags,
    skip_tags,
    uuid_bytes,
    uuid_text,
    write_string_length,
    write_varint,
)

#: Types of a fixed size, by their `struct` codes.
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
#: Shorter arrays of numbers use a precompiled `struct` layout.
SHORT_ARRAY = 16

_HELPERS: dict[str, Any] = {
    "missing_field": missing_field,
    "null_field": null_field,
    "too_many_entries": too_many_entries,
    "pack": struct.pack,
    "unpack_from": struct.unpack_from,
    "read_string_length": read_string_length,
    "read_tag": read_tag,
    "read_varint": read_varint,
    "skip_ordered_tags": skip_ordered_tags,
    "skip_tags": skip_tags,
    "write_string_length": write_string_length,
    "write_varint": write_varint,
    "short_varints": SHORT_VARINTS,
    "uuid_bytes": uuid_bytes,
    "uuid_text": uuid_text,
}


class Source:
    """Lines of Python, the globals that they refer to, and fixed-size parts pending in a run.

    A run is a list of pairs: the `struct` code of the part, and a name or an expression. One call reads or writes it.
    """

    def __init__(self, types: dict[str, type[Any]], version: int, is_flexible: bool) -> None:
        self.types = types
        self.version = version
        self.is_flexible = is_flexible
        self.run: list[tuple[str, str]] = []
        self._globals: dict[str, Any] = dict(_HELPERS)
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
        """A unique name."""
        self._names += 1
        return f"{stem}_{self._names}"

    def constant(self, stem: str, value: Any) -> str:
        """A global name for a value."""
        name = self.new(stem)
        self._globals[name] = value
        return name

    def function(self, name: str, parameters: str) -> Callable[..., Any]:
        """The compiled function with the lines as its body. Tracebacks show them."""
        file = f"<{name}>"
        body = self._lines or ["    pass"]  # such as a request without fields
        text = "\n".join([f"def {name}({parameters}):", *body, ""])
        linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
        exec(compile(text, file, "exec"), self._globals)
        function: Callable[..., Any] = self._globals[name]
        return function


@cache
def short_array_readers(kind: str) -> tuple[Callable[..., tuple[Any, ...]], ...]:
    """`unpack_from` for each count of numbers."""
    return tuple(struct.Struct(f">{count}{kind}").unpack_from for count in range(SHORT_ARRAY))


@cache
def short_array_writers(length_kind: str, kind: str) -> tuple[Callable[..., bytes], ...]:
    """`pack` of a length and each count of numbers."""
    return tuple(struct.Struct(f">{length_kind}{count}{kind}").pack for count in range(SHORT_ARRAY))
