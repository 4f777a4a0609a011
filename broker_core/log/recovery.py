"""Opening a log: finding its segments, and repairing what an unclean stop left (`LogLoader`, `LogSegment.recover`).

After a clean stop the files are believed. After any other, every batch from the recovery point on is checked; the log
ends before the first one that is not whole. The producers' state is then taken from the newest snapshot and the batches
behind it.
"""

from bisect import bisect_right
from typing import NamedTuple

from broker_core.log.config import LogConfig
from broker_core.log.leader_epoch_cache import LeaderEpochCache
from broker_core.log.local_log import LocalLog
from broker_core.log.producer_state import ProducerStateManager
from broker_core.log.segment import INDEX_SUFFIX, LOG_SUFFIX, TIME_INDEX_SUFFIX, LogSegment, segment_path
from broker_core.records.control_record import read_end_transaction_marker
from broker_core.records.record_batch import (
    NO_PRODUCER_ID,
    BatchHeader,
    iterate_records,
)
from broker_core.sim.disk import CutFact, Disk

_LEFTOVER_SUFFIXES = (".deleted", ".cleaned")


class LogPlace(NamedTuple):
    """Where a log lies, how it is configured, and when (ms) it is being opened."""

    disk: Disk
    directory: str
    config: LogConfig
    now_ms: int

    def producer_state(self) -> ProducerStateManager:
        """A view of the log's producers that knows the snapshot files, but has read none yet."""
        return ProducerStateManager(self.disk, self.directory, self.config.producer_id_expiration_ms)

    def segment(self, base_offset: int) -> LogSegment:
        """The segment at `base_offset`, its files created if need be."""
        return LogSegment(self.disk, self.directory, base_offset, self.config, self.now_ms)


class LoadedLog(NamedTuple):
    """A log that can be used: its segments and producers, its start, and what recovery cut off."""

    local_log: LocalLog
    producer_state: ProducerStateManager
    log_start_offset: int
    cuts: tuple[CutFact, ...]


def load_log(
    place: LogPlace,
    epochs: LeaderEpochCache,
    *,
    clean_shutdown: bool,
    recovery_point: int,
    log_start_offset: int,
) -> LoadedLog:
    """Opens the log; creates an empty segment at `log_start_offset` when there is none."""
    cuts = _delete_leftovers(place)
    segments: list[LogSegment] = []
    base_offsets = _base_offsets(place)
    # What is checked anyway makes its indexes anew; those of a killed broker's active segment are 10 MiB of zeros.
    unchecked = len(base_offsets) if clean_shutdown else _first_unflushed(base_offsets, recovery_point)
    for base_offset in base_offsets:
        has_index = place.disk.exists(segment_path(place.directory, base_offset, INDEX_SUFFIX))
        segment = place.segment(base_offset)
        segments.append(segment)
        if has_index and len(segments) <= unchecked:
            segment.load()
        elif not has_index:
            cuts += _recover_segment(place, epochs, segments, segment, log_start_offset)
    if not clean_shutdown:
        cuts += _recover_unflushed(place, epochs, segments, recovery_point, log_start_offset)
    if segments and segments[-1].next_offset() < log_start_offset:
        cuts += tuple(cut for segment in segments for cut in segment.delete())
        segments.clear()
        epochs.clear()
        cuts += place.producer_state().truncate_fully_and_start_at(log_start_offset)
    if not segments:
        segments.append(place.segment(log_start_offset))
    segments[-1].activate()
    log_end_offset = segments[-1].next_offset()
    log_start_offset = max(log_start_offset, segments[0].base_offset)
    epochs.truncate_from_end(log_end_offset)
    epochs.truncate_from_start(log_start_offset)
    recovery_point = log_end_offset if clean_shutdown else min(recovery_point, log_end_offset)
    local_log = LocalLog(place.disk, place.directory, place.config, segments, recovery_point, log_end_offset)
    producers = place.producer_state()
    cuts += producers.remove_stray_snapshots([segment.base_offset for segment in segments])
    cuts += rebuild_producer_state(
        producers, segments, log_start_offset, log_end_offset, place.now_ms, clean_shutdown=clean_shutdown
    )
    return LoadedLog(local_log, producers, log_start_offset, cuts)


