"""The tool's text for control records: transaction markers, and those of KRaft's snapshots.

Source: `ControlRecordType`, `EndTransactionMarker`, `ControlRecordUtils`.
"""

import struct

from broker_core.log.dump.java import Thrown
from broker_core.log.dump.message_types import KRAFT_VERSION, SNAPSHOT_FOOTER, SNAPSHOT_HEADER, VOTERS
from broker_core.log.dump.messages import UnreadableMessage, json_text, read_message
from broker_core.log.dump.records import DumpedRecord, invalid

_KEY = struct.Struct(">hh")
_MARKER = struct.Struct(">hi")
_MARKERS = {0: "ABORT", 1: "COMMIT"}
_SNAPSHOT_RECORDS = {
    3: ("SnapshotHeader", SNAPSHOT_HEADER),
    4: ("SnapshotFooter", SNAPSHOT_FOOTER),
    5: ("KRaftVersion", KRAFT_VERSION),
    6: ("KRaftVoters", VOTERS),
}


def control_text(record: DumpedRecord) -> str:
    """The printed text of a control record. Raises Thrown for a malformed one."""
    key = _there(record.key, "key", "remaining()")
    if len(key) < _KEY.size:
        raise invalid(
            f"Invalid value size found for end control record key. Must have at least {_KEY.size} bytes, but found "
            f"only {len(key)}",
            f"the key of a control record has {_KEY.size} bytes, this one {len(key)}",
        )
    version, number = _KEY.unpack_from(key)
    if version < 0:
        raise _bad_version("control record", version)
    if number in _MARKERS:
        return f" endTxnMarker: {_MARKERS[number]} coordinatorEpoch: {_coordinator_epoch(record.value)}"
    if number in _SNAPSHOT_RECORDS:
        name, definition = _SNAPSHOT_RECORDS[number]
        try:
            return f" {name} {json_text(read_message(definition, _there(record.value, 'data', 'slice()'), 0)[0])}"
        except UnreadableMessage as error:
            java_class = "java.nio.BufferUnderflowException" if error.message is None else "java.lang.RuntimeException"
            raise Thrown(java_class, error.message, f"a control record of type {number} cannot be read") from None
    return f" controlType: {'LEADER_CHANGE' if number == 2 else 'UNKNOWN'}({number})"


def _coordinator_epoch(value: bytes | None) -> int:
    value = _there(value, "value", "remaining()")
    if len(value) < _MARKER.size:
        raise invalid(
            f"Invalid value size found for end transaction marker. Must have at least {_MARKER.size} bytes, but found "
            f"only {len(value)}",
            f"the value of a transaction marker has {_MARKER.size} bytes, this one {len(value)}",
        )
    version, epoch = _MARKER.unpack_from(value)
    if version < 0:
        raise _bad_version("end transaction marker", version)
    return int(epoch)


def _there(data: bytes | None, name: str, method: str) -> bytes:
    if data is None:
        message = f'Cannot invoke "java.nio.ByteBuffer.{method}" because "{name}" is null'
        raise Thrown("java.lang.NullPointerException", message, "a control record has a key and a value")
    return data


def _bad_version(what: str, version: int) -> Thrown:
    message = f"Invalid version found for {what}: {version}. May indicate data corruption"
    return invalid(message, f"the version of a {what} is 0 or more, this one is {version}")
