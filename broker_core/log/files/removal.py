"""Removes files in slices of bounded work: before a file is unlinked its bytes are read, hashed and archived.

A file is archived in pieces if it is larger than a slice. It stays as it is until the last piece: when the process of
its broker ends before that, the next one finds it whole.
"""

from collections.abc import Sequence
from typing import NamedTuple

from broker_core.log.segment_facts import LOG_SUFFIX
from broker_core.sim.disk import CutFact, Disk

SLICE_BYTES = 4 * 1024 * 1024
"""The limit of bytes of `.log` files that a slice archives."""
OTHER_FILE_BYTES = 32 * 1024
"""The cost of any other file. It is archived whole: an index has at most segment.index.bytes, most of which may never
have been written, and how many were is not known of a file that an earlier process wrote.
"""


class RemovedFiles(NamedTuple):
    """What a slice removed: the number of files, and their bytes, in one piece or in several."""

    files: int
    cuts: tuple[CutFact, ...]


class FileRemoval:
    """Files to be removed, and the archived pieces of the current one. Pickled with its broker."""

    def __init__(self, disk: Disk, paths: Sequence[str]) -> None:
        self._disk = disk
        self._paths = list(reversed(paths))
        self._pieces: list[CutFact] = []

    @property
    def is_done(self) -> bool:
        """Whether all files are removed."""
        return not self._paths

    def run_slice(self) -> RemovedFiles:
        """Removes the next files, or archives a piece of a large one. Files that no longer exist are skipped."""
        cuts: list[CutFact] = []
        count = 0
        left = SLICE_BYTES
        while self._paths and left > 0:
            path = self._paths[-1]
            archived = sum(piece.length for piece in self._pieces)
            size = self._work_of(path, archived)
            if size > left:
                if left == SLICE_BYTES:
                    self._pieces.append(self._disk.archive_piece(path, archived, SLICE_BYTES))
                break
            left -= size
            self._paths.pop()
            cut = self._disk.delete(path, archived)
            if cut is not None:
                cuts += (*self._pieces, cut)
                count += 1
            self._pieces.clear()
        return RemovedFiles(count, tuple(cuts))

    def _work_of(self, path: str, archived: int) -> int:
        if LOG_SUFFIX not in path.rpartition("/")[2]:
            return OTHER_FILE_BYTES
        try:
            return max(self._disk.size_of(path) - archived, OTHER_FILE_BYTES)
        except FileNotFoundError:
            return OTHER_FILE_BYTES
