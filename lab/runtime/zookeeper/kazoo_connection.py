"""One session on a ZooKeeper server, through kazoo: requests with a time limit, watches that one can wait for."""

import contextlib
import logging
import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal

from kazoo.client import KazooClient, KazooState
from kazoo.exceptions import (
    BadVersionError,
    KazooException,
    NoChildrenForEphemeralsError,
    NodeExistsError,
    NoNodeError,
    NotEmptyError,
)
from kazoo.handlers.threading import KazooTimeoutError
from kazoo.protocol.states import EventType, WatchedEvent

from broker_core.texts import Text, text
from broker_core.zk.store import Check, Create, Delete, Op, SetData, WatchKind
from lab.runtime.zookeeper.external_changes import Reading
from lab.runtime.zookeeper.server import MAX_SESSION_TIMEOUT_MS, ZookeeperError

OPERATION_TIMEOUT_S = 30.0
CLOSE_TIMEOUT_S = 10.0
"""For a server that may be down: closing the session does not wait longer."""
# On loopback a connection breaks when the server ends, so there is little to wait for.
RECONNECT = {"max_tries": 5, "delay": 0.1, "backoff": 2, "max_delay": 1.0}
REFUSALS = (BadVersionError, NoChildrenForEphemeralsError, NodeExistsError, NoNodeError, NotEmptyError)

# What kazoo would log is reported once, in the message of an error.
QUIET = logging.getLogger("highwater.kazoo")
QUIET.setLevel(logging.CRITICAL + 1)

ReadKind = Literal["get", "exists", "get_children"]


class ZookeeperUnavailable(ZookeeperError):
    """The server does not answer."""

    def __init__(self, address: str, doing: Text, reason: object = None):
        detail = text("refusal.zookeeper_no_answer") if reason is None else str(reason) or type(reason).__name__
        seconds = f"{OPERATION_TIMEOUT_S:.0f}"
        super().__init__(
            text("refusal.zookeeper_unavailable", address=address, doing=doing, detail=detail, seconds=seconds)
        )


