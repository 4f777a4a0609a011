"""Bronze as the functions of tables see it: the events of a kind with their fields as typed columns."""

import types
import typing
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F

from broker_core.events import KINDS
from lab.analytics.tables import BIGINT, BRANCH, STRING, VARIANT, Table, Tables, c

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
        c("payload", VARIANT, "the event's array as recorded: kind, then its fields"),
    ),
    make=_not_made,
    doc="an event as it was recorded",
)


def of_kind(events: "DataFrame", kind: str) -> "DataFrame":
    """The events of a kind, with its fields as columns. Where a field is called as the envelope's, the field counts."""
    fields = field_types(kind)
    values = (
        F.try_variant_get("payload", f"$[{place}]", type).alias(name)
        for place, (name, type) in enumerate(fields.items(), 1)
    )
    return events.where(F.col("kind") == kind).select(*(name for name in HEAD if name not in fields), *values)


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
