"""What pages show of a branch from stored tables."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple, TypeVar

import pyarrow as pa
import pyarrow.parquet as pq
from django.conf import settings

from lab.analytics.build.found import branch_id
from lab.analytics.build.lineage import lineage
from lab.analytics.figures.bands import COLUMNS, MAX_BANDS, bands
from lab.analytics.figures.bands import TABLE as FAULTS
from lab.analytics.figures.parts import Figure, Words, share_axis
from lab.analytics.figures.stored import STORED, figure_of, internal_partitions
from lab.analytics.serve.heads import with_heads
from lab.analytics.store.builds import Build, Store
from lab.analytics.store.csv_text import as_csv
from lab.analytics.store.ledger import BranchEntry
from lab.analytics.store.reading import rows
from lab.recordings.folder import BranchFolder
from lab.texts.refusal import Refusal

TRIES = 3
"""Vacuum may delete a build while it is read; the next try reads a newer one."""
ROLES = "gold.role_spans"
MADE = "gold.run_summary"
"""A table that has a row for every branch, with the event up to which the tables are made."""


class Shown(NamedTuple):
    """The charts of a branch, including events up to `last_seq` (0: none yet); damage as (from event, to event, why).

    `internal`: how many partitions of Kafka's own topics there are beside others. `bands`: faults that last, the first
    `MAX_BANDS` of `faults`.
    """

    last_seq: int
    figures: dict[str, Figure]
    damage: list[tuple[int, int, str]]
    internal: int
    bands: list[dict[str, Any]]
    faults: int


def shown(folder: BranchFolder, language: str, *, internal: bool) -> Shown:
    """All charts of stored tables that have something to draw."""
    unit = branch_id(folder.run, folder.branch)
    return of_newest(lambda store, build: _shown(store, build, unit, Words(language), internal=internal)) or Shown(
        0, {}, [], 0, [], 0
    )


def is_made(folder: BranchFolder) -> bool:
    """Whether there is a chart of a branch."""
    unit = branch_id(folder.run, folder.branch)
    return bool(of_newest(lambda store, build: unit in build.made_to(ROLES)))


def _shown(store: Store, build: Build, unit: str, words: Words, *, internal: bool) -> Shown:
    figures = {}
    for name, stored in STORED.items():
        own, *beside = (
            # Where a click leads is in no table beside a chart.
            _rows(store, build, table, unit, dict.fromkeys((*columns, "seq")))
            for table, columns in ((stored.table, stored.columns), *stored.beside)
        )
        figure = figure_of(stored, own, words, *beside, internal=internal)
        if figure is not None:
            figures[name] = with_heads(figure, stored, words.language)
    ledger = build.ledger()
    entry = ledger.get(unit)
    if entry:
        share_axis(figures.values(), entry.last_at_us, words)
    damage = damage_of(unit, ledger) if entry else []
    roles = _rows(store, build, ROLES, unit, ("topic", "partition"))
    found = bands(_rows(store, build, FAULTS, unit, COLUMNS), entry.last_at_us if entry else 0, words)
    made_to, internal_count = build.made_to(MADE).get(unit, 0), internal_partitions(roles)
    return Shown(made_to, figures, damage, internal_count, found[:MAX_BANDS], len(found))


def damage_of(branch: str, ledger: Mapping[str, BranchEntry]) -> list[tuple[int, int, str]]:
    """What could not be read of the events that a branch sees, its own and those of its past: (from event, to event,
    why).
    """
    # Damage at the end of a segment has no last event: nothing after it could be read.
    inherited = [
        (one.from_seq, min(one.to_seq or part.to_seq, part.to_seq), one.reason)
        for part in lineage(branch, ledger)
        if part.owner != branch
        for one in ledger[part.owner].damage
        if (one.to_seq or part.to_seq) > part.from_seq and one.from_seq <= part.to_seq
    ]
    return inherited + [(one.from_seq, one.to_seq, one.reason) for one in ledger[branch].damage]


def csv_of(folder: BranchFolder, name: str) -> str:
    """All rows of the table of a chart, as CSV. Raises Refusal (404) for an unknown chart."""
    return as_csv(_table(folder, name))


def parquet_of(folder: BranchFolder, name: str) -> bytes:
    """All rows of the table of a chart, as a Parquet file. Raises Refusal (404) for an unknown chart."""
    sink = pa.BufferOutputStream()
    pq.write_table(_table(folder, name), sink, compression="zstd")
    return bytes(sink.getvalue())


def _table(folder: BranchFolder, name: str) -> pa.Table:
    stored = STORED.get(name)
    if stored is None:
        raise Refusal("refusal.no_chart", 404, chart=name[:40], charts=", ".join(STORED))
    unit = branch_id(folder.run, folder.branch)
    found = of_newest(lambda store, build: rows(store, build, stored.table, {unit}))
    return pa.table({column: pa.nulls(0) for column in stored.columns}) if found is None else found


T = TypeVar("T")


def of_newest(read: Callable[[Store, Build], T]) -> T | None:
    """The result of reading the newest build; None if there is none."""
    for _ in range(TRIES - 1):
        try:
            found = _newest()
            return None if found is None else read(*found)
        except FileNotFoundError:
            continue
    found = _newest()
    return None if found is None else read(*found)


def _newest() -> tuple[Store, Build] | None:
    store = Store.at(str(settings.TABLES))
    build = store.newest()
    return None if build is None else (store, build)


def _rows(store: Store, build: Build, table: str, unit: str, columns: Iterable[str]) -> list[dict[str, Any]]:
    if table not in build.tables:
        return []
    found = rows(store, build, table, {unit}, ["branch", *columns])
    if found is None:
        return []
    listed: list[dict[str, Any]] = found.drop_columns(["branch"]).to_pylist()
    return listed
