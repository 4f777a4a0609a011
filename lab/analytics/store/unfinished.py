"""Erasures that have begun and not ended: the next pass does them again."""

import contextlib
import uuid
from collections.abc import Iterator

import msgspec

from lab.analytics.store.builds import Store
from lab.analytics.store.chunks import packed, unpacked

_FOLDER = "_erasures"


class Pending(msgspec.Struct, frozen=True, omit_defaults=True):
    """An erasure: people by their pseudonyms, and logs. With neither, older builds are yet to be deleted."""

    people: tuple[str, ...] = ()
    logs: tuple[str, ...] = ()


@contextlib.contextmanager
def unfinished(store: Store, pending: Pending) -> Iterator[None]:
    """Records an erasure, until it ends without an error."""
    name = f"{_FOLDER}/{uuid.uuid4().hex}.json.zst"
    store.files.write(name, packed(pending))
    yield
    store.files.delete(name)


def begun(store: Store) -> Iterator[tuple[str, Pending]]:
    """The erasures that have not ended, each with the file that records it."""
    for name in store.files.names(_FOLDER):
        # Another process may have ended it.
        with contextlib.suppress(FileNotFoundError):
            yield name, unpacked(store.files.read(name), Pending)
