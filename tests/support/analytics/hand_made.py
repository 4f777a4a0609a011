"""Tables that a test writes itself, without Spark."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq

from lab.analytics.store.builds import Build, Store, StoredFile, TableState
from lab.analytics.store.ledger import BranchEntry
from lab.analytics.store.publish import Changes, TableChange, publish
from lab.analytics.store.reading import unit_column
from lab.analytics.tables.registry import TABLES

_TYPES = {
    "string": pa.string(), "int": pa.int32(), "bigint": pa.int64(), "double": pa.float64(), "boolean": pa.bool_(),
    "binary": pa.binary(), "map<string,string>": pa.map_(pa.string(), pa.string()),
    "array<string>": pa.list_(pa.string()), "map<string,bigint>": pa.map_(pa.string(), pa.int64()),
}  # fmt: skip


def publish_rows(store: Store, tables: Mapping[str, Sequence[Mapping[str, Any]]]) -> Build:
    """A build with these rows; columns that no row has are left out. Branches are entered in the ledger."""
    changes = Changes()
    for name, rows in tables.items():
        unit = TABLES[name].unit
        path = f"{name}/{uuid4().hex}.parquet"
        there = {column for row in rows for column in row}
        schema = pa.schema([(one.name, _TYPES[one.type]) for one in TABLES[name].stored if one.name in there])
        stored = pa.Table.from_pylist([dict(row) for row in rows], schema=schema)
        target = Path(store.files.address) / path
        target.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(stored, target)
        column = unit_column(unit)
        units = {"all"} if column is None else {str(row[column]) for row in rows}
        file = StoredFile(path, len(rows), target.stat().st_size, dict.fromkeys(units, 1), len(units))
        table = TABLES[name]
        changes.tables[name] = TableChange(TableState((), unit, table.key, table.sort, ()), [file], set())
        if unit == "branch":
            changes.ledger |= {one: BranchEntry(one, one.partition("/")[0], "") for one in units}
    return publish(store, store.newest(), changes)
