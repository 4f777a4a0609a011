"""Replays a partition of `__consumer_offsets` (`GroupMetadataManager.loadGroupsAndOffsets`)."""

from typing import NamedTuple

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
from broker_core.log.stored_records import StoredRecords
from broker_core.log.unified_log import UnifiedLog
from broker_core.records.control_record import ControlRecordType, read_end_transaction_marker
from broker_core.records.record_batch import BatchHeader, Record


class LoadedOffset(NamedTuple):
    """An offset, and the base offset of the batch that it is in: a later batch counts."""

    position: int
    committed: CommittedOffset


class LoadedOffsets(msgspec.Struct):
    """The state after some records: a tombstone removes what was before it."""

    groups: dict[str, StoredGroup] = {}
    offsets: dict[str, dict[str, LoadedOffset]] = {}
    #: Producer id -> group -> offsets pending the end of its transaction.
    pending: dict[int, dict[str, dict[str, LoadedOffset]]] = {}

    def names(self) -> list[str]:
        """All groups of which anything is known, sorted."""
        pending = [name for groups in self.pending.values() for name in groups]
        with_offsets = [name for name, offsets in self.offsets.items() if offsets]
        return sorted({*self.groups, *with_offsets, *pending})

    def take_offsets(self, group: str) -> list[tuple[int | None, str, LoadedOffset]]:
        """Removes the offsets of a group, and returns them in the order of their batches: (producer id,
        topic-partition, offset), with the id of a producer for one that is pending, else None.
        """
        rows: list[tuple[int | None, str, LoadedOffset]] = [
            (None, name, loaded) for name, loaded in self.offsets.pop(group, {}).items()
        ]
        for producer_id, groups in self.pending.items():
            rows += [(producer_id, name, loaded) for name, loaded in groups.pop(group, {}).items()]
        return sorted(rows, key=lambda row: row[2].position)

    def end(self, producer_id: int, is_commit: bool) -> None:
        """Ends a transaction: its pending offsets take effect unless there are later ones, or are dropped."""
        for group, pending in self.pending.pop(producer_id, {}).items():
            if not is_commit:
                continue
            offsets = self.offsets.setdefault(group, {})
            for name, committed in pending.items():
                known = offsets.get(name)
                if known is None or known.position < committed.position:
                    offsets[name] = committed


class Replay:
    """The replay of a log in slices. Skips records that cannot be parsed."""

    def __init__(self, log: UnifiedLog) -> None:
        self.loaded = LoadedOffsets()
        self._records = StoredRecords(log)

    def run_slice(self) -> bool:
        """Replays the next records; returns whether these were the last ones."""
        loaded = self.loaded
        for header, record in self._records.next_slice():
            if header.is_control:
                _end(loaded, header.producer_id, record)
            elif header.is_transactional:
                _wait(loaded, header, record)
            else:
                _take(loaded, header, record)
        return self._records.is_done


def _wait(loaded: LoadedOffsets, header: BatchHeader, record: Record) -> None:
    """Adds an offset of an open transaction."""
    try:
        key = None if record.key is None else decode_key(record.key)
        if isinstance(key, OffsetKey) and record.value is not None:
            committed = LoadedOffset(header.base_offset, decode_offset_value(record.value))
            groups = loaded.pending.setdefault(header.producer_id, {})
            groups.setdefault(key.group, {})[key.partition] = committed
    except ProtocolError:
        return


def _end(loaded: LoadedOffsets, producer_id: int, record: Record) -> None:
    marker = read_end_transaction_marker(record)
    if marker is not None:
        loaded.end(producer_id, marker[0] is ControlRecordType.COMMIT)


def _take(loaded: LoadedOffsets, header: BatchHeader, record: Record) -> None:
    if record.key is None:
        return
    try:
        key = decode_key(record.key)
        if isinstance(key, OffsetKey):
            offsets = loaded.offsets.setdefault(key.group, {})
            offsets.pop(key.partition, None)
            if record.value is not None:
                offsets[key.partition] = LoadedOffset(header.base_offset, decode_offset_value(record.value))
        elif isinstance(key, GroupKey):
            loaded.groups.pop(key.group, None)
            if record.value is not None:
                loaded.groups[key.group] = decode_group_value(record.value)
    except ProtocolError:
        return
