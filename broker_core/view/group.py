"""Consumer groups, each under `GROUP@BROKER`: while a replaced coordinator does not know that it is, there are two."""

from base64 import b64decode
from typing import Any

from broker_core.events import group
from broker_core.groups.consumer_protocol import PROTOCOL_TYPE, ProtocolError, decode_subscription
from broker_core.view.patch import Patch, View, escape
from broker_core.view.rules import folds, rule

rule(group.GroupsLoadStarted)
rule(group.GroupsLoaded)
rule(
    group.ConsumerStateChanged,
    (
        "/nodes/{client}/member",
        "{'state': event.state, 'member_id': event.member_id, 'generation_id': event.generation_id, 'why': event.why}",
    ),
)
rule(group.AssignorDefined, ("/assignors/{assignor}", "event.rules"))
rule(group.AssignmentPlanned)
rule(group.ConsumerAssigned, ("/nodes/{client}/assignment", "list(event.partitions)"))


def _key(event: Any) -> str:
    return f"{event.group}@{event.broker}"


@folds(group.GroupsUnloaded)
def _unloaded(view: View, event: group.GroupsUnloaded, seq: int, at_us: int, node: str) -> Patch:
    patch: Patch = []
    for name in event.groups:
        key = f"{name}@{event.broker}"
        if view["groups"].pop(key, None) is not None:
            patch.append([f"/groups/{escape(key)}"])
    return patch


@folds(group.GroupTransitioned)
def _transitioned(view: View, event: group.GroupTransitioned, seq: int, at_us: int, node: str) -> Patch:
    key = _key(event)
    if event.to_state == "Dead":
        del view["groups"][key]
        return [[f"/groups/{escape(key)}"]]
    known = view["groups"].get(key)
    shown: dict[str, Any] = {
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
    if known is None:
        empty: dict[str, Any] = {"members": {}, "offsets": {}, "commits": {}, "previous": {}, "pending": {}}
        view["groups"][key] = {**shown, **empty}
        return [[f"/groups/{escape(key)}", {**shown, **{name: {} for name in empty}}]]
    known.update(shown)
    return [[f"/groups/{escape(key)}/{name}", value] for name, value in shown.items()]


@folds(group.GroupMemberAdded)
def _member_added(view: View, event: group.GroupMemberAdded, seq: int, at_us: int, node: str) -> Patch:
    key = _key(event)
    member = {"client": event.client, "instance": event.instance, "assignment": []}
    member["topics"] = _topics(event.protocols) if event.protocol_type == PROTOCOL_TYPE else []
    view["groups"][key]["members"][event.member] = member
    return [[f"/groups/{escape(key)}/members/{escape(event.member)}", dict(member)]]


rule(group.OffsetCommitAccepted)


def _topics(protocols: tuple[tuple[str, str], ...]) -> list[str]:
    """What a member subscribes to; a client may say anything there."""
    if not protocols:
        return []
    try:
        return sorted(set(decode_subscription(b64decode(protocols[0][1])).topics))
    except ProtocolError:
        return []


@folds(group.GroupMemberUpdated)
def _member_updated(view: View, event: group.GroupMemberUpdated, seq: int, at_us: int, node: str) -> Patch:
    key = _key(event)
    topics = _topics(event.protocols)
    view["groups"][key]["members"][event.member]["topics"] = topics
    return [[f"/groups/{escape(key)}/members/{escape(event.member)}/topics", topics]]


@folds(group.GroupMemberReplaced)
def _member_replaced(view: View, event: group.GroupMemberReplaced, seq: int, at_us: int, node: str) -> Patch:
    key = _key(event)
    known = view["groups"][key]
    old = known["members"].pop(event.old_member)
    member = {**old, "client": event.client}
    known["members"][event.member] = member
    root = f"/groups/{escape(key)}"
    patch: Patch = [
        [f"{root}/members/{escape(event.old_member)}"],
        [f"{root}/members/{escape(event.member)}", dict(member)],
    ]
    return patch + _led(known, root, event.old_member, event.member)


@folds(group.GroupMemberRemoved)
def _member_removed(view: View, event: group.GroupMemberRemoved, seq: int, at_us: int, node: str) -> Patch:
    key = _key(event)
    known = view["groups"][key]
    gone = known["members"].pop(event.member)
    known["previous"].update(dict.fromkeys(gone["assignment"], gone["client"]))
    root = f"/groups/{escape(key)}"
    patch: Patch = [[f"{root}/members/{escape(event.member)}"], [f"{root}/previous", dict(known["previous"])]]
    return patch + _led(known, root, event.member, next(iter(known["members"]), ""))


def _led(known: View, root: str, old: str, new: str) -> Patch:
    """Who leads when `old` is gone."""
    if known["leader"] != old:
        return []
    known["leader"] = new
    return [[f"{root}/leader", new]]


@folds(group.GroupAssigned)
def _assigned(view: View, event: group.GroupAssigned, seq: int, at_us: int, node: str) -> Patch:
    key = _key(event)
    members = view["groups"][key]["members"]
    # who had what before, for those who left, too: whoever had a partition last is still its former owner
    previous = {name: member["client"] for member in members.values() for name in member["assignment"]}
    previous = view["groups"][key]["previous"] = {**view["groups"][key]["previous"], **previous}
    patch: Patch = [[f"/groups/{escape(key)}/previous", dict(previous)]]
    for member, partitions in event.assignments:
        members[member]["assignment"] = list(partitions)
        patch.append([f"/groups/{escape(key)}/members/{escape(member)}/assignment", list(partitions)])
    return patch


@folds(group.OffsetCommitted)
def _committed(view: View, event: group.OffsetCommitted, seq: int, at_us: int, node: str) -> Patch:
    key = _key(event)
    view["groups"][key]["offsets"][event.partition] = event.offset
    commit = [event.offset, event.leader_epoch, event.metadata, event.commit_timestamp_ms]
    view["groups"][key]["commits"][event.partition] = commit
    root = f"/groups/{escape(key)}"
    return [[f"{root}/offsets/{event.partition}", event.offset], [f"{root}/commits/{event.partition}", commit]]


@folds(group.TransactionalOffsetPending)
def _pending(view: View, event: group.TransactionalOffsetPending, seq: int, at_us: int, node: str) -> Patch:
    key = _key(event)
    of_producer = view["groups"][key]["pending"].setdefault(str(event.producer_id), {})
    of_producer[event.partition] = event.offset
    return [[f"/groups/{escape(key)}/pending/{event.producer_id}", dict(of_producer)]]


@folds(group.TransactionalOffsetsDecided)
def _decided(view: View, event: group.TransactionalOffsetsDecided, seq: int, at_us: int, node: str) -> Patch:
    key = _key(event)
    if view["groups"][key]["pending"].pop(str(event.producer_id), None) is None:
        return []
    return [[f"/groups/{escape(key)}/pending/{event.producer_id}"]]


@folds(group.OffsetRemoved)
def _offset_removed(view: View, event: group.OffsetRemoved, seq: int, at_us: int, node: str) -> Patch:
    key = _key(event)
    view["groups"][key]["offsets"].pop(event.partition, None)
    view["groups"][key]["commits"][event.partition] = None
    root = f"/groups/{escape(key)}"
    return [[f"{root}/offsets/{event.partition}"], [f"{root}/commits/{event.partition}", None]]
