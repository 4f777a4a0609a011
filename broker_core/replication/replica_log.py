"""The operations of a replica on its log, with their events.

Bytes are written to the log at the time of the decision.
"""

from broker_core.errors import Errors, KafkaException
from broker_core.events.envelope import Event
from broker_core.events.log import (
    BatchAppended,
    Cut,
    FilesMarkedDeleted,
    LeaderEpochsChanged,
    LogClosed,
    LogFlushed,
    LogOpened,
    LogRepaired,
    LogStartOffsetIncremented,
    LogTruncated,
    OffsetIndexEntryAdded,
    RefusedAppendWritten,
    SegmentChecked,
    SegmentRolled,
    SegmentsDeleted,
    TimeIndexEntryAdded,
)
from broker_core.events.replica import (
    HighWatermarkAdvanced,
    HighWatermarkLowered,
)
from broker_core.events.transaction import (
    FirstUnstableOffsetChanged,
    ProducerBatchAppended,
    ProducersExpired,
    TransactionMarkerAppended,
)
from broker_core.log import AppendInfo, RollFact
from broker_core.log.append.append_info import ProducerFact
from broker_core.log.files.deleted_files import DELETED_SUFFIX
from broker_core.log.retention import delete_old_segments
from broker_core.replication.local_replica import LocalReplica
from broker_core.sim.disk import CutFact
from broker_core.texts import code_of

HIGH_WATERMARK = -1
UNLINK_TIMER = "unlink_files"
"""A broker's timer whose data are the folder and the paths of files to unlink."""


