"""The folder that a disk has made last, and what is in it by now.

Opening a log asks for a dozen files one by one. In a folder that was just made none of them needs a call of the
operating system, which is most of the time that a new partition takes.
"""


class NewFolder:
    """Known from `made` until `forget`. Only the disk that made the folder adds files to it."""

    __slots__ = ("_empty", "_names", "_path")

    def __init__(self) -> None:
        self._path: str | None = None
        self._names: set[str] = set()
        self._empty: set[str] = set()

    def made(self, path: str) -> None:
        """The folder `path` was made: it is empty."""
        self._path, self._names, self._empty = path, set(), set()

    def forget(self) -> None:
        """From now on nothing is known."""
        self._path = None
        self._empty.clear()

    def added(self, path: str) -> None:
        """There is a file at `path`, in this folder or elsewhere, and it may be written to."""
        folder, _, name = path.rpartition("/")
        if folder == self._path:
            self._names.add(name)
            self._empty.discard(path)
        elif self._path is not None and path.startswith(f"{self._path}/"):
            # it may have made a folder in this one
            self.forget()

    def replaced(self, path: str, data: bytes) -> None:
        """The file at `path`, which may be new, has this content now."""
        self.added(path)
        if not data and path.rpartition("/")[0] == self._path:
            self._empty.add(path)

    def is_written_at_once(self, path: str, data: bytes) -> bool:
        """Whether `data` can replace the file at `path` by one call: a new file by an empty one, or an empty one."""
        return path in self._empty if data else self.lacks(path)

    def lacks(self, path: str) -> bool:
        """Whether `path` is in the folder, and there is no such file. False where that is not known."""
        folder, _, name = path.rpartition("/")
        return folder == self._path and name not in self._names

    def names(self, path: str) -> list[str] | None:
        """The names in the folder, sorted; None if `path` is another one."""
        return sorted(self._names) if path == self._path else None
