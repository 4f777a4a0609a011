"""Builds in progress. Each records its process, so that the files of a dead one are swept by the next."""

import os
import socket
import time
import uuid
from collections.abc import Iterator, Set
from contextlib import contextmanager

import msgspec

from lab.analytics.store.builds import Store
from lab.analytics.store.chunks import packed, unpacked

FOLDER = "_attempts"
"""The folder of the files that record attempts."""
STALE_S = 3_600.0
"""An attempt on another machine without a sign of life for this long counts as dead."""


class Attempt(msgspec.Struct, frozen=True):
    """A process that makes a build. All files that it writes have its `id` in their names."""

    id: str
    host: str
    pid: int
    heard_ms: int

    @property
    def is_alive(self) -> bool:
        """Whether its process may still be running: checked on this machine, assumed for an hour for others."""
        if self.host != socket.gethostname():
            return time.time() * 1_000 - self.heard_ms < STALE_S * 1_000
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            return True
        return True


@contextmanager
def attempted(store: Store) -> Iterator[Attempt]:
    """An attempt of this process. At the end it has published; an exception abandons it."""
    attempt = begin(store)
    try:
        yield attempt
    except BaseException:
        abandon(store, attempt)
        raise
    end(store, attempt)


def begin(store: Store) -> Attempt:
    """Records an attempt of this process."""
    attempt = Attempt(uuid.uuid4().hex[:16], socket.gethostname(), os.getpid(), int(time.time() * 1_000))
    store.files.write(_name(attempt), packed(attempt))
    return attempt


def renew(store: Store, attempt: Attempt) -> None:
    """Heartbeat: the attempt is still in progress."""
    store.files.write(_name(attempt), packed(msgspec.structs.replace(attempt, heard_ms=int(time.time() * 1_000))))


def end(store: Store, attempt: Attempt) -> None:
    """The attempt has published what it wrote."""
    store.files.delete(_name(attempt))


def abandon(store: Store, attempt: Attempt) -> int:
    """Deletes files of an attempt that no build lists. Returns their number."""
    listed = _listed(store)
    count = 0
    for name in store.files.names(""):
        if attempt.id in name and not name.startswith("_") and not is_listed(name, listed):
            store.files.delete(name)
            count += 1
    store.files.delete(_name(attempt))
    return count


def is_listed(name: str, listed: Set[str]) -> bool:
    """Whether a file is among those of builds, or in one of their folders of parts."""
    return name in listed or name.rpartition("/")[0] in listed


def sweep(store: Store) -> int:
    """Deletes the files of dead attempts. Returns their number."""
    count = 0
    for attempt in attempts(store):
        if not attempt.is_alive:
            count += abandon(store, attempt)
    return count


def attempts(store: Store) -> list[Attempt]:
    """All recorded attempts."""
    found = []
    for name in store.files.names(FOLDER):
        try:
            found.append(unpacked(store.files.read(name), Attempt))
        except FileNotFoundError:
            # It has ended since.
            continue
    return found


def _listed(store: Store) -> set[str]:
    listed: set[str] = set()
    for number in store.numbers():
        try:
            build = store.build(number)
            listed.update(file.path for table in build.tables for file in build.files(table))
        except FileNotFoundError:
            # Vacuum is deleting it; newer builds list what they share.
            continue
    return listed


def _name(attempt: Attempt) -> str:
    return f"{FOLDER}/{attempt.id}.json.zst"
