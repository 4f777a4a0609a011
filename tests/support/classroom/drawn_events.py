"""Drawn events of any kind: each field has a value of its type, fields that name a person one of some names."""

import typing
from collections.abc import Sequence
from random import Random
from types import UnionType
from typing import Any

import msgspec

PEOPLE = ("p", "by", "voter")
TEXTS = ("", "0", "1", "x", 'say "no", \\ or 是', "a/b", "true", "7")


def drawn_event(draw: Random, kind: type[Any], names: Sequence[str], **given: Any) -> Any:
    """An event of a kind; some of the fields that have a default get it."""
    values: dict[str, Any] = {}
    for field in msgspec.structs.fields(kind):
        if field.name in given:
            values[field.name] = given[field.name]
        elif field.name in PEOPLE and field.type is str:
            values[field.name] = draw.choice(names)
        elif field.required or draw.random() < 0.6:
            values[field.name] = _value(draw, field.type)
    return kind(**values)


def _value(draw: Random, type: Any) -> Any:
    if isinstance(type, UnionType):
        return _value(draw, draw.choice(typing.get_args(type)))
    if typing.get_origin(type) is typing.Literal:
        return draw.choice(typing.get_args(type))
    if typing.get_origin(type) is tuple:
        parts = typing.get_args(type)
        if parts[-1] is Ellipsis:
            return tuple(_value(draw, parts[0]) for _ in range(draw.randint(0, 3)))
        return tuple(_value(draw, part) for part in parts)
    if type is bool:
        return draw.random() < 0.5
    if type is int:
        return draw.choice((-1, 0, 1, 70, 100, 4_000_000))
    if type is float:
        return draw.choice((0.0, 0.25, 0.9, 1.4))
    return None if type is None.__class__ else draw.choice(TEXTS)
