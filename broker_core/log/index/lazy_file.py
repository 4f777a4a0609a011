"""The file of an index, which is created when the index is first used (`LazyIndex`, KAFKA-7283).

A log may have thousands of segments whose indexes are never used. A segment that was created without an append, because
retention deleted all others or a follower starts over, has no index files: the first append or flush creates both, a
retention check creates the `.timeindex`.
"""

from broker_core.config_defs import INT_MAX
from broker_core.errors import Errors, KafkaException
from broker_core.sim.disk import Disk, File
from broker_core.texts import text


class LazyFile:
    """A file of a fixed length while it is in use, with zeros after the written bytes."""

    __slots__ = ("_disk", "_file", "_length", "_path")

    def __init__(self, disk: Disk, path: str, length: int) -> None:
        self._disk = disk
        self._path = path
        self._length = length
        self._file: File | None = disk.open(path) if disk.exists(path) else None

    @property
    def exists(self) -> bool:
        """Whether the file exists."""
        return self._file is not None

    @property
    def path(self) -> str:
        """The path of the file, which may not exist yet."""
        return self._path if self._file is None else self._file.path

    def relative(self, offset: int, base_offset: int) -> int:
        """The offset relative to the base. Raises KafkaException if it does not fit an entry (`relativeOffset`)."""
        relative = offset - base_offset
        if not 0 <= relative <= INT_MAX:
            raise KafkaException(
                Errors.UNKNOWN_SERVER_ERROR,
                text("refused.index_range", file=self.path, offset=offset, first=base_offset),
            )
        return relative

    def use(self) -> File:
        """The file, created with its full length if there is none."""
        file = self._file
        if file is None:
            self.allocate()
            file = self.open()
        return file

    def open(self) -> File:
        """The file without a change of its length; an empty one if there is none."""
        if self._file is None:
            self._file = self._disk.open(self._path)
        return self._file

    def allocate(self) -> None:
        """Extends the file to its full length."""
        self.open().allocate(self._length)

    def change_suffix(self, old: str, new: str) -> None:
        """Renames the file, or changes its future name."""
        renamed = self.path.removesuffix(old) + new
        if self._file is not None:
            self._disk.rename(self._file.path, renamed)
        self._path = renamed
