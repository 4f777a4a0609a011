"""The records of `__consumer_offsets` (`GroupMetadataManager`, `OffsetCommitKey`, `GroupMetadataValue`).

A committed offset and a group's metadata are keyed records, so that compaction keeps the last one. A null value is a
tombstone.
"""

from typing import TypeAlias

import msgspec

from broker_core.groups.consumer_protocol import (
    ProtocolError,
    ProtocolReader,
    int16,
    int32,
    int64,
    nullable_bytes,
    string,
)
from broker_core.log.dump.java import string_hash
from broker_core.partitions import parse_requested, requested_partition

OFFSET_KEY_VERSION = 1
GROUP_KEY_VERSION = 2
VALUE_VERSION = 3
_EXPIRING_VERSION = 1
_INT_MIN = -(1 << 31)


class CommittedOffset(msgspec.Struct, frozen=True, gc=False):
    """`offset` is that of the next record to read; `leader_epoch` -1 = not known. Times are in ms;
    `expire_timestamp` -1 = by the settings of the broker.
    """

    offset: int
    leader_epoch: int = -1
    metadata: str = ""
    commit_timestamp: int = -1
    expire_timestamp: int = -1


class StoredMember(msgspec.Struct, frozen=True, gc=False):
    """A member as stored in a group's record."""

    member_id: str
    group_instance_id: str | None
    client_id: str
    client_host: str
    rebalance_timeout_ms: int
    session_timeout_ms: int
    subscription: bytes
    assignment: bytes


class StoredGroup(msgspec.Struct, frozen=True, gc=False):
    """A group as stored in its record."""

    protocol_type: str
    generation_id: int
    protocol_name: str | None
    leader: str | None
    current_state_timestamp: int
    members: tuple[StoredMember, ...]


class OffsetKey(msgspec.Struct, frozen=True, gc=False):
    group: str
    partition: str


class GroupKey(msgspec.Struct, frozen=True, gc=False):
    group: str


Key: TypeAlias = OffsetKey | GroupKey


def partition_for(group: str, partition_count: int) -> int:
    """The partition of `__consumer_offsets` for a group: the Java hash of its name."""
    hashed = string_hash(group)
    return (0 if hashed == _INT_MIN else abs(hashed)) % partition_count


def encode_offset_key(group: str, partition: str) -> bytes:
    topic, number = parse_requested(partition)
    return int16(OFFSET_KEY_VERSION) + string(group) + string(topic) + int32(number)


def encode_offset_value(committed: CommittedOffset) -> bytes:
    """Encodes in the newest version, or in the only one with a time to expire if the offset has one."""
    if committed.expire_timestamp != -1:
        return (
            int16(_EXPIRING_VERSION)
            + int64(committed.offset)
            + string(committed.metadata)
            + int64(committed.commit_timestamp)
            + int64(committed.expire_timestamp)
        )
    return (
        int16(VALUE_VERSION)
        + int64(committed.offset)
        + int32(committed.leader_epoch)
        + string(committed.metadata)
        + int64(committed.commit_timestamp)
    )


def encode_group_key(group: str) -> bytes:
    return int16(GROUP_KEY_VERSION) + string(group)


def encode_group_value(group: StoredGroup) -> bytes:
    parts = [
        int16(VALUE_VERSION),
        string(group.protocol_type),
        int32(group.generation_id),
        string(group.protocol_name),
        string(group.leader),
        int64(group.current_state_timestamp),
        int32(len(group.members)),
    ]
    for member in group.members:
        parts += [
            string(member.member_id),
            string(member.group_instance_id),
            string(member.client_id),
            string(member.client_host),
            int32(member.rebalance_timeout_ms),
            int32(member.session_timeout_ms),
            nullable_bytes(member.subscription),
            nullable_bytes(member.assignment),
        ]
    return b"".join(parts)


def decode_key(data: bytes) -> Key | None:
    """The group or offset of a key; None for an unknown version. Raises ProtocolError."""
    reader = ProtocolReader(data)
    version = reader.int16()
    if version in (0, OFFSET_KEY_VERSION):
        group, topic = reader.string(), reader.string()
        return OffsetKey(group, requested_partition(topic, reader.int32()))
    return GroupKey(reader.string()) if version == GROUP_KEY_VERSION else None


def decode_offset_value(data: bytes) -> CommittedOffset:
    """Raises ProtocolError."""
    reader = ProtocolReader(data)
    version = reader.int16()
    if not 0 <= version <= VALUE_VERSION:
        raise ProtocolError(f"an offset's value has version {version}, expected 0 to {VALUE_VERSION}")
    offset = reader.int64()
    leader_epoch = reader.int32() if version == VALUE_VERSION else -1
    metadata, commit_timestamp = reader.string(), reader.int64()
    return CommittedOffset(
        offset, leader_epoch, metadata, commit_timestamp, reader.int64() if version == _EXPIRING_VERSION else -1
    )


def decode_group_value(data: bytes) -> StoredGroup:
    """Raises ProtocolError."""
    reader = ProtocolReader(data)
    version = reader.int16()
    if not 0 <= version <= VALUE_VERSION:
        raise ProtocolError(f"a group's value has version {version}, expected 0 to {VALUE_VERSION}")
    protocol_type, generation_id = reader.string(), reader.int32()
    protocol_name, leader = reader.nullable_string(), reader.nullable_string()
    timestamp = reader.int64() if version >= 2 else -1
    return StoredGroup(
        protocol_type,
        generation_id,
        protocol_name,
        leader,
        timestamp,
        tuple(_read_member(reader, version) for _ in range(reader.int32())),
    )


def _read_member(reader: ProtocolReader, version: int) -> StoredMember:
    member_id = reader.string()
    instance = reader.nullable_string() if version == VALUE_VERSION else None
    client_id, client_host = reader.string(), reader.string()
    rebalance_timeout_ms = reader.int32() if version >= 1 else -1
    session_timeout_ms = reader.int32()
    return StoredMember(
        member_id,
        instance,
        client_id,
        client_host,
        rebalance_timeout_ms if version >= 1 else session_timeout_ms,
        session_timeout_ms,
        reader.nullable_bytes() or b"",
        reader.nullable_bytes() or b"",
    )
