"""Changes of events to the files on the brokers' disks: bytes removed, names changed."""

from collections.abc import Iterator
from typing import NamedTuple

from broker_core.events import Event
from broker_core.events.log import (
    Cut,
    FilesMarkedDeleted,
    FilesUnlinked,
    LogCleaned,
    LogDeleted,
    LogRepaired,
    LogTruncated,
    PowerLost,
)
from broker_core.log import DELETED_SUFFIX
from broker_core.partitions import ReplicaId

FILE_EVENTS = (FilesMarkedDeleted, FilesUnlinked, LogCleaned, LogDeleted, LogRepaired, LogTruncated, PowerLost)
"""The kinds that take bytes from files, or change their names."""


class Renamed(NamedTuple):
    """A file or a folder has another path now."""

    old: str
    new: str

    def follow(self, path: str) -> str:
        """Where the file at `path` is afterwards."""
        if path == self.old or path.startswith(self.old + "/"):
            return self.new + path[len(self.old) :]
        return path


def changes(event: Event) -> Iterator[Cut | Renamed]:
    """What an event did to files, in order."""
    if isinstance(event, LogRepaired):
        if event.digest:
            yield event.file, event.position, event.length, event.digest
        return
    if isinstance(event, FilesMarkedDeleted):
        yield from event.cuts
        for path, _ in event.files:
            yield Renamed(path, path + DELETED_SUFFIX)
    elif isinstance(event, LogDeleted):
        partition, broker_id = ReplicaId.parse(event.replica)
        yield Renamed(f"broker-{broker_id}/{partition}", event.folder)
    elif isinstance(event, FilesUnlinked | LogCleaned | LogTruncated | PowerLost):
        yield from event.cuts
