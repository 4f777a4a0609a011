"""A disk in memory, with simulated power loss."""

from typing import Any

from broker_core.sim.disk_types import ArchivingDisk, CutFact, is_below, validate_path


class SimulatedFile:
    """A file in memory. Allocated zeros that were never written take no memory."""

    __slots__ = ("_allocated_size", "_data", "_disk", "_overwritten", "modified_ms", "path", "size", "synced_size")

    def __init__(self, disk: "SimulatedDisk", path: str, data: bytes = b"") -> None:
        self._disk = disk
        self.path = path
        self._data = bytearray(data)
        self.size = self.synced_size = len(data)
        self.modified_ms = 0
        self._allocated_size = 0
        # (position, bytes) below synced_size as of the last fsync, oldest first.
        self._overwritten: list[tuple[int, bytes]] = []

    def __setstate__(self, state: tuple[None, dict[str, Any]]) -> None:
        for name, value in state[1].items():
            setattr(self, name, value)
        self._disk.take_back(self)

    @property
    def written_size(self) -> int:
        return len(self._data)

    def append(self, *parts: bytes | memoryview) -> int:
        position = self.size
        if len(self._data) < position:
            self._data.extend(bytes(position - len(self._data)))
        for part in parts:
            self._data += part
        self.size = len(self._data)
        return position

    def write_at(self, position: int, data: bytes) -> None:
        buffer = self._data
        end = position + len(data)
        if position < self.synced_size:
            self._overwritten.append((position, bytes(buffer[position : min(end, self.synced_size)])))
        if position > len(buffer):
            buffer.extend(bytes(position - len(buffer)))
        buffer[position:end] = data
        if end > self.size:
            self.size = end

    def read(self, position: int, length: int) -> bytes:
        data = bytes(self._data[position : position + length])
        missing = min(length, self.size - position) - len(data)
        return data + bytes(missing) if missing > 0 else data

    def truncate(self, size: int) -> str | None:
        if size >= self.size:
            return None
        digest = self._disk.keep(self, size)
        self.release(size)
        return digest

    def release(self, size: int) -> None:
        if size < self.size:
            self._cut(size)
            self.size = size
            self._allocated_size = min(self._allocated_size, size)

    def keep(self, position: int, length: int) -> str | None:
        return self._disk.keep_bytes(self.read(position, length))

    def allocate(self, size: int) -> None:
        if size > self.size:
            self.size = size
        self._allocated_size = max(self._allocated_size, size)

    def fsync(self) -> None:
        self.synced_size = len(self._data)
        self._overwritten.clear()

    def close(self) -> None:
        pass

    def power_loss(self) -> list[CutFact]:
        """Reverts to the state of the last fsync."""
        cuts = []
        for position, old in reversed(self._overwritten):
            new = self.read(position, len(old))
            cuts.append(CutFact(self.path, position, len(old), self._disk.keep_bytes(new)))
            self._data[position : position + len(old)] = old
        self._overwritten.clear()
        lost = len(self._data) - self.synced_size
        if lost > 0:
            digest = self._disk.keep_bytes(bytes(self._data[self.synced_size :]))
            cuts.append(CutFact(self.path, self.synced_size, lost, digest))
            self._cut(self.synced_size)
        self.size = max(self.synced_size, self._allocated_size)
        return cuts

    def _cut(self, size: int) -> None:
        del self._data[size:]
        self.synced_size = min(self.synced_size, size)
        if self._overwritten:
            self._overwritten = [(at, old[: size - at]) for at, old in self._overwritten if at < size]


class SimulatedDisk(ArchivingDisk):
    """A disk in memory, for simulation, tests and forks that are not displayed."""

    def __init__(self) -> None:
        self._directories: dict[str, dict[str, SimulatedFile]] = {"": {}}
        #: Names of the directories directly below each, so that `list` need not scan all of them.
        self._below: dict[str, set[str]] = {"": set()}

    def take_back(self, file: SimulatedFile) -> None:
        """Called for a file of a checkpoint that is restored: from now on it is the one at its path."""
        directory, _, name = file.path.rpartition("/")
        files = self.__dict__.get("_directories", {}).get(directory, {})
        if name in files:
            files[name] = file

    def open(self, path: str, create: bool = True) -> SimulatedFile:
        directory, _, name = validate_path(path).rpartition("/")
        files = self._directories.get(directory)
        file = None if files is None else files.get(name)
        if file is None:
            if not create:
                raise FileNotFoundError(path)
            self._ensure(directory)
            file = self._directories[directory][name] = SimulatedFile(self, path)
        return file

    def exists(self, path: str) -> bool:
        directory, _, name = path.rpartition("/")
        return path in self._directories or name in self._directories.get(directory, {})

    def size_of(self, path: str) -> int:
        return self.open(path, create=False).size

    def list(self, directory: str) -> list[str]:
        return sorted([*self._directories.get(directory, ()), *self._below.get(directory, ())])

    def makedirs(self, path: str) -> None:
        self._ensure(validate_path(path))

    def rename(self, old: str, new: str) -> None:
        if old in self._directories:
            for path in [p for p in self._directories if p == old or p.startswith(old + "/")]:
                moved = new + path[len(old) :]
                files = self._forget(path)
                for name, file in files.items():
                    file.path = f"{moved}/{name}"
                self._ensure(moved)
                self._directories[moved].update(files)
            return
        file = self.open(old, create=False)
        directory, _, name = old.rpartition("/")
        del self._directories[directory][name]
        directory, _, name = validate_path(new).rpartition("/")
        self._ensure(directory)
        self._directories[directory][name] = file
        file.path = new

    def archive_piece(self, path: str, position: int, length: int) -> CutFact:
        return self.keep_piece(self.open(path, create=False), position, length)

    def delete(self, path: str, archived: int = 0) -> CutFact | None:
        directory, _, name = path.rpartition("/")
        file = self._directories.get(directory, {}).pop(name, None)
        if file is None:
            return None
        return CutFact(path, archived, file.size - archived, self.keep(file, archived))

    def delete_tree(self, path: str) -> tuple[CutFact, ...]:
        below = sorted(d for d in self._directories if d == path or d.startswith(path + "/"))
        found = [f"{directory}/{name}" for directory in below for name in sorted(self._directories[directory])]
        cuts = tuple(cut for cut in map(self.delete, found) if cut is not None)
        for directory in below:
            self._forget(directory)
        return cuts

    def read_file(self, path: str) -> bytes:
        file = self.open(path, create=False)
        return file.read(0, file.size)

    def replace_file(self, path: str, data: bytes) -> None:
        directory, _, name = validate_path(path).rpartition("/")
        self._ensure(directory)
        self._directories[directory][name] = SimulatedFile(self, path, data)

    def close(self) -> None:
        """Does nothing: its files have no descriptors."""

    def power_loss(self, directory: str = "") -> tuple[CutFact, ...]:
        files = [
            files[name]
            for path, files in sorted(self._directories.items())
            if is_below(path, directory)
            for name in sorted(files)
        ]
        return tuple(cut for file in files for cut in file.power_loss())

    def _ensure(self, directory: str) -> None:
        while directory not in self._directories:
            self._directories[directory] = {}
            self._below.setdefault(directory, set())
            directory, _, name = directory.rpartition("/")
            self._below.setdefault(directory, set()).add(name)

    def _forget(self, directory: str) -> dict[str, SimulatedFile]:
        """Removes a directory; returns its files, those below it stay."""
        files = self._directories.pop(directory)
        del self._below[directory]
        above, _, name = directory.rpartition("/")
        self._below.get(above, set()).discard(name)
        return files
