"""The log cleaner as a task of its broker (`LogCleaner`, `LogCleanerManager`; KIP-58, KIP-354).

One thread, as by default in Kafka: it cleans the dirtiest log, then the next, until none is dirty enough, and sleeps
for `log.cleaner.backoff.ms`. The start of each log's next pass is in `cleaner-offset-checkpoint`. The cleaner also
applies retention to compacted logs. All of this is done in slices of bounded work.
"""

from enum import Enum

from broker_core.broker.config.broker_config import BrokerConfig
from broker_core.broker.logs.host import NEXT_SLICE_US, LogHost
from broker_core.broker.logs.sweep import Sweep, Visit, delete_old_segments
from broker_core.errors import Errors, KafkaException
from broker_core.events.log import LogUncleanable
from broker_core.log.cleaner import CleaningFacts, LogToClean, OffsetMap, Uncleanable
from broker_core.log.files.checkpoints import CLEANER_OFFSET_CHECKPOINT
from broker_core.replication.compaction import ReplicaCleaning, measure
from broker_core.replication.local_replica import LocalReplica
from broker_core.replication.partition import Partition
from broker_core.texts import code_of, text

MEASURED_SEGMENTS = 2
"""Measuring so many segments costs as much as the visit of a replica."""


class _Stage(Enum):
    """What the cleaner is doing: it looks for the dirtiest log, cleans it, and applies retention; then again."""

    MEASURE = "measure"
    CLEAN = "clean"
    DELETE = "delete"


