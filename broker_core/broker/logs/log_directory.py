"""The log directory of a broker: its partition folders and its own files (`kafka.log.LogManager`)."""

import re

from broker_core.eras import Era
from broker_core.events.log import CheckpointReset, CheckpointWritten
from broker_core.log import LogConfig, Slices, UnifiedLog, Work
from broker_core.log.files.checkpoints import (
    CLEANER_OFFSET_CHECKPOINT,
    LOG_START_OFFSET_CHECKPOINT,
    RECOVERY_POINT_CHECKPOINT,
    REPLICATION_OFFSET_CHECKPOINT,
    OffsetCheckpoint,
    create_checkpoints,
)
from broker_core.log.files.directory_files import (
    CLEAN_SHUTDOWN_FILE,
    DELETED_FOLDER_SUFFIX,
    LOCK_FILE,
    ensure_meta_properties,
    mark_clean_shutdown,
    take_clean_shutdown,
)
from broker_core.log.files.storage_fault import StorageFault
from broker_core.partitions import TopicPartition
from broker_core.sim.disk import Disk
from broker_core.sim.kernel import Kernel
from broker_core.texts import code_of

_PARTITION_FOLDER = re.compile(r"[A-Za-z0-9._-]+-[0-9]+")


class LogDirectory:
    """`path` is a folder of the run's disk: `broker-1`."""

    def __init__(self, kernel: Kernel, disk: Disk, node: str, path: str, era: Era) -> None:
        self.kernel = kernel
        self.era = era
        self.disk = disk
        self.node = node
        self.path = path
        self.clean = False
        self.high_watermarks: dict[str, int] = {}
        self.recovery_points: dict[str, int] = {}
        self.log_start_offsets: dict[str, int] = {}
        self.cleaner_offsets: dict[str, int] = {}
        self._written: dict[str, dict[str, int]] = {}

    def was_stopped_cleanly(self) -> bool:
        """Whether the marker of a clean shutdown exists."""
        return self.disk.exists(f"{self.path}/{CLEAN_SHUTDOWN_FILE}")

    def ensure_owner(self, broker_id: int, cluster_id: str) -> None:
        """Makes sure that the directory is this broker's. Raises StorageFault."""
        self.disk.makedirs(self.path)
        self.disk.replace_file(f"{self.path}/{LOCK_FILE}", b"")
        ensure_meta_properties(self.disk, self.path, broker_id, cluster_id, self.era.log_dir.meta_properties)

    def load(self, *, has_cleaner: bool) -> None:
        """Reads the checkpoints and the clean shutdown marker, and removes the marker. Raises StorageFault.

        Raises StorageFault.
        """
        disk, path = self.disk, self.path
        self.clean = take_clean_shutdown(disk, path)
        create_checkpoints(
            disk, path, has_cleaner=has_cleaner, has_log_starts=self.era.log_dir.has_log_start_checkpoint
        )
        try:
            self.recovery_points = self._read(RECOVERY_POINT_CHECKPOINT)
            self.log_start_offsets = self._read(LOG_START_OFFSET_CHECKPOINT)
        except StorageFault as fault:
            # The logs are loaded all the same, but the directory is offline and accepts no writes.
            raise StorageFault(fault.path, fault.rule, fault.position, is_io_error=False) from fault
        self.high_watermarks = self._read(REPLICATION_OFFSET_CHECKPOINT)
        self.cleaner_offsets = self._read(CLEANER_OFFSET_CHECKPOINT)

    def _read(self, file: str) -> dict[str, int]:
        try:
            offsets = OffsetCheckpoint(self.disk, f"{self.path}/{file}").read()
        except StorageFault as fault:
            if fault.is_io_error:
                raise
            # Kafka treats an invalid number as a less severe fault than an extra line.
            self.kernel.emit(CheckpointReset(broker=self.node, file=file, rule=code_of(fault.rule)), self.node)
            return {}
        return {str(partition): offset for partition, offset in offsets.items()}

    def write(self, file: str, entries: dict[str, int]) -> None:
        """Replaces an offset checkpoint and emits an event. Does nothing if the content is the same."""
        if self._written.get(file) == entries:
            return
        self._written[file] = dict(entries)
        offsets = {}
        for name, offset in entries.items():
            offsets[TopicPartition.parse(name)] = offset
        OffsetCheckpoint(self.disk, f"{self.path}/{file}").write(offsets)
        self.kernel.emit(CheckpointWritten(broker=self.node, file=file, entries=tuple(entries.items())), self.node)

    def write_high_watermarks(self, entries: dict[str, int]) -> None:
        """Replaces the high watermark checkpoint; without replicas it is left unchanged
        (`ReplicaManager.checkpointHighWatermarks`).
        """
        if entries:
            self.write(REPLICATION_OFFSET_CHECKPOINT, entries)

    def partition_names(self) -> list[str]:
        """The partitions that have a folder here, sorted."""
        return [name for name in self.disk.list(self.path) if _PARTITION_FOLDER.fullmatch(name)]

    def deleted_folders(self) -> list[str]:
        """The folders of deleted replicas, sorted."""
        return [name for name in self.disk.list(self.path) if name.endswith(DELETED_FOLDER_SUFFIX)]

    def open(self, name: str, config: LogConfig, topic_id: str | None, now_ms: int, work: Work) -> Slices[UnifiedLog]:
        """Opens or creates the log of a partition, with its entries in the checkpoints."""
        topic, partition = TopicPartition.parse(name)
        return UnifiedLog.load_in_slices(
            self.disk,
            f"{self.path}/{name}",
            topic,
            partition,
            config,
            work,
            now_ms=now_ms,
            clean_shutdown=self.clean,
            recovery_point=self.recovery_points.get(name, 0),
            log_start_offset=self.log_start_offsets.get(name, 0),
            topic_id=topic_id,
        )

    def mark_clean(self) -> None:
        """Writes the clean shutdown marker, as the last step of a clean shutdown."""
        mark_clean_shutdown(self.disk, self.path, self.era.log_dir.clean_shutdown)
        if not self.era.log_dir.keeps_lock_file_after_shutdown:
            self.disk.delete(f"{self.path}/{LOCK_FILE}")
