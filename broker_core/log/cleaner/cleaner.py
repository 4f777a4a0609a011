"""One pass of compaction over one log (`Cleaner.doClean`; KIP-58, KIP-354, KIP-534).

First the dirty section is read to find the last offset of each key. Then all closed segments from the log's start are
rewritten, small ones merged into one, without the records that are not the last of their key, and replace the old ones.
Offsets never change.

A pass is done in slices of bounded work: Kafka's cleaner is a thread of its own. New segments replace the old ones
together, those of the whole log unless it has very many. A pass that ends before that leaves the log as it was.
"""

from broker_core.errors import KafkaException
from broker_core.log.cleaner.batch_cleaner import BatchCleaner
from broker_core.log.cleaner.cleanable import LogToClean, segments_between
from broker_core.log.cleaner.facts import CleaningFacts, GroupFact, Uncleanable, whole_pass
from broker_core.log.cleaner.group_rewriting import GroupRewriting, group_segments
from broker_core.log.cleaner.map_filling import MapFilling
from broker_core.log.cleaner.offset_map import OffsetMap
from broker_core.log.recovery.slices import Work
from broker_core.log.segment import LogSegment
from broker_core.log.unified_log import UnifiedLog
from broker_core.records.compression import UnreadableRecords
from broker_core.records.record_batch import NO_TIMESTAMP, CorruptRecord, InvalidRecord
from broker_core.sim.disk import CutFact

PIECE_BYTES = 4 * 1024 * 1024
"""How much of an old segment's file is archived at once: as much as when the file is unlinked, since the archive keeps
equal pieces once.
"""
FILE_BATCHES = 10
"""The cost of archiving a file, besides its bytes."""
SEGMENTS_PER_SWAP = 100
"""How many old segments are replaced at once; a segment of several files takes about 0.2 ms."""


def clean(cleanable: LogToClean, now_ms: int, offset_map: OffsetMap) -> CleaningFacts:
    """Cleans a log with an empty `offset_map`; `now_ms` decides which delete horizons have passed, and sets new ones.

    Raises Uncleanable for a log that cannot be read. Segments replaced before that are kept; they are consistent.
    """
    cleaning = Cleaning(cleanable, now_ms, offset_map)
    done = []
    while not cleaning.is_done:
        facts = cleaning.run_slice()
        if facts is not None:
            done.append(facts)
    return whole_pass(done)


class Cleaning:
    """A pass that is done in slices; see `clean`. Pickled with its broker."""

    def __init__(self, cleanable: LogToClean, now_ms: int, offset_map: OffsetMap) -> None:
        self.is_done = False
        self._cleanable = cleanable
        self._now_ms = now_ms
        self._map = offset_map
        self._filling: MapFilling | None = None
        self._rewriting: _Rewriting | None = None

    def run_slice(self) -> CleaningFacts | None:
        """Continues; returns what was done when new segments have replaced old ones, and at the end of the pass.

        Raises Uncleanable; then the pass has ended.
        """
        try:
            return self._run_slice(Work())
        except Exception as error:
            self.abort()
            if isinstance(error, KafkaException):
                raise Uncleanable(error.what or error.error.name) from error
            if isinstance(error, InvalidRecord | UnreadableRecords | CorruptRecord):
                raise Uncleanable(error.rule) from error
            raise

    def abort(self) -> None:
        """Ends the pass: deletes the new segments that have not replaced others."""
        self.is_done = True
        if self._rewriting is not None:
            self._rewriting.discard()

    def _run_slice(self, work: Work) -> CleaningFacts | None:
        if self._rewriting is None:
            if self._filling is None:
                self._filling = MapFilling(
                    self._cleanable.log,
                    self._cleanable.first_dirty_offset,
                    self._cleanable.first_uncleanable_offset,
                    self._map,
                )
            if not self._filling.run_slice(work):
                return None
            self._rewriting = _Rewriting(self._cleanable, self._now_ms, self._map)
        facts = self._rewriting.run_slice(work)
        self.is_done = self._rewriting.is_done
        return facts


