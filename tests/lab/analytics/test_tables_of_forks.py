"""The tables of branches that share their past, against a plain reader of the dump of each branch."""

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec
import pytest
from pyspark.sql import SparkSession

import highwater
from lab.analytics.build.events import EVENTS
from lab.analytics.build.found import recordings_at
from lab.analytics.build.lineage import lineage
from lab.analytics.build.run import Wanted, build
from lab.analytics.figures.stored import STORED
from lab.analytics.store.builds import Build, Store
from lab.analytics.store.reading import rows
from lab.analytics.tables import Table
from lab.analytics.tables.registry import TABLES
from lab.recordings.recording import Recording
from tests.support.analytics.forks import dump_of, forked_run
from tests.support.analytics.plain import PlainTables
from tests.support.analytics.plain.compared import differences

OF_RUNS = [table for table in TABLES.values() if table.unit == "branch" and table.layer in ("silver", "gold")]


class Forked(NamedTuple):
    """A run with forks: its recordings, its tables as they are stored, and what the dumps say."""

    recordings: dict[str, Recording]
    store: Store
    newest: Build
    plain: dict[str, PlainTables]

    def rows(self, table: Table, branch: str) -> list[dict[str, Any]]:
        """The stored rows that a branch sees: of a table with a row for an event also those of its past."""
        stored = rows(self.store, self.newest, table.name)
        found = [] if stored is None else stored.to_pylist()
        name = f"r1/{branch}"
        if not table.per_event:
            return [row for row in found if row["branch"] == name]
        return [
            row
            for part in lineage(name, self.newest.ledger())
            for row in found
            if row["branch"] == part.owner and part.from_seq < row["seq"] <= part.to_seq
        ]


@pytest.fixture(scope="module")
def forked(session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Forked]:
    root = tmp_path_factory.mktemp("forked")
    with forked_run(root / "runs") as recordings:
        store = Store.at(str(root / "tables"))
        build(lambda: session, store, Wanted(recordings_at(str(root / "runs"))))
        newest = store.newest()
        assert newest is not None
        plain = {name: PlainTables(dump_of(recording.folder)) for name, recording in recordings.items()}
        yield Forked(recordings, store, newest, plain)


def test_each_event_is_stored_once(forked: Forked) -> None:
    events = rows(forked.store, forked.newest, EVENTS.name, columns=["branch", "seq"])
    assert events is not None
    keys = {(row["branch"], row["seq"]) for row in events.to_pylist()}
    own = {entry.branch: (entry.own_from_seq, entry.last_seq) for entry in forked.newest.ledger().values()}
    assert {branch.split("/")[1] for branch, (after, _) in own.items() if after} == set(forked.recordings) - {"main"}
    assert len(keys) == events.num_rows
    assert keys == {(branch, seq) for branch, (after, last) in own.items() for seq in range(after + 1, last + 1)}


@pytest.mark.parametrize("table", OF_RUNS, ids=lambda table: table.name)
def test_tables_of_forks_match_a_plain_reader(forked: Forked, table: Table) -> None:
    found = {
        name: differences(table, forked.rows(table, name), plain[table.name]) for name, plain in forked.plain.items()
    }
    assert {name: lines[:5] for name, lines in found.items() if lines} == {}


def test_measures_of_forks_can_be_compared(forked: Forked) -> None:
    """Empty tables are also equal; and forks must have more than what they share."""

    def measures(name: str) -> tuple[Any, ...]:
        plain = forked.plain[name]
        return (
            sum(row["unowned_us"] for row in plain["gold.rebalances"]),
            max((row["lag"] for row in plain["silver.lag"]), default=0),
            sum(row["shrinks"] for row in plain["gold.isr_churn"]),
            plain["gold.run_summary"][0]["commit_p99_us"],
            plain["gold.run_summary"][0]["elections"],
            [row["result"] for row in plain["gold.transaction_spans"]],
        )  # fmt: skip

    found = {name: measures(name) for name in forked.recordings}
    assert all(unowned and lag and p99 for unowned, lag, _, p99, *_ in found.values()), found
    assert found["waits"][2] and not found["main"][2], found
    assert len({str(one) for one in found.values()}) == len(found), found
    assert max(row["incarnation"] for row in forked.plain["deeper"]["silver.topics"]) == 2


def _texts(part: Any) -> Iterator[str]:
    if isinstance(part, str):
        yield part
    elif isinstance(part, dict | list):
        for one in part.values() if isinstance(part, dict) else part:
            yield from _texts(one)


@pytest.mark.parametrize("name", STORED)
def test_notebooks_draw_each_chart_in_colours_of_any_plotly(forked: Forked, name: str) -> None:
    hw = highwater.Lab(forked.store, forked.newest)
    figures = [hw.figure(name, run="r1", branch=branch) for branch in forked.recordings]
    assert any(figure is not None and figure["data"] for figure in figures)
    assert not [text for text in _texts(figures) if text.startswith("--")]


@pytest.mark.parametrize("kind", ["HighWatermarkAdvanced", "LeaderElected", "LogOpened"])
def test_notebooks_read_the_events_that_a_branch_sees_by_their_fields(forked: Forked, kind: str) -> None:
    recording = forked.recordings["deeper"]
    written = [
        (event.seq, msgspec.json.decode(event.record)[3][1:])
        for event in recording.stored(1, recording.last_seq)
        if msgspec.json.decode(event.record)[3][0] == kind
    ]
    found = highwater.Lab(forked.store, forked.newest).events("r1", kind, "deeper")
    names = [name for name in found.column_names if name not in ("at_us", "node", "cause_seq")]
    read = [
        [json.loads(value) if isinstance(value, str) and value.startswith("[") else value for value in row.values()]
        for row in found.select(names).to_pylist()
    ]
    assert written and read == [[seq, *fields] for seq, fields in written]


def test_notebooks_ask_about_all_tables_in_sql(forked: Forked) -> None:
    hw = highwater.Lab(forked.store, forked.newest)
    found = hw.sql("select branch, 'gold.run_summary' as said from gold.run_summary order by branch").to_pylist()
    assert [row["branch"] for row in found] == sorted(f"r1/{name}" for name in forked.recordings)
    assert {row["said"] for row in found} == {"gold.run_summary"}
    assert hw.sql("select sum(moved_partitions) as n from gold.rebalances where \"group\" = 'g'").num_rows == 1
    assert hw.sql("select count(*) as n from silver.batches b join bronze.events e using (branch, seq)")["n"][0].as_py()
    with pytest.raises(highwater.LabError, match="nothing"):
        hw.sql("select nothing from gold.run_summary")
    with pytest.raises(highwater.LabError, match="no kind of events Nothing"):
        hw.events("r1", "Nothing", "main")
