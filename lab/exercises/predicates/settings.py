"""Predicates about configuration, links, assignments, replicas that differ, alarms and measurements."""

from typing import Annotated

from broker_core.partitions import partition_of
from broker_core.texts import listed, text
from lab.exercises.moment import Moment
from lab.exercises.places import (
    Client,
    Node,
    Partition,
    Replica,
    Unresolved,
    configs_of,
    group_of,
    node_text,
    nodes_of,
    replicas_of,
)
from lab.exercises.predicate import GoalState, answer, one_of, predicate


@predicate
def setting(moment: Moment, *, node: Node, name: str, equals: str) -> GoalState:
    """A node was started with this value of a setting."""
    owner = nodes_of(moment.view, node)[0]
    known = moment.view["nodes"].get(owner)
    if known is None:
        raise Unresolved(text("goal.no_node", node=owner))
    found = known.get("settings", {}).get(name, "")
    return answer("goal.setting", found == equals, node=node_text(owner), name=name, found=found, wanted=equals)


@predicate
def config(
    moment: Moment, *, entity: Annotated[str, one_of("topics", "brokers")], name: str, key: str, equals: str
) -> GoalState:
    """The dynamic configuration of a topic or a broker has this value, by its znode; `equals` empty: it is unset."""
    znode = moment.view["zk"].get(f"/config/{entity}/{name}")
    found = "" if znode is None else configs_of(znode["data"]).get(key, "")
    return answer("goal.config", found == equals, name=name, key=key, found=found or "-", wanted=equals or "-")


@predicate
def assigned(moment: Moment, *, group: str, client: Client, partitions: list[str]) -> GoalState:
    """A member is assigned exactly these partitions."""
    found = group_of(moment.view, group)
    rows = [] if found is None else [one for one in found["members"].values() if one["client"] == client]
    owned = sorted(name for one in rows for name in one["assignment"])
    wanted = sorted(partitions)
    return answer(
        "goal.assigned",
        owned == wanted,
        client=client,
        found=", ".join(owned) or "-",
        wanted=", ".join(wanted) or "-",
    )


@predicate
def cut(moment: Moment, *, a: Node, b: Node) -> GoalState:
    """The link between two nodes is cut."""
    ends = sorted((nodes_of(moment.view, a)[0], nodes_of(moment.view, b)[0]))
    link = moment.view["links"].get("|".join(ends))
    return answer("goal.cut", link is not None, a=node_text(ends[0]), b=node_text(ends[1]))


@predicate
def differ(moment: Moment, *, a: Replica, b: Replica, at_least: int = 1) -> GoalState:
    """Two replicas hold different batches at `at_least` offsets that both have."""
    one, other = (moment.view["replicas"][replicas_of(moment.view, name)[0]]["tail"] for name in (a, b))
    count = sum(
        row[0] - int(base) + 1
        for base, row in one.items()
        if base in other and _identity(row) != _identity(other[base])
    )
    return answer("goal.differ", count >= at_least, partition=partition_of(a), n=count, wanted=at_least)


def _identity(row: list[int]) -> tuple[int, ...]:
    """Last offset, leader epoch and, where the view has it, the CRC of a batch."""
    return (row[0], row[1], *row[5:6])


@predicate
def alarm(moment: Moment, *, invariant: str, explained: bool | None = None) -> GoalState:
    """An alarm of an invariant was raised; `explained`: one that a setting allows, or one that it does not."""
    names = sorted({row["invariant"] for row in moment.view["alarms"].values()})
    met = any(
        row["invariant"] == invariant and explained in (None, bool(row["explained_by"]))
        for row in moment.view["alarms"].values()
    )
    return answer("goal.alarm", met, invariant=invariant, found=listed(names) if names else text("goal.none"))


@predicate
def lost(moment: Moment, *, partition: Partition, at_least: int = 1) -> GoalState:
    """At least `at_least` acknowledged records of a partition have been lost."""
    count = sum(int(row["count"]) for row in moment.view["losses"].values() if row["partition"] == partition)
    return answer("goal.lost", count >= at_least, partition=partition, n=count, wanted=at_least)


@predicate
def measured(moment: Moment, *, what: str) -> GoalState:
    """The learner has made a measurement, or opened a file, on the page."""
    return answer("goal.measured", what in moment.tally.facts, what=text("goal.measurement"))
