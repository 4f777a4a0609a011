"""Folders that are not complete, of imports and of runs that continue from a handout of a class: what a killed process
has left of them is removed.

The file `.importing-abc` is beside the folder `abc` until the database knows what is in the folder. The process that
writes it holds a lock on that file, which ends with the process: a file without a lock belongs to none.
"""

import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

_PREFIX = ".importing-"


class UnfinishedFolder:
    """A new folder that is removed unless it is completed."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._note = path.with_name(f"{_PREFIX}{path.name}")
        self._lock: int | None = None

    def begin(self) -> None:
        """Called before the folder is made. Raises OSError."""
        self._note.parent.mkdir(parents=True, exist_ok=True)
        while self._lock is None:
            lock = os.open(self._note, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            fcntl.flock(lock, fcntl.LOCK_EX)
            if os.fstat(lock).st_nlink:
                self._lock = lock
            else:
                # Another import has found it without a lock, and removed it.
                os.close(lock)

    def keep(self) -> None:
        """The database knows the folder. Does not fail: a file that is left is removed like those of a killed
        process.
        """
        self._end()

    def discard(self) -> None:
        """Removes the folder, if there is one. What cannot be removed keeps its note: the next import tries again."""
        shutil.rmtree(self.path, ignore_errors=True)
        if self.path.exists():
            self._unlock()
        else:
            self._end()

    def _end(self) -> None:
        with suppress(OSError):
            self._note.unlink(missing_ok=True)
        self._unlock()

    def _unlock(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def take_over(self) -> bool:
        """Takes the lock of an import whose process has ended. Returns whether it has."""
        with suppress(FileNotFoundError, BlockingIOError):
            lock = os.open(self._note, os.O_RDWR | os.O_CLOEXEC)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if os.fstat(lock).st_nlink:
                    self._lock, lock = lock, -1
                    return True
            finally:
                if lock >= 0:
                    os.close(lock)
        return False


def abandoned(parent: Path) -> Iterator[UnfinishedFolder]:
    """The folders below `parent` whose import was interrupted by the end of its process. Each must be kept or
    discarded.
    """
    for note in sorted(parent.glob(f"{_PREFIX}*")):
        folder = UnfinishedFolder(note.with_name(note.name.removeprefix(_PREFIX)))
        if folder.take_over():
            yield folder