class _Rewriting:
    """Rewrites the segments of a log, and replaces the old ones by some new ones at a time."""

    def __init__(self, cleanable: LogToClean, now_ms: int, offset_map: OffsetMap) -> None:
        log = cleanable.log
        self._log = log
        self._now_ms = now_ms
        self._map = offset_map
        self._from_offset = cleanable.first_dirty_offset
        self._to_offset = offset_map.latest_offset + 1
        self._cleaner = BatchCleaner(offset_map, log.producer_state, now_ms, log.config.delete_retention_ms)
        self._legacy_horizon_ms = _legacy_delete_horizon_ms(log, cleanable.first_dirty_offset)
        segments = segments_between(log, 0, self._to_offset)
        self._left = group_segments(segments, log.config, cleanable.first_uncleanable_offset)[::-1]
        """The groups that are not rewritten yet; the next one is the last."""
        self._current: GroupRewriting | None = None
        self._complete: list[GroupRewriting] = []
        """The groups that are rewritten and will be replaced together."""
        self._archiving = _Archiving(log)

    @property
    def is_done(self) -> bool:
        """Whether all new segments have replaced the old ones."""
        return not (self._left or self._current or self._complete)

    def run_slice(self, work: Work) -> CleaningFacts | None:
        """Continues until new segments have replaced old ones, or the slice is full."""
        while (self._current or self._left) and not self._is_swap_full():
            if self._current is None:
                self._current = GroupRewriting(
                    self._log, self._left.pop(), self._cleaner, self._now_ms, self._legacy_horizon_ms
                )
            if not self._current.run_slice(work):
                return None
            self._archiving.add(self._current.group)
            self._complete.append(self._current)
            self._current = None
        return self._swap() if self._archiving.run_slice(work) else None

    def discard(self) -> None:
        """Deletes the new segments that have not replaced others."""
        for rewriting in [*self._complete, *([self._current] if self._current else [])]:
            rewriting.cleaned.discard()
        self._complete.clear()
        self._current = None

    def _is_swap_full(self) -> bool:
        return sum(len(rewriting.group) for rewriting in self._complete) >= SEGMENTS_PER_SWAP

    def _swap(self) -> CleaningFacts:
        groups = []
        bytes_after = 0
        while self._complete:
            rewriting = self._complete.pop(0)
            cleaned, group = rewriting.cleaned, rewriting.group
            groups.append(GroupFact(cleaned.base_offset, tuple((old.base_offset, old.size) for old in group)))
            bytes_after += cleaned.size
            self._log.replace_segments(cleaned, group)
        cleaner = self._cleaner
        facts = CleaningFacts(
            from_offset=self._from_offset,
            to_offset=self._to_offset,
            groups=tuple(groups),
            bytes_before=sum(size for group in groups for _, size in group.sources),
            bytes_after=bytes_after,
            keys=len(self._map.offsets),
            counts=cleaner.counts(),
            empty_batches=cleaner.empty_batches,
            delete_horizon_ms=cleaner.delete_horizon_ms if cleaner.has_set_horizon else NO_TIMESTAMP,
            fates=cleaner.fates(),
            cuts=self._archiving.take_cuts(),
        )
        cleaner.start_counting()
        return facts


class _Archiving:
    """Archives the whole files of old segments before they are replaced. Closed segments do not change meanwhile."""

    def __init__(self, log: UnifiedLog) -> None:
        self._log = log
        self._left: list[tuple[str, int]] = []
        """(path, size) of the files that are not archived yet; the next one is the last."""
        self._archived = 0
        """The bytes of that file that are archived."""
        self._cuts: list[CutFact] = []

    def add(self, segments: list[LogSegment]) -> None:
        """Adds the files of segments."""
        files = [(file.path, file.size) for segment in segments for file in segment.files if file.size]
        self._left = files[::-1] + self._left

    def run_slice(self, work: Work) -> bool:
        """Continues; returns whether all files are archived."""
        while self._left:
            path, size = self._left[-1]
            length = min(size - self._archived, PIECE_BYTES)
            self._cuts.append(self._log.archive_piece(path, self._archived, length))
            self._archived += length
            if self._archived == size:
                self._left.pop()
                self._archived = 0
            if work.add(length, FILE_BATCHES) and self._left:
                return False
        return True

    def take_cuts(self) -> tuple[CutFact, ...]:
        """Returns and clears the archived pieces."""
        cuts, self._cuts = tuple(self._cuts), []
        return cuts


def _legacy_delete_horizon_ms(log: UnifiedLog, first_dirty_offset: int) -> int:
    """Tombstones of magic 0 and 1 have no delete horizon: they are removed from segments last written
    delete.retention.ms before the newest segment that was already clean.
    """
    clean_segments = segments_between(log, 0, first_dirty_offset)
    return clean_segments[-1].log.modified_ms - log.config.delete_retention_ms if clean_segments else 0
