"""Files that are deleted in two steps: renamed to `.deleted` at once, unlinked after file.delete.delay.ms.

A reader of a deleted segment can finish its read (`LocalLog.deleteSegmentFiles`).
"""

from typing import NamedTuple

from broker_core.sim.disk import CutFact, Disk

DELETED_SUFFIX = ".deleted"


class DeletedFile(NamedTuple):
    """A file renamed to `.deleted` and not unlinked yet. `path` is its old name, `size` is in bytes, and `replaced` is
    an earlier file with the same new name, which the rename overwrote.
    """

    path: str
    size: int
    replaced: CutFact | None = None


def mark_deleted(disk: Disk, path: str) -> DeletedFile:
    """Renames a file."""
    replaced = disk.delete(path + DELETED_SUFFIX)
    disk.rename(path, path + DELETED_SUFFIX)
    return DeletedFile(path, disk.size_of(path + DELETED_SUFFIX), replaced)
