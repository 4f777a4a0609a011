"""The lab whose people and runs tables are about. Only that lab can know what has been deleted."""

import contextlib

from lab.analytics.store.builds import Store

_OWNER = "_owner"


def owner(store: Store) -> str:
    """The id of the lab that owns the tables; empty if none has been recorded."""
    with contextlib.suppress(FileNotFoundError):
        return store.files.read(_OWNER).decode()
    return ""


def claim(store: Store, lab: str) -> bool:
    """Records a lab as the owner unless there is one. Returns whether it owns the tables."""
    with contextlib.suppress(FileExistsError):
        store.files.create(_OWNER, lab.encode())
    return owner(store) == lab
