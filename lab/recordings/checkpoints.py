"""Engine checkpoints of a branch: from where a fork, or a core that wakes, executes again.

Each is three files in `recording/checkpoints/`, named after the last event that it includes: `.engine` is what the
engine made of itself, `.zookeeper` the tree that it works on, and `.json` says with which files of the brokers and by
which version of the core. A checkpoint of another version is passed over.
"""

import hashlib
import pickle
import zlib
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import NamedTuple

import msgspec

import broker_core
from broker_core.sim.disk import digest_of
from broker_core.zk.memory_store import MemoryStore
from lab.recordings.disk_image import DiskImage, capture, restore
from lab.recordings.folder import BranchFolder

CHECKPOINT_EVENTS = 10_000
"""Executing this number of events takes half of the time that a fork may take."""
CHECKPOINT_EVENTS_MAX = 4 * CHECKPOINT_EVENTS
FACTS = "json"
ENGINE = "engine"
ZOOKEEPER = "zookeeper"
SUFFIXES = (FACTS, ENGINE, ZOOKEEPER)

_writer = ThreadPoolExecutor(1, thread_name_prefix="checkpoints")
"""Watchers do not wait for compression and for files."""


def events_between(seq: int) -> int:
    """The number of events between two checkpoints of a run that has reached `seq`. A longer run has a larger engine,
    which takes longer to save, while watchers wait.
    """
    return min(max(CHECKPOINT_EVENTS, seq // 8), CHECKPOINT_EVENTS_MAX)


class _Facts(msgspec.Struct):
    """The `.json` file. `digests`: of the other two, by suffix."""

    version: str
    seq: int
    inputs: int
    digests: dict[str, str]
    disk: DiskImage


class Checkpoint(NamedTuple):
    """An engine as it was after event `seq` and the first `inputs` inputs."""

    seq: int
    inputs: int
    engine: bytes
    zookeeper: MemoryStore
    restore_disk: Callable[[Path], None]
    """Puts the brokers' files below an empty folder."""


class Checkpoints:
    """The checkpoints of one branch."""

    def __init__(self, folder: BranchFolder) -> None:
        self._folder = folder
        self._last_image: DiskImage | None = None
        self._writing: Future[None] | None = None

    def last_seq(self) -> int:
        """The newest checkpoint that this version can use; 0 when there is none."""
        return max((seq for seq in self._seqs() if self._facts(seq) is not None), default=0)

    def save(self, seq: int, inputs: int, engine: bytes, zookeeper: MemoryStore) -> None:
        """Keeps an engine that has done `seq` events and `inputs` inputs, with the brokers' files as they are now. All
        of it is taken when this returns, and on disk when `settle` does. Raises OSError, also for the one before.
        """
        self.settle()
        image = self._last_image = capture(self._folder.cluster, self._folder.archive, self._last_image)
        parts = {ENGINE: engine, ZOOKEEPER: pickle.dumps(zookeeper, pickle.HIGHEST_PROTOCOL)}
        self._writing = _writer.submit(self._write, seq, inputs, parts, image)

    def prepare(self) -> None:
        """Archives what the brokers' files hold in the background, while they change: `save` finds most of it done."""
        self.settle()
        self._writing = _writer.submit(self._prepare)

    @property
    def is_idle(self) -> bool:
        """Whether nothing is being written, so that no caller would wait."""
        return self._writing is None or self._writing.done()

    def settle(self) -> None:
        """Returns when what was saved last is on disk. Raises OSError when it did not get there."""
        writing, self._writing = self._writing, None
        if writing is not None:
            writing.result()

    def before(self, seq: int) -> Checkpoint | None:
        """The newest usable checkpoint at or before an event."""
        for candidate in sorted(self._seqs(), reverse=True):
            facts = self._facts(candidate) if candidate <= seq else None
            found = self._load(facts) if facts is not None else None
            if found is not None:
                return found
        return None

    def forget_after(self, seq: int) -> None:
        """Deletes the checkpoints beyond an event: a crash took what they include."""
        for candidate in self._seqs():
            if candidate > seq:
                for suffix in SUFFIXES:
                    self._path(candidate, suffix).unlink(missing_ok=True)

    def _prepare(self) -> None:
        # A file that is renamed or deleted meanwhile ends it; `save` meets the others, and what is wrong with a disk.
        with suppress(OSError):
            self._last_image = capture(self._folder.cluster, self._folder.archive, self._last_image)

    def _write(self, seq: int, inputs: int, parts: dict[str, bytes], image: DiskImage) -> None:
        self._folder.checkpoints.mkdir(parents=True, exist_ok=True)
        contents = {suffix: zlib.compress(part, 1) for suffix, part in parts.items()}
        for suffix, data in contents.items():
            self._path(seq, suffix).write_bytes(data)
        digests = {suffix: digest_of(data) for suffix, data in contents.items()}
        # The last file makes the checkpoint valid.
        temporary = self._path(seq, "tmp")
        temporary.write_bytes(msgspec.json.encode(_Facts(engine_version(), seq, inputs, digests, image)))
        temporary.replace(self._path(seq, FACTS))

    def _load(self, facts: _Facts) -> Checkpoint | None:
        """None where a file is not what was saved."""
        contents = {}
        for suffix, digest in facts.digests.items():
            try:
                contents[suffix] = self._path(facts.seq, suffix).read_bytes()
            except OSError:
                return None
            if digest_of(contents[suffix]) != digest:
                return None
        archive = self._folder.archive
        # To be unpickled: made by this very version of the core, in the lab's own data folder.
        zookeeper: MemoryStore = pickle.loads(zlib.decompress(contents[ZOOKEEPER]))
        return Checkpoint(
            facts.seq,
            facts.inputs,
            zlib.decompress(contents[ENGINE]),
            zookeeper,
            lambda root: restore(facts.disk, archive, root),
        )

    def _seqs(self) -> list[int]:
        return [int(path.stem) for path in self._folder.checkpoints.glob(f"*.{FACTS}")]

    def _facts(self, seq: int) -> _Facts | None:
        try:
            facts = msgspec.json.decode(self._path(seq, FACTS).read_bytes(), type=_Facts)
        except (OSError, msgspec.MsgspecError):
            return None
        return facts if facts.version == engine_version() else None

    def _path(self, seq: int, suffix: str) -> Path:
        return self._folder.checkpoints / f"{seq:020d}.{suffix}"


@cache
def engine_version() -> str:
    """Changes whenever the core does: an engine's own bytes mean nothing to another version."""
    root = Path(broker_core.__path__[0])
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        digest.update(path.relative_to(root).as_posix().encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]
