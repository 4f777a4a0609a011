"""Topics, the replicas that are assigned to brokers, nodes and commands."""

from collections import defaultdict
from typing import Any

from tests.support.analytics.plain.dump import Happened, Replica, Rows, json_of, partition, replica, spans

Assignment = dict[int, list[int]]


def assignment_of(event: Happened) -> tuple[str, Assignment | None] | None:
    """The topic that a change of a znode is about, with its assignment; None of one that was deleted."""
    match str(event.said.get("path", "")).split("/"):
        case ["", "brokers", "topics", topic]:
            if event.kind == "ZnodeDeleted":
                return topic, None
            given = json_of(event.said["data"]).get("partitions")
            known = {int(number): brokers for number, brokers in (given or {}).items()}
            # An invalid assignment is ignored.
            return (topic, known) if given is not None or event.kind == "ZnodeCreated" else None
    return None


def topics(t: Any) -> Rows:
    found: dict[str, Rows] = defaultdict(list)
    for event in t.of("ZnodeCreated", "ZnodeChanged", "ZnodeDeleted"):
        match assignment_of(event):
            case (topic, None) if found[topic]:
                found[topic][-1] |= {"deleted_seq": event.seq, "deleted_us": event.at_us}
            case (topic, dict() as assignment):
                if event.kind == "ZnodeCreated":
                    found[topic].append(
                        {
                            "topic": topic, "incarnation": len(found[topic]) + 1, "created_seq": event.seq,
                            "created_us": event.at_us, "deleted_seq": None, "deleted_us": None,
                        }
                    )  # fmt: skip
                found[topic][-1] |= {
                    "partitions": len(assignment),
                    "replication": max(map(len, assignment.values()), default=0),
                }
    return [row for rows in found.values() for row in rows]


def incarnation(t: Any, topic: str, seq: int) -> int | None:
    """Which topic of a name an event is about."""
    numbers = [row["incarnation"] for row in t["silver.topics"] if row["topic"] == topic and row["created_seq"] <= seq]
    return max(numbers, default=None)


def replicas(t: Any) -> Rows:
    states: dict[Replica, str | None] = {}
    assigned: dict[Replica, bool] = {}
    changes: dict[Replica, list[tuple[int, int, Any]]] = defaultdict(list)
    for event in t.of("ZnodeCreated", "ZnodeChanged", "ZnodeDeleted", "ReplicaStateChanged"):
        touched: set[Replica] = set()
        if event.kind == "ReplicaStateChanged":
            one, state = replica(event.said["replica"]), event.said["state"]
            states[one] = None if state.startswith("NonExistent") else state
            touched.add(one)
        elif (about := assignment_of(event)) is not None:
            topic, assignment = about
            now = {(topic, number, each) for number, brokers in (assignment or {}).items() for each in brokers}
            before = {one for one, is_assigned in assigned.items() if is_assigned and one[0] == topic}
            touched = now ^ before
            assigned |= dict.fromkeys(before - now, False) | dict.fromkeys(now - before, True)
        for one in touched:
            changes[one].append((event.seq, event.at_us, (assigned.get(one, False), states.get(one))))
    return [
        {
            "topic": one[0], "partition": one[1], "broker": one[2], "from_seq": seq, "from_us": from_us,
            "to_us": to_us, "state": state,
        }
        for one, listed in changes.items()
        for seq, from_us, to_us, (is_assigned, state) in spans(listed)
        if is_assigned
    ]  # fmt: skip


def nodes(t: Any) -> Rows:
    found: dict[str, Rows] = defaultdict(list)
    rows: Rows = []
    for event in t.of("RunStarted", "NodeAdded", "NodeRemoved", "ClientRefused", "ClientIdentified"):
        said = event.said
        same = {"from_seq": event.seq, "from_us": event.at_us}
        if event.kind == "RunStarted":
            run = {"node": "lab", "node_no": 1, "node_kind": "run", "era": said["era"], "seed": said["seed"]}
            rows.append({**same, **run})
        elif event.kind == "NodeAdded":
            found[said["node"]].append(
                {
                    **same, "node": said["node"], "node_no": len(found[said["node"]]) + 1,
                    "node_kind": said["node_kind"], "broker": None if said["broker_id"] < 0 else said["broker_id"],
                    "group": dict(said["settings"]).get("group.id") or None,
                }
            )  # fmt: skip
        elif lives := found[said["node"]]:
            lives[-1] |= {
                "NodeRemoved": lambda: {"to_us": event.at_us},  # noqa: B023
                "ClientRefused": lambda: {"refused_why": said["why"]},  # noqa: B023
                "ClientIdentified": lambda: {
                    "software": f"{said['software_name']} {said['software_version']}".strip() or None  # noqa: B023
                },
            }[event.kind]()
    return rows + [row for lives in found.values() for row in lives]


def commands(t: Any) -> Rows:
    found: dict[int, dict[str, Any]] = {}
    for event in t.of("CommandReceived", "CommandPrinted", "CommandCompleted"):
        said = event.said
        if event.kind == "CommandReceived":
            is_engine = said["source"] in ("play", "exercise")
            found[said["command"]] = {
                "command": said["command"], "learner": None if is_engine else said["source"] or None,
                "source": said["source"] if is_engine else "learner", "verb": said["line"].strip(" ").split(" ")[0],
                "line": said["line"], "received_seq": event.seq, "received_us": event.at_us, "printed_lines": 0,
            }  # fmt: skip
        elif said["command"] in found and event.kind == "CommandPrinted":
            found[said["command"]]["printed_lines"] += len(said["lines"])
        elif said["command"] in found:
            found[said["command"]] |= {"completed_us": event.at_us, "exit_code": said["exit_code"]}
    return list(found.values())


def leaders(t: Any) -> dict[tuple[str, int], list[tuple[int, int, int, list[int]]]]:
    """The state of each partition in ZooKeeper: seq, at_us, leader and ISR; of a deleted one leader -1 and no ISR."""
    found: dict[tuple[str, int], list[tuple[int, int, int, list[int]]]] = defaultdict(list)
    for row in t["silver.partition_states"]:
        if row["source"] != "controller":
            found[row["topic"], row["partition"]].append((row["seq"], row["at_us"], row["leader"], row["isr"]))
    return found


def topic_of(name: str) -> str:
    """The topic of a partition."""
    return partition(name)[0]


MAKERS = {
    "silver.topics": topics,
    "silver.replicas": replicas,
    "silver.nodes": nodes,
    "silver.commands": commands,
}
