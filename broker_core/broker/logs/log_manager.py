"""The background work on a broker's logs (`kafka.log.LogManager`).

Each task is a timer of the broker: it runs, returns the delay of its next run, and emits events only if it changed
something. A task ends with its process. All of them can also be run on demand.
"""

from functools import partial

from broker_core.broker.logs.host import NEXT_SLICE_US, BackgroundTask, LogHost
from broker_core.broker.logs.log_cleaning import LogCleaning
from broker_core.broker.logs.sweep import (
    EXAMINED_PRODUCERS,
    FLUSH_COST,
    LAST_VISIT,
    Sweep,
    Visit,
    delete_old_segments,
)
from broker_core.config_defs import LONG_MAX
from broker_core.errors import KafkaException
from broker_core.events.log import FilesUnlinked, LogDeleted, RetentionFailed
from broker_core.log.files.checkpoints import LOG_START_OFFSET_CHECKPOINT, RECOVERY_POINT_CHECKPOINT
from broker_core.log.files.directory_files import deleted_folder_name
from broker_core.log.files.removal import FileRemoval
from broker_core.replication.local_replica import LocalReplica
from broker_core.replication.partition import UNLINK_TIMER, Partition, cut_rows
from broker_core.sim.handlers import TimerHandler, Unpacked

TIMER_PREFIX = "log_manager."
RETRY_US = 30_000_000
"""The delay of a task that failed."""
REMOVAL_TIMER = "log_manager.removal"


class LogManager:
    """The tasks of one broker by name, in the order in which Kafka schedules them. Pickled with its broker."""

    def __init__(self, host: LogHost) -> None:
        self.host = host
        self._deleted_logs = DeletedLogs(host)
        self.cleaner = LogCleaning(host)
        tasks: tuple[BackgroundTask, ...] = (
            Retention(host, self.cleaner),
            Flusher(host),
            RecoveryPointCheckpoints(host),
            LogStartCheckpoints(host),
            ProducerExpiration(host),
            self._deleted_logs,
            self.cleaner,
        )
        self.tasks: dict[str, BackgroundTask] = {task.name: task for task in tasks}

    @property
    def timers(self) -> dict[str, TimerHandler]:
        """The handlers of its timers, by name."""
        tasks: dict[str, TimerHandler] = {TIMER_PREFIX + name: partial(self._on_due, name) for name in self.tasks}
        return {**tasks, UNLINK_TIMER: Unpacked(self._unlink), REMOVAL_TIMER: Unpacked(self._remove)}

    def start(self) -> None:
        """Sets the timers (`startupWithConfigOverrides`)."""
        self._deleted_logs.find()
        for task in self.tasks.values():
            self.host.timer(task.first_delay_us(), TIMER_PREFIX + task.name)

    def _on_due(self, name: str, _: None) -> None:
        task = self.tasks[name]
        try:
            delay_us = task.run()
        except Exception:
            # A failed task is retried, as by Kafka's scheduler, if the run continues.
            self.host.timer(RETRY_US, TIMER_PREFIX + task.name)
            raise
        if delay_us is not None:
            self.host.timer(delay_us, TIMER_PREFIX + task.name)

    def run(self, name: str) -> None:
        """Runs a task to its end now, independently of its timer."""
        while self.tasks[name].run() == NEXT_SLICE_US:
            pass

    def _unlink(self, folder: str, paths: tuple[str, ...]) -> None:
        """Deletes the `.deleted` files whose delay has passed, if they still exist."""
        self._remove(folder, FileRemoval(self.host.directory.disk, paths), False)

    def _remove(self, folder: str, removal: FileRemoval, with_folder: bool) -> None:
        """Deletes some files, and the others after a pause; `with_folder`: the folder is deleted with the last ones."""
        if not remove_some(self.host, folder, removal, with_folder):
            self.host.timer(NEXT_SLICE_US, REMOVAL_TIMER, (folder, removal, with_folder))

    def delete(self, partition: Partition) -> None:
        """Renames the folder of a deleted replica; it is removed later (`asyncDelete`), or immediately."""
        host = self.host
        self.cleaner.abort(partition)
        name = deleted_folder_name(partition.name, host.kernel.streams["log manager"].bytes(16).hex())
        folder = f"{host.directory.path}/{name}"
        deleted_folders = host.era.log_dir.deleted_folders
        files = partition.log.move_to(folder, closes=deleted_folders == "next round")
        at_once = deleted_folders == "at once"
        due_us = host.kernel.now_us if at_once else self._deleted_logs.add(folder)
        host.kernel.emit(LogDeleted(replica=partition.key, folder=folder, files=files, due_us=due_us), host.name)
        if at_once:
            self._remove(folder, removal_of(host, folder), True)
        self.cleaner.log_deleted(partition.name)

    def log_truncated(self, replica: LocalReplica) -> None:
        """Called when a replica's log was truncated, and its recovery point with it (`LogManager.truncateTo`)."""
        write_recovery_points(self.host)
        self.cleaner.log_truncated(replica)

    def checkpoint(self) -> None:
        """Writes the checkpoints of all logs after one of them was removed."""
        write_recovery_points(self.host)
        write_log_starts(self.host)


