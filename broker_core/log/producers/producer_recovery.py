"""Updates a log's producer state from its batches: one by one, or rebuilt from the newest snapshot."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from broker_core.log.append.append_info import ProducerFact
from broker_core.log.files.storage_fault import StorageFault
from broker_core.log.index.transaction_index import AbortedTransaction, TransactionIndex
from broker_core.log.producers.producer_state import ProducerStateManager
from broker_core.log.producers.transactions import CompletedTransaction
from broker_core.log.recovery.segment_recovery import check_end
from broker_core.log.recovery.slices import Slices, Work, at_once
from broker_core.log.segment import LogSegment
from broker_core.records.control_record import read_marker
from broker_core.records.record_batch import BatchHeader
from broker_core.sim.disk import CutFact
from broker_core.texts import text


def update_producers(
    producers: ProducerStateManager, header: BatchHeader, data: bytes, position: int = 0
) -> CompletedTransaction | None:
    """Adds the batch at `position` of `data` to the state of its producer, if it has one.

    Returns the transaction that the batch ends; `complete` has to be called with it.
    """
    if not header.has_producer_id:
        return None
    if not header.is_control:
        producers.append_data(header)
        return None
    marker = read_marker(data, header, position)
    return None if marker is None else producers.append_marker(header, *marker)


def producer_fact(
    header: BatchHeader, data: bytes, position: int, completed: CompletedTransaction | None
) -> ProducerFact | None:
    """The producer fact of the batch at `position` of `data`; `completed` is the transaction that it ends.

    None for a control batch without a marker.
    """
    marker = read_marker(data, header, position) if header.is_control else None
    if header.is_control and marker is None:
        return None
    return ProducerFact(
        header.producer_id,
        header.producer_epoch,
        header.base_sequence,
        header.last_sequence,
        header.base_offset,
        header.last_offset,
        header.is_transactional,
        marker,
        None if completed is None else completed.first_offset,
    )


@contextmanager
def marker_faults(segment: LogSegment, offset: int) -> Iterator[None]:
    """Converts errors in the marker at `offset` to a StorageFault."""
    try:
        yield
    except ValueError as error:
        position = segment.find(offset) or 0
        rule = text("fault.marker", offset=offset, rule=error.args[0])
        raise StorageFault(segment.log.path, rule, position, is_io_error=False) from error


def record_stored_batch(
    producers: ProducerStateManager, segment: LogSegment, header: BatchHeader, position: int
) -> CompletedTransaction | None:
    """As `update_producers`, for the batch at `position` of a segment. Raises StorageFault for a bad marker."""
    if not header.has_producer_id:
        return None
    if not header.is_control:
        return update_producers(producers, header, b"")
    with marker_faults(segment, header.base_offset):
        return update_producers(producers, header, segment.log.read(position, header.size))


def complete(
    producers: ProducerStateManager, completed: CompletedTransaction, index: TransactionIndex
) -> AbortedTransaction | None:
    """Ends a transaction; an aborted one enters the index of the segment that holds its marker, and is returned."""
    aborted = None
    if completed.is_aborted:
        last_stable_offset = producers.transactions.last_stable_offset_after(completed)
        aborted = AbortedTransaction(
            completed.producer_id, completed.first_offset, completed.last_offset, last_stable_offset
        )
        index.append(aborted)
    producers.transactions.complete(completed)
    return aborted


def rebuild_producer_state(
    producers: ProducerStateManager,
    segments: Sequence[LogSegment],
    log_start_offset: int,
    end_offset: int,
    now_ms: int,
) -> tuple[CutFact, ...]:
    """As `rebuild_in_slices`, at once and not after a clean shutdown."""
    return at_once(
        rebuild_in_slices(producers, segments, log_start_offset, end_offset, now_ms, Work(), clean_shutdown=False)
    )


def rebuild_in_slices(
    producers: ProducerStateManager,
    segments: Sequence[LogSegment],
    log_start_offset: int,
    end_offset: int,
    now_ms: int,
    work: Work,
    *,
    clean_shutdown: bool,
) -> Slices[tuple[CutFact, ...]]:
    """Rebuilds `producers` from the log up to `end_offset`; returns the deleted snapshots (`rebuildProducerState`).

    Snapshots are taken at the last two segments and at the end, so that the next truncation need not read all again.
    """
    last_bases = [segment.base_offset for segment in segments[-2:]]
    if clean_shutdown and producers.latest_snapshot_offset is None:
        # After a clean shutdown without any snapshot there were no producers.
        for offset in (*last_bases, end_offset):
            producers.map_end_offset = offset
            producers.take_snapshot()
        return ()
    was_complete_and_empty = producers.is_empty and producers.map_end_offset >= end_offset
    cuts = producers.truncate_and_reload(log_start_offset, end_offset, now_ms)
    if end_offset > producers.map_end_offset and not was_complete_and_empty:
        from_offset = producers.map_end_offset
        # There are none if the index of the oldest segment has to be rebuilt before anything is loaded.
        for segment, following in zip(segments, [*segments[1:], None], strict=False):
            if segment.base_offset >= end_offset or (following and following.base_offset <= from_offset):
                continue
            producers.map_end_offset = max(segment.base_offset, producers.map_end_offset, log_start_offset)
            if segment.base_offset in last_bases:
                producers.take_snapshot()
            holds_end = following is None or end_offset < following.base_offset
            end_position = segment.find(end_offset) if holds_end else None
            yield from _replay(producers, segment, producers.map_end_offset, end_position, work)
    producers.map_end_offset = end_offset
    producers.take_snapshot()
    return cuts


def _replay(
    producers: ProducerStateManager, segment: LogSegment, from_offset: int, end_position: int | None, work: Work
) -> Slices[None]:
    """Adds the batches of a segment, all without an `end_position`; completes transactions after all are added
    (`loadProducersFromRecords`).
    """
    position = segment.find(from_offset)
    if position is None:
        return
    ended = []
    seen: set[int] = set()
    count_before = producers.count
    after = position
    for start, header in segment.headers(position):
        if end_position is not None and start >= end_position:
            break
        after = start + header.size
        ended.append(record_stored_batch(producers, segment, header, start))
        if header.has_producer_id:
            seen.add(header.producer_id)
        if work.add(header.size):
            yield
    producers.added_together(count_before, seen)
    if end_position is None:
        check_end(segment, after)
    for completed in ended:
        if completed is not None:
            with marker_faults(segment, completed.last_offset):
                producers.transactions.complete(completed)
