"""ZooKeeper's tree, what it says about topics and partitions, and the controller's state machines."""

from broker_core.events import control
from broker_core.view.patch import Patch, View, escape
from broker_core.view.rules import folds, rule
from broker_core.zk.znodes import PartitionStateZnode, TopicZnode, ZnodeDataError

_EVENTS_SHOWN = 12
"""So many of what the controllers handled last are in the view."""

rule(control.LeaderElected)
rule(control.ConfigurationApplied)


def _is_controller(view: View, node: str) -> bool:
    """Whether the states that the view shows are this node's. While nobody holds /controller the last one's stand."""
    return view["controller"]["broker"] in (-1, int(node[1:]))


@folds(control.PartitionStateChanged)
def _partition_state(view: View, event: control.PartitionStateChanged, seq: int, at_us: int, node: str) -> Patch:
    return _state(view, event.controller, "controller_partitions", event.partition, event.state)


@folds(control.ReplicaStateChanged)
def _replica_state(view: View, event: control.ReplicaStateChanged, seq: int, at_us: int, node: str) -> Patch:
    return _state(view, event.controller, "controller_replicas", event.replica, event.state)


def _state(view: View, controller: str, machine: str, name: str, state: str) -> Patch:
    if not _is_controller(view, controller):
        return []
    if state.startswith("NonExistent"):
        return [] if view[machine].pop(name, None) is None else [[f"/{machine}/{name}"]]
    view[machine][name] = state
    return [[f"/{machine}/{name}", state]]


@folds(control.MetadataUpdated)
def _metadata_updated(view: View, event: control.MetadataUpdated, seq: int, at_us: int, node: str) -> Patch:
    broker = view["nodes"][event.broker]
    live = list(event.live_brokers)
    if broker["live_brokers"] == live:
        return []
    broker["live_brokers"] = live
    return [[f"/nodes/{event.broker}/live_brokers", live]]


@folds(control.SessionOpened)
def _session_opened(view: View, event: control.SessionOpened, seq: int, at_us: int, node: str) -> Patch:
    if event.owner not in view["nodes"]:
        return []
    view["nodes"][event.owner]["session"] = event.session
    return [[f"/nodes/{event.owner}/session", event.session], *_forget_watches(view, event.owner)]


@folds(control.SessionClosed)
def _session_closed(view: View, event: control.SessionClosed, seq: int, at_us: int, node: str) -> Patch:
    owner = view["nodes"].get(event.owner)
    if owner is None or owner.get("session") is None:
        # a client that is gone: its session was the last of it
        return _forget_watches(view, event.owner)
    if owner["session"] != event.session:
        return []
    owner["session"] = None
    return [[f"/nodes/{event.owner}/session", None], *_forget_watches(view, event.owner)]


@folds(control.WatchArmed)
def _watch_armed(view: View, event: control.WatchArmed, seq: int, at_us: int, node: str) -> Patch:
    of_path = view["watches"].get(event.path, {})
    return _watch(view, event.path, {**of_path, event.owner: sorted({*of_path.get(event.owner, ()), event.of})})


@folds(control.WatchFired)
def _watch_fired(view: View, event: control.WatchFired, seq: int, at_us: int, node: str) -> Patch:
    gone = {"changed": ("data",), "created": ("data",), "children": ("children",), "deleted": ("children", "data")}
    of_path = dict(view["watches"].get(event.path, {}))
    left = [of for of in of_path.pop(event.owner, ()) if of not in gone[event.change]]
    return _watch(view, event.path, of_path | {event.owner: left} if left else of_path)


def _forget_watches(view: View, owner: str) -> Patch:
    """Watches go with their session."""
    patch: Patch = []
    for path, of_path in list(view["watches"].items()):
        if owner in of_path:
            patch += _watch(view, path, {other: kinds for other, kinds in of_path.items() if other != owner})
    return patch


def _watch(view: View, path: str, of_path: dict[str, list[str]]) -> Patch:
    pointer = f"/watches/{escape(path)}"
    if of_path:
        view["watches"][path] = of_path
        return [[pointer, of_path]]
    return [] if view["watches"].pop(path, None) is None else [[pointer]]


@folds(control.ControllerEventProcessed)
def _processed(view: View, event: control.ControllerEventProcessed, seq: int, at_us: int, node: str) -> Patch:
    shown = {"seq": seq, "at_us": at_us, "broker": event.broker, "name": event.name, "about": event.about}
    view["controller_events"] = latest = [*view["controller_events"][1 - _EVENTS_SHOWN :], shown]
    return [["/controller_events", latest]]


@folds(control.ControllerElected)
def _elected(view: View, event: control.ControllerElected, seq: int, at_us: int, node: str) -> Patch:
    """A new controller starts its state machines from nothing."""
    view["controller"] = {"broker": event.broker, "controller_epoch": event.controller_epoch}
    view["controller_partitions"] = {}
    view["controller_replicas"] = {}
    return [["/controller", dict(view["controller"])], ["/controller_partitions", {}], ["/controller_replicas", {}]]