class KazooConnection:
    """A session whose paths are below `chroot`. kazoo's threads only note which watches have fired.

    Every method raises `ZookeeperUnavailable` when the server does not answer in time.

    Args:
        on_change: called by kazoo's thread with the path when a znode of `observe` has changed.
        on_reconnect: called by it when the connection was lost and is back: watches have been lost with it.
    """

    def __init__(
        self,
        address: str,
        chroot: str,
        on_change: Callable[[str], None] = lambda path: None,
        on_reconnect: Callable[[], None] = lambda: None,
    ):
        self.address = address
        self._chroot = chroot
        self._on_change = on_change
        self._on_reconnect = on_reconnect
        self._arrived = threading.Condition()
        # The watches that the server holds for `read`: (path, whether it is one for children).
        self._armed: set[tuple[str, bool]] = set()
        self._client = KazooClient(
            hosts=address, timeout=MAX_SESSION_TIMEOUT_MS / 1000, connection_retry=RECONNECT, logger=QUIET
        )
        self._client.add_listener(self._on_state)
        try:
            self._client.start(timeout=OPERATION_TIMEOUT_S)
        except KazooTimeoutError as error:
            self.close()
            raise ZookeeperUnavailable(address, text("refusal.zookeeper_open_session"), error) from error
        self._client.chroot = chroot

    def make_chroot(self) -> None:
        """Creates the chroot with its parents, where it does not exist."""
        self._client.chroot = ""
        try:
            self._client.ensure_path(self._chroot)
        except (KazooException, KazooTimeoutError) as error:
            raise ZookeeperUnavailable(
                self.address, text("refusal.zookeeper_create_chroot", path=self._chroot), error
            ) from error
        self._client.chroot = self._chroot

    def remove_chroot(self) -> None:
        """Deletes the chroot with all that is in it, if the server is still there."""
        with contextlib.suppress(KazooException, KazooTimeoutError):
            self._client.delete("/", recursive=True)

    def close(self, within_s: float = CLOSE_TIMEOUT_S) -> bool:
        """Ends the session, in a thread, since kazoo may wait as long as a session lasts. Returns whether it has
        ended in time.
        """
        closing = threading.Thread(target=self._close, daemon=True)
        closing.start()
        closing.join(within_s)
        return not closing.is_alive()

    def _close(self) -> None:
        with contextlib.suppress(KazooException, OSError):
            self._client.stop()
            self._client.close()

    # Writes

    def write(self, op: Op) -> dict[str, int] | None:
        """Does an operation: path -> czxid of what it created, or None if the server refused it."""
        try:
            match op:
                case Create():
                    request = self._client.create_async(
                        op.path, _stored(op.data), ephemeral=op.ephemeral, include_data=True
                    )
                    path, stat = self._answer(request, text("refusal.zookeeper_create"))
                    return {path: stat.czxid}
                case SetData():
                    self._answer(self._client.set_async(op.path, op.data, op.version), text("refusal.zookeeper_set"))
                case Delete():
                    self._answer(self._client.delete_async(op.path, op.version), text("refusal.zookeeper_delete"))
                case Check():
                    raise ValueError("A check must be part of a transaction.")
        except REFUSALS:
            return None
        return {}

    def write_all(self, ops: Sequence[Op]) -> dict[str, int] | None:
        """Does a transaction: path -> czxid of what it left created, or None if the server refused it."""
        transaction = self._client.transaction()
        for op in ops:
            match op:
                case Create():
                    transaction.create(op.path, op.data, ephemeral=op.ephemeral)
                    transaction.operations[-1] = transaction.operations[-1]._replace(data=_stored(op.data))
                case SetData():
                    transaction.set_data(op.path, op.data, op.version)
                case Delete():
                    transaction.delete(op.path, op.version)
                case Check():
                    transaction.check(op.path, op.version)
        answers = self._answer(transaction.commit_async(), text("refusal.zookeeper_transaction")) if ops else []
        if any(isinstance(answer, Exception) for answer in answers):
            return None
        requests = [(op.path, self._client.exists_async(op.path)) for op in ops if isinstance(op, Create)]
        stats = [(path, self._answer(request, text("refusal.zookeeper_read"))) for path, request in requests]
        return {path: stat.czxid for path, stat in stats if stat is not None}

    # Reads

    def read(self, path: str, kind: ReadKind, *, watch: bool) -> Any:
        """What kazoo's method of that name returns, or None where there is nothing. See `wait_for` for the watch."""
        return self._result(path, kind, self._ask(path, kind, watch=watch))

    def arm(self, watches: Iterable[tuple[str, ReadKind]]) -> None:
        """Sets watches as `read` does, all requests at once."""
        requests = [(path, kind, self._ask(path, kind, watch=True)) for path, kind in watches]
        for path, kind, request in requests:
            self._result(path, kind, request)

    def _ask(self, path: str, kind: ReadKind, *, watch: bool) -> Any:
        if watch:
            with self._arrived:
                self._armed.add((path, kind == "get_children"))
        return getattr(self._client, f"{kind}_async")(path, watch=self._on_watch if watch else None)

    def _result(self, path: str, kind: ReadKind, request: Any) -> Any:
        try:
            answer = self._answer(request, text("refusal.zookeeper_read"))
            return (answer[0] or b"", answer[1]) if kind == "get" else answer
        except NoNodeError:
            # The server takes no watch for what is not there, but from `exists`.
            with self._arrived:
                self._armed.discard((path, kind == "get_children"))
            return None

    def wait_for(self, kind: WatchKind, path: str) -> None:
        """Waits until a watch set by `read` has fired. Returns at once if none is set: it has fired already."""
        waited_for = {(path, kind == "children")} if kind != "deleted" else {(path, False), (path, True)}
        with self._arrived:
            if not self._arrived.wait_for(lambda: not waited_for & self._armed, OPERATION_TIMEOUT_S):
                raise ZookeeperUnavailable(self.address, text("refusal.zookeeper_watch", path=path))

    def observe(self, paths: Iterable[str]) -> dict[str, Reading | None]:
        """Reads znodes whole; `on_change` is called at the next change of each."""
        requests = [
            (
                path,
                self._client.get_async(path, watch=self._on_observed),
                self._client.get_children_async(path, watch=self._on_observed, include_data=True),
            )
            for path in paths
        ]
        readings: dict[str, Reading | None] = {}
        for path, data_request, children_request in requests:
            try:
                data, _ = self._answer(data_request, text("refusal.zookeeper_read"))
                names, stat = self._answer(children_request, text("refusal.zookeeper_read"))
            except NoNodeError:
                readings[path] = None
            else:
                readings[path] = Reading(data or b"", stat.version, stat.czxid, stat.cversion, tuple(sorted(names)))
        return readings

    def _answer(self, request: Any, doing: Text) -> Any:
        try:
            return request.get(timeout=OPERATION_TIMEOUT_S)
        except REFUSALS:
            raise
        except (KazooException, KazooTimeoutError, OSError) as error:
            raise ZookeeperUnavailable(self.address, doing, error) from error

    def _on_watch(self, event: WatchedEvent) -> None:
        with self._arrived:
            if event.type == EventType.DELETED:
                self._armed -= {(event.path, False), (event.path, True)}
            else:
                self._armed.discard((event.path, event.type == EventType.CHILD))
            self._arrived.notify_all()

    def _on_observed(self, event: WatchedEvent) -> None:
        if event.type != EventType.NONE:
            self._on_change(event.path)

    def _on_state(self, state: str) -> None:
        if state == KazooState.CONNECTED:
            self._on_reconnect()
        else:
            # kazoo forgets all watches when a connection breaks.
            with self._arrived:
                self._armed.clear()
                self._arrived.notify_all()


def _stored(data: bytes) -> bytes | None:
    """A new znode without data has none at all, as Kafka creates it: Kafka takes an empty array for broken JSON
    (ZkProducerIdManager does, of /latest_producer_id_block).
    """
    return data or None
