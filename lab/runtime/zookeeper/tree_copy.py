"""A copy of a lab's tree on the server, made while the engine works on its model in memory."""

import threading

from broker_core.zk.memory_store import MemoryStore
from lab.runtime.zookeeper.kazoo_store import KazooStore, Server


class TreeCopy:
    """Make and take it in the lab's thread, `write` and `discard` it in another one: opening the sessions and writing
    the tree takes some tenths of a second, in which the lab would do nothing.
    """

    def __init__(self, server: Server, model: MemoryStore) -> None:
        self._server = server
        self._model = model.copy()
        self._store: KazooStore | None = None
        self._failure: Exception | None = None
        self._taking = threading.Lock()

    def write(self) -> None:
        """Writes the tree into the chroot; `take` raises what failed."""
        try:
            self._store = self._server.copy(self._model)
        except Exception as failure:
            self._failure = failure

    def take(self, model: MemoryStore) -> KazooStore | None:
        """The store of the copy, or None if the model has done something since. Raises the error of a tree that
        could not be written.
        """
        if self._failure is not None:
            raise self._failure
        if model.operations != self._model.operations or (store := self._taken()) is None:
            return None
        store.continue_from(model)
        return store

    def discard(self) -> None:
        """Removes the copy, unless it was taken."""
        if (store := self._taken()) is not None:
            store.close(remove=True)

    def _taken(self) -> KazooStore | None:
        """The store, once."""
        with self._taking:
            store, self._store = self._store, None
        return store
