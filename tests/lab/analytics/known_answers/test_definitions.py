"""Owners, rebalances, failovers and lag on a few rows whose figures follow from the definitions in docs/TABLES.md."""

from typing import Any

from pyspark.sql import SparkSession

from broker_core.events.group import GroupsLoaded, GroupTransitioned
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


def elections(*made: tuple[int, int, str]) -> Rows:
    return [
        {"seq": seq, "at_us": seq * 10, **ORDERS, "broker": broker, "role": "elected", "leader_epoch": epoch,
         "strategy": strategy, "unclean": False}
        for epoch, (seq, broker, strategy) in enumerate(made)
    ]  # fmt: skip


def leads(seq: int, broker: int, epoch: int) -> dict[str, Any]:
    return {"seq": seq, "at_us": seq * 10, **ORDERS, "broker": broker, "role": "leads", "leader_epoch": epoch}


def fault(what: str, broker: int, from_us: int, to_us: int | None) -> dict[str, Any]:
    return {"fault": what, "subject": f"b{broker}", "from_seq": from_us // 10, "from_us": from_us, "to_us": to_us}


NEW, OFFLINE, PREFERRED = "NewPartition", "OfflinePartition", "PreferredReplicaPartition"


def losses(session: SparkSession, epochs: Rows, faults: Rows, topic: dict[str, Any] = BORN) -> list[tuple[Any, ...]]:
    tables = {"silver.leader_epochs": epochs, "silver.faults": faults, "silver.topics": [topic]}
    found = made(session, TABLES["gold.failovers"], tables=tables, branch={"last_at_us": 1_000})
    return [
        (row.from_broker, row.to_broker, row.seq, row.fault_seq, row.lost_us, row.leads_us, row.unavailable_us)
        for row in found
    ]


def test_partition_without_a_leader_is_unavailable_to_the_end(session: SparkSession) -> None:
    first = [*elections((1, 1, NEW)), leads(2, 1, 0)]
    stopped = [fault("stopped", 1, 300, None)]
    closed = [*stopped, fault("session closed", 1, 400, 400)]
    nobody = elections((1, 1, NEW), (40, -1, OFFLINE))[1:]
    # nobody notices
    assert losses(session, first, stopped) == [(1, None, 30, 30, 300, None, 700)]
    # the controller finds no leader, and tries again
    again = {**nobody[0], "seq": 50, "at_us": 500}
    assert losses(session, [*first, *nobody, again], closed) == [(1, None, 40, 30, 300, None, 700)]
    # until its topic is deleted
    deleted = {**BORN, "deleted_seq": 60, "deleted_us": 600}
    assert losses(session, [*first, *nobody], closed, deleted) == [(1, None, 40, 30, 300, None, 300)]
    # a broker that is starting does not lead yet, and one that was only frozen for a while is not lost
    starting = [fault("stopped", 1, 300, 900), fault("starting", 1, 900, None)]
    assert losses(session, first, starting) == [(1, None, 30, 30, 300, None, 700)]
    assert losses(session, first, [fault("frozen", 1, 300, 900)]) == []


def test_leader_that_never_leads_does_not_end_a_loss(session: SparkSession) -> None:
    """b1 stops at 300, b2 is frozen at 350 and elected at 400, its session ends at 500, and b3 leads from 520 on."""
    epochs = [*elections((1, 1, NEW), (40, 2, OFFLINE), (51, 3, OFFLINE)), leads(2, 1, 0), leads(52, 3, 2)]
    faults = [
        fault("stopped", 1, 300, None), fault("session closed", 1, 390, 390), fault("frozen", 2, 350, None),
        fault("session closed", 2, 500, 500),
    ]  # fmt: skip
    assert losses(session, epochs, faults) == [
        (1, 2, 40, 30, 300, None, None), (2, 3, 51, 30, 300, 520, 220),
    ]  # fmt: skip
    # without a third broker
    assert losses(session, [*epochs[:2], leads(2, 1, 0)], faults) == [(1, 2, 40, 30, 300, None, 700)]


def test_preferred_leader_that_is_down_does_not_take_the_leader_away(session: SparkSession) -> None:
    epochs = [*elections((1, 1, NEW), (20, -1, PREFERRED), (40, 2, OFFLINE)), leads(2, 1, 0), leads(41, 2, 2)]
    stopped = [fault("stopped", 1, 300, None), fault("session closed", 1, 390, 390)]
    assert losses(session, epochs, stopped) == [(1, 2, 40, 30, 300, 410, 110)]


def test_lag_starts_anew_with_the_topic_and_with_what_a_coordinator_loads(session: SparkSession) -> None:
    """The coordinator that loads at 50 finds nothing; the topic is created again at 80."""
    events = [
        (2, 20, "b1", 0, GroupTransitioned("b1", "g", "__consumer_offsets-0", "", "Empty", 0, "", "", "")),
        (5, 50, "b2", 0, GroupsLoaded("b2", "__consumer_offsets-0", 1, 0)),
    ]
    commits = [
        {"seq": seq, "at_us": seq * 10, "group": "g", **ORDERS, "step": "committed", "offset": offset}
        for seq, offset in ((3, 4), (6, 5))
    ]
    positions = [
        {**ORDERS, "incarnation": number, "from_seq": seq, "from_us": seq * 10, "to_us": to_us, "broker": 1,
         "log_end": 9, "high_watermark": 9}
        for number, seq, to_us in ((1, 1, 70), (2, 8, None))
    ]  # fmt: skip
    tables = {
        "silver.offset_commits": commits, "silver.leader_positions": positions,
        "silver.topics": [BORN, {**BORN, "incarnation": 2, "created_seq": 8, "created_us": 80}],
    }  # fmt: skip
    found = made(session, TABLES["silver.lag"], tables=tables, events=events)
    assert [(row.incarnation, row.from_us, row.to_us, row.lag) for row in found] == [(1, 30, 50, 5), (1, 60, None, 4)]


def test_high_watermark_of_a_deleted_topic_is_not_that_of_the_next_one(session: SparkSession) -> None:
    """Its log is opened two instants after its leader is known."""
    opened = [(2, "log_end", 7), (2, "high_watermark", 7), (10, "log_end", 0), (10, "high_watermark", 0)]
    tables = {
        "silver.replica_offsets": [
            {**ORDERS, "seq": seq, "at_us": seq * 10, "broker": 1, "measure": measure, "value": value}
            for seq, measure, value in opened
        ],
        "silver.partition_states": [
            {**ORDERS, "seq": seq, "at_us": seq * 10, "source": source, "leader": leader}
            for seq, source, leader in ((1, "created", 1), (5, "deleted", -1), (8, "created", 1))
        ],
        "silver.topics": [
            {**BORN, "deleted_seq": 5, "deleted_us": 50},
            {**BORN, "incarnation": 2, "created_seq": 7, "created_us": 70},
        ],
    }
    found = made(session, TABLES["silver.leader_positions"], tables=tables)
    assert [(row.incarnation, row.from_us, row.broker, row.high_watermark) for row in found] == [
        (1, 10, 1, None), (1, 20, 1, 7), (1, 50, -1, None), (2, 80, 1, None), (2, 100, 1, 0),
    ]  # fmt: skip
