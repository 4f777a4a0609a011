"""Consumer groups, each under `GROUP@BROKER`: until a replaced coordinator notices, there are two."""

from base64 import b64decode

from broker_core.events import group
from broker_core.groups.consumer_protocol import PROTOCOL_TYPE, ProtocolError, decode_subscription
from broker_core.view.folding import ESCAPED, GROUPS, NODES, folds, put, remove, unchanged
from broker_core.view.patch import Patch, escape
from broker_core.view.tree import Group, GroupMember, PipelineStage, View

unchanged(group.GroupsLoadStarted, group.GroupsLoaded, group.AssignmentPlanned, group.OffsetCommitAccepted)


@folds
def _consumer_state(view: View, event: group.ConsumerStateChanged, at_us: int, seq: int) -> Patch:
    return NODES.set(
        view,
        event.client,
        {
            "member": {
                "state": event.state,
                "member_id": event.member_id,
                "generation_id": event.generation_id,
                "why": event.why,
            }
        },
    )


@folds
def _pipeline_stage(view: View, event: group.PipelineStageChanged, at_us: int, seq: int) -> Patch:
    before = view["nodes"][event.client].get("pipeline", {"handled": 0, "rewinds": 0})
    stage: PipelineStage = {
        "state": event.state,
        "why": event.why,
        "in_hand": event.in_hand,
        "handled": before["handled"] + event.handled,
        "rewinds": before["rewinds"] + event.rewinds,
    }
    return NODES.set(view, event.client, {"pipeline": stage})


@folds
def _consumer_assigned(view: View, event: group.ConsumerAssigned, at_us: int, seq: int) -> Patch:
    """A member that gets a partition again begins at the committed offset, not where it stopped reading."""
    node, pointer = view["nodes"][event.client], NODES.pointers[event.client]
    patch = NODES.set(view, event.client, {"assignment": list(event.partitions)})
    for name in [name for name in node["positions"] if name not in event.partitions]:
        patch += remove(node["positions"], f"{pointer}/positions", name)
    for name in [name for name in node["read_replicas"] if name not in event.partitions]:
        patch += remove(node["read_replicas"], f"{pointer}/read_replicas", name)
    return patch


@folds
def _assignor_defined(view: View, event: group.AssignorDefined, at_us: int, seq: int) -> Patch:
    return put(view["assignors"], "/assignors", event.assignor, event.rules)


def _key(group: str, broker: str) -> str:
    return f"{group}@{broker}"


def _put_member(view: View, key: str, member: str, row: GroupMember) -> Patch:
    return put(view["groups"][key]["members"], f"{GROUPS.pointers[key]}/members", member, row)


def _remove_member(view: View, key: str, member: str) -> Patch:
    return remove(view["groups"][key]["members"], f"{GROUPS.pointers[key]}/members", member)


@folds
def _unloaded(view: View, event: group.GroupsUnloaded, at_us: int, seq: int) -> Patch:
    patch: Patch = []
    for name in event.groups:
        patch += GROUPS.remove(view, _key(name, event.broker))
    return patch


@folds
def _transitioned(view: View, event: group.GroupTransitioned, at_us: int, seq: int) -> Patch:
    key = _key(event.group, event.broker)
    if event.to_state == "Dead":
        return GROUPS.remove(view, key)
    shown: Group = {
        "group": event.group,
        "coordinator": event.broker,
        "partition": event.partition,
        "state": event.to_state,
        "since_us": at_us,
        "generation_id": event.generation_id,
        "protocol": event.protocol,
        "leader": event.leader,
        "why": event.why,
        "due_us": event.due_us,
    }
    if key in view["groups"]:
        return GROUPS.set(view, key, shown)
    shown |= {"members": {}, "offsets": {}, "commits": {}, "previous": {}, "pending": {}}
    return GROUPS.put(view, key, shown)


@folds
def _member_added(view: View, event: group.GroupMemberAdded, at_us: int, seq: int) -> Patch:
    member: GroupMember = {
        "client": event.client,
        "instance": event.instance,
        "assignment": [],
        "topics": _topics(event.protocols) if event.protocol_type == PROTOCOL_TYPE else [],
    }
    return _put_member(view, _key(event.group, event.broker), event.member, member)


