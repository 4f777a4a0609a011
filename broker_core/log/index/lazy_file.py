"""The file of an index, which comes to be when the index is first used (`LazyIndex`, KAFKA-7283).

A log may have thousands of segments whose indexes nobody asks. A segment that was begun without an append, because
retention took all others or a follower starts over, has no index files: the first append makes both, a flush does, a
look for old timestamps makes the `.timeindex`.
"""

from broker_core.errors import Errors, KafkaException
from broker_core.log.config import INT_MAX
from broker_core.sim.disk import Disk, File


class LazyFile:
    """A file of a fixed length while it is in use; with zeros behind what was written."""

    __slots__ = ("_disk", "_file", "_length", "_path")

    def __init__(self, disk: Disk, path: str, length: int) -> None:
        self._disk = disk
        self._path = path
        self._length = length
        self._file: File | None = disk.open(path) if disk.exists(path) else None

    @property
    def exists(self) -> bool:
        """Whether there is a file yet."""
        return self._file is not None

    @property
    def path(self) -> str:
        """Where the file is, or would be."""
        return self._path if self._file is None else self._file.path

    def relative(self, offset: int, base_offset: int) -> int:
        """An offset as an entry holds it. Raises KafkaException for one that none can hold (`relativeOffset`)."""
        relative = offset - base_offset
        if not 0 <= relative <= INT_MAX:
            raise KafkaException(
                Errors.UNKNOWN_SERVER_ERROR,
                f"{self.path}: offset {offset} is out of the range of an index that begins at {base_offset}",
            )
        return relative

    def use(self) -> File:
        """The file, which is made with its full length if there is none."""
        file = self._file
        if file is None:
            self.allocate()
            file = self.open()
        return file

    def open(self) -> File:
        """The file as it is; an empty one if there is none."""
        if self._file is None:
            self._file = self._disk.open(self._path)
        return self._file

    def allocate(self) -> None:
        """Gives the file its full length."""
        self.open().allocate(self._length)

    def change_suffix(self, old: str, new: str) -> None:
        """Renames the file, or what it will be called."""
        renamed = self.path.removesuffix(old) + new
        if self._file is not None:
            self._disk.rename(self._file.path, renamed)
        self._path = renamed