def initial_delay_us(host: LogHost) -> int:
    """When the periodic tasks begin (`log.initial.task.delay.ms`)."""
    return host.config.log_initial_task_delay_ms * 1_000


class Retention:
    """Deletes old segments (`cleanupLogs`). Compacted logs are left to the cleaner, including their old segments."""

    name = "retention"

    def __init__(self, host: LogHost, cleaner: LogCleaning) -> None:
        self._host = host
        self._cleaner = cleaner
        self._sweep = Sweep(host)

    def first_delay_us(self) -> int:
        return initial_delay_us(self._host)

    def run(self) -> int:
        if not self._sweep.run_slice(self._visit):
            return NEXT_SLICE_US
        return self._host.config.log_retention_check_interval_ms * 1_000

    def _visit(self, partition: Partition) -> Visit:
        if partition.log.config.is_compacted or self._cleaner.is_cleaning(partition):
            return Visit()
        try:
            return delete_old_segments(partition, self._host.wall_ms)
        except KafkaException as failure:
            # The log is corrupt. The remaining logs wait for the next pass, as with Kafka's scheduler.
            self._host.kernel.emit(RetentionFailed(replica=partition.key, why=failure.code), self._host.name)
            return LAST_VISIT


class Flusher:
    """Flushes the logs whose flush.ms has passed (`flushDirtyLogs`). Without a schedule it runs once, as in Kafka."""

    name = "flush"

    def __init__(self, host: LogHost) -> None:
        self._host = host
        self._sweep = Sweep(host)

    def first_delay_us(self) -> int:
        return initial_delay_us(self._host)

    def run(self) -> int | None:
        if not self._sweep.run_slice(self._visit):
            return NEXT_SLICE_US
        interval_ms = self._host.config.log_flush_scheduler_interval_ms
        return interval_ms * 1_000 if interval_ms < LONG_MAX else None

    def _visit(self, partition: Partition) -> Visit:
        return Visit(FLUSH_COST if partition.flush_if_old(self._host.wall_ms) else 1)


class RecoveryPointCheckpoints:
    """`recovery-point-offset-checkpoint`: up to which offset each log is known to be on disk."""

    name = "recovery-points"

    def __init__(self, host: LogHost) -> None:
        self._host = host

    def first_delay_us(self) -> int:
        return initial_delay_us(self._host)

    def run(self) -> int:
        write_recovery_points(self._host)
        return self._host.config.log_flush_offset_checkpoint_interval_ms * 1_000


class LogStartCheckpoints:
    """`log-start-offset-checkpoint`: the start of logs that begin within a segment."""

    name = "log-starts"

    def __init__(self, host: LogHost) -> None:
        self._host = host

    def first_delay_us(self) -> int:
        return initial_delay_us(self._host)

    def run(self) -> int:
        write_log_starts(self._host)
        return self._host.config.log_flush_start_offset_checkpoint_interval_ms * 1_000


