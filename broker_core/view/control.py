"""ZooKeeper's tree, the topics and partitions in it, and the controller's state machines."""

from broker_core.events import control
from broker_core.partitions import broker_id_of, broker_node, partition_name
from broker_core.view.folding import NODES, PARTITIONS, TOPICS, ZNODES, folds, put, remove, unchanged
from broker_core.view.patch import Patch
from broker_core.view.tree import ControllerEvent, Partition, Topic, View, Znode, ZooKeeperRequests
from broker_core.zk.znodes import PartitionStateZnode, TopicZnode, ZnodeDataError

_EVENTS_SHOWN = 12
"""The number of the controllers' last events in the view."""

unchanged(control.LeaderElected, control.ConfigurationApplied)

#: The watches that a change fires, by what they watch.
_FIRED_BY = {"changed": ("data",), "created": ("data",), "children": ("children",), "deleted": ("children", "data")}


def _is_controller(view: View, node: str) -> bool:
    """Whether the displayed states are those of this node; without a controller, those of the last one remain."""
    return view["controller"]["broker"] in (-1, broker_id_of(node))


@folds
def _partition_state(view: View, event: control.PartitionStateChanged, at_us: int, seq: int) -> Patch:
    if not _is_controller(view, event.controller):
        return []
    return _state(view["controller_partitions"], "/controller_partitions", event.partition, event.state)


@folds
def _replica_state(view: View, event: control.ReplicaStateChanged, at_us: int, seq: int) -> Patch:
    if not _is_controller(view, event.controller):
        return []
    return _state(view["controller_replicas"], "/controller_replicas", event.replica, event.state)


def _state(states: dict[str, str], pointer: str, name: str, state: str) -> Patch:
    return remove(states, pointer, name) if state.startswith("NonExistent") else put(states, pointer, name, state)


@folds
def _metadata_updated(view: View, event: control.MetadataUpdated, at_us: int, seq: int) -> Patch:
    live_brokers = list(event.live_brokers)
    if view["nodes"][event.broker]["live_brokers"] == live_brokers:
        return []
    return NODES.set(view, event.broker, {"live_brokers": live_brokers})


@folds
def _zookeeper_asked(view: View, event: control.ZooKeeperAsked, at_us: int, seq: int) -> Patch:
    node = view["nodes"].get(event.client)
    if node is None:
        return []
    asked: ZooKeeperRequests = {"at_us": at_us, "count": event.count, "requests": [*map(list, event.requests)]}
    return NODES.set(view, event.client, {"zk_requests": node["zk_requests"] + event.count, "zk_last": asked})


@folds
def _session_opened(view: View, event: control.SessionOpened, at_us: int, seq: int) -> Patch:
    if event.owner not in view["nodes"]:
        return []
    return [*NODES.set(view, event.owner, {"session": event.session}), *_remove_watches(view, event.owner)]


@folds
def _session_closed(view: View, event: control.SessionClosed, at_us: int, seq: int) -> Patch:
    known = view["nodes"].get(event.owner, {}).get("session")
    if known is None:
        # A closed client: its session was the last trace of it.
        return _remove_watches(view, event.owner)
    if known != event.session:
        return []
    return [*NODES.set(view, event.owner, {"session": None}), *_remove_watches(view, event.owner)]


@folds
def _watch_armed(view: View, event: control.WatchArmed, at_us: int, seq: int) -> Patch:
    of_path = view["watches"].get(event.path, {})
    return _watch(view, event.path, {**of_path, event.owner: sorted({*of_path.get(event.owner, ()), event.of})})


@folds
def _watch_fired(view: View, event: control.WatchFired, at_us: int, seq: int) -> Patch:
    of_path = dict(view["watches"].get(event.path, {}))
    left = [of for of in of_path.pop(event.owner, ()) if of not in _FIRED_BY[event.change]]
    return _watch(view, event.path, of_path | {event.owner: left} if left else of_path)


def _remove_watches(view: View, owner: str) -> Patch:
    """Removes the watches of a session."""
    patch: Patch = []
    for path, of_path in list(view["watches"].items()):
        if owner in of_path:
            patch += _watch(view, path, {other: kinds for other, kinds in of_path.items() if other != owner})
    return patch


def _watch(view: View, path: str, of_path: dict[str, list[str]]) -> Patch:
    watches = view["watches"]
    return put(watches, "/watches", path, of_path) if of_path else remove(watches, "/watches", path)


@folds
def _processed(view: View, event: control.ControllerEventProcessed, at_us: int, seq: int) -> Patch:
    shown: ControllerEvent = {
        "seq": seq,
        "at_us": at_us,
        "broker": event.broker,
        "name": event.name,
        "about": event.about,
    }
    view["controller_events"] = latest = [*view["controller_events"][1 - _EVENTS_SHOWN :], shown]
    return [["/controller_events", latest]]


