"""What a study counts of groups, event by event."""

from collections.abc import Sequence
from typing import Any, cast

import msgspec

from broker_core.events.control import ZnodeCreated, ZnodeDeleted
from broker_core.events.group import ConsumerAssigned, ConsumerStateChanged, GroupTransitioned
from broker_core.events.world import ClientFrozen, NodeAdded, NodeRemoved
from broker_core.view.tree import View
from lab.studies.measures import Watch

Seen = Sequence[tuple[int, msgspec.Struct]]
"""Instants in seconds, and what happens in them."""


def consumer(name: str, group: str = "g", instance: str = "") -> NodeAdded:
    return NodeAdded(name, "consumer", -1, (("group.id", group), ("group.instance.id", instance), ("topics", "orders")))


def owns(client: str, *numbers: int) -> ConsumerAssigned:
    return ConsumerAssigned(client, tuple(f"orders-{number}" for number in numbers), ())


def measured(seen: Seen, end_s: int, nodes: dict[str, Any] | None = None) -> dict[str, float | None]:
    watch = Watch(0, cast(View, {"nodes": nodes or {}}))
    for seq, (at_s, event) in enumerate(seen, 1):
        watch.see(cast(Any, (seq, at_s * 1_000_000, "", 0, event)))
    found = watch.values(end_s * 1_000_000)
    return {name: found[name] for name in ("moved_partitions", "unowned_partition_s", "rebalances")}


def test_groups_that_read_the_same_topic_are_counted_apart() -> None:
    seen = [
        (0, consumer("a")), (0, consumer("b", "h")), (1, owns("a", 0, 1)), (2, owns("b", 0, 1)), (3, owns("a", 0)),
        (5, owns("b", 0, 1)), (6, NodeRemoved("b")),
    ]  # fmt: skip
    # orders-1 in g from 3 on, both in h from 6 on
    assert measured(seen, 10) == {"moved_partitions": 0, "unowned_partition_s": 7 + 2 * 4, "rebalances": 0}


def test_partitions_of_a_deleted_topic_have_no_owner_to_miss() -> None:
    path = "/brokers/topics/orders"
    seen = [
        (0, consumer("a")), (1, owns("a", 0)), (2, NodeRemoved("a")), (4, ZnodeDeleted(path, 1)),
        (6, ZnodeCreated(path, "{}", 2, "")), (7, consumer("b")), (8, owns("b", 0)),
    ]  # fmt: skip
    assert measured(seen, 10) == {"moved_partitions": 0, "unowned_partition_s": 2, "rebalances": 0}


def test_frozen_consumers_and_restarted_static_members_are_owners() -> None:
    seen = [
        (0, consumer("a", instance="i")), (1, owns("a", 0)), (2, ClientFrozen("a")), (5, NodeRemoved("a")),
        (5, consumer("again", instance="i")), (6, owns("again", 0)),
    ]  # fmt: skip
    assert measured(seen, 10) == {"moved_partitions": 0, "unowned_partition_s": 1, "rebalances": 0}


def test_what_was_assigned_before_the_workload_is_owned() -> None:
    settings = {"group.id": "g", "topics": "orders"}
    node = {"kind": "consumer", "settings": settings, "assignment": ["orders-0"], "member": {"state": "stable"}}
    seen = [(2, NodeRemoved("a")), (3, consumer("b")), (4, owns("b", 0))]
    assert measured(seen, 9, {"a": node}) == {"moved_partitions": 1, "unowned_partition_s": 2, "rebalances": 0}


def test_members_without_a_coordinator_rebalance_once_for_each_change() -> None:
    def becomes(client: str, state: str) -> ConsumerStateChanged:
        return ConsumerStateChanged(client, state, f"g_{client}", -1, "")

    def member(name: str) -> ZnodeCreated:
        return ZnodeCreated(f"/consumers/g/ids/g_{name}", "", 1, name)

    seen = [
        (0, consumer("a")), (0, consumer("b")), (1, member("a")), (1, becomes("a", "rebalancing")),
        (1, becomes("a", "stable")),
        # b waits for what a still owns
        (2, member("b")), (2, becomes("b", "rebalancing")), (3, becomes("a", "rebalancing")),
        (3, becomes("a", "stable")), (4, becomes("b", "rebalancing")), (4, becomes("b", "stable")),
        # each of them notices that partitions were added
        (5, ZnodeCreated("/brokers/topics/orders", "{}", 3, "")), (6, becomes("a", "rebalancing")),
        (6, becomes("a", "stable")), (7, becomes("b", "rebalancing")), (7, becomes("b", "stable")),
    ]  # fmt: skip
    assert measured(seen, 10)["rebalances"] == 3
    coordinated = [(1, GroupTransitioned("b1", "g", "p", "Empty", "PreparingRebalance", 0, "", "", ""))]
    assert measured(coordinated, 2)["rebalances"] == 1