def _topics(protocols: tuple[tuple[str, str], ...]) -> list[str]:
    """The topics that a member subscribes to; none if its client sent malformed metadata."""
    if not protocols:
        return []
    try:
        return sorted(set(decode_subscription(b64decode(protocols[0][1])).topics))
    except ProtocolError:
        return []


@folds
def _member_updated(view: View, event: group.GroupMemberUpdated, at_us: int, seq: int) -> Patch:
    key = _key(event.group, event.broker)
    member = view["groups"][key]["members"][event.member]
    member["topics"] = topics = _topics(event.protocols)
    return [[f"{GROUPS.pointers[key]}/members/{escape(event.member)}/topics", topics]]


@folds
def _member_replaced(view: View, event: group.GroupMemberReplaced, at_us: int, seq: int) -> Patch:
    key = _key(event.group, event.broker)
    member = view["groups"][key]["members"][event.old_member]
    return [
        *_remove_member(view, key, event.old_member),
        *_put_member(view, key, event.member, {**member, "client": event.client}),
        *_led(view, key, event.old_member, event.member),
    ]


@folds
def _member_removed(view: View, event: group.GroupMemberRemoved, at_us: int, seq: int) -> Patch:
    key = _key(event.group, event.broker)
    known = view["groups"][key]
    gone = known["members"][event.member]
    return [
        *_remove_member(view, key, event.member),
        *_had(view, key, dict.fromkeys(gone["assignment"], gone["client"])),
        *_led(view, key, event.member, next(iter(known["members"]), "")),
    ]


def _had(view: View, key: str, owners: dict[str, str]) -> Patch:
    """The last owner of each partition, including members that have left."""
    return GROUPS.set(view, key, {"previous": {**view["groups"][key]["previous"], **owners}})


def _led(view: View, key: str, old: str, new: str) -> Patch:
    """The leader after `old` was removed."""
    return GROUPS.set(view, key, {"leader": new}) if view["groups"][key]["leader"] == old else []


@folds
def _assigned(view: View, event: group.GroupAssigned, at_us: int, seq: int) -> Patch:
    key = _key(event.group, event.broker)
    members = view["groups"][key]["members"]
    owners = {name: member["client"] for member in members.values() for name in member["assignment"]}
    patch = _had(view, key, owners)
    for member, partitions in event.assignments:
        members[member]["assignment"] = assignment = list(partitions)
        patch.append([f"{GROUPS.pointers[key]}/members/{escape(member)}/assignment", assignment])
    return patch


@folds
def _committed(view: View, event: group.OffsetCommitted, at_us: int, seq: int) -> Patch:
    key = _key(event.group, event.broker)
    known, pointer = view["groups"][key], GROUPS.pointers[key]
    known["offsets"][event.partition] = event.offset
    commit = [event.offset, event.leader_epoch, event.metadata, event.commit_timestamp_ms]
    known["commits"][event.partition] = commit
    partition = ESCAPED[event.partition]
    return [[f"{pointer}/offsets/{partition}", event.offset], [f"{pointer}/commits/{partition}", commit]]


@folds
def _pending(view: View, event: group.TransactionalOffsetPending, at_us: int, seq: int) -> Patch:
    key = _key(event.group, event.broker)
    pending, producer = view["groups"][key]["pending"], str(event.producer_id)
    offsets = {**pending.get(producer, {}), event.partition: event.offset}
    return put(pending, f"{GROUPS.pointers[key]}/pending", producer, offsets)


@folds
def _decided(view: View, event: group.TransactionalOffsetsDecided, at_us: int, seq: int) -> Patch:
    key = _key(event.group, event.broker)
    return remove(view["groups"][key]["pending"], f"{GROUPS.pointers[key]}/pending", str(event.producer_id))


@folds
def _offset_removed(view: View, event: group.OffsetRemoved, at_us: int, seq: int) -> Patch:
    key = _key(event.group, event.broker)
    known, pointer = view["groups"][key], GROUPS.pointers[key]
    patch: Patch = []
    if event.partition in known["offsets"]:
        patch += remove(known["offsets"], f"{pointer}/offsets", event.partition)
        patch += put(known["commits"], f"{pointer}/commits", event.partition, None)
    for producer, pending in known["pending"].items():
        if event.partition in pending:
            patch += remove(pending, f"{pointer}/pending/{producer}", event.partition)
    return patch
