"""The state of a partition's idempotent and transactional producers (`ProducerStateManager`; KIP-98, KIP-360).

Per producer id: the epoch, the last five batches (a repeated one is a duplicate), the open transaction. The state is
derived from the log; snapshots of it (`OFFSET.snapshot`, valid up to that offset, exclusive) avoid reading all of the
log after a restart.
"""

from bisect import bisect_left
from collections.abc import Collection

from broker_core.eras import UnknownSequences
from broker_core.errors import Errors, KafkaException
from broker_core.log.files.deleted_files import DeletedFile, mark_deleted
from broker_core.log.files.storage_fault import offset_of
from broker_core.log.producers.producer_snapshot import SNAPSHOT_SUFFIX, decode_snapshot, encode_snapshot
from broker_core.log.producers.producer_state_entry import (
    BatchMetadata,
    ProducerStateEntry,
    VerificationStateEntry,
)
from broker_core.log.producers.transactions import CompletedTransaction, UnstableTransactions
from broker_core.records.control_record import ControlRecordType
from broker_core.records.record_batch import (
    NO_PRODUCER_EPOCH,
    NO_SEQUENCE,
    BatchHeader,
    increment_sequence,
)
from broker_core.sim.disk import CutFact, Disk
from broker_core.texts import Text, text

_MIN_HASH_TABLE_SIZE = 16