class LogCleaning:
    """The cleaner of one broker. It is pickled with it; uncleanable logs are forgotten when the process ends."""

    name = "cleaner"

    def __init__(self, host: LogHost) -> None:
        self._host = host
        self._uncleanable: set[str] = set()
        self._stage = _Stage.MEASURE
        self._sweep = Sweep(host)
        self._dirtiest: tuple[float, str] | None = None
        """(dirty ratio, partition) of the dirtiest log that is due, as far as they are measured."""
        self._cleaning: ReplicaCleaning | None = None
        self._has_cleaned = False

    def first_delay_us(self) -> int:
        return 0

    def run(self) -> int | None:
        """Cleans the log that is due first, or continues; returns the delay of the next check, a short one if it
        cleaned something or is not done; None if the broker has no cleaner.
        """
        config = self._host.config
        if not config.log_cleaner_enable:
            return None
        if self._stage is _Stage.MEASURE:
            if not self._sweep.run_slice(self._compare):
                return NEXT_SLICE_US
            self._choose()
            self._stage = _Stage.CLEAN
        if self._stage is _Stage.CLEAN:
            if not self._clean_some():
                return NEXT_SLICE_US
            self._stage = _Stage.DELETE
        if not self._sweep.run_slice(self._delete_old_segments):
            return NEXT_SLICE_US
        self._stage = _Stage.MEASURE
        has_cleaned, self._has_cleaned = self._has_cleaned, False
        return NEXT_SLICE_US if has_cleaned else config.log_cleaner_backoff_ms * 1_000

    def is_cleaning(self, partition: Partition) -> bool:
        """Whether its log is being cleaned."""
        return self._cleaning is not None and self._cleaning.partition is partition

    def abort(self, partition: LocalReplica) -> None:
        """Ends the pass over its log, if it is being cleaned (`abortCleaning`)."""
        if self._cleaning is not None and self._cleaning.partition is partition:
            self._cleaning.abort()
            self._cleaning = None
            self._has_cleaned = True

    def clean_now(self, name: str) -> CleaningFacts | None:
        """Cleans one log however small its dirty section is; None if there is nothing to clean.

        Raises KafkaException: POLICY_VIOLATION for a log that is not compacted, UNKNOWN_SERVER_ERROR for one that
        cannot be cleaned.
        """
        partition = self._host.partitions[name]
        if not partition.log.config.is_compacted:
            raise KafkaException(
                Errors.POLICY_VIOLATION,
                text("refused.not_compacted", partition=name, policy=partition.log.config.cleanup_policy),
            )
        self.abort(partition)
        cleanable = self._measure(partition)
        if not cleanable.cleanable_bytes:
            return None
        cleaning = self._pass(partition, cleanable)
        try:
            while not cleaning.run_slice():
                pass
        except Uncleanable as error:
            raise KafkaException(
                Errors.UNKNOWN_SERVER_ERROR, text("refused.uncleanable", partition=name, why=error.rule)
            ) from error
        self._cleaned_to(partition, cleaning.facts.to_offset)
        return cleaning.facts

    def log_truncated(self, replica: LocalReplica) -> None:
        """Everything above the truncation is dirty again (`maybeTruncateCheckpoint`). A pass over the
        log ends, as it may read segments that are gone.
        """
        self.abort(replica)
        offset = replica.log.active_segment.base_offset
        if replica.log.config.is_compacted and self._offsets().get(replica.name, 0) > offset:
            self._write({**self._offsets(), replica.name: offset})

    def log_deleted(self, name: str) -> None:
        """Called when a replica was deleted (`updateCheckpoints` without it)."""
        self._uncleanable.discard(name)
        if self._host.config.log_cleaner_enable:
            self._write({other: offset for other, offset in self._offsets().items() if other != name})

    def _compare(self, partition: Partition) -> Visit:
        """Measures a log: it may be the dirtiest one."""
        if not self._is_cleanable(partition):
            return Visit()
        cleanable = self._measure(partition)
        if cleanable.is_due and (self._dirtiest is None or cleanable.dirty_ratio > self._dirtiest[0]):
            self._dirtiest = (cleanable.dirty_ratio, partition.name)
        return Visit(1 + len(partition.log.segments) // MEASURED_SEGMENTS)

    def _choose(self) -> None:
        """Begins a pass over the dirtiest log, if any is due."""
        dirtiest, self._dirtiest = self._dirtiest, None
        partition = None if dirtiest is None else self._host.partitions.get(dirtiest[1])
        if partition is None or not self._is_cleanable(partition):
            return
        # The log may have changed since it was compared.
        cleanable = self._measure(partition)
        if cleanable.is_due:
            self._cleaning = self._pass(partition, cleanable)

    def _clean_some(self) -> bool:
        """Continues the pass; returns whether there is none any more."""
        cleaning = self._cleaning
        if cleaning is None or cleaning.is_done:
            self._cleaning = None
            return True
        partition = cleaning.partition
        if not partition.log.config.is_compacted:
            self.abort(partition)
            return True
        try:
            if not cleaning.run_slice():
                return False
        except Uncleanable as error:
            self.abort(partition)
            self._give_up(partition, code_of(error.rule))
            return True
        self._cleaning = None
        self._has_cleaned = cleaning.facts.to_offset > cleaning.facts.from_offset
        self._cleaned_to(partition, cleaning.facts.to_offset)
        return True

    def _delete_old_segments(self, partition: Partition) -> Visit:
        if not self._is_cleanable(partition):
            return Visit()
        try:
            return delete_old_segments(partition, self._host.wall_ms)
        except KafkaException as failure:
            self._give_up(partition, failure.code)
            return Visit()

    def _give_up(self, partition: Partition, why: str) -> None:
        self._uncleanable.add(partition.name)
        self._host.kernel.emit(LogUncleanable(replica=partition.key, why=why), self._host.name)

    def _pass(self, partition: Partition, cleanable: LogToClean) -> ReplicaCleaning:
        return ReplicaCleaning(partition, cleanable, self._host.wall_ms, _offset_map(self._host.config))

    def _cleaned_to(self, partition: Partition, offset: int) -> None:
        """The next pass over its log begins at `offset`."""
        self._write({**self._offsets(), partition.name: offset})

    def _measure(self, partition: Partition) -> LogToClean:
        cleanable, is_reset = measure(partition, self._offsets().get(partition.name), self._host.wall_ms)
        if is_reset:
            self._write({**self._offsets(), partition.name: cleanable.first_dirty_offset})
        return cleanable

    def _is_cleanable(self, partition: Partition) -> bool:
        return partition.log.config.is_compacted and partition.name not in self._uncleanable

    def _offsets(self) -> dict[str, int]:
        return self._host.directory.cleaner_offsets

    def _write(self, offsets: dict[str, int]) -> None:
        """Replaces the checkpoint, without logs that the broker no longer has."""
        known = {name: offset for name, offset in offsets.items() if name in self._host.partitions}
        self._host.directory.cleaner_offsets = known
        self._host.directory.write(CLEANER_OFFSET_CHECKPOINT, known)


def _offset_map(config: BrokerConfig) -> OffsetMap:
    threads = max(config.log_cleaner_threads, 1)
    return OffsetMap(config.log_cleaner_dedupe_buffer_size // threads, config.log_cleaner_io_buffer_load_factor)
