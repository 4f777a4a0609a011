"""Publishes the results of a study as gold tables, replacing earlier results in one build."""

import time
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from lab.analytics.gold.studies import STUDY_CELLS, STUDY_POINTS
from lab.analytics.store.attempts import attempted
from lab.analytics.store.builds import Build, Store, StoredColumn, StoredFile, TableState
from lab.analytics.store.publish import Changes, ConflictError, TableChange, publish
from lab.analytics.tables import Table
from lab.studies.definition import Result, Study
from lab.studies.summary import Found

MAX_TRIES = 5
_TYPES = {"string": pa.string(), "int": pa.int32(), "bigint": pa.int64(), "double": pa.float64()}
_MAPS = {
    "map<string,string>": pa.map_(pa.string(), pa.string()),
    "map<string,double>": pa.map_(pa.string(), pa.float64()),
}


def publish_study(store: Store, study: Study, results: Sequence[Result], found: Found) -> Build:
    """Replaces the study's rows. Raises ConflictError if other builds always published first, OSError if there is no
    space.
    """
    places = {point.number: list(point.place.items()) for point in study.points}
    cells = [
        {
            "study": study.slug, "point": one.point, "seed": one.seed, "settings": places[one.point],
            "state": one.state, "why": one.why, "digest": one.digest, "events": one.events,
            "simulated_us": one.simulated_us, "values": list(one.values.items()),
        }
        for one in sorted(results, key=lambda one: (one.point, one.seed))
    ]  # fmt: skip
    points = [
        {
            "study": study.slug, "point": number, "measure": name, "settings": list(point.place.items()),
            "runs": spread.runs, "median": spread.median, "low": spread.low, "high": spread.high, "p05": spread.p05,
            "p25": spread.p25, "p75": spread.p75, "p95": spread.p95, "mean": spread.mean,
        }
        for number, point in enumerate(found.points)
        for name, spread in sorted(point.measures.items())
    ]  # fmt: skip
    began_ms = int(time.time() * 1_000)
    with attempted(store) as attempt:
        files = [(STUDY_CELLS, _written(store, STUDY_CELLS, study.slug, attempt.id, cells))]
        files.append((STUDY_POINTS, _written(store, STUDY_POINTS, study.slug, attempt.id, points)))
        for tries in range(MAX_TRIES):
            changes = Changes(touched={_unit(study.slug)}, began_ms=began_ms)
            for table, file in files:
                changes.tables[table.name] = TableChange(_state(table), [file], {study.slug})
            try:
                return publish(store, store.newest(), changes)
            except ConflictError:
                if tries == MAX_TRIES - 1:
                    raise
    raise AssertionError("unreachable")


def _unit(slug: str) -> str:
    """The unit of the study's builds; it cannot collide with the identity of a branch."""
    return f"study:{slug}"


def _state(table: Table) -> TableState:
    columns = tuple(StoredColumn(one.name, one.type, one.unit, one.doc, one.personal) for one in table.stored)
    return TableState((), table.unit, table.key, table.sort, columns, table.doc)


def _written(store: Store, table: Table, slug: str, attempt: str, rows: Sequence[dict[str, Any]]) -> StoredFile:
    schema = pa.schema([(one.name, _TYPES.get(one.type) or _MAPS[one.type]) for one in table.stored])
    sink = pa.BufferOutputStream()
    pq.write_table(pa.Table.from_pylist(list(rows), schema=schema), sink, compression="zstd")
    data = sink.getvalue().to_pybytes()
    path = f"{table.name}/{slug}-{attempt}.parquet"
    store.files.create(path, data)
    return StoredFile(path, len(rows), len(data), {slug: 1}, 1)
