"""Checkpoint files: small text files that are replaced as a whole (`CheckpointFile` and its users).

Line 1 is the format version, 0; line 2 the number of entries; then one entry a line, fields separated by a space.
"""

from collections.abc import Iterable, Mapping, Sequence

from broker_core.errors import KafkaError, KafkaException
from broker_core.sim.disk import Disk

VERSION = 0
LEADER_EPOCH_CHECKPOINT = "leader-epoch-checkpoint"
REPLICATION_OFFSET_CHECKPOINT = "replication-offset-checkpoint"
RECOVERY_POINT_CHECKPOINT = "recovery-point-offset-checkpoint"
LOG_START_OFFSET_CHECKPOINT = "log-start-offset-checkpoint"
CLEANER_OFFSET_CHECKPOINT = "cleaner-offset-checkpoint"


class OffsetCheckpoint:
    """An offset for each partition of a log directory (`OffsetCheckpointFile`)."""

    def __init__(self, disk: Disk, path: str) -> None:
        self._disk = disk
        self.path = path

    def read(self) -> dict[tuple[str, int], int]:
        """(topic, partition) -> offset; empty when there is no file. Raises KAFKA_STORAGE_ERROR for a malformed one."""
        return {
            (topic, int(partition)): int(offset)
            for topic, partition, offset in _read_lines(self._disk, self.path, (str, int, int))
        }

    def write(self, offsets: Mapping[tuple[str, int], int]) -> None:
        """Replaces the file; the lines stand in the order of topic and partition."""
        _write_lines(self._disk, self.path, [(*key, offset) for key, offset in sorted(offsets.items())])


class LeaderEpochCheckpoint:
    """The leader epochs of one log (`LeaderEpochCheckpointFile`). Created empty, as Kafka does."""

    def __init__(self, disk: Disk, directory: str) -> None:
        self._disk = disk
        self.path = f"{directory}/{LEADER_EPOCH_CHECKPOINT}"
        if not disk.exists(self.path):
            disk.replace_file(self.path, b"")

    def read(self) -> list[tuple[int, int]]:
        """(epoch, start offset), oldest first. Raises KAFKA_STORAGE_ERROR for a malformed file."""
        lines = _read_lines(self._disk, self.path, (int, int))
        return [(int(epoch), int(start_offset)) for epoch, start_offset in lines]

    def write(self, entries: Sequence[tuple[int, int]]) -> None:
        """Replaces the file."""
        _write_lines(self._disk, self.path, entries)


def _write_lines(disk: Disk, path: str, entries: Sequence[Iterable[str | int]]) -> None:
    lines = [str(VERSION), str(len(entries))]
    lines.extend(" ".join(str(field) for field in entry) for entry in entries)
    disk.replace_file(path, ("\n".join(lines) + "\n").encode())


def _read_lines(disk: Disk, path: str, kinds: tuple[type, ...]) -> list[list[str]]:
    if not disk.exists(path):
        return []
    lines = disk.read_file(path).decode("utf-8", "replace").splitlines()
    if not lines:
        return []
    if lines[0] != str(VERSION):
        raise _malformed(path, f"its first line is {lines[0]!r}, expected version {VERSION}")
    if len(lines) < 2 or not lines[1].isdigit() or int(lines[1]) != len(lines) - 2:
        raise _malformed(path, f"its second line must be the number of entries that follow, which is {len(lines) - 2}")
    entries = [line.split() for line in lines[2:]]
    for line, fields in zip(lines[2:], entries, strict=True):
        if len(fields) != len(kinds):
            raise _malformed(path, f"the line {line!r} has {len(fields)} fields, expected {len(kinds)}")
        for field, kind in zip(fields, kinds, strict=True):
            if kind is int and not field.removeprefix("-").isdigit():
                raise _malformed(path, f"{field!r} in the line {line!r} is no number")
    return entries


def _malformed(path: str, found: str) -> KafkaException:
    return KafkaException(
        KafkaError.KAFKA_STORAGE_ERROR, f"Malformed checkpoint file {path}: {found}; restore it or delete it"
    )
