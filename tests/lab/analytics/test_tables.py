"""Tables declare their sources, and the registry checks them against each other."""

from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.testing import assertSchemaEqual

from broker_core.events.log import LeaderEpochsChanged
from broker_core.events.replica import HighWatermarkAdvanced
from lab.analytics.build.events import field_types
from lab.analytics.tables import BIGINT, BRANCH, STRING, Table, TableError, Tables, c, not_null, ordered
from lab.analytics.tables.registry import TABLES, checked
from tests.support.analytics.made_tables import given, made


def advances(t: Tables) -> DataFrame:
    return t.kind("HighWatermarkAdvanced").select(BRANCH, "seq", "at_us", "replica", "to_offset")


ADVANCES = Table(
    name="silver.advances", unit="branch", key=("seq",), kinds=("HighWatermarkAdvanced",), per_event=True,
    make=advances,
    columns=(c("seq", BIGINT), c("at_us", BIGINT), c("replica", STRING), c("to_offset", BIGINT)),
)  # fmt: skip


def table(name: str, *needs: str) -> Table:
    return Table(
        name=name, unit="all", key=("a",), columns=(c("a", BIGINT),), needs=needs, make=advances
    )  # fmt: skip


def test_tables_are_built_after_their_sources() -> None:
    names = list(checked([table("gold.c", "silver.b"), table("silver.b", "bronze.a"), table("bronze.a")]))
    assert names == ["bronze.a", "silver.b", "gold.c"]


@pytest.mark.parametrize(
    ("tables", "said"),
    [
        ([table("silver.a"), table("silver.a")], "declared twice"),
        ([table("silver.a", "silver.nothing")], "silver.nothing"),
        ([table("silver.a", "silver.b"), table("silver.b", "silver.a")], "circle"),
    ],
)
def test_tables_that_contradict_each_other_are_refused(tables: list[Table], said: str) -> None:
    with pytest.raises(TableError, match=said):
        checked(tables)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"name": "copper.x"}, "layer"),
        ({"key": ("nothing",)}, "nothing"),
        ({"key": ()}, "no key"),
        ({"unit": "class"}, "column class"),
        ({"per_event": True}, "no seq"),
        ({"kinds": ("LogOpened",)}, "only tables of branches"),
    ],
)
def test_a_table_that_contradicts_itself_is_refused(changes: dict[str, object], said: str) -> None:
    usual = {"name": "silver.a", "unit": "all", "key": ("a",), "columns": (c("a", BIGINT),), "make": advances}
    with pytest.raises(TableError, match=said):
        Table(**{**usual, **changes})  # type: ignore[arg-type]


def test_a_function_gets_what_its_table_declares_and_no_more(session: SparkSession) -> None:
    values: dict[str, Any] = {"bigint": 7, "string": "x"}
    event = HighWatermarkAdvanced(**{name: values[type] for name, type in field_types("HighWatermarkAdvanced").items()})
    rows = made(session, ADVANCES, events=[(3, 40, "b1", 2, event)])
    assert [row.asDict() for row in rows] == [{"seq": 3, "at_us": 40, "replica": "x", "to_offset": 7}]
    empty = given(session, ADVANCES)
    assertSchemaEqual(ADVANCES.make(empty).drop(BRANCH).schema, session.createDataFrame([], ADVANCES.schema).schema)
    with pytest.raises(KeyError, match="add it to its kinds"):
        empty.kind("LogOpened")
    with pytest.raises(AttributeError, match="add it to its needs"):
        _ = empty.failovers


def test_checks_ignore_missing_values(session: SparkSession) -> None:
    data = session.createDataFrame([(1, None, 3), (3, None, 1), (None, None, None)], "a bigint, b bigint, c bigint")
    condition = F.expr(ordered("a", "b", "c").condition)
    assert [row[0] for row in data.select(condition).collect()] == [True, False, True]
    assert [row[0] for row in data.select(F.expr(not_null("a").condition)).collect()] == [True, True, False]


def test_each_table_has_its_schema_even_without_a_row(session: SparkSession) -> None:
    # test_tables_of_runs.py has those of branches
    for table in (
        ADVANCES,
        *(table for table in TABLES.values() if table.unit != "branch" and table.layer != "bronze"),
    ):
        # as a build takes them
        columns = (F.col(column.name).cast(column.type).alias(column.name) for column in table.columns)
        rows = table.make(given(session, table)).select(*columns)
        assertSchemaEqual(rows.schema, session.createDataFrame([], table.schema).schema, ignoreNullable=True)


