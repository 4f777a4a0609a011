"""The tables of runs: what is expected of all of them alike."""

import pytest
from pyspark.sql import SparkSession

from broker_core.events import KINDS
from broker_core.events.world import RunStarted
from lab.analytics.tables.registry import TABLES
from tests.support.analytics.recorded_runs import MadeTables, RecordedRun
from tests.support.analytics.recordings import steady

OF_RUNS = [table for table in TABLES.values() if table.unit == "branch" and table.layer in ("silver", "gold")]


def test_each_kind_of_event_is_a_source_of_a_table() -> None:
    assert {kind for table in OF_RUNS for kind in table.kinds} == set(KINDS)


def test_gold_is_made_of_tables_alone() -> None:
    assert not [table.name for table in OF_RUNS if table.layer == "gold" and table.kinds]


def test_each_column_says_what_it_means() -> None:
    assert not [f"{table.name}.{column.name}" for table in OF_RUNS for column in table.columns if not column.doc]


@pytest.fixture(scope="module")
def tiny(session: SparkSession) -> MadeTables:
    """A run without an event, one with a single event, and one whose brokers never came up."""
    whole = steady()
    never_up = whole.envelopes[:5]
    assert isinstance(never_up[0][4], RunStarted)
    return MadeTables(session, [RecordedRun.with_events(events) for events in ([], never_up[:1], never_up)])


@pytest.mark.parametrize("name", [table.name for table in OF_RUNS])
def test_hardly_an_event_is_enough(tiny: MadeTables, name: str) -> None:
    """The columns are those that are declared, and nothing fails on so little."""
    found = [tiny.rows(name, number) for number in range(3)]
    assert tiny.columns(name) == [column.name for column in TABLES[name].columns]
    expected = {"gold.run_summary": [1, 1, 1], "silver.nodes": [0, 1, 5]}.get(name)
    assert [*map(len, found)] == expected if expected else not found[0]
