"""Columns and their types, in Spark's DDL."""

from dataclasses import dataclass

STRING = "string"
INT = "int"
BIGINT = "bigint"
DOUBLE = "double"
BOOLEAN = "boolean"
BINARY = "binary"
VARIANT = "variant"

#: Units by suffix of the name.
_UNITS = {
    "_us": "µs",
    "_ms": "ms",
    "_s": "s",
    "_bytes": "bytes",
    "_seq": "seq",
    "_offset": "offset",
    "_share": "0..1",
}


@dataclass(frozen=True)
class Column:
    """A column of a table. `personal`: its values identify a person, so it is left out where people must not appear."""

    name: str
    type: str
    doc: str = ""
    unit: str = ""
    personal: bool = False


def c(name: str, type: str, doc: str = "", *, unit: str = "", personal: bool = False) -> Column:
    """A column. By default its unit is taken from the suffix of its name."""
    found = unit or next((shown for end, shown in _UNITS.items() if name.endswith(end)), "")
    return Column(name, type, doc, found, personal)


def array(of: str) -> str:
    """The type of a list."""
    return f"array<{of}>"


def map_of(key: str, value: str) -> str:
    """The type of a map."""
    return f"map<{key},{value}>"


def struct(**fields: str) -> str:
    """The type of a row within a row."""
    return "struct<" + ",".join(f"{name}:{type}" for name, type in fields.items()) + ">"
