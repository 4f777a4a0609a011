"""Files that are deleted in two steps: renamed to `.deleted` at once, unlinked after file.delete.delay.ms.

Who reads a file while its segment goes can read on (`LocalLog.deleteSegmentFiles`).
"""

from typing import NamedTuple

from broker_core.sim.disk import CutFact, Disk

DELETED_SUFFIX = ".deleted"


class DeletedFile(NamedTuple):
    """A file that bears its `.deleted` name and waits to be unlinked. `path` is its name before; `size` in bytes;
    `replaced` an earlier file that waited under the same new name and had to give way.
    """

    path: str
    size: int
    replaced: CutFact | None = None


def mark_deleted(disk: Disk, path: str) -> DeletedFile:
    """Renames a file."""
    replaced = disk.delete(path + DELETED_SUFFIX)
    disk.rename(path, path + DELETED_SUFFIX)
    return DeletedFile(path, disk.size_of(path + DELETED_SUFFIX), replaced)