class ProducerExpiration:
    """Removes producers that have not written for producer.id.expiration.ms (`PeriodicProducerExpirationCheck`)."""

    name = "producer-expiration"

    def __init__(self, host: LogHost) -> None:
        self._host = host
        self._sweep = Sweep(host)

    def first_delay_us(self) -> int:
        return self._host.config.producer_id_expiration_check_interval_ms * 1_000

    def run(self) -> int:
        return self.first_delay_us() if self._sweep.run_slice(self._visit) else NEXT_SLICE_US

    def _visit(self, partition: Partition) -> Visit:
        cost = 1 + partition.log.producer_state.count // EXAMINED_PRODUCERS
        partition.expire_producers(self._host.wall_ms)
        return Visit(cost)


class DeletedLogs:
    """Removes the folders of deleted replicas once they have waited `log.segment.delete.delay.ms` (`deleteLogs`)."""

    name = "deleted-logs"

    def __init__(self, host: LogHost) -> None:
        self._host = host
        self._due_us: dict[str, int] = {}
        """Folder -> when it may be removed, in the order of deletion."""
        self._begun: dict[str, FileRemoval] = {}
        """The folder that is being removed, and its remaining files."""

    def find(self) -> None:
        """Finds the deleted folders that an earlier process of the broker left."""
        for name in self._host.directory.deleted_folders():
            self.add(f"{self._host.directory.path}/{name}")

    def add(self, folder: str) -> int:
        """Adds a folder; returns when it may be removed."""
        delay_us = self._delay_us() if self._host.era.log_dir.deleted_folders == "after delay" else 0
        due_us = self._due_us[folder] = self._host.kernel.now_us + delay_us
        return due_us

    def first_delay_us(self) -> int:
        return initial_delay_us(self._host)

    def run(self) -> int:
        now_us = self._host.kernel.now_us
        is_folder_done = False
        for folder, due_us in list(self._due_us.items())[:2]:
            if due_us > now_us:
                return due_us - now_us
            if is_folder_done or not self._remove_some(folder):
                return NEXT_SLICE_US
            is_folder_done = True
        return self._delay_us()

    def _remove_some(self, folder: str) -> bool:
        """Removes some files of a folder; returns whether the folder is removed."""
        removal = self._begun.get(folder) or removal_of(self._host, folder)
        if not remove_some(self._host, folder, removal, True):
            self._begun[folder] = removal
            return False
        self._begun.pop(folder, None)
        del self._due_us[folder]
        return True

    def _delay_us(self) -> int:
        return self._host.config.log_segment_delete_delay_ms * 1_000


def removal_of(host: LogHost, folder: str) -> FileRemoval:
    """The removal of all files of a deleted replica's folder."""
    disk = host.directory.disk
    return FileRemoval(disk, [f"{folder}/{name}" for name in disk.list(folder)])


def remove_some(host: LogHost, folder: str, removal: FileRemoval, with_folder: bool) -> bool:
    """Runs a slice of a removal and emits which files were removed, if any; `with_folder`: the folder is removed with
    the last one. Returns whether it was the last slice.
    """
    removed = removal.run_slice()
    if removal.is_done and with_folder:
        host.directory.disk.delete_tree(folder)
    if removed.files:
        event = FilesUnlinked(broker=host.name, folder=folder, count=removed.files, cuts=cut_rows(removed.cuts))
        host.kernel.emit(event, host.name)
    return removal.is_done


def write_recovery_points(host: LogHost) -> None:
    """Writes the recovery points of all logs (`checkpointLogRecoveryOffsets`)."""
    if not host.partitions and not host.era.log_dir.checkpoints_without_logs:
        return
    host.directory.write(
        RECOVERY_POINT_CHECKPOINT, {name: partition.log.recovery_point for name, partition in host.partitions.items()}
    )


def write_log_starts(host: LogHost) -> None:
    """Writes the log start offsets that differ from the base offset of a segment (`checkpointLogStartOffsets`)."""
    behaviour = host.era.log_dir
    if not behaviour.has_log_start_checkpoint or not (host.partitions or behaviour.checkpoints_without_logs):
        return
    host.directory.write(
        LOG_START_OFFSET_CHECKPOINT,
        {
            name: partition.log.log_start_offset
            for name, partition in host.partitions.items()
            if partition.log.log_start_offset > partition.log.segments[0].base_offset
        },
    )
