"""The run, its nodes and links, the alarms."""

from broker_core.events import world
from broker_core.view.folding import (
    ALARMS,
    CHECKPOINTS,
    GROUPS,
    LINK_FAULTS,
    LINKS,
    NODES,
    PARKED,
    TRANSACTIONS,
    folds,
    put,
    unchanged,
)
from broker_core.view.patch import Patch
from broker_core.view.tree import Alarm, Link, LinkFaults, Node, View

unchanged(world.ClientRefused, world.ForeignZnodeChanged)


@folds
def _run_started(view: View, event: world.RunStarted, at_us: int, seq: int) -> Patch:
    view["run"] = {
        "name": event.name,
        "seed": event.seed,
        "era": event.era,
        "start_wall_ms": event.start_wall_ms,
    }
    return [["/run", view["run"]]]


@folds
def _node_added(view: View, event: world.NodeAdded, at_us: int, seq: int) -> Patch:
    settings = dict(event.settings)
    added: Node = {"kind": event.node_kind, "broker_id": event.broker_id, "state": "up", "since_us": at_us}
    added |= {"zk_requests": 0, "zk_last": None}
    match event.node_kind:
        case "broker":
            added["state"] = "down"
            added |= {"broker_epoch": -1, "session": None, "live_brokers": [], "failure": None}
            added |= {"disk_latency_us": 0, "fsync_latency_us": 0, "settings": settings}
        case "client":
            added["settings"] = settings
        case "producer":
            added |= {"settings": settings, "partition": ""}
            added |= _new_producer()
        case "consumer":
            added |= {"settings": settings, "partition": ""}
            added |= {"position": -1, "high_watermark": -1, "last_reset": "", "records": [], "positions": {}}
            added["read_replicas"] = {}
            # A follower may have a group id without being a member.
            if "topics" in settings:
                added["member"] = {"state": "", "member_id": "", "generation_id": -1, "why": ""}
                added["assignment"] = []
    patch = NODES.put(view, event.node, added)
    if event.node_kind == "broker":
        patch += CHECKPOINTS.put(view, event.node, {})
    return patch


def _new_producer() -> Node:
    return {
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
        "transaction": {"state": "", "transactional_id": "", "producer_id": -1, "producer_epoch": -1, "why": ""},
    }


@folds
def _node_removed(view: View, event: world.NodeRemoved, at_us: int, seq: int) -> Patch:
    return NODES.remove(view, event.node)


@folds
def _client_identified(view: View, event: world.ClientIdentified, at_us: int, seq: int) -> Patch:
    settings, pointer = view["nodes"][event.node]["settings"], f"{NODES.pointers[event.node]}/settings"
    software = f"{event.software_name} {event.software_version}".strip()
    return [*put(settings, pointer, "client.id", event.client_id), *put(settings, pointer, "software", software)]


@folds
def _broker_starting(view: View, event: world.BrokerStarting, at_us: int, seq: int) -> Patch:
    return NODES.set(view, event.broker, {"state": "starting", "since_us": at_us, "broker_epoch": -1, "failure": None})


@folds
def _broker_started(view: View, event: world.BrokerStarted, at_us: int, seq: int) -> Patch:
    return NODES.set(view, event.broker, {"state": "up", "since_us": at_us, "broker_epoch": event.broker_epoch})


@folds
def _broker_exiting(view: View, event: world.BrokerExiting, at_us: int, seq: int) -> Patch:
    return NODES.set(view, event.broker, {"state": "exiting", "since_us": at_us})


@folds
def _broker_frozen(view: View, event: world.BrokerFrozen, at_us: int, seq: int) -> Patch:
    return NODES.set(view, event.broker, {"state": "frozen", "since_us": at_us})


@folds
def _broker_thawed(view: View, event: world.BrokerThawed, at_us: int, seq: int) -> Patch:
    """A broker frozen before it had registered continues to start."""
    state = "up" if view["nodes"][event.broker]["broker_epoch"] >= 0 else "starting"
    return NODES.set(view, event.broker, {"state": state, "since_us": at_us})


@folds
def _broker_stopped(view: View, event: world.BrokerStopped, at_us: int, seq: int) -> Patch:
    """Its parked requests end with the process, as does what it coordinated."""
    patch = NODES.set(view, event.broker, {"state": "down", "since_us": at_us, "live_brokers": []})
    for request in [request for request, waiting in view["parked"].items() if waiting["broker"] == event.broker]:
        patch += PARKED.remove(view, request)
    for key in [key for key, group in view["groups"].items() if group["coordinator"] == event.broker]:
        patch += GROUPS.remove(view, key)
    for key in [key for key, one in view["transactions"].items() if one["coordinator"] == event.broker]:
        patch += TRANSACTIONS.remove(view, key)
    return patch


@folds
def _client_frozen(view: View, event: world.ClientFrozen, at_us: int, seq: int) -> Patch:
    return NODES.set(view, event.client, {"state": "frozen", "since_us": at_us})


@folds
def _client_thawed(view: View, event: world.ClientThawed, at_us: int, seq: int) -> Patch:
    return NODES.set(view, event.client, {"state": "up", "since_us": at_us})


@folds
def _disk_slowed(view: View, event: world.DiskSlowed, at_us: int, seq: int) -> Patch:
    return NODES.set(view, event.broker, {"disk_latency_us": event.latency_us})


@folds
def _fsync_slowed(view: View, event: world.FsyncSlowed, at_us: int, seq: int) -> Patch:
    return NODES.set(view, event.broker, {"fsync_latency_us": event.latency_us})


@folds
def _link_cut(view: View, event: world.LinkCut, at_us: int, seq: int) -> Patch:
    cut: Link = {"state": "cut", "since_us": at_us}
    return LINKS.put(view, f"{event.a}|{event.b}", cut)


@folds
def _link_cut_one_way(view: View, event: world.LinkCutOneWay, at_us: int, seq: int) -> Patch:
    """`from`: the node whose messages are blocked."""
    cut: Link = {"state": "one way", "since_us": at_us, "from": event.source}
    return LINKS.put(view, "|".join(sorted((event.source, event.destination))), cut)


@folds
def _link_restored(view: View, event: world.LinkRestored, at_us: int, seq: int) -> Patch:
    return LINKS.remove(view, f"{event.a}|{event.b}")


@folds
def _link_quality(view: View, event: world.LinkQualityChanged, at_us: int, seq: int) -> Patch:
    """Keys of /link_faults have a direction."""
    key = f"{event.source}>{event.destination}"
    if not (event.latency_us or event.loss_percent or event.reorder_percent):
        return LINK_FAULTS.remove(view, key)
    faults: LinkFaults = {
        "latency_us": event.latency_us,
        "loss_percent": event.loss_percent,
        "reorder_percent": event.reorder_percent,
    }
    return LINK_FAULTS.put(view, key, faults)


@folds
def _invariant_violated(view: View, event: world.InvariantViolated, at_us: int, seq: int) -> Patch:
    alarm: Alarm = {
        "invariant": event.invariant,
        "subject": event.subject,
        "detail": event.detail,
        "explained_by": event.explained_by,
        "detail_zh": event.detail_zh,
        "explained_by_zh": event.explained_by_zh,
        "cause": event.cause,
        "promise": event.promise,
        "promise_zh": event.promise_zh,
        "setting": event.setting,
        "at_us": at_us,
    }
    return ALARMS.put(view, str(seq), alarm)
