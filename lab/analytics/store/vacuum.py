"""Deletes old builds, and the files that only they list."""

import contextlib
import time
from dataclasses import dataclass

from lab.analytics.store import attempts
from lab.analytics.store.builds import Build, Store, build_name
from lab.analytics.store.chunks import CHUNKS, chunk_file

KEEP = 3
YOUNG_S = 24 * 3_600.0


@dataclass
class Vacuumed:
    """What was deleted."""

    builds: int = 0
    files: int = 0
    bytes: int = 0


def vacuum(store: Store, keep: int = KEEP, young_s: float = YOUNG_S) -> Vacuumed:
    """Keeps the newest `keep` builds, those that started less than `young_s` ago, and pinned ones.

    Files that no build lists are kept while an attempt that may list them is in progress.
    """
    done = Vacuumed()
    attempts.sweep(store)
    # Before the attempts, and these before the builds: an attempt that wrote one of the files is still in progress, or
    # its build is among them.
    written = list(store.files.names(""))
    alive = [attempt.id for attempt in attempts.attempts(store)]
    builds = []
    for number in store.numbers():
        # Another process may be deleting it.
        with contextlib.suppress(FileNotFoundError):
            builds.append(store.build(number))
    if not builds:
        return done
    pinned = store.pinned()
    border_ms = (time.time() - young_s) * 1_000
    newest = {build.number for build in builds[-max(keep, 1) :]}
    kept = [
        build for build in builds if build.number in newest or build.number in pinned or build.file.began_ms > border_ms
    ]
    names = _names(kept)
    # Builds first, then their files: an existing build is always complete.
    for build in builds:
        if build not in kept:
            store.files.delete(build_name(build.number))
            done.builds += 1
    # Chunks last, which an attempt that has begun since may have found.
    for name in sorted(written, key=lambda name: name.startswith(CHUNKS)):
        if not _is_derived(name) or attempts.is_listed(name, names) or any(attempt in name for attempt in alive):
            continue
        if name.startswith(CHUNKS) and (alive or any(store.files.names(attempts.FOLDER))):
            # An attempt may have written or found it, and may be about to list it.
            continue
        with contextlib.suppress(FileNotFoundError):
            # Another process may have deleted it.
            done.bytes += store.files.size(name)
            done.files += 1
        store.files.delete(name)
    return done


def leave_newest(store: Store) -> None:
    """Deletes all builds but the newest, also pinned ones, after something has been removed that must not come back."""
    for number in store.pinned():
        store.pin(number, is_pinned=False)
    vacuum(store, keep=1, young_s=0)


def _names(builds: list[Build]) -> set[str]:
    """All files of builds."""
    found: set[str] = set()
    for build in builds:
        found.update(file.path for table in build.tables for file in build.files(table))
        found.update(chunk_file(chunk) for state in build.file.tables.values() for chunk in state.chunks)
        found.update(chunk_file(chunk) for chunk in build.file.ledger)
    return found


def _is_derived(name: str) -> bool:
    return not name.startswith("_") or name.startswith(CHUNKS)
