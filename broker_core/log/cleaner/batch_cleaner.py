"""Which records of a batch the cleaner keeps (`Cleaner.cleanInto`, `Cleaner.shouldRetainRecord`; KIP-98, KIP-534)."""

from collections import Counter, deque
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from broker_core.log.cleaner.facts import MAX_REPORTED_RECORDS, Fate, RecordFate
from broker_core.log.cleaner.offset_map import OffsetMap
from broker_core.log.cleaner.record_filter import empty_batch, rebuild
from broker_core.log.cleaner.transactions import CleanedTransactions
from broker_core.log.producers.producer_state import ProducerStateManager
from broker_core.records.compression import CompressionType
from broker_core.records.legacy import build_message_set, read_message
from broker_core.records.record_batch import MAGIC_V2, NO_PRODUCER_ID, BatchHeader, records_bytes
from broker_core.records.record_columns import read_columns


class _Judged(NamedTuple):
    """The records of a batch and their fates; `dropped` has the indexes of those that are not kept."""

    offsets: list[int]
    dropped: dict[int, Fate]
    last_offsets: list[int]


class BatchCleaner:
    """Cleans the batches of a log in order, and counts the records that it keeps and drops."""

    def __init__(
        self, offset_map: OffsetMap, producers: ProducerStateManager, now_ms: int, delete_retention_ms: int
    ) -> None:
        self.transactions = CleanedTransactions()
        self.delete_horizon_ms = now_ms + delete_retention_ms
        self.keeps_legacy_tombstones = True
        """Whether tombstones of magic 0 and 1 are kept in the current segment."""
        self._map = offset_map
        self._now_ms = now_ms
        self.start_counting()
        # (offset of the last batch of data, None without one; epoch) by producer id
        self._last_records = {
            entry.producer_id: (entry.batches[-1].last_offset if entry.batches else None, entry.producer_epoch)
            for entry in producers.producers
        }

    def start_counting(self) -> None:
        """Counts and reports from the next batch on."""
        self.has_set_horizon = False
        self.empty_batches = 0
        self._counts: Counter[Fate] = Counter()
        self._judged: deque[_Judged] = deque(maxlen=MAX_REPORTED_RECORDS)

    def counts(self) -> tuple[tuple[Fate, int], ...]:
        """The number of records of each fate that occurred."""
        return tuple((fate, self._counts[fate]) for fate in Fate if self._counts[fate])

    def fates(self) -> tuple[RecordFate, ...]:
        """The last records that were examined, at most 256, oldest first."""
        last: list[RecordFate] = []
        for judged in reversed(self._judged):
            last[:0] = _reported(judged)
            if len(last) >= MAX_REPORTED_RECORDS:
                break
        return tuple(last[-MAX_REPORTED_RECORDS:])

    def clean(self, data: bytes, position: int, header: BatchHeader) -> bytes | None:
        """Returns the cleaned batch at `position` of `data`: unchanged, rebuilt, or None.

        Raises Uncleanable, InvalidRecord, UnreadableRecords, CorruptRecord.
        """
        if header.magic < MAGIC_V2:
            return self._clean_messages(data, position, header)
        horizon_ms = header.delete_horizon_ms
        has_expired = horizon_ms is not None and self._now_ms >= horizon_ms
        if header.is_control:
            is_superfluous = self.transactions.is_empty_marker(header, data, position)
            if is_superfluous and has_expired:
                return self._discard(header, Fate.MARKER)
            return self._keep_marker(header, data, position, is_superfluous and horizon_ms is None)
        if self.transactions.is_aborted(header):
            return self._discard(header, Fate.ABORTED)
        if not header.record_count:
            return self._maybe_empty(header)
        body = records_bytes(data, header, position)
        columns = read_columns(body, header.record_count)
        base_offset = header.base_offset
        offsets = [base_offset + delta for delta in columns.offset_deltas]
        dropped = self._judge(columns.keys, offsets, columns.tombstones if has_expired else ())
        if len(dropped) == header.record_count:
            return self._maybe_empty(header)
        tombstones_stay = any(place not in dropped for place in columns.tombstones)
        sets_horizon = tombstones_stay and horizon_ms is None
        if not dropped and not sets_horizon:
            return data[position : position + header.size]
        if sets_horizon:
            self.has_set_horizon = True
            horizon_ms = self.delete_horizon_ms
        kept = [place for place in range(header.record_count) if place not in dropped]
        return rebuild(header, body, columns, kept, horizon_ms)

    def _clean_messages(self, data: bytes, position: int, header: BatchHeader) -> bytes | None:
        """As `clean`, for one message of magic 0 or 1, or those in a wrapper."""
        messages = read_message(data, position).records()
        tombstones = [place for place, message in enumerate(messages) if message.value is None]
        dropped = self._judge(
            [message.key for message in messages],
            [message.offset for message in messages],
            () if self.keeps_legacy_tombstones else tombstones,
        )
        kept = [message for place, message in enumerate(messages) if place not in dropped]
        if not kept:
            return None
        if not dropped and all(message.magic == header.magic for message in kept):
            return data[position : position + header.size]
        return build_message_set(
            [(message.offset, message.timestamp, message.key, message.value) for message in kept],
            header.magic,
            CompressionType(header.compression),
            header.max_timestamp if header.has_append_time else None,
        )

    def _judge(
        self, keys: list[bytes | None], offsets: list[int], expired_tombstones: Sequence[int]
    ) -> dict[int, Fate]:
        """The records to drop, by their index in the batch."""
        latest = self._map.latest_offset
        last_offsets = self._map.last_offsets(keys)
        dropped = {
            place: Fate.SUPERSEDED
            for place, (offset, last) in enumerate(zip(offsets, last_offsets, strict=True))
            if offset < last and offset <= latest
        }
        if None in keys:
            dropped |= {
                place: Fate.NO_KEY for place, key in enumerate(keys) if key is None and offsets[place] <= latest
            }
        for place in expired_tombstones:
            if place not in dropped and offsets[place] <= latest:
                dropped[place] = Fate.TOMBSTONE
        self._judged.append(_Judged(offsets, dropped, last_offsets))
        self._counts.update(dropped.values())
        self._counts[Fate.KEPT] += len(keys) - len(dropped)
        return dropped

    def _keep_marker(self, header: BatchHeader, data: bytes, position: int, sets_horizon: bool) -> bytes | None:
        if not header.record_count:
            return self._maybe_empty(header)
        self._record_whole(header, Fate.KEPT)
        if not sets_horizon:
            return data[position : position + header.size]
        body = records_bytes(data, header, position)
        columns = read_columns(body, header.record_count)
        self.has_set_horizon = True
        return rebuild(header, body, columns, list(range(header.record_count)), self.delete_horizon_ms)

    def _discard(self, header: BatchHeader, fate: Fate) -> bytes | None:
        self._record_whole(header, fate)
        return self._maybe_empty(header)

    def _maybe_empty(self, header: BatchHeader) -> bytes | None:
        """Keeps an empty batch only if it holds a producer's last sequence number or its epoch."""
        if header.producer_id == NO_PRODUCER_ID or header.producer_id not in self._last_records:
            return None
        last_offset, epoch = self._last_records[header.producer_id]
        is_last = header.is_control and header.producer_epoch == epoch
        if last_offset is not None:
            is_last = header.last_offset == last_offset
        if not is_last:
            return None
        self.empty_batches += 1
        return empty_batch(header)

    def _record_whole(self, header: BatchHeader, fate: Fate) -> None:
        if header.record_count:
            offsets = list(range(header.base_offset, header.base_offset + header.record_count))
            dropped: dict[int, Fate] = {} if fate is Fate.KEPT else dict.fromkeys(range(header.record_count), fate)
            self._judged.append(_Judged(offsets, dropped, offsets))
            self._counts[fate] += header.record_count


def _reported(judged: _Judged) -> Iterator[RecordFate]:
    for place, (offset, last_offset) in enumerate(zip(judged.offsets, judged.last_offsets, strict=True)):
        fate = judged.dropped.get(place, Fate.KEPT)
        yield RecordFate(offset, fate, last_offset if fate is Fate.SUPERSEDED else -1)
