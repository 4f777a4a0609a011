"""Compares the folded view with the state of the live cluster."""

from typing import Any

import msgspec

from broker_core.partitions import ReplicaId
from broker_core.run import Run


def differences(run: Run) -> list[str]:
    """Every path at which the view and the cluster's own description differ."""
    live: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(run.describe()))
    view: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(run.view))
    found: list[str] = []

    def compare(path: str, ours: Any, theirs: Any) -> None:
        if ours != theirs:
            found.append(f"{path}: the view says {ours!r}, the cluster {theirs!r}")

    for name, state in live["brokers"].items():
        compare(f"/nodes/{name}/state", view["nodes"][name]["state"], state)
    # one that is starting has not opened its logs yet; what the view shows of it is what its last life left
    up = {name for name, state in live["brokers"].items() if state == "up"}
    shown = {key for key, replica in view["replicas"].items() if replica["node"] in up}
    described = {key: replica for key, replica in live["replicas"].items() if ReplicaId.parse(key).node in up}
    compare("/replicas", sorted(shown), sorted(described))
    for key, replica in described.items():
        for field, value in replica.items():
            ours = view["replicas"][key][field]
            if field in ("tail", "segments", "synced"):
                value = {str(row[0]): row[1:] for row in value}
            compare(f"/replicas/{key}/{field}", ours, value)
    for name, client in live["clients"].items():
        for field, value in client.items():
            compare(f"/nodes/{name}/{field}", view["nodes"][name][field], value)
    compare("/rpcs", sorted(view["rpcs"]), live["rpcs"])
    compare("/parked", sorted(view["parked"]), live["parked"])
    compare("/zk", {path: [znode["data"], znode["version"]] for path, znode in view["zk"].items()}, live["zk"])
    compare("/watches", view["watches"], live["watches"])
    compare("/links", sorted(view["links"]), live["links"])
    groups = {
        key: {
            **{field: group[field] for field in ("state", "generation_id", "protocol", "leader", "offsets", "pending")},
            "members": {name: member["assignment"] for name, member in group["members"].items()},
        }
        for key, group in view["groups"].items()
    }
    compare("/groups", groups, live["groups"])
    compare("/assignors", view["assignors"], live["assignors"])
    transactions = {
        key: {field: row[field] for field in ("state", "producer_id", "producer_epoch", "partitions")}
        for key, row in view["transactions"].items()
    }
    compare("/transactions", transactions, live["transactions"])
    compare("/link_faults", sorted(view["link_faults"]), live["link_faults"])
    for state in live["controllers"].values():
        compare("/controller_partitions", view["controller_partitions"], state["partitions"])
        compare("/controller_replicas", view["controller_replicas"], state["replicas"])
    return found