@folds(control.ControllerResigned)
def _resigned(view: View, event: control.ControllerResigned, seq: int, at_us: int, node: str) -> Patch:
    if not _is_controller(view, f"b{event.broker}"):
        return []
    view["controller"]["broker"] = -1
    view["controller_partitions"] = {}
    view["controller_replicas"] = {}
    return [["/controller/broker", -1], ["/controller_partitions", {}], ["/controller_replicas", {}]]


@folds(control.ZnodeCreated)
def _znode_created(view: View, event: control.ZnodeCreated, seq: int, at_us: int, node: str) -> Patch:
    owner = view["nodes"].get(event.ephemeral_owner, {})
    znode = {
        "data": event.data,
        "previous": None,
        "version": 0,
        "ephemeral": event.ephemeral_owner,
        "session": owner.get("session"),
        "czxid": event.zxid,
        "zxid": event.zxid,
        "at_us": at_us,
    }
    view["zk"][event.path] = znode
    return [[f"/zk/{escape(event.path)}", dict(znode)], *_derived(view, event.path, event.data, 0)]


@folds(control.ZnodeChanged)
def _znode_changed(view: View, event: control.ZnodeChanged, seq: int, at_us: int, node: str) -> Patch:
    znode = view["zk"][event.path]
    znode["previous"], znode["data"] = znode["data"], event.data
    znode["version"], znode["zxid"], znode["at_us"] = event.version, event.zxid, at_us
    return [[f"/zk/{escape(event.path)}", dict(znode)], *_derived(view, event.path, event.data, event.version)]


@folds(control.ZnodeDeleted)
def _znode_deleted(view: View, event: control.ZnodeDeleted, seq: int, at_us: int, node: str) -> Patch:
    path = event.path
    view["zk"].pop(path, None)
    patch: Patch = [[f"/zk/{escape(path)}"]]
    parts = path.split("/")
    if path.startswith("/brokers/topics/"):
        if len(parts) == 4 and view["topics"].pop(parts[3], None) is not None:
            patch.append([f"/topics/{parts[3]}"])
            for name in [name for name, partition in view["partitions"].items() if partition["topic"] == parts[3]]:
                del view["partitions"][name]
                patch.append([f"/partitions/{name}"])
    elif path == "/controller":
        view["controller"]["broker"] = -1
        patch.append(["/controller/broker", -1])
    return patch


def _derived(view: View, path: str, data: str, version: int) -> Patch:
    """What a znode of Kafka's says, spelled out: topics and partitions."""
    parts = path.split("/")
    if not path.startswith("/brokers/topics/"):
        return []
    topic = parts[3]
    try:
        if len(parts) == 4:
            return _topic(view, topic, TopicZnode.decode(topic, data.encode()))
        name = f"{topic}-{parts[5]}" if len(parts) == 7 and parts[6] == "state" else ""
        partition = view["partitions"].get(name)
        if partition is None:
            return []
        said = PartitionStateZnode.decode(topic, partition["partition"], data.encode())
    except ZnodeDataError:
        # Somebody wrote there what no broker would: the tree shows it, and nothing follows from it.
        return []
    partition["leader"] = said.leader
    partition["leader_epoch"] = said.leader_epoch
    partition["isr"] = list(said.isr)
    partition["controller_epoch"] = said.controller_epoch
    partition["partition_epoch"] = version
    return [[f"/partitions/{name}", dict(partition)]]


def _topic(view: View, topic: str, said: TopicZnode) -> Patch:
    replicas = {index: list(said.partitions[index]) for index in sorted(said.partitions)}
    view["topics"][topic] = shown = {
        "topic_id": said.topic_id if isinstance(said.topic_id, str) else "",
        "partitions": len(replicas),
        "replication_factor": max((len(ids) for ids in replicas.values()), default=0),
    }
    patch: Patch = [[f"/topics/{topic}", dict(shown)]]
    for name in [name for name, each in view["partitions"].items() if each["topic"] == topic]:
        if view["partitions"][name]["partition"] not in replicas:
            del view["partitions"][name]
            patch.append([f"/partitions/{name}"])
    for index in replicas:
        name = f"{topic}-{index}"
        known = view["partitions"].get(name)
        if known is None:
            known = {
                "topic": topic,
                "partition": index,
                "replicas": replicas[index],
                "leader": -1,
                "leader_epoch": -1,
                "isr": [],
                "controller_epoch": -1,
                "partition_epoch": -1,
            }
            view["partitions"][name] = known
        elif known["replicas"] == replicas[index]:
            continue
        else:
            known["replicas"] = replicas[index]
        patch.append([f"/partitions/{name}", dict(known)])
    return patch
