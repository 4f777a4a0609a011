"""Opens a log: finds its segments, and repairs them after an unclean shutdown or damage (`LogLoader`).

After a clean shutdown the files are trusted. After an unclean one, every batch from the recovery point on is checked;
the log is truncated before the first invalid one. The producer state is then loaded from the newest snapshot and the
batches after it. Truncated and rebuilt files, and the reasons, are returned as facts.
"""

from bisect import bisect_right
from collections.abc import Sequence
from typing import NamedTuple

from broker_core.log.config import LogConfig
from broker_core.log.files.deleted_files import DELETED_SUFFIX, DeletedFile, mark_deleted
from broker_core.log.files.removal import FileRemoval
from broker_core.log.files.storage_fault import StorageFault, offset_of
from broker_core.log.index.transaction_index import CorruptTransactionIndex
from broker_core.log.leader_epoch_cache import LeaderEpochCache
from broker_core.log.local_log import LocalLog
from broker_core.log.producers.producer_recovery import (
    complete,
    marker_faults,
    rebuild_in_slices,
    record_stored_batch,
)
from broker_core.log.producers.producer_state import ProducerStateManager
from broker_core.log.recovery.repairs import Repair, RepairFact, deletions
from broker_core.log.recovery.segment_recovery import (
    InvalidOffset,
    OffsetOverflow,
    check_readable,
    facts_of,
    recover,
    split_ranges,
)
from broker_core.log.recovery.slices import LOG_BATCHES, Slices, Work
from broker_core.log.segment import LogSegment
from broker_core.log.segment_facts import (
    INDEX_SUFFIX,
    LOG_SUFFIX,
    TIME_INDEX_SUFFIX,
    TRANSACTION_INDEX_SUFFIX,
    segment_path,
)
from broker_core.log.swap_files import finish_swaps
from broker_core.records.record_batch import BatchHeader
from broker_core.sim.disk import CutFact, Disk
from broker_core.texts import Text, text

_INDEX_SUFFIXES = (INDEX_SUFFIX, TIME_INDEX_SUFFIX, TRANSACTION_INDEX_SUFFIX)


class LogPlace(NamedTuple):
    """The directory, the configuration and the opening time (ms) of a log."""

    disk: Disk
    directory: str
    config: LogConfig
    now_ms: int

    def producer_state(self) -> ProducerStateManager:
        """A producer state that has listed the snapshot files, but has read none yet."""
        config = self.config
        return ProducerStateManager(
            self.disk,
            self.directory,
            config.producer_id_expiration_ms,
            has_snapshots=config.behaviour.has_producer_snapshots,
            unknown_sequences=config.behaviour.unknown_sequences,
            ends_empty_transactions=config.behaviour.ends_empty_transactions,
            checks_coordinators=config.behaviour.checks_coordinators,
        )

    def segment(self, base_offset: int) -> LogSegment:
        """The segment at `base_offset`; creates its files if they do not exist."""
        return LogSegment(self.disk, self.directory, base_offset, self.config, self.now_ms)


class LoadedLog(NamedTuple):
    """A loaded log: its segments, producers and start offset, and the repairs that were made.

    `checked` are the base offsets of the segments whose batches were all checked after an unclean shutdown.
    """

    local_log: LocalLog
    producer_state: ProducerStateManager
    log_start_offset: int
    repairs: tuple[RepairFact, ...]
    checked: tuple[int, ...]


def load_log(
    place: LogPlace,
    epochs: LeaderEpochCache,
    work: Work,
    *,
    clean_shutdown: bool,
    recovery_point: int,
    log_start_offset: int,
) -> Slices[LoadedLog]:
    """Loads the log; creates an empty segment at `log_start_offset` if there is none."""
    loader = _Loader(place, epochs, log_start_offset, work)
    yield from loader.load(clean_shutdown, recovery_point)
    loader.drop_all_below_log_start()
    segments = loader.segments or [place.segment(log_start_offset)]
    check_readable(segments[-1], segments[-1].offset_index.last_offset, to_end=True)
    if not loader.segments:
        segments[-1].preallocate()
    segments[-1].allocate_indexes()
    log_end_offset = segments[-1].next_offset()
    log_start_offset = max(log_start_offset, segments[0].base_offset)
    loader.fit_epochs(log_end_offset)
    # Records below the log start offset need no recovery.
    recovery_point = log_end_offset if clean_shutdown else max(min(recovery_point, log_end_offset), log_start_offset)
    local_log = LocalLog(place.disk, place.directory, place.config, segments, recovery_point, log_end_offset)
    local_log.deleted_files += loader.deleted_files
    producers = place.producer_state()
    strays = producers.remove_stray_snapshots([segment.base_offset for segment in segments])
    loader.repairs += deletions(strays, text("fault.stray_snapshot"))
    cuts = yield from rebuild_in_slices(
        producers, segments, log_start_offset, log_end_offset, place.now_ms, work, clean_shutdown=clean_shutdown
    )
    loader.record_snapshots(producers, cuts)
    first_unstable = producers.transactions.first_unstable_offset
    if first_unstable is not None:
        # Kafka looks up the position of the oldest open transaction.
        first_unstable = max(first_unstable, log_start_offset)
        check_readable(local_log.segments_from(first_unstable)[0], first_unstable)
    return LoadedLog(local_log, producers, log_start_offset, tuple(loader.repairs), tuple(loader.checked))