class ProducerStateManager:
    """The producers of one log, and their snapshot files."""

    def __init__(
        self,
        disk: Disk,
        directory: str,
        expiration_ms: int,
        *,
        has_snapshots: bool = True,
        unknown_sequences: UnknownSequences = "taken",
        ends_empty_transactions: bool = False,
        checks_coordinators: bool = True,
    ) -> None:
        self.map_end_offset = 0
        """The state covers the log up to this offset, exclusive."""
        self.transactions = UnstableTransactions()
        self.unreadable_snapshots: dict[str, Text] = {}
        """Path of each snapshot that was deleted because it could not be read, and the reason."""
        self._disk = disk
        self._directory = directory
        self._expiration_ms = expiration_ms
        self._has_snapshots = has_snapshots
        self._unknown_sequences = unknown_sequences
        self._ends_empty_transactions = ends_empty_transactions
        self._checks_coordinators = checks_coordinators
        self._last_snapshot_offset = 0
        self._producers: dict[int, ProducerStateEntry] = {}
        # Java's HashMap never shrinks its table, and a snapshot's order depends on the table's size.
        self._hash_table_size = _MIN_HASH_TABLE_SIZE
        self._snapshot_offsets = self._list_snapshots()
        self._verifications: dict[int, VerificationStateEntry] = {}
        self._next_guard = 1

    @property
    def producers(self) -> tuple[ProducerStateEntry, ...]:
        """All producers, in the order in which they first wrote."""
        return tuple(self._producers.values())

    @property
    def count(self) -> int:
        """The number of producers."""
        return len(self._producers)

    @property
    def is_empty(self) -> bool:
        """Whether there are no producers and no transactions whose marker is not replicated yet."""
        return not self._producers and self.transactions.is_empty

    @property
    def snapshot_offsets(self) -> tuple[int, ...]:
        """The offsets of the snapshot files, in increasing order."""
        return tuple(self._snapshot_offsets)

    @property
    def latest_snapshot_offset(self) -> int | None:
        """The offset of the newest snapshot."""
        return self._snapshot_offsets[-1] if self._snapshot_offsets else None

    def entry(self, producer_id: int) -> ProducerStateEntry | None:
        """The state of a producer."""
        return self._producers.get(producer_id)

    def validate(self, header: BatchHeader, is_client: bool = True) -> BatchMetadata | None:
        """Validates a data batch; returns the batch that it duplicates, if any (`ProducerAppendInfo`).

        The broker's own coordinators (`is_client` false) write without sequence numbers. Raises INVALID_PRODUCER_EPOCH,
        OUT_OF_ORDER_SEQUENCE_NUMBER, UNKNOWN_PRODUCER_ID or INVALID_TXN_STATE.
        """
        # the epoch of an unknown producer is -1
        entry = self._producers.get(header.producer_id) or ProducerStateEntry(header.producer_id)
        if is_client:
            duplicate = entry.find_duplicate(header)
            if duplicate is not None:
                return duplicate
        if is_client or self._checks_coordinators:
            self._check_epoch(entry, header.producer_epoch)
        if is_client:
            self._check_lowest(header)
            self._check_sequence(entry, header)
        if entry.current_transaction_first_offset is not None and not header.is_transactional:
            raise KafkaException(
                Errors.INVALID_TXN_STATE,
                text("refused.outside_transaction", producer=header.producer_id),
            )
        return None

    def validate_marker(self, header: BatchHeader, coordinator_epoch: int) -> None:
        """Checks a coordinator's marker. Raises INVALID_PRODUCER_EPOCH or TRANSACTION_COORDINATOR_FENCED."""
        if not header.has_producer_id:
            return
        # the epochs of an unknown producer are -1
        entry = self._producers.get(header.producer_id) or ProducerStateEntry(header.producer_id)
        self._check_epoch(entry, header.producer_epoch)
        if coordinator_epoch < entry.coordinator_epoch:
            raise KafkaException(
                Errors.TRANSACTION_COORDINATOR_FENCED,
                text("refused.coordinator_epoch", epoch=coordinator_epoch, last=entry.coordinator_epoch),
            )

    def start_verification(self, producer_id: int, producer_epoch: int, sequence: int) -> int | None:
        """The verification guard for a transaction that begins with this append; None for an open one
        (`maybeStartTransactionVerification`).
        """
        entry = self._producers.get(producer_id)
        if entry is not None and entry.current_transaction_first_offset is not None:
            return None
        known = self._verifications.get(producer_id)
        if known is None or known.producer_epoch < producer_epoch:
            known = VerificationStateEntry(self._next_guard, producer_epoch, sequence)
            self._next_guard += 1
        elif known.producer_epoch == producer_epoch and sequence < known.lowest_sequence:
            known = known._replace(lowest_sequence=sequence)
        self._verifications[producer_id] = known
        return known.guard

    def holds_guard(self, producer_id: int, guard: int) -> bool:
        """Whether the guard is still valid: the producer has not changed since its verification began."""
        known = self._verifications.get(producer_id)
        entry = self._producers.get(producer_id)
        has_begun = entry is not None and entry.current_transaction_first_offset is not None
        return has_begun or (known is not None and known.guard == guard)

    def append_data(self, header: BatchHeader) -> None:
        """Adds a batch that was written; offsets are those of the log."""
        entry = self._entry_for(header.producer_id)
        entry.set_epoch(header.producer_epoch)
        entry.batches.append(
            BatchMetadata(header.last_sequence, header.last_offset, header.last_offset_delta, header.max_timestamp)
        )
        entry.last_timestamp = header.max_timestamp
        if header.is_transactional and entry.current_transaction_first_offset is None:
            entry.current_transaction_first_offset = header.base_offset
            self.transactions.begin(header.producer_id, header.base_offset)
            self._verifications.pop(header.producer_id, None)

    def append_marker(
        self, header: BatchHeader, control_type: ControlRecordType, coordinator_epoch: int
    ) -> CompletedTransaction | None:
        """Adds a marker that was written; returns the transaction that it ends, None if that had no batch. Until 2.4
        such a transaction begins with its marker.

        The transaction stays open in `transactions` until it is completed there, after its entry is added to the
        transaction index.
        """
        entry = self._entry_for(header.producer_id)
        first_offset = entry.current_transaction_first_offset
        entry.set_epoch(header.producer_epoch)
        entry.coordinator_epoch = coordinator_epoch
        entry.current_transaction_first_offset = None
        entry.last_timestamp = header.max_timestamp
        self._verifications.pop(header.producer_id, None)
        if first_offset is None and self._ends_empty_transactions:
            first_offset = header.base_offset
            self.transactions.begin(header.producer_id, first_offset)
        if first_offset is None:
            return None
        is_aborted = control_type is ControlRecordType.ABORT
        return CompletedTransaction(header.producer_id, first_offset, header.base_offset, is_aborted)

    def remove_expired(self, now_ms: int) -> tuple[int, ...]:
        """Removes producers that have not written for producer.id.expiration.ms; returns their ids."""
        expired = tuple(id for id, entry in self._producers.items() if self._is_expired(entry, now_ms))
        for producer_id in expired:
            del self._producers[producer_id]
        return expired

    def take_snapshot(self) -> str | None:
        """Writes the state as of `map_end_offset` unless the last snapshot is as new; returns the file's path."""
        if self.map_end_offset <= self._last_snapshot_offset or not self._has_snapshots:
            return None
        path = self._path(self.map_end_offset)
        self._disk.replace_file(path, encode_snapshot(self._in_hash_order()))
        slot = bisect_left(self._snapshot_offsets, self.map_end_offset)
        if self._snapshot_offsets[slot : slot + 1] != [self.map_end_offset]:
            self._snapshot_offsets.insert(slot, self.map_end_offset)
        self._last_snapshot_offset = self.map_end_offset
        return path

    def truncate_and_reload(self, log_start_offset: int, log_end_offset: int, now_ms: int) -> tuple[CutFact, ...]:
        """Reloads the newest snapshot within the log's bounds; deletes the snapshots outside of them."""
        outside = [offset for offset in self._snapshot_offsets if not log_start_offset < offset <= log_end_offset]
        cuts = self._delete_snapshots(outside)
        if log_end_offset != self.map_end_offset:
            self._producers.clear()
            self.transactions.clear()
            cuts += self._load_from_snapshot(log_start_offset, now_ms)
        else:
            self.log_start_moved(log_start_offset)
        return cuts

    def log_start_moved(self, log_start_offset: int) -> None:
        """Drops transactions below the log start offset (`onLogStartOffsetIncremented`)."""
        self.transactions.replicated_up_to(log_start_offset)
        self.map_end_offset = max(self.map_end_offset, log_start_offset)
        latest = self.latest_snapshot_offset
        self._last_snapshot_offset = log_start_offset if latest is None else latest

    def truncate_fully_and_start_at(self, offset: int) -> tuple[CutFact, ...]:
        """Drops all state; the log is empty and starts at `offset`."""
        self._producers.clear()
        self.transactions.clear()
        cuts = self._delete_snapshots(self._snapshot_offsets)
        self._last_snapshot_offset = 0
        self.map_end_offset = offset
        return cuts

    def remove_stray_snapshots(self, segment_base_offsets: list[int]) -> tuple[CutFact, ...]:
        """At load: deletes snapshots without a segment, except one above all segments, from a clean shutdown."""
        strays = [offset for offset in self._snapshot_offsets if offset not in segment_base_offsets]
        if strays and strays[-1] > max(segment_base_offsets, default=-1):
            strays.pop()
        return self._delete_snapshots(strays)

    def mark_snapshot_deleted(self, offset: int) -> tuple[DeletedFile, ...]:
        """Renames the snapshot at `offset` to `.deleted` if there is one (`removeAndMarkSnapshotForDeletion`)."""
        if offset not in self._snapshot_offsets:
            return ()
        self._snapshot_offsets.remove(offset)
        return (mark_deleted(self._disk, self._path(offset)),)

    def _list_snapshots(self) -> list[int]:
        names = [name for name in self._disk.list(self._directory) if name.endswith(SNAPSHOT_SUFFIX)]
        return sorted(offset_of(f"{self._directory}/{name}") for name in names)

    def _load_from_snapshot(self, log_start_offset: int, now_ms: int) -> tuple[CutFact, ...]:
        cuts: tuple[CutFact, ...] = ()
        while self._snapshot_offsets:
            offset = self._snapshot_offsets[-1]
            try:
                entries = decode_snapshot(self._disk.read_file(self._path(offset)))
            except ValueError as error:
                # A damaged snapshot is skipped: the log is read from an older one.
                self.unreadable_snapshots[self._path(offset)] = error.args[0]
                cuts += self._delete_snapshots([offset])
                continue
            for entry in entries:
                if not self._is_expired(entry, now_ms):
                    self._add(entry)
                    if entry.current_transaction_first_offset is not None:
                        self.transactions.begin(entry.producer_id, entry.current_transaction_first_offset)
            self._last_snapshot_offset = self.map_end_offset = offset
            return cuts
        self._last_snapshot_offset = self.map_end_offset = log_start_offset
        return cuts

    def _delete_snapshots(self, offsets: list[int]) -> tuple[CutFact, ...]:
        cuts = [self._disk.delete(self._path(offset)) for offset in offsets]
        self._snapshot_offsets = [offset for offset in self._snapshot_offsets if offset not in offsets]
        return tuple(cut for cut in cuts if cut is not None)

    def added_together(self, count_before: int, producer_ids: Collection[int]) -> None:
        """Orders producers whose batches were added together: all of a segment, or of an append.

        Kafka collects them in a Scala map and adds the new producers in the order of that map, which shows if two share
        a slot of a snapshot's map. `count_before`: the number of producers before.
        """
        new = list(self._producers)[count_before:]
        if len(new) < 2:
            return
        size = _MIN_HASH_TABLE_SIZE
        while len(producer_ids) >= size * 3 // 4:
            size *= 2
        for producer_id in sorted(new, key=lambda one: _scala_place(one, size)):
            self._producers[producer_id] = self._producers.pop(producer_id)

    def _entry_for(self, producer_id: int) -> ProducerStateEntry:
        entry = self._producers.get(producer_id)
        if entry is None:
            entry = ProducerStateEntry(producer_id)
            self._add(entry)
        return entry

    def _add(self, entry: ProducerStateEntry) -> None:
        self._producers[entry.producer_id] = entry
        if len(self._producers) > self._hash_table_size * 3 // 4:
            self._hash_table_size *= 2

    def _in_hash_order(self) -> list[ProducerStateEntry]:
        mask = self._hash_table_size - 1
        return sorted(self._producers.values(), key=lambda entry: _java_hash(entry.producer_id) & mask)

    def _is_expired(self, entry: ProducerStateEntry, now_ms: int) -> bool:
        return entry.current_transaction_first_offset is None and now_ms - entry.last_timestamp >= self._expiration_ms

    def _path(self, offset: int) -> str:
        return f"{self._directory}/{offset:020d}{SNAPSHOT_SUFFIX}"

    def _check_lowest(self, header: BatchHeader) -> None:
        """Raises if a batch arrived before an earlier one of its transaction that was being verified."""
        known = self._verifications.get(header.producer_id)
        if known is not None and header.base_sequence > known.lowest_sequence:
            raise KafkaException(
                Errors.OUT_OF_ORDER_SEQUENCE_NUMBER,
                text(
                    "refused.sequence_skipped",
                    producer=header.producer_id,
                    sequence=header.base_sequence,
                    lowest=known.lowest_sequence,
                ),
            )

    @staticmethod
    def _check_epoch(entry: ProducerStateEntry, epoch: int) -> None:
        if epoch < entry.producer_epoch:
            raise KafkaException(
                Errors.INVALID_PRODUCER_EPOCH,
                text("refused.producer_epoch", producer=entry.producer_id, epoch=epoch, current=entry.producer_epoch),
            )

    def _check_sequence(self, entry: ProducerStateEntry, header: BatchHeader) -> None:
        sequence = header.base_sequence
        if header.producer_epoch != entry.producer_epoch:
            expected = 0
        else:
            expected = increment_sequence(entry.last_sequence, 1)
        if sequence == expected:
            return
        if self._is_unknown(entry, header.producer_epoch):
            raise KafkaException(
                Errors.UNKNOWN_PRODUCER_ID,
                text("refused.producer_unknown", producer=header.producer_id, sequence=sequence),
            )
        if entry.producer_epoch != NO_PRODUCER_EPOCH or self._unknown_sequences != "taken":
            raise KafkaException(
                Errors.OUT_OF_ORDER_SEQUENCE_NUMBER,
                text("refused.sequence", producer=header.producer_id, sequence=sequence, expected=expected),
            )

    def _is_unknown(self, entry: ProducerStateEntry, epoch: int) -> bool:
        """Whether a leader before KIP-360 rejects the batch because the producer is unknown."""
        if epoch != entry.producer_epoch:
            return self._unknown_sequences != "taken" and entry.producer_epoch == NO_PRODUCER_EPOCH
        return self._unknown_sequences == "unknown producer" and entry.last_sequence == NO_SEQUENCE


def _java_hash(number: int) -> int:
    """The hash of a Long in a Java HashMap: `Long.hashCode`, then the map's spreading of the high bits."""
    code = (number ^ number >> 32) & 0xFFFFFFFF
    return code ^ code >> 16


def _scala_place(number: int, size: int) -> tuple[int, int]:
    """The slot of a Long in a Scala mutable.HashMap, and the hash that orders the entries of one slot."""
    code = number if number < 1 << 31 else (number ^ number >> 32) & 0xFFFFFFFF
    code ^= code >> 16
    return code & (size - 1), code - (1 << 32) if code >> 31 else code
