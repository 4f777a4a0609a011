"""The folder that a disk created last, with its files.

Opening a log looks up a dozen files one by one. In a new folder none of them needs a system call, which would take most
of the time of creating a partition.
"""


class NewFolder:
    """A cache of one folder, from `made` to `forget`. Only the disk that created the folder adds files to it."""

    __slots__ = ("_empty", "_names", "_path")

    def __init__(self) -> None:
        self._path: str | None = None
        self._names: set[str] = set()
        self._empty: set[str] = set()

    def made(self, path: str) -> None:
        """Caches the new, empty folder `path`."""
        self._path, self._names, self._empty = path, set(), set()

    def forget(self) -> None:
        """Drops the cache."""
        self._path = None
        self._empty.clear()

    def added(self, path: str) -> None:
        """Adds the file at `path`, in this folder or elsewhere, which may have been written."""
        folder, _, name = path.rpartition("/")
        if folder == self._path:
            self._names.add(name)
            self._empty.discard(path)
        elif self._path is not None and path.startswith(f"{self._path}/"):
            # It may have created a folder in this one.
            self.forget()

    def replaced(self, path: str, data: bytes) -> None:
        """Sets the content of the file at `path`, which may be new."""
        self.added(path)
        if not data and path.rpartition("/")[0] == self._path:
            self._empty.add(path)

    def is_written_at_once(self, path: str, data: bytes) -> bool:
        """Whether one call can replace the file at `path` by `data`: a new file with empty content, or an empty one."""
        return path in self._empty if data else self.lacks(path)

    def lacks(self, path: str) -> bool:
        """Whether `path` is in the folder and there is no such file. False if that is not known."""
        folder, _, name = path.rpartition("/")
        return folder == self._path and name not in self._names

    def names(self, path: str) -> list[str] | None:
        """The names in the folder, sorted; None if `path` is another one."""
        return sorted(self._names) if path == self._path else None
