"""Reading a partition of `__consumer_offsets` from its beginning (`GroupMetadataManager.loadGroupsAndOffsets`)."""

import msgspec

from broker_core.groups.consumer_protocol import ProtocolError
from broker_core.groups.offsets import (
    CommittedOffset,
    GroupKey,
    OffsetKey,
    StoredGroup,
    decode_group_value,
    decode_key,
    decode_offset_value,
)
from broker_core.log.unified_log import UnifiedLog
from broker_core.records.record_batch import Record, iterate_batches, iterate_records

LOAD_BUFFER_SIZE = 5_242_880


class LoadedLog(msgspec.Struct):
    """What the records add up to: a tombstone has removed what stood before it."""

    groups: dict[str, StoredGroup] = {}
    offsets: dict[str, dict[str, CommittedOffset]] = {}

    def names(self) -> list[str]:
        """The groups of which anything is known, sorted."""
        return sorted({**self.groups, **{name: None for name, offsets in self.offsets.items() if offsets}})


def replay(log: UnifiedLog) -> LoadedLog:
    """All records of a log. A record that cannot be read is passed over."""
    loaded = LoadedLog()
    offset = log.log_start_offset
    while offset < log.log_end_offset:
        data = log.read(offset, LOAD_BUFFER_SIZE).data
        if not data:
            break
        for position, header in iterate_batches(data):
            if not header.is_control:
                for record in iterate_records(data, header, position):
                    _take(loaded, record)
            offset = header.next_offset
    return loaded


def _take(loaded: LoadedLog, record: Record) -> None:
    if record.key is None:
        return
    try:
        key = decode_key(record.key)
        if isinstance(key, OffsetKey):
            offsets = loaded.offsets.setdefault(key.group, {})
            offsets.pop(key.partition, None)
            if record.value is not None:
                offsets[key.partition] = decode_offset_value(record.value)
        elif isinstance(key, GroupKey):
            loaded.groups.pop(key.group, None)
            if record.value is not None:
                loaded.groups[key.group] = decode_group_value(record.value)
    except ProtocolError:
        return