class ReplicaLog(LocalReplica):
    """A replica and its files: append, truncate, flush, delete old segments, close."""

    def emit_log_opened(self) -> None:
        """Emits that the log is open, with its contents."""
        segments, tail = self.facts()
        log = self.log
        self.kernel.emit(
            LogOpened(
                replica=self.key,
                topic_id=log.topic_id or "",
                log_start_offset=log.log_start_offset,
                log_end_offset=log.log_end_offset,
                high_watermark=self.high_watermark,
                recovery_point=log.recovery_point,
                epochs=tuple(log.leader_epoch_cache.entries),
                segments=segments,
                tail=tail,
                synced=self.synced(),
            ),
            self.node,
        )
        self._emit_repairs()
        self.emit_deleted_files()
        self._emit_unstable()

    def _emit_unstable(self) -> None:
        """Emits a change of the first unstable offset."""
        first = self.log.first_unstable_offset
        offset = -1 if first is None else first
        if offset != self.first_unstable_offset:
            self.kernel.emit(
                FirstUnstableOffsetChanged(replica=self.key, from_offset=self.first_unstable_offset, to_offset=offset),
                self.node,
            )

    def _emit_producers(self, producers: tuple[ProducerFact, ...]) -> None:
        for fact in producers:
            if fact.marker is None:
                event: Event = ProducerBatchAppended(
                    replica=self.key,
                    producer_id=fact.producer_id,
                    producer_epoch=fact.producer_epoch,
                    first_sequence=fact.first_sequence,
                    last_sequence=fact.last_sequence,
                    base_offset=fact.base_offset,
                    last_offset=fact.last_offset,
                    is_transactional=fact.is_transactional,
                )
            else:
                control_type, coordinator_epoch = fact.marker
                event = TransactionMarkerAppended(
                    replica=self.key,
                    producer_id=fact.producer_id,
                    producer_epoch=fact.producer_epoch,
                    coordinator_epoch=coordinator_epoch,
                    offset=fact.base_offset,
                    result=control_type.name,
                    first_offset=-1 if fact.transaction_first_offset is None else fact.transaction_first_offset,
                )
            self.kernel.emit(event, self.node)
        self._emit_unstable()

    def expire_producers(self, now_ms: int) -> None:
        """Removes producers that have not written for producer.id.expiration.ms."""
        expired = self.log.producer_state.remove_expired(now_ms)
        if expired:
            self.kernel.emit(ProducersExpired(replica=self.key, producer_ids=expired), self.node)

    def _emit_repairs(self) -> None:
        """Emits the checks and repairs of loading the log."""
        log, emit = self.log, self.kernel.emit
        sizes = {segment.base_offset: segment.size for segment in log.segments}
        for base_offset in log.checked_segments:
            if base_offset in sizes:
                emit(SegmentChecked(replica=self.key, segment=base_offset, size=sizes[base_offset]), self.node)
        for fact in log.repairs:
            emit(
                LogRepaired(
                    replica=self.key,
                    file=fact.file,
                    repair=fact.repair.value,
                    position=fact.position,
                    length=fact.length,
                    rule=code_of(fact.rule),
                    digest=fact.digest or "",
                ),
                self.node,
            )

    def _emit_append(self, info: AppendInfo) -> None:
        emit, key, node = self.kernel.emit, self.key, self.node
        if info.epoch_entries:
            # The epoch cache is updated before anything is written.
            emit(LeaderEpochsChanged(replica=key, entries=tuple(self.log.leader_epoch_cache.entries)), node)
        for roll in info.rolled:
            self._emit_roll(roll)
        for batch in info.batches:
            emit(
                BatchAppended(
                    replica=key,
                    base_offset=batch.base_offset,
                    last_offset=batch.last_offset,
                    leader_epoch=batch.leader_epoch,
                    segment=info.segment_base,
                    position=batch.position,
                    size=batch.size,
                    max_timestamp=batch.max_timestamp,
                    crc=batch.crc,
                ),
                node,
            )
        if info.producers:
            self._emit_producers(info.producers)
        for offset, position in info.index_entries:
            emit(OffsetIndexEntryAdded(replica=key, segment=info.segment_base, offset=offset, position=position), node)
        for timestamp, offset in info.time_index_entries:
            emit(TimeIndexEntryAdded(replica=key, segment=info.segment_base, timestamp=timestamp, offset=offset), node)
        if self.log.is_flush_due:
            self.flush()
            self.kernel.waited_for_fsync(self.node)

    def _emit_roll(self, roll: RollFact) -> None:
        self.kernel.emit(
            SegmentRolled(
                replica=self.key,
                segment=roll.new_base_offset,
                previous_segment=roll.old_base_offset,
                previous_size=roll.old_size,
            ),
            self.node,
        )
        for timestamp, offset in roll.time_index_entries:
            self.kernel.emit(
                TimeIndexEntryAdded(replica=self.key, segment=roll.old_base_offset, timestamp=timestamp, offset=offset),
                self.node,
            )
        self.emit_deleted_files()
        # Kafka schedules this on a background thread at once (`UnifiedLog.roll`).
        self.flush(roll.new_base_offset, always_emit=True)

    def _emit_refused(self, changes: int) -> None:
        """Emits what a rejected append has changed (`UnifiedLog.append`).

        The epoch cache, which had `changes` changes before the append, is updated before a batch proves too large for a
        segment, producer state is checked after a roll, and a damaged index rejects batches that are in the file
        already.
        """
        cache = self.log.leader_epoch_cache
        if cache.changes != changes:
            self.kernel.emit(LeaderEpochsChanged(replica=self.key, entries=cache.entries), self.node)
        for roll in self.log.take_rolls_of_refused():
            self._emit_roll(roll)
        segment = self.log.take_written_by_refused()
        if segment is not None:
            self.kernel.emit(
                RefusedAppendWritten(
                    replica=self.key,
                    segment=segment.base_offset,
                    size=segment.size,
                    index_entries=segment.offset_index.entries,
                    time_index_entries=segment.time_index.entries,
                ),
                self.node,
            )

    def _assign_epoch(self, leader_epoch: int, start_offset: int) -> None:
        cache = self.log.leader_epoch_cache
        before = list(cache.entries)
        cache.assign(leader_epoch, start_offset)
        if list(cache.entries) != before:
            self.kernel.emit(LeaderEpochsChanged(replica=self.key, entries=tuple(cache.entries)), self.node)

    def truncate_to(self, offset: int, why: str) -> None:
        """Cuts the log so that `offset` is the next one."""
        log = self.log
        from_offset = log.log_end_offset
        entries = list(log.leader_epoch_cache.entries)
        if offset >= from_offset and not self.era.replication.truncation_at_end_drops_epochs:
            return
        cuts = log.truncate_to(offset)
        if log.log_end_offset != from_offset:
            log.high_watermark_moved(self.high_watermark)
            self._emit_cut(from_offset, cuts, why)
            if self.era.replication.truncation_lowers_high_watermark:
                self._lower_high_watermark(log.log_end_offset)
            self._emit_truncated()
        self._emit_epochs(entries)

    def truncate_fully_and_start_at(self, offset: int, why: str) -> None:
        """Drops everything and continues at `offset`, which is outside of the own log."""
        log = self.log
        from_offset = log.log_end_offset
        entries = list(log.leader_epoch_cache.entries)
        cuts = log.truncate_fully_and_start_at(offset)
        self._emit_cut(from_offset, cuts, why)
        self._lower_high_watermark(log.log_end_offset)
        self._emit_truncated()
        self._emit_epochs(entries)
        self.update_follower_high_watermark(max(offset, self.high_watermark))

    def _emit_cut(self, from_offset: int, cuts: tuple[CutFact, ...], why: str) -> None:
        """Emits that the log, which ended at `from_offset`, ends where it does now."""
        segments, tail = self.facts()
        self.kernel.emit(
            LogTruncated(
                replica=self.key,
                from_offset=from_offset,
                to_offset=self.log.log_end_offset,
                why=why,
                cuts=cut_rows(cuts),
                segments=segments,
                tail=tail,
                synced=self.synced(),
            ),
            self.node,
        )

    def _emit_epochs(self, before: list[tuple[int, int]]) -> None:
        """Emits the effects of a truncation on the epochs and the open transactions."""
        self._emit_unstable()
        entries = self.log.leader_epoch_cache.entries
        if list(entries) != before:
            self.kernel.emit(LeaderEpochsChanged(replica=self.key, entries=tuple(entries)), self.node)

    def _lower_high_watermark(self, most: int) -> None:
        if self.high_watermark > most:
            self.kernel.emit(
                HighWatermarkLowered(replica=self.key, from_offset=self.high_watermark, to_offset=most), self.node
            )

    def update_follower_high_watermark(self, leader_high_watermark: int) -> None:
        """Applies the follower's rule: the leader's high watermark, at most the own log end. It may decrease."""
        log = self.log
        before = self.high_watermark
        end = log.log_end_offset
        reached = max(log.log_start_offset, end if end < leader_high_watermark else leader_high_watermark)
        if reached > before:
            self.kernel.emit(HighWatermarkAdvanced(replica=self.key, from_offset=before, to_offset=reached), self.node)
        else:
            self._lower_high_watermark(reached)
        if self.first_unstable_offset >= 0:
            self._emit_unstable()

    def _emit_truncated(self) -> None:
        self.emit_deleted_files()
        self.host.log_truncated(self)

    def flush(self, up_to: int | None = None, *, always_emit: bool = False) -> None:
        """Fsyncs everything below `up_to`, or all, and advances the recovery point.

        `always_emit`: even if no batch had to be flushed, only the end of an index.
        """
        before = self.log.recovery_point
        self.log.flush(up_to)
        if always_emit or self.log.recovery_point != before:
            self._emit_flush(before)

    def flush_if_old(self, now_ms: int) -> bool:
        """Flushes if flush.ms has passed since the last flush; returns whether there was something to flush."""
        before = self.log.recovery_point
        has_flushed = self.log.flush_if_old(now_ms)
        if has_flushed:
            self._emit_flush(before)
        return has_flushed

    def _emit_flush(self, before: int) -> None:
        segments = tuple(segment.base_offset for segment in self.log.segments_flushed_since(before))
        offset = self.log.recovery_point
        self.kernel.emit(LogFlushed(replica=self.key, offset=offset, segments=segments), self.node)

    @property
    def low_watermark(self) -> int:
        """The leader's low watermark: the lowest log start offset of the live replicas (`lowWatermarkIfLeader`)."""
        starts = [
            remote.log_start_offset for broker_id, remote in self.remotes.items() if self.host.is_alive(broker_id)
        ]
        return min([self.log.log_start_offset, *starts])

    def delete_records(self, offset: int) -> int:
        """Deletes the records below `offset`, or below the high watermark (-1); returns the effective offset.

        Raises KafkaException: POLICY_VIOLATION if deletion is not allowed, OFFSET_OUT_OF_RANGE above the high watermark
        (`Partition.deleteRecordsOnLeader`, KIP-107).
        """
        if "delete" not in self.log.config.cleanup_policy:
            raise KafkaException(
                Errors.POLICY_VIOLATION,
                f"Records of partition {self.name} can not be deleted due to the configured policy",
            )
        target = self.high_watermark if offset == HIGH_WATERMARK else offset
        if target < 0:
            raise KafkaException(
                Errors.OFFSET_OUT_OF_RANGE, f"The offset {target} for partition {self.name} is not valid"
            )
        self.increment_log_start_offset(target, "reason.delete_records")
        return target

    def increment_log_start_offset(self, offset: int, why: str) -> None:
        """Raises the log start offset to `offset`. Raises OFFSET_OUT_OF_RANGE above the high watermark."""
        if offset > self.high_watermark:
            raise KafkaException(
                Errors.OFFSET_OUT_OF_RANGE,
                f"Cannot increment the log start offset to {offset} of partition {self.name} since it is larger than "
                f"the high watermark {self.high_watermark}",
            )
        before, epochs = self._log_start()
        self.log.increment_log_start_offset(offset)
        self._emit_log_start(before, epochs, why)

    def delete_old_segments(self, now_ms: int, limit: int) -> int:
        """Deletes segments by the topic's retention, and those below the log start offset: up to `limit`. Returns how
        many it deleted. Raises KafkaException for a corrupt log.
        """
        deleted = 0
        before, epochs = self._log_start()
        for deletion in delete_old_segments(self.log, self.high_watermark, now_ms, limit):
            deleted += len(deletion.segments)
            if deletion.rolled is not None:
                self._emit_roll(deletion.rolled)
            self._emit_log_start(before, epochs, "reason.segment_deletion")
            self.kernel.emit(SegmentsDeleted(replica=self.key, segments=deletion.segments, why=deletion.why), self.node)
            self.emit_deleted_files()
            before, epochs = self._log_start()
        return deleted

    def _log_start(self) -> tuple[int, tuple[tuple[int, int], ...]]:
        return self.log.log_start_offset, self.log.leader_epoch_cache.entries

    def _emit_log_start(self, before: int, epochs: tuple[tuple[int, int], ...], why: str) -> None:
        start, entries = self._log_start()
        if start != before:
            self.kernel.emit(
                LogStartOffsetIncremented(replica=self.key, from_offset=before, to_offset=start, why=why), self.node
            )
            self._emit_unstable()
        if entries != epochs:
            self.kernel.emit(LeaderEpochsChanged(replica=self.key, entries=entries), self.node)

    def emit_deleted_files(self) -> None:
        """Emits the files renamed to `.deleted`; a timer unlinks them after file.delete.delay.ms."""
        files = self.log.take_deleted_files()
        if not files:
            return
        due_us = self.kernel.now_us + self.log.config.file_delete_delay_ms * 1_000
        self.kernel.emit(
            FilesMarkedDeleted(
                replica=self.key,
                count=len(files),
                files=tuple((file.path, file.size) for file in files),
                due_us=due_us,
                cuts=cut_rows(tuple(file.replaced for file in files if file.replaced is not None)),
            ),
            self.node,
        )
        paths = tuple(file.path + DELETED_SUFFIX for file in files)
        self.kernel.timer(self.node, due_us, UNLINK_TIMER, (self.log.directory, paths))

    def close(self, clean: bool) -> None:
        """Closes the log; `clean` trims and flushes, as in a clean shutdown."""
        if clean:
            self.flush()
            self.log.close(clean=True)
        self.kernel.emit(LogClosed(replica=self.key, clean=clean), self.node)


def cut_rows(cuts: tuple[CutFact, ...]) -> tuple[Cut, ...]:
    """Removed bytes as events carry them."""
    return tuple((cut.file, cut.position, cut.length, cut.digest or "") for cut in cuts)
