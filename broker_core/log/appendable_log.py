"""Appending batches to a log: those of producers, and those copied from a leader (`AppendableLog`)."""

from collections.abc import Sequence

from msgspec import structs

from broker_core.config_defs import INT_MAX
from broker_core.errors import Errors, KafkaException, UnexpectedAppendOffsetException
from broker_core.log.append.append_check import analyze, check_copied
from broker_core.log.append.append_info import AppendInfo, ProducerFact
from broker_core.log.append.validator import Append
from broker_core.log.index.transaction_index import AbortedTransaction
from broker_core.log.local_log import RollFact
from broker_core.log.producers.producer_recovery import complete, producer_fact, update_producers
from broker_core.log.readable_log import ReadableLog
from broker_core.log.segment import LogSegment
from broker_core.log.segment_facts import BatchFact
from broker_core.records.control_record import read_marker
from broker_core.records.record_batch import (
    LENGTH_OVERHEAD,
    MAGIC_V2,
    NO_TIMESTAMP,
    BatchHeader,
    batches_in,
)
from broker_core.texts import text


class AppendableLog(ReadableLog):
    """A log that batches can be appended to."""

    def append_as_leader(self, data: bytes, leader_epoch: int, now_ms: int, is_client: bool = True) -> AppendInfo:
        """Validates a producer's batches, assigns the next offsets and this leader epoch, and writes them.

        `data` is one batch; messages of magic 0 and 1 may be several, or none. `is_client` is false for batches of the
        broker's own coordinators. Raises KafkaException; then the log end offset is unchanged, but a segment may have
        been rolled, or hold the batch: see `take_rolls_of_refused`, `take_written_by_refused`.
        """
        self._now_ms = now_ms
        behaviour = self._config.behaviour
        sent = analyze(
            data,
            self._config.max_message_bytes,
            is_client,
            knows_zstd=behaviour.knows_zstd,
            checks_cut_off=behaviour.checks_cut_off_batches,
        )
        if not sent.batches:
            active = self._local.segments[-1]
            return AppendInfo(-1, -1, NO_TIMESTAMP, 0, 0, active.base_offset, active.size, ())
        next_offset = self._local.log_end_offset
        append = Append(data, sent.batches, sent.codec, next_offset, leader_epoch, now_ms, is_client)
        valid = self._validator.validate(append)
        data, batches, parts = valid.data, valid.batches, valid.parts
        size = sum(map(len, parts))
        epoch_entries = self._assign_epochs(batches)
        last = batches[-1][1]
        max_timestamp = last.max_timestamp if len(batches) == 1 else max(header.max_timestamp for _, header in batches)
        checks_first = last.has_producer_id and behaviour.checks_producers_before_roll
        if checks_first:
            duplicate = self._validate_producer(last, data, is_client)
            if duplicate is not None:
                return structs.replace(duplicate, epoch_entries=epoch_entries)
        rolled = self._maybe_roll(size, max_timestamp, next_offset, last.base_offset + last.last_offset_delta, now_ms)
        if last.has_producer_id and not checks_first:
            try:
                duplicate = self._validate_producer(last, data, is_client)
            except KafkaException:
                self._rolls_of_refused += rolled
                raise
            if duplicate is not None:
                return structs.replace(duplicate, rolled=rolled, epoch_entries=epoch_entries)
        return self._write(data, parts, batches, next_offset, max_timestamp, valid.record_count, rolled, epoch_entries)

    def append_built(self, header: BatchHeader, parts: Sequence[bytes], now_ms: int) -> AppendInfo:
        """Appends a batch that this broker built, without validation. `parts` are its bytes, `header` is its header."""
        self._now_ms = now_ms
        batches = ((0, header),)
        epoch_entries = self._assign_epochs(batches)
        rolled = self._maybe_roll(header.size, header.max_timestamp, header.base_offset, header.last_offset, now_ms)
        return self._write(
            parts[0],
            parts,
            batches,
            header.base_offset,
            header.max_timestamp,
            header.record_count,
            rolled,
            epoch_entries,
        )

    def append_as_follower(self, data: bytes, now_ms: int) -> AppendInfo:
        """Appends batches as the leader's log has them; offsets, epochs and CRCs are kept, new epochs enter the cache.

        Raises UnexpectedAppendOffsetException for a batch below the log end offset, UNKNOWN_SERVER_ERROR for offsets
        that do not increase, CORRUPT_MESSAGE, MESSAGE_TOO_LARGE, RECORD_LIST_TOO_LARGE; then nothing was written. An
        incomplete batch at the end of `data` is ignored.
        """
        self._now_ms = now_ms
        found = batches_in(data)
        if not found:
            raise KafkaException(Errors.INVALID_RECORD, text("refused.no_batch"))
        log_end_offset = self._local.log_end_offset
        first = found[0][1]
        if first.base_offset < log_end_offset:
            raise UnexpectedAppendOffsetException(
                text(
                    "refused.append_before_end",
                    partition=str(self.topic_partition),
                    end=log_end_offset,
                    first=first.base_offset,
                ),
                first.base_offset,
                log_end_offset,
            )
        most_bytes = self._config.max_message_bytes if self._config.behaviour.followers_check_size else INT_MAX
        max_timestamp, record_count = check_copied(data, found, log_end_offset, most_bytes)
        last_position, last = found[-1]
        size = last_position + last.length + LENGTH_OVERHEAD
        if size < len(data):
            data = data[:size]
        epoch_entries = self._assign_epochs(found)
        # The number of messages in a compressed one is not known, so its first offset is not known either.
        first_offset = first.base_offset if first.magic >= MAGIC_V2 else log_end_offset
        rolled = self._maybe_roll(size, max_timestamp, first_offset, last.base_offset + last.last_offset_delta, now_ms)
        # The index uses the offset that is written, which is the last one of a compressed message.
        return self._write(
            data, (data,), found, first_offset, max_timestamp, record_count, rolled, epoch_entries, first.base_offset
        )

    def take_rolls_of_refused(self) -> tuple[RollFact, ...]:
        """Returns and clears the rolls before batches that producer state or indexes rejected."""
        rolls, self._rolls_of_refused = self._rolls_of_refused, ()
        return rolls

    def take_written_by_refused(self) -> LogSegment | None:
        """Returns and clears the segment that holds an append which its indexes rejected, if there is one.

        The log end offset is below that append; the next append gets the same offsets and is written after it.
        """
        segment, self._written_by_refused = self._written_by_refused, None
        return segment

    def roll(self, now_ms: int, new_base_offset: int | None = None) -> RollFact:
        """Starts a new segment at the log end offset, or above it if the next batch begins above it."""
        self._now_ms = now_ms
        base_offset = max(new_base_offset or 0, self._local.log_end_offset)
        fact = self._local.roll(base_offset, now_ms)
        self.producer_state.map_end_offset = base_offset
        self.producer_state.take_snapshot()
        return fact

    def _maybe_roll(
        self, size: int, max_timestamp: int, first_offset: int, last_offset: int, now_ms: int
    ) -> tuple[RollFact, ...]:
        config = self._config
        if size > config.segment_bytes:
            raise KafkaException(
                Errors.RECORD_LIST_TOO_LARGE,
                text("refused.append_size", size=size, max=config.segment_bytes),
            )
        if self._local.segments[-1].should_roll(config, size, max_timestamp, last_offset, now_ms):
            return (self.roll(now_ms, first_offset),)
        return ()

    def _assign_epochs(self, batches: Sequence[tuple[int, BatchHeader]]) -> tuple[tuple[int, int], ...]:
        """Adds the leader epochs of batches to the cache; returns the new ones."""
        epochs = self.leader_epoch_cache
        entries: tuple[tuple[int, int], ...] = ()
        for _, header in batches:
            epoch = header.partition_leader_epoch
            if epoch != epochs.latest_epoch:
                if header.magic < MAGIC_V2:
                    # A message without an epoch makes the epochs before and after it ambiguous.
                    epochs.clear()
                elif epoch >= 0 and epochs.assign(epoch, header.base_offset):
                    entries += ((epoch, header.base_offset),)
        return entries

    def _write(
        self,
        data: bytes,
        parts: Sequence[bytes | memoryview],
        batches: Sequence[tuple[int, BatchHeader]],
        first_offset: int,
        max_timestamp: int,
        record_count: int,
        rolled: tuple[RollFact, ...],
        epoch_entries: tuple[tuple[int, int], ...],
        indexed_offset: int | None = None,
    ) -> AppendInfo:
        """Writes `parts`, which are valid batches, to the end of the active segment. `data` holds their records,
        markers included. `indexed_offset`: see `LogSegment.append`.
        """
        local = self._local
        segment = local.segments[-1]
        start = segment.size
        facts = _facts(batches, start, first_offset)
        next_offset = facts[-1].last_offset + 1
        try:
            entries = segment.append(parts, facts, indexed_offset)
        except KafkaException:
            self._rolls_of_refused += rolled
            if segment.size != start:
                self._written_by_refused = segment
            raise
        local.log_end_offset = next_offset
        segment.log.modified_ms = self._now_ms
        has_producers = len(batches) > 1 or batches[0][1].has_producer_id
        aborted, producers = self._update_producer_state(data, batches) if has_producers else ((), ())
        self.producer_state.map_end_offset = next_offset
        return AppendInfo(
            first_offset,
            next_offset - 1,
            max_timestamp,
            record_count,
            segment.size - start,
            segment.base_offset,
            start,
            tuple(facts),
            rolled,
            entries.offsets,
            entries.timestamps,
            epoch_entries,
            aborted,
            producers=producers,
        )

    def _update_producer_state(
        self, data: bytes, batches: Sequence[tuple[int, BatchHeader]]
    ) -> tuple[tuple[AbortedTransaction, ...], tuple[ProducerFact, ...]]:
        """Updates the producer state with the appended batches; returns new transaction index entries and producer
        facts.

        Transactions are completed only after all batches of the append are in the producer state (`UnifiedLog.append`).
        """
        producers = self.producer_state
        ended = []
        facts: list[ProducerFact] = []
        count_before = producers.count
        for position, header in batches:
            if header.has_producer_id:
                completed = update_producers(producers, header, data, position)
                fact = producer_fact(header, data, position, completed)
                if fact is not None:
                    facts.append(fact)
                if completed is not None:
                    ended.append(completed)
        if producers.count > count_before + 1:
            producers.added_together(
                count_before, {header.producer_id for _, header in batches if header.has_producer_id}
            )
        if not ended:
            return (), tuple(facts)
        index = self._local.segments[-1].transaction_index
        entries = [complete(producers, completed, index) for completed in ended]
        return tuple(entry for entry in entries if entry is not None), tuple(facts)

    def _validate_producer(self, header: BatchHeader, data: bytes, is_client: bool) -> AppendInfo | None:
        """Checks the sequence of a batch; returns the offsets of the first append for a duplicate."""
        if header.is_control:
            marker = read_marker(data, header, 0)
            if marker is not None:
                self.producer_state.validate_marker(header, marker[1])
            return None
        duplicate = self.producer_state.validate(header, is_client)
        if duplicate is None:
            return None
        return AppendInfo(
            duplicate.first_offset,
            duplicate.last_offset,
            duplicate.timestamp,
            header.record_count,
            0,
            self._local.segments[-1].base_offset,
            self._local.segments[-1].size,
            (),
            is_duplicate=True,
        )


def _facts(batches: Sequence[tuple[int, BatchHeader]], start: int, first_offset: int) -> list[BatchFact]:
    """Where the batches will be, in a segment of `start` bytes."""
    facts = []
    next_offset = first_offset
    for position, header in batches:
        last_offset = header.base_offset + header.last_offset_delta
        facts.append(
            BatchFact(
                header.base_offset if header.record_count >= 0 else next_offset,
                last_offset,
                header.partition_leader_epoch,
                start + position,
                header.length + LENGTH_OVERHEAD,
                header.max_timestamp,
                header.crc,
            )
        )
        next_offset = last_offset + 1
    return facts