def rebuild_producer_state(
    producers: ProducerStateManager,
    segments: list[LogSegment],
    log_start_offset: int,
    end_offset: int,
    now_ms: int,
    *,
    clean_shutdown: bool,
) -> tuple[CutFact, ...]:
    """Makes `producers` what the log says up to `end_offset`; returns the snapshots that went (`rebuildProducerState`).

    Snapshots are taken at the last two segments and at the end, so that the next truncation need not read all again.
    """
    last_bases = [segment.base_offset for segment in segments[-2:]]
    if clean_shutdown and producers.latest_snapshot_offset is None:
        # A clean stop without any snapshot: there were no producers.
        for offset in (*last_bases, end_offset):
            producers.map_end_offset = offset
            producers.take_snapshot()
        return ()
    was_complete_and_empty = producers.is_empty and producers.map_end_offset >= end_offset
    cuts = producers.truncate_and_reload(log_start_offset, end_offset, now_ms)
    if end_offset > producers.map_end_offset and not was_complete_and_empty:
        from_offset = producers.map_end_offset
        for segment, following in zip(segments, [*segments[1:], None], strict=True):
            if segment.base_offset >= end_offset or (following and following.base_offset <= from_offset):
                continue
            producers.map_end_offset = max(segment.base_offset, producers.map_end_offset, log_start_offset)
            if segment.base_offset in last_bases:
                producers.take_snapshot()
            _replay(producers, segment, producers.map_end_offset, end_offset)
    producers.map_end_offset = end_offset
    producers.take_snapshot()
    return cuts


def update_producers(producers: ProducerStateManager, header: BatchHeader, data: bytes, position: int = 0) -> None:
    """Notes a batch of the log, which lies in `data` at `position`, in the state of its producer if it has one."""
    if header.producer_id == NO_PRODUCER_ID:
        return
    if not header.is_control:
        producers.append_data(header)
        return
    for record in iterate_records(data, header, position):
        marker = read_end_transaction_marker(record)
        if marker is not None:
            producers.append_marker(header, *marker)


def _replay(producers: ProducerStateManager, segment: LogSegment, from_offset: int, end_offset: int) -> None:
    position = segment.find(from_offset)
    if position is None:
        return
    for start, header in segment.headers(position):
        if header.base_offset >= end_offset:
            return
        if header.producer_id != NO_PRODUCER_ID:
            data = segment.log.read(start, header.size) if header.is_control else b""
            update_producers(producers, header, data)


def _base_offsets(place: LogPlace) -> list[int]:
    """The segments that have a `.log`; index files without one are deleted."""
    names = place.disk.list(place.directory)
    logs = [int(name.removesuffix(LOG_SUFFIX)) for name in names if name.endswith(LOG_SUFFIX)]
    for name in names:
        stem, _, suffix = name.partition(".")
        if f".{suffix}" in (INDEX_SUFFIX, TIME_INDEX_SUFFIX) and stem.isdigit() and int(stem) not in logs:
            place.disk.delete(f"{place.directory}/{name}")
    return sorted(logs)


def _delete_leftovers(place: LogPlace) -> tuple[CutFact, ...]:
    names = [name for name in place.disk.list(place.directory) if name.endswith(_LEFTOVER_SUFFIXES)]
    cuts = [place.disk.delete(f"{place.directory}/{name}") for name in names]
    return tuple(cut for cut in cuts if cut is not None)


def _recover_unflushed(
    place: LogPlace,
    epochs: LeaderEpochCache,
    segments: list[LogSegment],
    recovery_point: int,
    log_start_offset: int,
) -> tuple[CutFact, ...]:
    first = _first_unflushed([segment.base_offset for segment in segments], recovery_point)
    cuts: tuple[CutFact, ...] = ()
    for index in range(first, len(segments)):
        found = _recover_segment(place, epochs, segments[: index + 1], segments[index], log_start_offset)
        if found:
            # The log ends here: what follows has lost its connection to what precedes.
            cuts += found + tuple(cut for segment in segments[index + 1 :] for cut in segment.delete())
            del segments[index + 1 :]
            break
    return cuts


def _first_unflushed(base_offsets: list[int], recovery_point: int) -> int:
    """The place of the segment that holds the recovery point, from which on nothing is believed."""
    return max(bisect_right(base_offsets, recovery_point) - 1, 0)


def _recover_segment(
    place: LogPlace,
    epochs: LeaderEpochCache,
    segments: list[LogSegment],
    segment: LogSegment,
    log_start_offset: int,
) -> tuple[CutFact, ...]:
    """Recovers one of `segments`; returns what was cut off its `.log`."""
    producers = place.producer_state()
    rebuild_producer_state(
        producers, segments, log_start_offset, segment.base_offset, place.now_ms, clean_shutdown=False
    )

    def note(header: BatchHeader, position: int) -> None:
        if header.partition_leader_epoch > epochs.latest_epoch:
            epochs.assign(header.partition_leader_epoch, header.base_offset)
        if header.producer_id != NO_PRODUCER_ID:
            data = segment.log.read(position, header.size) if header.is_control else b""
            update_producers(producers, header, data)
        producers.map_end_offset = header.next_offset

    cuts = segment.recover(note)
    producers.take_snapshot()
    return cuts