@folds
def _elected(view: View, event: control.ControllerElected, at_us: int, seq: int) -> Patch:
    """A new controller starts its state machines from scratch."""
    view["controller"] = {"broker": event.broker, "controller_epoch": event.controller_epoch}
    return [["/controller", view["controller"].copy()], *_forget_states(view)]


@folds
def _resigned(view: View, event: control.ControllerResigned, at_us: int, seq: int) -> Patch:
    if not _is_controller(view, broker_node(event.broker)):
        return []
    return [*_no_controller(view), *_forget_states(view)]


def _no_controller(view: View) -> Patch:
    view["controller"]["broker"] = -1
    return [["/controller/broker", -1]]


def _forget_states(view: View) -> Patch:
    view["controller_partitions"] = {}
    view["controller_replicas"] = {}
    return [["/controller_partitions", {}], ["/controller_replicas", {}]]


@folds
def _znode_created(view: View, event: control.ZnodeCreated, at_us: int, seq: int) -> Patch:
    znode: Znode = {
        "data": event.data,
        "previous": None,
        "version": 0,
        "ephemeral": event.ephemeral_owner,
        "session": view["nodes"].get(event.ephemeral_owner, {}).get("session"),
        "czxid": event.zxid,
        "zxid": event.zxid,
        "at_us": at_us,
    }
    return [*ZNODES.put(view, event.path, znode), *_derived(view, event.path, event.data, 0)]


@folds
def _znode_changed(view: View, event: control.ZnodeChanged, at_us: int, seq: int) -> Patch:
    znode = view["zk"][event.path]
    znode["previous"], znode["data"] = znode["data"], event.data
    znode["version"], znode["zxid"], znode["at_us"] = event.version, event.zxid, at_us
    return [
        *ZNODES.put(view, event.path, znode),
        *_derived(view, event.path, event.data, event.version),
    ]


@folds
def _znode_deleted(view: View, event: control.ZnodeDeleted, at_us: int, seq: int) -> Patch:
    patch = ZNODES.remove(view, event.path)
    parts = event.path.split("/")
    if event.path.startswith("/brokers/topics/"):
        if len(parts) == 4 and parts[3] in view["topics"]:
            names = _partitions_of(view, parts[3])
            patch += TOPICS.remove(view, parts[3])
            for name in names:
                patch += PARTITIONS.remove(view, name)
    elif event.path == "/controller":
        patch += _no_controller(view)
    return patch


def _derived(view: View, path: str, data: str, version: int) -> Patch:
    """The topics and partitions of Kafka's znodes."""
    parts = path.split("/")
    if not path.startswith("/brokers/topics/"):
        return []
    topic = parts[3]
    try:
        if len(parts) == 4:
            return _topic(view, topic, TopicZnode.decode(topic, data.encode()))
        name = partition_name(topic, parts[5]) if len(parts) == 7 and parts[6] == "state" else ""
        partition = view["partitions"].get(name)
        if partition is None:
            return []
        said = PartitionStateZnode.decode(topic, partition["partition"], data.encode())
    except ZnodeDataError:
        # An external write that no broker would make: the tree shows it, and nothing is derived from it.
        return []
    partition |= {
        "leader": said.leader,
        "leader_epoch": said.leader_epoch,
        "isr": list(said.isr),
        "controller_epoch": said.controller_epoch,
        "partition_epoch": version,
    }
    return PARTITIONS.put(view, name, partition)


def _partitions_of(view: View, topic: str) -> list[str]:
    """The partitions of a topic in the view; a new topic has none yet."""
    shown = view["topics"].get(topic)
    if shown is None:
        return []
    partitions = view["partitions"]
    names = [partition_name(topic, index) for index in range(shown["partitions"])]
    if all(name in partitions for name in names):
        return names
    # An external write may have numbered them differently.
    return [name for name, each in partitions.items() if each["topic"] == topic]


def _topic(view: View, topic: str, said: TopicZnode) -> Patch:
    replicas = {index: list(said.partitions[index]) for index in sorted(said.partitions)}
    shown: Topic = {
        "topic_id": said.topic_id if isinstance(said.topic_id, str) else "",
        "partitions": len(replicas),
        "replication_factor": max((len(ids) for ids in replicas.values()), default=0),
    }
    partitions = view["partitions"]
    before = _partitions_of(view, topic)
    patch = TOPICS.put(view, topic, shown)
    for name in before:
        if partitions[name]["partition"] not in replicas:
            patch += PARTITIONS.remove(view, name)
    for index, ids in replicas.items():
        name = partition_name(topic, index)
        known: Partition = partitions.get(name) or {
            "topic": topic,
            "partition": index,
            "replicas": [],
            "leader": -1,
            "leader_epoch": -1,
            "isr": [],
            "controller_epoch": -1,
            "partition_epoch": -1,
        }
        if name not in partitions or known["replicas"] != ids:
            known["replicas"] = ids
            patch += PARTITIONS.put(view, name, known)
    return patch
