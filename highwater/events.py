"""Recorded events as typed columns, without Spark."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
from pyspark.sql.variant_utils import VariantUtils

from broker_core.events import CORE, KINDS
from highwater.errors import LabError
from lab.analytics.build.events import EVENTS, FORMER, field_types
from lab.analytics.build.lineage import lineage
from lab.analytics.build.vocabularies import kept
from lab.analytics.store.builds import Build, Store
from lab.analytics.store.reading import rows

_HEAD = {"seq": pa.int64(), "at_us": pa.int64(), "node": pa.string(), "cause_seq": pa.int64()}
_TYPES = {"bigint": pa.int64(), "string": pa.string(), "boolean": pa.bool_(), "double": pa.float64()}


def events_of(store: Store, build: Build, branch: str, kind: str) -> pa.Table:
    """The events of a kind that a branch sees. Raises LabError for an unknown kind."""
    if kind not in KINDS:
        raise LabError(f"There is no kind of events {kind}. `broker_core.events.KINDS` has them.")
    ledger = build.ledger()
    parts = lineage(branch, ledger)
    found: list[dict[str, Any]] = []
    for part in parts:
        seq = ds.field("seq")
        wanted = (ds.field("kind") == kind) & (seq > part.from_seq) & (seq <= part.to_seq)
        columns = [*_HEAD, "payload", "vocabulary"]
        own = rows(store, build, EVENTS.name, {part.owner}, columns, wanted)
        found += [] if own is None else own.to_pylist()
    found.sort(key=lambda row: row["seq"])
    others = kept(store, [ledger[part.owner] for part in parts])
    named = [_fields(row, kind, others) for row in found]
    table = pa.table({name: pa.array([row[name] for row in found], type) for name, type in _HEAD.items()})
    for name, said in field_types(kind).items():
        column = _column([row.get(name) for row in named], said)
        # As in tables, a field hides a column of the event with the same name.
        place = table.schema.get_field_index(name)
        table = table.append_column(name, column) if place < 0 else table.set_column(place, name, column)
    return table


def _fields(row: Mapping[str, Any], kind: str, others: Mapping[str, Mapping[str, Sequence[str]]]) -> dict[str, Any]:
    """The fields of an event by name, in the vocabulary that it was written with."""
    event: Any = VariantUtils.to_python(row["payload"]["value"], row["payload"]["metadata"])
    names = others.get(row["vocabulary"] or "", {}).get(kind, CORE.kinds[kind].__struct_fields__)
    if not row["vocabulary"] and len(event) <= 1 + len(FORMER.get(kind, ())):
        names = FORMER[kind]
    return dict(zip(names, event[1:], strict=False))


def _column(values: Sequence[Any], type: str) -> pa.Array:
    outer, _, inner = type.partition("<")
    wanted = pa.list_(_TYPES[inner[:-1]]) if outer == "array" else _TYPES.get(type)
    if wanted is not None:
        try:
            return pa.array(values, wanted)
        except (pa.ArrowInvalid, pa.ArrowTypeError):
            # As a count in place of records.
            pass
    return pa.array([None if one is None else json.dumps(one, ensure_ascii=False) for one in values], pa.string())
