"""Cleans the log of a replica, and emits its events (`LogCleaner.CleanerThread.cleanLog`)."""

from broker_core.events.log import LogCleaned
from broker_core.log.cleaner import (
    Cleaning,
    CleaningFacts,
    Fate,
    LogToClean,
    OffsetMap,
    cleanable_offsets,
    log_to_clean,
    whole_pass,
)
from broker_core.replication.partition import Partition, cut_rows


def measure(partition: Partition, checkpoint: int | None, now_ms: int) -> tuple[LogToClean, bool]:
    """The dirty section of a replica's log, and whether its checkpoint is outside of the log."""
    log = partition.log
    offsets = cleanable_offsets(log, checkpoint, log.last_stable_offset(partition.high_watermark), now_ms)
    return log_to_clean(log, offsets, now_ms), offsets.is_reset


class ReplicaCleaning:
    """A pass over the log of a replica. Pickled with its broker."""

    def __init__(self, partition: Partition, cleanable: LogToClean, now_ms: int, offset_map: OffsetMap) -> None:
        self.partition = partition
        self._cleaning = Cleaning(cleanable, now_ms, offset_map)
        self._parts: list[CleaningFacts] = []

    @property
    def is_done(self) -> bool:
        """Whether the pass has ended."""
        return self._cleaning.is_done

    @property
    def facts(self) -> CleaningFacts:
        """What a complete pass has done."""
        return whole_pass(self._parts)

    def run_slice(self) -> bool:
        """Does the next part of the work, and emits the events when segments were replaced. Returns whether the pass is
        complete. Raises Uncleanable.
        """
        facts = self._cleaning.run_slice()
        if facts is not None:
            self._parts.append(facts)
            _emit_cleaned(self.partition, facts)
        return self._cleaning.is_done

    def abort(self) -> None:
        """Ends the pass. Segments that are not replaced yet stay as they are."""
        self._cleaning.abort()


def _emit_cleaned(partition: Partition, facts: CleaningFacts) -> None:
    # The renames of the old files come first, so that at each instant every name has the contents of that time.
    partition.emit_deleted_files()
    segments, tail = partition.facts()
    partition.kernel.emit(
        LogCleaned(
            replica=partition.key,
            from_offset=facts.from_offset,
            to_offset=facts.to_offset,
            groups=tuple((group.base_offset, group.sources) for group in facts.groups),
            bytes_before=facts.bytes_before,
            bytes_after=facts.bytes_after,
            records_before=sum(count for _, count in facts.counts),
            records_after=dict(facts.counts).get(Fate.KEPT, 0),
            counts=tuple((fate.value, count) for fate, count in facts.counts),
            keys=facts.keys,
            empty_batches=facts.empty_batches,
            delete_horizon_ms=facts.delete_horizon_ms,
            fates=tuple((fate.offset, fate.fate.value, fate.superseded_by) for fate in facts.fates),
            cuts=cut_rows(facts.cuts),
            segments=segments,
            tail=tail,
            synced=partition.synced(),
        ),
        partition.node,
    )
