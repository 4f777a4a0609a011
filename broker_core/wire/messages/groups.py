"""The requests of consumer groups, with Kafka's own field names. `topic-partition` is one string."""

import msgspec

from broker_core.errors import Errors


class FindCoordinatorRequest(msgspec.Struct, frozen=True, gc=False):
    """`key_type` 0: `key` is a group. `keys`: several instead of one (KIP-699)."""

    key: str
    key_type: int = 0
    keys: tuple[str, ...] = ()


class FindCoordinatorResponse(msgspec.Struct, frozen=True, gc=False):
    """`node_id` -1 unless there is one. `coordinators`: for several keys, in their order."""

    error: Errors = Errors.NONE
    node_id: int = -1
    coordinators: tuple["FindCoordinatorResponse", ...] = ()


class JoinGroupRequest(msgspec.Struct, frozen=True, gc=False):
    """`protocols`: (assignor, metadata), the preferred one first. From version 4 on a dynamic member without an id
    receives one, with which it joins again (KIP-394). `client_id` None: the name of the sending node.
    `has_null_client_id`: it is null in the request, and remains so in the era.
    """

    group_id: str
    session_timeout_ms: int
    rebalance_timeout_ms: int
    member_id: str
    group_instance_id: str | None
    protocol_type: str
    protocols: tuple[tuple[str, bytes], ...]
    reason: str = ""
    version: int = 9
    client_id: str | None = None
    client_host: str = "/127.0.0.1"
    has_null_client_id: bool = False


class JoinGroupResponse(msgspec.Struct, frozen=True, gc=False):
    """`members`: (member id, group.instance.id, metadata), for the leader only."""

    error: Errors = Errors.NONE
    generation_id: int = -1
    protocol_type: str | None = None
    protocol_name: str | None = None
    leader: str = ""
    skip_assignment: bool = False
    member_id: str = ""
    members: tuple[tuple[str, str | None, bytes], ...] = ()


class SyncGroupRequest(msgspec.Struct, frozen=True, gc=False):
    """`assignments`: (member id, assignment), from the leader only."""

    group_id: str
    generation_id: int
    member_id: str
    group_instance_id: str | None = None
    protocol_type: str | None = None
    protocol_name: str | None = None
    assignments: tuple[tuple[str, bytes], ...] = ()


class SyncGroupResponse(msgspec.Struct, frozen=True, gc=False):
    error: Errors = Errors.NONE
    protocol_type: str | None = None
    protocol_name: str | None = None
    assignment: bytes = b""


class HeartbeatRequest(msgspec.Struct, frozen=True, gc=False):
    group_id: str
    generation_id: int
    member_id: str
    group_instance_id: str | None = None


class HeartbeatResponse(msgspec.Struct, frozen=True, gc=False):
    error: Errors = Errors.NONE


class LeaveGroupRequest(msgspec.Struct, frozen=True, gc=False):
    """`members`: (member id, group.instance.id), KIP-345."""

    group_id: str
    members: tuple[tuple[str, str | None], ...]


class LeaveGroupResponse(msgspec.Struct, frozen=True, gc=False):
    error: Errors = Errors.NONE
    members: tuple[tuple[str, str | None, Errors], ...] = ()


class OffsetCommitRequest(msgspec.Struct, frozen=True, gc=False):
    """`partitions`: (topic-partition, offset of the next record, its leader epoch or -1, metadata). `generation_id` -1
    for clients that are not members. `in_zookeeper`: stored in ZooKeeper, as before 0.9. Of old versions:
    `retention_ms`, how long the offsets are kept, -1 as long as others; `timestamps`, the ms of each offset, -1 now.
    """

    group_id: str
    partitions: tuple[tuple[str, int, int, str], ...]
    generation_id: int = -1
    member_id: str = ""
    group_instance_id: str | None = None
    in_zookeeper: bool = False
    retention_ms: int = -1
    timestamps: tuple[int, ...] = ()


class OffsetCommitResponse(msgspec.Struct, frozen=True, gc=False):
    partitions: tuple[tuple[str, Errors], ...]


class OffsetFetchRequest(msgspec.Struct, frozen=True, gc=False):
    """`partitions` None = all that the group has offsets of. `groups`: several groups instead of one (KIP-709).
    `require_stable`: offsets with pending transactional commits are not returned (KIP-447). `in_zookeeper`: those
    stored in ZooKeeper, as before 0.9.
    """

    group_id: str
    partitions: tuple[str, ...] | None = None
    groups: tuple[tuple[str, tuple[str, ...] | None], ...] = ()
    require_stable: bool = False
    in_zookeeper: bool = False


class OffsetFetchResponse(msgspec.Struct, frozen=True, gc=False):
    """`partitions`: (topic-partition, offset or -1, leader epoch, metadata). `groups`: the answers of
    several groups, in their order. `unstable`: those whose error is UNSTABLE_OFFSET_COMMIT; `errors`: other ones.
    """

    error: Errors = Errors.NONE
    partitions: tuple[tuple[str, int, int, str], ...] = ()
    groups: tuple["OffsetFetchResponse", ...] = ()
    unstable: tuple[str, ...] = ()
    errors: tuple[tuple[str, Errors], ...] = ()


class OffsetDeleteRequest(msgspec.Struct, frozen=True, gc=False):
    group_id: str
    partitions: tuple[str, ...]


class OffsetDeleteResponse(msgspec.Struct, frozen=True, gc=False):
    error: Errors = Errors.NONE
    partitions: tuple[tuple[str, Errors], ...] = ()


class DescribeGroupsRequest(msgspec.Struct, frozen=True, gc=False):
    groups: tuple[str, ...]


class DescribedGroupMember(msgspec.Struct, frozen=True, gc=False):
    member_id: str
    group_instance_id: str | None
    client_id: str
    client_host: str
    metadata: bytes = b""
    assignment: bytes = b""


class DescribedGroup(msgspec.Struct, frozen=True, gc=False):
    group_id: str
    error: Errors = Errors.NONE
    state: str = ""
    protocol_type: str = ""
    protocol: str = ""
    members: tuple[DescribedGroupMember, ...] = ()


class DescribeGroupsResponse(msgspec.Struct, frozen=True, gc=False):
    groups: tuple[DescribedGroup, ...]


class ListGroupsRequest(msgspec.Struct, frozen=True, gc=False):
    """`states_filter`: none = all states."""

    states_filter: tuple[str, ...] = ()


class ListGroupsResponse(msgspec.Struct, frozen=True, gc=False):
    """`groups`: (group, protocol type, state)."""

    error: Errors = Errors.NONE
    groups: tuple[tuple[str, str, str], ...] = ()


class DeleteGroupsRequest(msgspec.Struct, frozen=True, gc=False):
    groups: tuple[str, ...]


class DeleteGroupsResponse(msgspec.Struct, frozen=True, gc=False):
    results: tuple[tuple[str, Errors], ...]
