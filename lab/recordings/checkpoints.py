"""Engine checkpoints of a branch: from where a fork, or a core that wakes, executes again.

Each is three files in `recording/checkpoints/`, named after the last event that it includes: `.engine` is the pickled
engine, `.zookeeper` the tree that it works on, and `.json` names the files of the brokers and the version of the core.
A checkpoint of another version is ignored.

While an engine runs, a copy of the process saves it (`save_aside`): the engine continues after some milliseconds,
however large it is.
"""

import hashlib
import logging
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
from broker_core.sim.disk import RealDisk, digest_of
from broker_core.zk.memory_store import MemoryStore
from lab.recordings.disk.disk_image import DiskImage, Past, capture, restore
from lab.recordings.folder import BranchFolder
from lab.recordings.process_copy import ProcessCopy

logger = logging.getLogger(__name__)

CHECKPOINT_EVENTS = 10_000
"""Executing this number of events takes half of the time that a fork may take."""
MAX_CHECKPOINT_EVENTS = 4 * CHECKPOINT_EVENTS
FACTS = "json"
ENGINE = "engine"
ZOOKEEPER = "zookeeper"
SUFFIXES = (FACTS, ENGINE, ZOOKEEPER)

MAX_CHECKPOINTS = 60
"""Maximum number of checkpoints of a branch. Beyond it the checkpoint with the closest neighbours is deleted, never the
newest.
"""
_writer = ThreadPoolExecutor(4, thread_name_prefix="checkpoints")
"""Waits for the copies of the process."""


def events_between(seq: int) -> int:
    """The number of events between two checkpoints of a run that has reached `seq`. A longer run has a larger engine,
    which takes longer to save, while watchers wait.
    """
    return min(max(CHECKPOINT_EVENTS, seq // 8), MAX_CHECKPOINT_EVENTS)


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
        self._saving: Future[int] | None = None
        #: the last one that was saved of this disk while its engine ran
        self._last_seq = 0

    def last_seq(self) -> int:
        """The newest checkpoint that this version can use; 0 when there is none."""
        return max((seq for seq in self._seqs() if self._facts(seq) is not None), default=0)

    def save(self, seq: int, inputs: int, engine: bytes, zookeeper: MemoryStore) -> None:
        """Saves an engine that has done `seq` events and `inputs` inputs, with the brokers' files as they are now.
        Raises OSError.
        """
        self.settle()
        image = capture(self._folder.cluster, self._folder.archive)
        self._write(seq, inputs, engine, zookeeper, image)
        self._thin_out()

    def save_aside(
        self,
        seq: int,
        inputs: int,
        engine: Callable[[], bytes | None],
        zookeeper: MemoryStore,
        disk: RealDisk,
        *,
        is_awaited: bool = False,
    ) -> "Future[int]":
        """The same in a forked copy of this process, which calls `engine`. The result, which `settle` returns, too, is
        `seq` if it was saved, else 0: it is not if the brokers' files changed other than by appends while they were
        copied. `is_awaited`: the copy does not leave the processor to others.
        """
        self.settle()
        last_seq, rewritten = self._last_seq, disk.rewritten
        disk.rewritten = set()

        def copy_files() -> DiskImage | None:
            facts = self._facts(last_seq) if last_seq else None
            past = Past(disk.sizes(), facts.disk if facts else None, rewritten)
            # A missing file was deleted meanwhile.
            with suppress(FileNotFoundError):
                return capture(self._folder.cluster, self._folder.archive, past)
            return None

        def save(image: DiskImage) -> None:
            pickled = engine()
            if pickled is not None:
                self._write(seq, inputs, pickled, zookeeper, image)

        began = disk.change_count
        copied = ProcessCopy(copy_files, save, is_awaited=is_awaited)

        def attend() -> int:
            try:
                is_saved = copied.attend(lambda: disk.change_count == began)
            except OSError as error:
                logger.warning("%s", error)
                is_saved = False
            if not is_saved:
                disk.rewritten |= rewritten
                return 0
            self._last_seq = seq
            self._thin_out()
            return seq

        self._saving = _writer.submit(attend)
        return self._saving

    @property
    def is_idle(self) -> bool:
        """Whether nothing is being saved, so that no caller would wait."""
        return self.saving is None

    @property
    def saving(self) -> "Future[int] | None":
        """What is being saved aside now."""
        return None if self._saving is None or self._saving.done() else self._saving

    def settle(self) -> int:
        """Returns when what was being saved aside is on disk: its seq, 0 if it was not saved or nothing was."""
        saving, self._saving = self._saving, None
        return 0 if saving is None else saving.result()

    def before(self, seq: int) -> Checkpoint | None:
        """The newest usable checkpoint at or before an event."""
        for candidate in sorted(self._seqs(), reverse=True):
            facts = self._facts(candidate) if candidate <= seq else None
            found = self._load(facts) if facts is not None else None
            if found is not None:
                return found
        return None

    def forget_before(self, seq: int, older_than_s: float) -> tuple[int, int] | None:
        """Deletes all checkpoints before the newest one at or before event `seq`; returns its events and inputs, None
        if there is none. Pieces in the archive that no other one refers to are deleted, too, if they were put there
        before `older_than_s` (since 1970): a branch that forgets its past is the only one of its run.
        """
        seqs = sorted(candidate for candidate in self._seqs() if candidate <= seq)
        facts = self._facts(seqs[-1]) if seqs else None
        if facts is None:
            return None
        for candidate in seqs[:-1]:
            self._forget(candidate)
        kept = [self._facts(candidate) for candidate in self._seqs()]
        used = {piece for each in kept if each is not None for file in each.disk.files for piece in file.pieces}
        self._folder.archive.sweep(used, older_than_s)
        return facts.seq, facts.inputs

    def forget_after(self, seq: int) -> None:
        """Deletes the checkpoints beyond an event: a crash took what they include."""
        for candidate in self._seqs():
            if candidate > seq:
                self._forget(candidate)

    def _write(self, seq: int, inputs: int, engine: bytes, zookeeper: MemoryStore, image: DiskImage) -> None:
        self._folder.checkpoints.mkdir(parents=True, exist_ok=True)
        parts = {ENGINE: engine, ZOOKEEPER: pickle.dumps(zookeeper, pickle.HIGHEST_PROTOCOL)}
        contents = {suffix: zlib.compress(part, 1) for suffix, part in parts.items()}
        for suffix, data in contents.items():
            self._path(seq, suffix).write_bytes(data)
        digests = {suffix: digest_of(data) for suffix, data in contents.items()}
        # The last file makes the checkpoint valid.
        temporary = self._path(seq, "tmp")
        temporary.write_bytes(msgspec.json.encode(_Facts(engine_version(), seq, inputs, digests, image)))
        temporary.replace(self._path(seq, FACTS))

    def _thin_out(self) -> None:
        seqs = sorted(self._seqs())
        while len(seqs) > MAX_CHECKPOINTS:
            ends = [0, *seqs]
            at = min(range(len(seqs) - 1), key=lambda index: ends[index + 2] - ends[index])
            self._forget(seqs.pop(at))

    def _forget(self, seq: int) -> None:
        # The file that makes it valid comes first.
        for suffix in SUFFIXES:
            self._path(seq, suffix).unlink(missing_ok=True)

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
