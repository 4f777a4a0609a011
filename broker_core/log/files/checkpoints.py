"""Checkpoint files: small text files that are replaced as a whole (`CheckpointFile` and its users).

Line 1 is the format version, 0; line 2 the number of entries; then one entry per line, fields separated by a space.
"""

from collections.abc import Iterable, Mapping, Sequence

from broker_core.log.files.storage_fault import StorageFault
from broker_core.partitions import TopicPartition
from broker_core.sim.disk import Disk
from broker_core.texts import text

VERSION = 0
LEADER_EPOCH_CHECKPOINT = "leader-epoch-checkpoint"
REPLICATION_OFFSET_CHECKPOINT = "replication-offset-checkpoint"
RECOVERY_POINT_CHECKPOINT = "recovery-point-offset-checkpoint"
LOG_START_OFFSET_CHECKPOINT = "log-start-offset-checkpoint"
CLEANER_OFFSET_CHECKPOINT = "cleaner-offset-checkpoint"


def create_checkpoints(disk: Disk, directory: str, *, has_cleaner: bool, has_log_starts: bool = True) -> None:
    """Creates the missing checkpoint files of a log directory, empty."""
    names = [RECOVERY_POINT_CHECKPOINT, REPLICATION_OFFSET_CHECKPOINT]
    if has_log_starts:
        names.append(LOG_START_OFFSET_CHECKPOINT)
    if has_cleaner:
        names.append(CLEANER_OFFSET_CHECKPOINT)
    for name in names:
        if not disk.exists(f"{directory}/{name}"):
            disk.replace_file(f"{directory}/{name}", b"")


class OffsetCheckpoint:
    """An offset for each partition of a log directory (`OffsetCheckpointFile`)."""

    def __init__(self, disk: Disk, path: str) -> None:
        self._disk = disk
        self.path = path

    def read(self) -> dict[TopicPartition, int]:
        """Partition -> offset; empty if there is no file or it is empty. Raises StorageFault."""
        lines = _read_lines(self._disk, self.path, 3)
        return {
            TopicPartition(topic, _number(self.path, partition)): _number(self.path, offset)
            for topic, partition, offset in lines
        }

    def write(self, offsets: Mapping[TopicPartition, int]) -> None:
        """Replaces the file; the lines are in the order of topic and partition."""
        _write_lines(self._disk, self.path, [(*key, offset) for key, offset in sorted(offsets.items())])


class LeaderEpochCheckpoint:
    """The leader epochs of one log (`LeaderEpochCheckpointFile`). Created empty, as Kafka does."""

    def __init__(self, disk: Disk, directory: str) -> None:
        self._disk = disk
        self.path = f"{directory}/{LEADER_EPOCH_CHECKPOINT}"
        self._is_new = not disk.exists(self.path)
        if self._is_new:
            disk.replace_file(self.path, b"")

    def read(self) -> list[tuple[int, int]]:
        """(epoch, start offset) in the order of the lines. Raises StorageFault."""
        if self._is_new:
            return []
        lines = _read_lines(self._disk, self.path, 2)
        return [(_number(self.path, epoch), _number(self.path, start_offset)) for epoch, start_offset in lines]

    def write(self, entries: Sequence[tuple[int, int]]) -> None:
        """Replaces the file."""
        self._is_new = False
        _write_lines(self._disk, self.path, entries)

    def delete(self) -> None:
        """Removes the file."""
        self._disk.delete(self.path)


def _write_lines(disk: Disk, path: str, entries: Sequence[Iterable[str | int]]) -> None:
    lines = [str(VERSION), str(len(entries))]
    lines.extend(" ".join(str(field) for field in entry) for entry in entries)
    disk.replace_file(path, ("\n".join(lines) + "\n").encode())


def _read_lines(disk: Disk, path: str, field_count: int) -> list[list[str]]:
    """The fields of each entry. The rules are those of `CheckpointFile`; an empty file has no entries."""
    if not disk.exists(path):
        return []
    try:
        content = disk.read_file(path).decode()
    except UnicodeDecodeError as error:
        raise StorageFault(path, text("fault.not_utf8"), error.start) from None
    # Java's BufferedReader accepts only these line ends.
    lines = content.replace("\r\n", "\n").replace("\r", "\n").removesuffix("\n").split("\n") if content else []
    if lines and lines[0] != str(VERSION):
        raise StorageFault(path, text("fault.checkpoint_version", line=repr(lines[0]), version=VERSION))
    if len(lines) < 2:
        return []
    entries = [line.split() for line in lines[2:]]
    for line, fields in zip(lines[2:], entries, strict=True):
        if len(fields) != field_count:
            raise StorageFault(
                path, text("fault.checkpoint_fields", line=repr(line), found=len(fields), expected=field_count)
            )
    if lines[1] != str(len(entries)):
        raise StorageFault(path, text("fault.checkpoint_count", line=repr(lines[1]), count=len(entries)))
    return entries


def _number(path: str, field: str) -> int:
    digits = field[1:] if field[:1] in ("-", "+") else field
    if not (digits.isascii() and digits.isdigit()):
        raise StorageFault(path, text("fault.not_a_number", field=repr(field)), is_io_error=False)
    return int(field)
