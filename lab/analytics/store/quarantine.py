"""Unreadable bytes of recordings, copied and listed by branch."""

import contextlib
import hashlib

from lab.analytics.store.builds import Build, Store
from lab.analytics.store.ledger import Damage

MAX_COPIED_BYTES = 1024 * 1024
_FOLDER = "_quarantine"


def keep(store: Store, branch: str, data: bytes) -> str:
    """Copies up to 1 MB of unreadable bytes. Returns the path; identical bytes are stored once."""
    copied = data[:MAX_COPIED_BYTES]
    name = f"{_FOLDER}/{branch}/{hashlib.sha256(copied).hexdigest()[:32]}"
    with contextlib.suppress(FileExistsError):
        store.files.create(name, copied)
    return name


def damaged(build: Build) -> dict[str, tuple[Damage, ...]]:
    """The branches with unreadable parts."""
    return {branch: entry.damage for branch, entry in build.ledger().items() if entry.damage}
