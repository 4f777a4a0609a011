"""Owners and rebalances on a few rows whose figures follow from the definitions in docs/TABLES.md."""

from typing import Any

from pyspark.sql import SparkSession

from broker_core.events.world import NodeRemoved
from lab.analytics.tables.registry import TABLES
from tests.support.analytics.made_tables import made

Rows = list[dict[str, Any]]

ORDERS = {"topic": "orders", "partition": 0}
BORN = {"topic": "orders", "incarnation": 1, "created_seq": 1, "created_us": 0}
G = {"group": "g", **ORDERS, "incarnation": 1}


def states(*named: tuple[int, str], broker: str = "b1") -> Rows:
    """States of a group from `seq`, at 10 µs a seq; the last one ends with nothing."""
    ends = [seq * 10 for seq, _ in named[1:]]
    return [
        {"group": "g", "broker": broker, "generation_id": seq, "state": state, "from_seq": seq, "from_us": seq * 10,
         "to_us": to_us, "members": 2}
        for (seq, state), to_us in zip(named, [*ends, None], strict=True)
    ]  # fmt: skip


REBALANCE = ((10, "PreparingRebalance"), (11, "CompletingRebalance"), (12, "Stable"))
NEXT = ((20, "PreparingRebalance"), (21, "CompletingRebalance"), (22, "Stable"))


def plan(seq: int, *members: str, broker: str = "b1") -> Rows:
    """An assignment of one partition to each member."""
    return [
        {"seq": seq, "group": "g", "broker": broker, "topic": "orders", "partition": number, "member": member,
         "change": "assigned", "is_empty": False}
        for number, member in enumerate(members)
    ]  # fmt: skip


def test_nobody_owns_a_topic_that_does_not_exist(session: SparkSession) -> None:
    """It is deleted at 30 and created again at 60; c1 ends at 20, c2 owns it from 80 until it ends at 90."""
    said = [
        {"seq": seq, "at_us": seq * 10, "client": client, "change": "owned", **ORDERS, "is_empty": False}
        for seq, client in ((1, "c1"), (8, "c2"))
    ]
    ends = (("c1", 1, 20), ("c2", 7, 90))
    tables = {
        "silver.group_assignments": said,
        "silver.nodes": [
            {
                "node": client,
                "node_kind": "consumer",
                "group": "g",
                "from_seq": seq,
                "from_us": seq * 10,
                "to_us": to_us,
            }
            for client, seq, to_us in ends
        ],
        "silver.topics": [
            {**BORN, "deleted_seq": 3, "deleted_us": 30},
            {**BORN, "incarnation": 2, "created_seq": 6, "created_us": 60},
        ],
    }
    events = [(to_us // 10, to_us, client, 0, NodeRemoved(client)) for client, _, to_us in ends]
    found = made(session, TABLES["silver.partition_owners"], tables=tables, events=events)
    assert sorted((row.incarnation, row.from_us, row.to_us or 0, row.client or "") for row in found) == [
        (1, 10, 20, "c1"), (1, 20, 30, ""), (2, 80, 90, "c2"), (2, 90, 0, ""),
    ]  # fmt: skip


def test_time_without_an_owner_belongs_to_the_rebalance_that_it_overlaps(session: SparkSession) -> None:
    """The last of these times begins after the rebalance, such as that of a static member that restarts."""
    gaps = ((50, 115, 0), (105, 130, 1), (125, 160, 2), (190, None, 3))
    tables = {
        "silver.group_generations": states(*REBALANCE),
        "silver.topics": [BORN],
        "silver.partition_owners": [
            {**G, "partition": number, "from_seq": from_us // 10, "from_us": from_us, "to_us": to_us}
            for from_us, to_us, number in gaps
        ],
    }
    branch = {"last_at_us": 200}
    [row] = made(session, TABLES["gold.rebalances"], tables=tables, branch=branch)
    assert (row.unowned_us, row.stop_the_world_us, row.stopped_us) == (65 + 25, 65, 50)
    [run] = made(session, TABLES["gold.run_summary"], tables=tables, branch=branch)
    assert (run.unowned_us, run.stop_the_world_us) == (65 + 25 + 35 + 10, 65)


def test_partitions_moved_before_a_coordinator_died_are_counted_once(session: SparkSession) -> None:
    """b1 makes the first two rebalances, b2 the third, after it has loaded the second plan."""
    first = states(*REBALANCE, *NEXT)
    first[-1]["to_us"] = 250
    second = states(
        (30, "Stable"), (40, "PreparingRebalance"), (41, "CompletingRebalance"), (42, "Stable"), broker="b2"
    )
    tables = {
        "silver.group_generations": [*first, *second],
        "silver.topics": [BORN],
        "silver.group_assignments": [
            *plan(11, "m1", "m1"), *plan(21, "m1", "m2"), *plan(30, "m1", "m2", broker="b2"),
            *plan(41, "m2", "m3", broker="b2"),
        ],
    }  # fmt: skip
    found = made(session, TABLES["gold.rebalances"], tables=tables, branch={"last_at_us": 500})
    assert [(row.broker, row.moved_partitions) for row in found] == [("b1", 0), ("b1", 1), ("b2", 2)]


def test_restarted_static_member_keeps_its_partitions(session: SparkSession) -> None:
    tables = {
        "silver.group_generations": states(*REBALANCE, *NEXT),
        "silver.topics": [BORN],
        "silver.group_members": [
            {"seq": 1, "group": "g", "member": "i1-a", "change": "added", "instance": "i1"},
            {"seq": 15, "group": "g", "member": "i1-b", "old_member": "i1-a", "change": "replaced", "instance": "i1"},
        ],
        "silver.group_assignments": [*plan(11, "i1-a", "m2"), *plan(21, "i1-b", "i1-b")],
    }  # fmt: skip
    found = made(session, TABLES["gold.rebalances"], tables=tables, branch={"last_at_us": 500})
    assert [row.moved_partitions for row in found] == [0, 1]


def test_generation_loaded_again_does_not_make_a_rebalance_stable(session: SparkSession) -> None:
    """The only coordinator is killed at 115, and loads the previous generation at 300."""
    known = states((10, "PreparingRebalance"), (11, "CompletingRebalance"), (30, "Stable"))
    known[1]["to_us"] = 115
    tables = {"silver.group_generations": known, "silver.topics": [BORN]}
    [row] = made(session, TABLES["gold.rebalances"], tables=tables, branch={"last_at_us": 500})
    assert (row.completed_us, row.stable_us) == (110, None)
