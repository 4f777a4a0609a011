"""The run, its nodes and links, the alarms."""

from typing import Any

from broker_core.events import world
from broker_core.view.patch import Patch, View, escape
from broker_core.view.rules import REMOVE, folds, rule

rule(
    world.RunStarted,
    ("/run", "{'name': event.name, 'seed': event.seed, 'era': event.era, 'start_wall_ms': event.start_wall_ms}"),
)
rule(world.NodeRemoved, ("/nodes/{node}", REMOVE))
rule(world.ClientRefused)
rule(
    world.ClientIdentified,
    ("/nodes/{node}/settings/client.id", "event.client_id"),
    ("/nodes/{node}/settings/software", "f'{event.software_name} {event.software_version}'.strip()"),
)
rule(
    world.BrokerStarting,
    ("/nodes/{broker}/state", "'starting'"),
    ("/nodes/{broker}/since_us", "at_us"),
    ("/nodes/{broker}/broker_epoch", "-1"),
    ("/nodes/{broker}/failure", "None"),
)
rule(
    world.BrokerStarted,
    ("/nodes/{broker}/state", "'up'"),
    ("/nodes/{broker}/since_us", "at_us"),
    ("/nodes/{broker}/broker_epoch", "event.broker_epoch"),
)
rule(world.BrokerExiting, ("/nodes/{broker}/state", "'exiting'"), ("/nodes/{broker}/since_us", "at_us"))
rule(world.BrokerFrozen, ("/nodes/{broker}/state", "'frozen'"), ("/nodes/{broker}/since_us", "at_us"))
rule(
    world.BrokerThawed,
    # one that was frozen before it had registered goes on starting
    ("/nodes/{broker}/state", "'up' if view['nodes'][k_broker]['broker_epoch'] >= 0 else 'starting'"),
    ("/nodes/{broker}/since_us", "at_us"),
)
rule(world.ClientFrozen, ("/nodes/{client}/state", "'frozen'"), ("/nodes/{client}/since_us", "at_us"))
rule(world.ClientThawed, ("/nodes/{client}/state", "'up'"), ("/nodes/{client}/since_us", "at_us"))
rule(world.ForeignZnodeChanged)
rule(world.DiskSlowed, ("/nodes/{broker}/disk_latency_us", "event.latency_us"))
rule(
    world.InvariantViolated,
    (
        "/alarms/{seq}",
        "{'invariant': event.invariant, 'subject': event.subject, 'detail': event.detail, "
        "'explained_by': event.explained_by, 'detail_zh': event.detail_zh, 'explained_by_zh': event.explained_by_zh, "
        "'cause': event.cause, 'promise': event.promise, 'promise_zh': event.promise_zh, 'setting': event.setting, "
        "'at_us': at_us}",
    ),
)


@folds(world.NodeAdded)
def _node_added(view: View, event: world.NodeAdded, seq: int, at_us: int, node: str) -> Patch:
    added: dict[str, Any] = {"kind": event.node_kind, "broker_id": event.broker_id, "state": "up", "since_us": at_us}
    if event.node_kind == "broker":
        added |= {"state": "down", "broker_epoch": -1, "session": None, "live_brokers": [], "failure": None}
        added["disk_latency_us"] = 0
        added["settings"] = dict(event.settings)
    elif event.node_kind == "client":
        added["settings"] = dict(event.settings)
    elif event.node_kind in ("producer", "consumer"):
        added |= {"settings": dict(event.settings), "partition": ""}
        if event.node_kind == "producer":
            added |= {
                "batches": {},
                "choices": [],
                "sequences": {},
                "blocked": "",
                "rate": 0,
                "sent": 0,
                "acknowledged": 0,
                "failed": 0,
                "retried": 0,
                "last_offset": -1,
                "last_error": "",
                "last_latency_us": 0,
                "transaction": {
                    "state": "",
                    "transactional_id": "",
                    "producer_id": -1,
                    "producer_epoch": -1,
                    "why": "",
                },
            }
        else:
            added |= {"position": -1, "high_watermark": -1, "last_reset": "", "records": [], "positions": {}}
            if "group.id" in added["settings"]:
                added |= {"member": {"state": "", "member_id": "", "generation_id": -1, "why": ""}, "assignment": []}
    view["nodes"][event.node] = added
    copy = {name: dict(value) if isinstance(value, dict) else value for name, value in added.items()}
    patch: Patch = [[f"/nodes/{event.node}", copy]]
    if event.node_kind == "broker":
        view["checkpoints"][event.node] = {}
        patch.append([f"/checkpoints/{event.node}", {}])
    return patch


@folds(world.BrokerStopped)
def _broker_stopped(view: View, event: world.BrokerStopped, seq: int, at_us: int, node: str) -> Patch:
    """Its parked requests go with the process."""
    broker = view["nodes"][event.broker]
    broker["state"] = "down"
    broker["since_us"] = at_us
    broker["live_brokers"] = []
    patch: Patch = [
        [f"/nodes/{event.broker}/state", "down"],
        [f"/nodes/{event.broker}/since_us", at_us],
        [f"/nodes/{event.broker}/live_brokers", []],
    ]
    parked = view["parked"]
    for request in [request for request, waiting in parked.items() if waiting["broker"] == event.broker]:
        del parked[request]
        patch.append([f"/parked/{request}"])
    for kind in ("groups", "transactions"):
        rows = view[kind]
        for key in [key for key, row in rows.items() if row["coordinator"] == event.broker]:
            del rows[key]
            patch.append([f"/{kind}/{escape(key)}"])
    return patch


@folds(world.LinkCut)
def _link_cut(view: View, event: world.LinkCut, seq: int, at_us: int, node: str) -> Patch:
    key = f"{event.a}|{event.b}"
    cut = {"state": "cut", "since_us": at_us}
    view["links"][key] = cut
    return [[f"/links/{key}", cut]]


@folds(world.LinkCutOneWay)
def _link_cut_one_way(view: View, event: world.LinkCutOneWay, seq: int, at_us: int, node: str) -> Patch:
    """`from`: whose messages do not pass."""
    ends = sorted((event.source, event.destination))
    cut = {"state": "one way", "since_us": at_us, "from": event.source}
    view["links"]["|".join(ends)] = cut
    return [[f"/links/{'|'.join(ends)}", cut]]


@folds(world.LinkQualityChanged)
def _link_quality(view: View, event: world.LinkQualityChanged, seq: int, at_us: int, node: str) -> Patch:
    """Keys of /link_faults have a direction."""
    key = f"{event.source}>{event.destination}"
    if not (event.latency_us or event.loss_percent or event.reorder_percent):
        return [[f"/link_faults/{key}"]] if view["link_faults"].pop(key, None) is not None else []
    faults = {
        "latency_us": event.latency_us,
        "loss_percent": event.loss_percent,
        "reorder_percent": event.reorder_percent,
    }
    view["link_faults"][key] = faults
    return [[f"/link_faults/{key}", faults]]


@folds(world.LinkRestored)
def _link_restored(view: View, event: world.LinkRestored, seq: int, at_us: int, node: str) -> Patch:
    key = f"{event.a}|{event.b}"
    del view["links"][key]
    return [[f"/links/{key}"]]
