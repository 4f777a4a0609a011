"""The log cleaner as a task of its broker (`LogCleaner`, `LogCleanerManager`; KIP-58, KIP-354).

One thread, as by default in Kafka: it cleans the dirtiest log, then the next, until none is dirty enough, and sleeps
for `log.cleaner.backoff.ms`. The start of each log's next pass is in `cleaner-offset-checkpoint`. The cleaner also
applies retention to compacted logs.
"""

from broker_core.broker.config.broker_config import BrokerConfig
from broker_core.broker.logs.host import NEXT_SLICE_US, LogHost
from broker_core.errors import Errors, KafkaException
from broker_core.events.log import LogUncleanable
from broker_core.log.cleaner import CleaningFacts, LogToClean, OffsetMap, Uncleanable
from broker_core.log.files.checkpoints import CLEANER_OFFSET_CHECKPOINT
from broker_core.replication.compaction import clean_replica, measure
from broker_core.replication.local_replica import LocalReplica
from broker_core.replication.partition import Partition
from broker_core.texts import code_of, text


class LogCleaning:
    """The cleaner of one broker. It is pickled with it; uncleanable logs are forgotten when the process ends."""

    name = "cleaner"

    def __init__(self, host: LogHost) -> None:
        self._host = host
        self._uncleanable: set[str] = set()

    def first_delay_us(self) -> int:
        return 0

    def run(self) -> int | None:
        """Cleans the log that is due first; returns the delay of the next check, a short one if it cleaned something;
        None if the broker has no cleaner.
        """
        config = self._host.config
        if not config.log_cleaner_enable:
            return None
        has_cleaned = self._clean_filthiest()
        for partition in self._compacted():
            try:
                partition.delete_old_segments(self._host.wall_ms)
            except KafkaException as failure:
                self._give_up(partition, failure.code)
        return NEXT_SLICE_US if has_cleaned else config.log_cleaner_backoff_ms * 1_000

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
        cleanable = self._measure(partition)
        if not cleanable.cleanable_bytes:
            return None
        try:
            return self._clean(partition, cleanable)
        except Uncleanable as error:
            raise KafkaException(
                Errors.UNKNOWN_SERVER_ERROR, text("refused.uncleanable", partition=name, why=error.rule)
            ) from error

    def log_truncated(self, replica: LocalReplica) -> None:
        """Everything above the truncation is dirty again (`maybeTruncateCheckpoint`)."""
        offset = replica.log.active_segment.base_offset
        if replica.log.config.is_compacted and self._offsets().get(replica.name, 0) > offset:
            self._write({**self._offsets(), replica.name: offset})

    def log_deleted(self, name: str) -> None:
        """Called when a replica was deleted (`updateCheckpoints` without it)."""
        self._uncleanable.discard(name)
        if self._host.config.log_cleaner_enable:
            self._write({other: offset for other, offset in self._offsets().items() if other != name})

    def _clean_filthiest(self) -> bool:
        """Cleans the log with the greatest dirty ratio among those that are due; returns whether it cleaned
        anything.
        """
        due = [cleanable for cleanable in map(self._measured, self._compacted()) if cleanable[1].is_due]
        if not due:
            return False
        partition, cleanable = max(due, key=_ratio)
        try:
            facts = self._clean(partition, cleanable)
        except Uncleanable as error:
            self._give_up(partition, code_of(error.rule))
            return True
        return facts.to_offset > facts.from_offset

    def _give_up(self, partition: Partition, why: str) -> None:
        self._uncleanable.add(partition.name)
        self._host.kernel.emit(LogUncleanable(replica=partition.key, why=why), self._host.name)

    def _clean(self, partition: Partition, cleanable: LogToClean) -> CleaningFacts:
        facts = clean_replica(partition, cleanable, self._host.wall_ms, _offset_map(self._host.config))
        self._write({**self._offsets(), partition.name: facts.to_offset})
        return facts

    def _measured(self, partition: Partition) -> tuple[Partition, LogToClean]:
        return partition, self._measure(partition)

    def _measure(self, partition: Partition) -> LogToClean:
        cleanable, is_reset = measure(partition, self._offsets().get(partition.name), self._host.wall_ms)
        if is_reset:
            self._write({**self._offsets(), partition.name: cleanable.first_dirty_offset})
        return cleanable

    def _compacted(self) -> list[Partition]:
        return [
            partition
            for partition in self._host.partitions.values()
            if partition.log.config.is_compacted and partition.name not in self._uncleanable
        ]

    def _offsets(self) -> dict[str, int]:
        return self._host.directory.cleaner_offsets

    def _write(self, offsets: dict[str, int]) -> None:
        """Replaces the checkpoint, without logs that the broker no longer has."""
        known = {name: offset for name, offset in offsets.items() if name in self._host.partitions}
        self._host.directory.cleaner_offsets = known
        self._host.directory.write(CLEANER_OFFSET_CHECKPOINT, known)


def _ratio(due: tuple[Partition, LogToClean]) -> float:
    return due[1].dirty_ratio


def _offset_map(config: BrokerConfig) -> OffsetMap:
    threads = max(config.log_cleaner_threads, 1)
    return OffsetMap(config.log_cleaner_dedupe_buffer_size // threads, config.log_cleaner_io_buffer_load_factor)