def test_transaction_continues_under_the_new_coordinator(session: SparkSession) -> None:
    states = [
        ("", "Empty"),
        ("Empty", "Ongoing"),
        ("", "Ongoing"),
        ("Ongoing", "PrepareCommit"),
        ("", "CompleteCommit"),
    ]
    steps = [
        {"seq": seq, "at_us": seq * 10, "transactional_id": "pay", "step": "transitioned", "from_state": one,
         "to_state": other, "partitions": ["orders-0"]}
        for seq, (one, other) in enumerate(states, 1)
    ]  # fmt: skip
    [row] = made(session, TABLES["gold.transaction_spans"], tables={"silver.transactions": steps})
    assert (row.begun_us, row.decided_us, row.completed_us, row.result) == (20, 40, 50, "COMMIT")


def test_ended_freeze_is_not_the_cause_of_a_leader_change(session: SparkSession) -> None:
    elected: list[dict[str, Any]] = [
        {"seq": seq, "at_us": seq * 10, "topic": "orders", "partition": 0, "broker": broker, "role": "elected",
         "leader_epoch": epoch, "unclean": False}
        for epoch, (seq, broker) in enumerate([(2, 1), (9, 2)])
    ]  # fmt: skip
    leads = [{**one, "seq": one["seq"] + 1, "at_us": one["at_us"] + 5, "role": "leads"} for one in elected]
    frozen = {"fault": "frozen", "subject": "b1", "from_seq": 3, "from_us": 30, "to_us": 50}
    tables = {
        "silver.leader_epochs": [*elected, *leads], "silver.faults": [frozen],
        "silver.topics": [{"topic": "orders", "incarnation": 1, "created_seq": 1}],
    }  # fmt: skip
    [row] = made(session, TABLES["gold.failovers"], tables=tables)
    assert (row.fault_seq, row.lost_us, row.unavailable_us) == (None, None, 5)


def test_leader_that_has_not_opened_its_log_has_no_position(session: SparkSession) -> None:
    where = {"topic": "orders", "partition": 0}
    offsets = [
        {**where, "seq": 2, "at_us": 20, "broker": 1, "measure": measure, "value": 5}
        for measure in ("log_end", "high_watermark")
    ]
    states = [
        {**where, "seq": seq, "at_us": seq * 10, "source": "changed", "leader": leader}
        for seq, leader in ((1, 1), (4, 7))
    ]
    topics = [{"topic": "orders", "incarnation": 1, "created_seq": 1}]
    tables = {"silver.replica_offsets": offsets, "silver.partition_states": states, "silver.topics": topics}
    found = made(session, TABLES["silver.leader_positions"], tables=tables)
    assert [(row["from_seq"], row["to_us"], row["broker"], row["log_end"]) for row in found] == [
        (1, 20, 1, None), (2, 40, 1, 5), (4, None, 7, None),
    ]  # fmt: skip


def test_empty_checkpoint_of_leader_epochs_has_no_epoch(session: SparkSession) -> None:
    events = [
        (seq, seq * 10, "b1", 0, LeaderEpochsChanged("orders-0@b1", entries))
        for seq, entries in enumerate([((3, 40),), ()], 1)
    ]
    found = made(session, TABLES["silver.leader_epochs"], events=events)
    assert [(row["leader_epoch"], row["start_offset"]) for row in found] == [(3, 40), (None, None)]


def test_state_of_a_consumer_ends_with_it_even_if_its_name_is_reused(session: SparkSession) -> None:
    consumer = {"node": "c1", "node_kind": "consumer", "group": "g"}
    tables = {
        "silver.group_generations": [
            {"group": "g", "broker": "b1", "generation_id": 1, "state": "PreparingRebalance", "from_seq": 2,
             "from_us": 10, "members": 0}
        ],
        "silver.nodes": [
            {**consumer, "node_no": 1, "from_seq": 1, "from_us": 0, "to_us": 50},
            {**consumer, "node_no": 2, "from_seq": 8, "from_us": 80},
        ],
        "silver.client_states": [
            {"seq": seq, "at_us": at_us, "client": "c1", "what": "consumer", "state": state}
            for seq, at_us, state in ((4, 40, "closed"), (9, 85, "joining"))
        ],
    }  # fmt: skip
    [row] = made(session, TABLES["gold.rebalances"], tables=tables, branch={"last_at_us": 100})
    assert [(one.phase, one.from_us, one.to_us) for one in row.by_member] == [("closed", 40, 50), ("joining", 85, 100)]