class _Loader:
    """The passes over a log's folder, and their results."""

    def __init__(self, place: LogPlace, epochs: LeaderEpochCache, log_start_offset: int, work: Work) -> None:
        self.place = place
        self.work = work
        self.epochs = epochs
        self.log_start_offset = log_start_offset
        self.segments: list[LogSegment] = []
        self.deleted_files: list[DeletedFile] = []
        """The files of segments that were removed from the log."""
        self.repairs: list[RepairFact] = []
        self.checked: list[int] = []
        # Snapshots taken by recovery itself are not deleted with their segments.
        self._snapshots_found = place.producer_state().snapshot_offsets

    def load(self, clean_shutdown: bool, recovery_point: int) -> Slices[None]:
        """Loads and, if needed, recovers all segments; starts over if one had to be split."""
        yield from self._delete_leftovers()
        while True:
            try:
                self.segments.clear()
                self.checked.clear()
                yield from self.load_segments(clean_shutdown, recovery_point)
                if not clean_shutdown:
                    yield from self.recover_unflushed(recovery_point)
                return
            except OffsetOverflow as overflow:
                self._split(overflow)

    def load_segments(self, clean_shutdown: bool, recovery_point: int) -> Slices[None]:
        """Opens the segments in rising order, because a transaction may have begun in an earlier one."""
        place = self.place
        base_offsets = self._base_offsets()
        # Recovery rebuilds the indexes of what it checks; those of a killed broker's active segment are 10 MiB of
        # zeros.
        trusted = len(base_offsets) if clean_shutdown else _first_unflushed(base_offsets, recovery_point)
        for number, base_offset in enumerate(base_offsets):
            index_path, time_index_path = (
                segment_path(place.directory, base_offset, suffix) for suffix in (INDEX_SUFFIX, TIME_INDEX_SUFFIX)
            )
            has_index = place.disk.exists(index_path)
            has_time_index = not place.config.behaviour.has_time_index or place.disk.exists(time_index_path)
            segment = place.segment(base_offset)
            fault = None if has_index else RepairFact(index_path, Repair.REBUILT, 0, 0, text("fault.file_missing"))
            if has_index:
                try:
                    segment.transaction_index.load()
                except CorruptTransactionIndex as corrupt:
                    path = segment.transaction_index.path
                    fault = RepairFact(path, Repair.REBUILT, corrupt.position, 0, corrupt.rule)
            if fault is not None:
                self.repairs.append(fault)
                try:
                    yield from self._recover(segment)
                except InvalidOffset as invalid:
                    # A bad segment ends the log only if it was not flushed.
                    path, position = segment.log.path, invalid.position
                    raise StorageFault(path, invalid.rule, position, is_io_error=False) from invalid
            elif number < trusted:
                segment.load()
            if has_index and not has_time_index and number < trusted:
                self.repairs.append(RepairFact(time_index_path, Repair.REBUILT, 0, 0, text("fault.file_missing_empty")))
            self.segments.append(segment)
            if self.work.add(0, LOG_BATCHES):
                yield

    def recover_unflushed(self, recovery_point: int) -> Slices[None]:
        """Checks every segment from the recovery point on; the log ends with the first that is damaged."""
        first = _first_unflushed([segment.base_offset for segment in self.segments], recovery_point)
        for number, segment in enumerate(self.segments[first:], first):
            self.checked.append(segment.base_offset)
            try:
                was_cut = yield from self._recover(segment)
            except InvalidOffset as invalid:
                cuts = segment.truncate_to(segment.base_offset, self.place.now_ms)
                self._record_cuts(cuts, invalid.rule)
                was_cut = True
            if was_cut:
                self._give_up(number + 1, text("fault.log_ended_before", segment=segment.base_offset))
                return

    def drop_all_below_log_start(self) -> None:
        """Removes all segments of a log that ends below its start offset, as after a loss of segment files."""
        if not self.segments or self.segments[-1].next_offset() >= self.log_start_offset:
            return
        end = self.segments[-1].next_offset()
        # Their snapshots are not renamed to `.deleted`: all snapshots are deleted at once.
        self._snapshots_found = ()
        self._give_up(0, text("fault.log_end_before_start", end=end, start=self.log_start_offset))
        self.epochs.clear()
        cuts = self.place.producer_state().truncate_fully_and_start_at(self.log_start_offset)
        self.repairs += deletions(cuts, text("fault.log_empty"))

    def fit_epochs(self, log_end_offset: int) -> None:
        """Drops the leader epochs outside of the log."""
        before = self.epochs.entries
        is_cut = self.epochs.truncate_from_end(log_end_offset)
        is_cut = self.epochs.truncate_from_start(self.log_start_offset) or is_cut
        if is_cut:
            rule = text(
                "fault.epochs_out_of_range", entries=str(before), start=self.log_start_offset, end=log_end_offset
            )
            self.repairs.append(RepairFact(self.epochs.path, Repair.REBUILT, 0, 0, rule))

    def record_snapshots(self, producers: ProducerStateManager, cuts: Sequence[CutFact]) -> None:
        """Adds a repair with the reason for each deleted snapshot."""
        for cut in cuts:
            rule = producers.unreadable_snapshots.get(cut.file, text("fault.snapshot_past_end"))
            self.repairs += deletions([cut], rule)

    def _recover(self, segment: LogSegment) -> Slices[bool]:
        """Recovers one segment; returns whether its `.log` was truncated."""
        place, epochs = self.place, self.epochs
        producers = place.producer_state()
        yield from rebuild_in_slices(
            producers,
            self.segments,
            self.log_start_offset,
            segment.base_offset,
            place.now_ms,
            self.work,
            clean_shutdown=False,
        )

        def note(header: BatchHeader, position: int) -> None:
            if header.partition_leader_epoch > epochs.latest_epoch:
                epochs.assign(header.partition_leader_epoch, header.base_offset)
            completed = record_stored_batch(producers, segment, header, position)
            if completed is not None:
                with marker_faults(segment, completed.last_offset):
                    complete(producers, completed, segment.transaction_index)
            producers.map_end_offset = header.next_offset

        cuts, rule = yield from recover(segment, note, self.work)
        producers.take_snapshot()
        self._record_cuts(cuts, rule)
        return bool(cuts)

    def _split(self, overflow: OffsetOverflow) -> None:
        """Replaces a segment that holds offsets out of its range by several segments."""
        segment, place = overflow.segment, self.place
        parts = [
            (base_offset, segment.log.read(start, end - start)) for base_offset, start, end in split_ranges(overflow)
        ]
        names = ", ".join(str(base_offset) for base_offset, _ in parts)
        rule = text("fault.split", why=overflow.rule, segments=names)
        self.repairs.append(RepairFact(segment.log.path, Repair.REBUILT, overflow.position, 0, rule))
        self.deleted_files += [mark_deleted(place.disk, file.path) for file in segment.files]
        for base_offset, data in parts:
            part = place.segment(base_offset)
            part.append((data,), facts_of(data))
            part.become_inactive()
            part.flush()

    def _record_cuts(self, cuts: Sequence[CutFact], rule: Text | str) -> None:
        for cut in cuts:
            self.repairs.append(RepairFact(cut.file, Repair.CUT, cut.position, cut.length, rule, cut.digest))

    def _give_up(self, first: int, rule: Text) -> None:
        producers = self.place.producer_state()
        for segment in self.segments[first:]:
            self.repairs.append(RepairFact(segment.log.path, Repair.DELETED, 0, segment.size, rule))
            # The files are renamed as they are: the indexes of unchecked segments have not been read.
            self.deleted_files += [mark_deleted(self.place.disk, file.path) for file in segment.files]
            if segment.base_offset in self._snapshots_found:
                self.deleted_files += producers.mark_snapshot_deleted(segment.base_offset)
        del self.segments[first:]

    def _base_offsets(self) -> list[int]:
        """The base offsets of the segments that have a `.log`; deletes index files without one."""
        disk, directory = self.place.disk, self.place.directory
        logs: set[int] = set()
        indexes: list[tuple[str, int]] = []
        for name in disk.list(directory):
            path = f"{directory}/{name}"
            if name.endswith(LOG_SUFFIX):
                logs.add(offset_of(path))
            elif name.endswith(_INDEX_SUFFIXES):
                indexes.append((path, offset_of(path)))
        for path, base_offset in indexes:
            if base_offset not in logs:
                self.repairs += deletions([disk.delete(path)], text("fault.no_log"))
        return sorted(logs)

    def _delete_leftovers(self) -> Slices[None]:
        """Deletes `.deleted` files, and completes or undoes interrupted replacements by the cleaner."""
        place = self.place
        names = [name for name in place.disk.list(place.directory) if name.endswith(DELETED_SUFFIX)]
        removal = FileRemoval(place.disk, [f"{place.directory}/{name}" for name in names])
        while not removal.is_done:
            self.repairs += deletions(removal.run_slice().cuts, text("fault.deleted_left"))
            if not removal.is_done:
                yield
        cuts = yield from finish_swaps(place.disk, place.directory, place.config, place.now_ms)
        self.repairs += deletions(cuts, text("fault.swap_interrupted"))


def _first_unflushed(base_offsets: Sequence[int], recovery_point: int) -> int:
    """The index of the segment that holds the recovery point: it and later ones have to be checked."""
    return max(bisect_right(base_offsets, recovery_point) - 1, 0)
