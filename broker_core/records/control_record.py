"""Control records: records that the broker itself writes to a log, between the batches of applications.

The key is an int16 version and an int16 type. The value of a transaction's end marker is an int16 version and the int32
epoch of the coordinator. Source: `ControlRecordType`, `EndTransactionMarker`; KIP-98.
"""

import struct
from enum import IntEnum

from broker_core.records.record_batch import NO_LEADER_EPOCH, BatchHeader, Record, build_batch, iterate_records

_CONTROL_KEY = struct.Struct(">hh")
_END_TXN_VALUE = struct.Struct(">hi")


class ControlRecordType(IntEnum):
    """The type of a control batch (`ControlRecordType`); only the first two occur in a cluster with ZooKeeper."""

    ABORT = 0
    COMMIT = 1


def build_end_transaction_marker(
    control_type: ControlRecordType,
    *,
    timestamp: int,
    producer_id: int,
    producer_epoch: int,
    coordinator_epoch: int,
    base_offset: int = 0,
    leader_epoch: int = NO_LEADER_EPOCH,
) -> bytes:
    """The control batch that ends a transaction on a partition (`EndTransactionMarker`)."""
    record = (timestamp, _CONTROL_KEY.pack(0, control_type), _END_TXN_VALUE.pack(0, coordinator_epoch), ())
    return build_batch(
        [record],
        base_offset=base_offset,
        leader_epoch=leader_epoch,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        is_transactional=True,
        is_control=True,
    )


def read_end_transaction_marker(record: Record) -> tuple[ControlRecordType, int] | None:
    """(type, coordinator epoch) of an abort or commit marker; None for another kind of control record."""
    if record.key is None or record.value is None or len(record.key) < 4 or len(record.value) < 6:
        return None
    _, control_type = _CONTROL_KEY.unpack_from(record.key)
    if control_type not in (ControlRecordType.ABORT, ControlRecordType.COMMIT):
        return None
    return ControlRecordType(control_type), _END_TXN_VALUE.unpack_from(record.value)[1]


def read_marker(data: bytes, header: BatchHeader, position: int) -> tuple[ControlRecordType, int] | None:
    """The marker in the control batch at `position` of `data`; None for another kind, or if compaction emptied it."""
    record = next(iterate_records(data, header, position), None)
    return None if record is None else read_end_transaction_marker(record)
