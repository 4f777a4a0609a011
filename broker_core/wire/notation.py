"""The notation of the schemas of Kafka's messages: one line per field, nested structs indented.

    transactional_id    string?  3+  = null
    topic_data          [TopicProduceData]
      name              string   0-12  ignorable
      records           records?
    node_endpoints      [NodeEndpoint]  10+  tag 0

A line has the name, the type, the versions that have the field (all, if none are named), the number of a tagged
field (KIP-482), whether a sender may drop the field if the version lacks it (ignorable), and the default, if that is
not the type's own. `[T]` is an array. `?` after a type means that null is allowed, `?7` that it is from version 7 on. A
type that starts with a capital is a struct: its fields follow, indented, or it was defined before in the same message.
"""

import re
from dataclasses import dataclass, field
from typing import Any

#: Kafka's text form of the zero UUID, which means "no id".
ZERO_UUID = "AAAAAAAAAAAAAAAAAAAAAA"

#: The default values by type. Arrays: an empty list. Structs: one with all defaults.
TYPE_DEFAULTS: dict[str, Any] = {
    "bool": False,
    "int8": 0,
    "int16": 0,
    "uint16": 0,
    "int32": 0,
    "int64": 0,
    "float64": 0.0,
    "string": "",
    "bytes": b"",
    "records": None,
    "uuid": ZERO_UUID,
}

_LINE = re.compile(
    r"(?P<indent> *)(?P<name>[a-z]\w*) +(?P<array>\[)?(?P<type>\w+)\]?(?P<nullable>\?(?P<nullable_from>\d*))?"
    r"( +(?P<first>\d+)(?P<range>\+|-(?P<last>\d+))?)?( +tag (?P<tag>\d+))?(?P<ignorable> +ignorable)?"
    r"( += (?P<default>\S+))?"
)
_NO_LAST = 1 << 15


@dataclass(frozen=True)
class Field:
    """One field of a struct, in all versions. `nullable_from` None: never null. `struct`: the struct, for a field of
    that type.
    """

    name: str
    type: str
    is_array: bool
    first: int
    last: int
    nullable_from: int | None
    tag: int | None
    is_ignorable: bool
    default: Any
    struct: "Struct | None"

    def is_in(self, version: int) -> bool:
        return self.first <= version <= self.last

    def is_nullable_in(self, version: int) -> bool:
        return self.nullable_from is not None and version >= self.nullable_from


@dataclass
class Struct:
    """A struct of a message: its name in Kafka and its fields in the order of the wire."""

    name: str
    fields: list[Field] = field(default_factory=list)


def parse(name: str, text: str) -> dict[str, Struct]:
    """The structs defined in `text`, by name; the first is the message. Raises ValueError for an invalid line."""
    structs = {name: Struct(name)}
    open_structs = [(-1, structs[name])]
    for line in filter(str.strip, text.splitlines()):
        match = _LINE.fullmatch(line.rstrip())
        if match is None:
            raise ValueError(
                f"{name}: {line.strip()!r} is no field; expected: name type [versions] [tag N] [= default]"
            )
        indent = len(match["indent"])
        while indent <= open_structs[-1][0]:
            open_structs.pop()
        struct = None
        if match["type"][0].isupper():
            struct = structs.setdefault(match["type"], Struct(match["type"]))
        elif match["type"] not in TYPE_DEFAULTS:
            raise ValueError(
                f"{name}.{match['name']}: no type {match['type']!r}; expected one of {', '.join(TYPE_DEFAULTS)}"
            )
        open_structs[-1][1].fields.append(_field(match, struct))
        if struct is not None:
            open_structs.append((indent, struct))
    return structs


def _field(match: re.Match[str], struct: Struct | None) -> Field:
    first = int(match["first"] or 0)
    last = int(match["last"]) if match["last"] else first if match["first"] and not match["range"] else _NO_LAST
    return Field(
        name=match["name"],
        type=match["type"],
        is_array=bool(match["array"]),
        first=first,
        last=last,
        nullable_from=int(match["nullable_from"] or 0) if match["nullable"] else None,
        tag=int(match["tag"]) if match["tag"] else None,
        is_ignorable=bool(match["ignorable"]),
        default=_default(match),
        struct=struct,
    )


def _default(match: re.Match[str]) -> Any:
    text = match["default"]
    if text is None:
        return [] if match["array"] else TYPE_DEFAULTS.get(match["type"])
    if text == "null":
        return None
    if match["type"] == "bool":
        return text == "true"
    return text if match["type"] == "string" else int(text, 0)
