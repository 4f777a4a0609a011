"""The view of bronze that table functions get: the events of a kind with their fields as typed columns."""

import types
import typing
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F

from broker_core.events import KINDS
from lab.analytics.tables import BIGINT, BRANCH, INT, STRING, VARIANT, Table, Tables, c
from lab.analytics.tables.registry import TABLES

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

HEAD = {BRANCH: "int", "seq": "bigint", "at_us": "bigint", "node": "string", "cause_seq": "bigint"}
_TYPES = {int: "bigint", str: "string", bool: "boolean", float: "double"}


def _not_made(t: Tables) -> "DataFrame":
    raise NotImplementedError("events are read from recordings")


EVENTS = Table(
    name="bronze.events",
    unit="branch",
    key=("seq",),
    order=("kind", "seq"),
    per_event=True,
    columns=(
        c("seq", BIGINT, "the event's place in its branch"),
        c("at_us", BIGINT, "simulated time since the run began"),
        c("node", STRING, "where it happened"),
        c("cause_seq", BIGINT, "the event that it follows from"),
        c("kind", STRING, "its kind"),
        c("family", STRING, "the family of its kind; empty for a kind unknown to this version"),
        c("payload", VARIANT, "the event's array as recorded, without addresses and contents: kind, then its fields",
          personal=True),
        c("vocabulary", STRING, "the vocabulary it was written with; empty if the recording has none"),
        c("build", INT, "the build that read it"),
    ),
    make=_not_made,
    doc="An event as it was recorded.",
)  # fmt: skip

STORED: Mapping[str, Table] = {EVENTS.name: EVENTS, **TABLES}
"""By name, with the one that each build reads recordings into, whatever tables it makes."""


FORMER: Mapping[str, Sequence[str]] = {
    "LogOpened": (
        "replica", "topic_id", "log_start_offset", "log_end_offset", "high_watermark", "epochs", "segments", "tail",
    ),
}  # fmt: skip
"""How kinds were laid out before recordings stated their vocabulary, where a field has been put between others since.
Such events are recognised by being shorter. Of other kinds, fields have only been added at the end.
"""


def of_kind(
    events: "DataFrame", kind: str, others: Mapping[str, Sequence[str]] | None = None, *, is_undescribed: bool = True
) -> "DataFrame":
    """The events of a kind, with its fields as columns. A field hides an envelope column of the same name.

    Args:
        events: rows of bronze.
        kind: the kind.
        others: the fields of the kind in other vocabularies than the current one, by hash; a missing field is null.
        is_undescribed: there may be events of recordings without a stated vocabulary.
    """
    values = _values(kind, others or {}, is_undescribed=is_undescribed)
    columns = (f"{value} as `{name}`" for name, value in values.items())
    return events.where(F.col("kind") == kind).selectExpr(*(name for name in HEAD if name not in values), *columns)


def _values(kind: str, others: Mapping[str, Sequence[str]], *, is_undescribed: bool) -> dict[str, str]:
    """The fields of a kind by name, as SQL expressions."""
    layouts = [(f"vocabulary = {_text(hash)}", names) for hash, names in sorted(others.items())]
    if is_undescribed and kind in FORMER:
        former = FORMER[kind]
        is_shorter = f"{_at(len(former) + 1, 'variant')} is null"
        layouts.append((f"coalesce(vocabulary, '') = '' and {is_shorter}", former))
    fields = enumerate(field_types(kind).items(), 1)
    return {name: _value(name, place, type, layouts) for place, (name, type) in fields}


def of_kinds(
    events: "DataFrame",
    kinds: Sequence[str],
    others: Mapping[str, Mapping[str, Sequence[str]]] | None = None,
    *,
    is_undescribed: bool = True,
) -> "DataFrame":
    """The events of several kinds with their `kind` and all their fields, null where a kind lacks one. For the
    arguments see `of_kind`; `others`: the fields in other vocabularies by hash and kind.
    """
    values: dict[str, dict[str, list[str]]] = {}
    for kind in kinds:
        own = {hash: fields.get(kind, ()) for hash, fields in (others or {}).items()}
        for name, value in _values(kind, own, is_undescribed=is_undescribed).items():
            values.setdefault(name, {}).setdefault(value, []).append(kind)
    columns = []
    for name, by_value in values.items():
        found = [f"when kind in ({', '.join(map(_text, some))}) then {value}" for value, some in by_value.items()]
        columns.append(f"case {' '.join(found)} end as `{name}`")
    head = (name for name in HEAD if name not in values)
    return events.where(F.col("kind").isin(*kinds)).selectExpr(*head, "kind", *columns)


def columns_of_kinds(kinds: Sequence[str]) -> dict[str, str]:
    """The columns of `of_kinds` and their types."""
    fields = {name: type for kind in kinds for name, type in field_types(kind).items()}
    return {name: type for name, type in HEAD.items() if name not in fields} | {"kind": "string"} | fields


def _at(place: int, type: str) -> str:
    return f"try_variant_get(payload, '$[{place}]', '{type}')"


def _text(value: str) -> str:
    """A text literal, whatever is in the text: it comes from a recording."""
    return f"cast(X'{value.encode().hex()}' as string)"


def _value(name: str, place: int, type: str, layouts: Sequence[tuple[str, Sequence[str]]]) -> str:
    """A field by name, at its position in the vocabulary of the row, as an SQL expression."""
    value = _at(place, type)
    for condition, names in layouts:
        other = names.index(name) + 1 if name in names else 0
        if other != place:
            there = _at(other, type) if other else f"cast(null as {type})"
            value = f"case when {condition} then {there} else {value} end"
    return value


def columns_of_kind(kind: str) -> dict[str, str]:
    """The columns of `of_kind` and their types."""
    fields = field_types(kind)
    return {name: type for name, type in HEAD.items() if name not in fields} | fields


def field_types(kind: str) -> dict[str, str]:
    """The fields of a kind and their types in Spark."""
    event = KINDS[kind]
    hints = typing.get_type_hints(event)
    return {name: _spark_type(hints[name]) for name in event.__struct_fields__}


def _spark_type(hint: Any) -> str:
    if isinstance(hint, types.UnionType):
        hint = next(part for part in typing.get_args(hint) if part is not type(None))
    if typing.get_origin(hint) is tuple:
        of = {part for part in typing.get_args(hint) if part is not Ellipsis}
        return f"array<{_TYPES[of.pop()]}>" if len(of) == 1 and of <= _TYPES.keys() else "variant"
    return _TYPES.get(hint, "variant")
