"""Tables that a test writes itself, without Spark."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq

from lab.analytics.build.segments import appended
from lab.analytics.store.builds import Build, Store, StoredFile, TableState
from lab.analytics.store.chunks import decompressed
from lab.analytics.store.ledger import BranchEntry
from lab.analytics.store.publish import Changes, TableChange, publish
from lab.analytics.store.reading import unit_column
from lab.analytics.tables.registry import TABLES

_TYPES = {
    "string": pa.string(), "int": pa.int32(), "bigint": pa.int64(), "double": pa.float64(), "boolean": pa.bool_(),
    "binary": pa.binary(), "map<string,string>": pa.map_(pa.string(), pa.string()),
    "array<string>": pa.list_(pa.string()), "map<string,bigint>": pa.map_(pa.string(), pa.int64()),
}  # fmt: skip


def publish_rows(
    store: Store, tables: Mapping[str, Sequence[Mapping[str, Any]]], folders: Mapping[str, Path] | None = None
) -> Build:
    """A build with these rows; columns that no row has are left out. Branches and logs are entered in the ledger.

    `folders`: of recordings, by branch, and of logs whose entries say that they have been read, by name.
    """
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
            changes.ledger |= {
                one: BranchEntry(one, one.partition("/")[0], str((folders or {}).get(one, ""))) for one in units
            }
        if unit == "log":
            changes.ledger |= {one: _log_entry(one, (folders or {}).get(one)) for one in units}
    return publish(store, store.newest(), changes)


def _log_entry(name: str, folder: Path | None) -> BranchEntry:
    of, _, whose = name.partition(":")
    learner, class_ = (whose, "") if of == "learner" else ("", whose)
    ranges = () if folder is None else tuple(appended(folder, (), (), 0, 0).ranges)
    return BranchEntry(name, "", "", learner=learner, class_=class_, unit="log", ranges=ranges)


def publish_acts(store: Store, acts: Mapping[str, str], folders: Mapping[str, Path] | None = None) -> Build:
    """A build with an act in each log by a person: `acts` are people by the names of the logs. For `folders`
    see `publish_rows`.
    """
    rows = [{"log": log, "seq": 1, "at_ms": 1, "kind": "StepReached"} for log in acts]
    people = list(acts.values())
    return publish_rows(
        store,
        {
            "bronze.acts": [{**row, "who": who, "payload": "{}"} for row, who in zip(rows, people, strict=True)],
            "silver.acts": [{**row, "learner": who} for row, who in zip(rows, people, strict=True)],
        },
        folders,
    )


def bytes_of(store: Store) -> bytes:
    """All that is in the files of all builds, unpacked."""
    found = []
    for name in store.files.names(""):
        # Vacuum may delete it meanwhile.
        with suppress(FileNotFoundError):
            if name.endswith(".parquet"):
                with store.files.dataset(name) as dataset:
                    found.append(str(dataset.to_table().to_pylist()).encode())
            elif name.endswith(".json.zst"):
                found.append(decompressed(store.files.read(name)))
    return b"".join(found)
