"""ZooKeeper as seen by the cluster: sessions in simulated time, events for operations, messages for watches.

The store may be a model in memory or a real server; it is an input and never a clock. An operation takes no simulated
time; a watch that it fires is sent to its owner like any message.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import msgspec

from broker_core.events.control import (
    REQUESTS_SHOWN,
    SessionClosed,
    SessionOpened,
    WatchArmed,
    WatchFired,
    ZnodeChanged,
    ZnodeCreated,
    ZnodeDeleted,
    ZooKeeperAsked,
    ZooKeeperRequestRow,
)
from broker_core.events.world import ForeignZnodeChanged
from broker_core.sim.kernel import Kernel, PassiveNode
from broker_core.zk.store import (
    OUTSIDE_SESSION,
    Check,
    Create,
    Delete,
    ForeignChange,
    SetData,
    ZkError,
    ZkStore,
    ZnodeStat,
)

ZK_NODE = "zk"
_REQUESTS_TIMER = "asked"


class Session(msgspec.Struct):
    """A session of a node. `expiry_timer`: counts down while the node does not reach ZooKeeper, 0 otherwise.

    `incarnation` is that of the process that opened it: a session may outlive it, and is then independent of the next
    process of the same name. `watches` are those that it has set: path, and data or children.
    """

    number: int
    owner: str
    timeout_us: int
    incarnation: int
    expiry_timer: int = 0
    watches: dict[tuple[str, str], None] = {}


class UnreportedRequests(msgspec.Struct):
    """The requests of a node at this instant that are in no event yet."""

    count: int = 0
    requests: list[ZooKeeperRequestRow] = []


class ZooKeeper(PassiveNode):
    """The node `zk`. Holds the sessions; each change of the tree becomes an event emitted by the node that made it."""

    name = ZK_NODE

    def __init__(self, kernel: Kernel, store: ZkStore) -> None:
        self.kernel = kernel
        self.store = store
        self.sessions: dict[str, Session] = {}
        self.owners: dict[int, str] = {OUTSIDE_SESSION: ""}
        self._unreported: dict[str, UnreportedRequests] = {}
        self.outside = ZkClient(self, OUTSIDE_SESSION, "shell")
        """The client for the console, which is not a node of the cluster."""

    def connect(self, owner: str, timeout_us: int) -> "ZkClient":
        """Opens a session for a node; an older one of the same node lasts until it expires or is closed."""
        number = self.store.open_session(owner)
        self.sessions[owner] = Session(number, owner, timeout_us, self.kernel.incarnations.get(owner, 0))
        self.owners[number] = owner
        self.kernel.emit(SessionOpened(session=number, owner=owner), owner)
        self.record_request(owner, "createSession", "", "ok")
        return ZkClient(self, number, owner)

    def close(self, owner: str, why: str = "closed") -> None:
        """Ends a node's session and deletes its ephemeral znodes. `why`: closed or expired."""
        session = self.sessions.pop(owner, None)
        if session is None:
            return
        if session.expiry_timer:
            self.kernel.scheduler.cancel(session.expiry_timer)
        if why == "closed":
            self.record_request(owner, "closeSession", "", "ok")
        self.kernel.emit(SessionClosed(session=session.number, owner=owner, why=why), ZK_NODE)
        self.store.close_session(session.number)
        self.publish(ZK_NODE)

    def lost_contact(self, owner: str) -> None:
        """Stops the node's heartbeats (killed, frozen, cut off): its session expires after its timeout."""
        session = self.sessions.get(owner)
        if session is not None and not session.expiry_timer:
            due_us = self.kernel.now_us + session.timeout_us
            session.expiry_timer = self.kernel.timer(ZK_NODE, due_us, "session_expiry", (owner, session.number))

    def found_contact(self, owner: str) -> None:
        """Resumes the node's heartbeats before its session has expired."""
        session = self.sessions.get(owner)
        if session is not None and session.expiry_timer and self._owner_lives(session):
            self.kernel.scheduler.cancel(session.expiry_timer)
            session.expiry_timer = 0

    def _owner_lives(self, session: Session) -> bool:
        kernel = self.kernel
        return session.owner in kernel.up and kernel.incarnations.get(session.owner) == session.incarnation

    def has_session(self, owner: str) -> bool:
        """Whether a session of this node is alive in ZooKeeper, even if the node is not."""
        return owner in self.sessions

    def watches(self) -> dict[str, dict[str, list[str]]]:
        """The watches by node and path: data, children, or both."""
        found: dict[str, dict[str, list[str]]] = {}
        for owner, session in self.sessions.items():
            for path, of in sorted(session.watches):
                found.setdefault(path, {}).setdefault(owner, []).append(of)
        return found

    def record_request(self, client: str, operation: str, path: str, result: str) -> None:
        """Counts a request of a node. All of an instant become one event, whatever their number."""
        if not self._unreported:
            self.kernel.timer(ZK_NODE, self.kernel.now_us, _REQUESTS_TIMER)
        asked = self._unreported.get(client)
        if asked is None:
            asked = self._unreported[client] = UnreportedRequests(requests=[])
        asked.count += 1
        if asked.count <= REQUESTS_SHOWN:
            asked.requests.append((operation, path, result))

    def _report_requests(self) -> None:
        asked, self._unreported = self._unreported, {}
        for client, one in asked.items():
            event = ZooKeeperAsked(client=client, count=one.count, requests=tuple(one.requests))
            self.kernel.emit(event, client)

    def on_timer(self, name: str, data: Any) -> None:
        if name == _REQUESTS_TIMER:
            self._report_requests()
            return
        owner, number = data
        session = self.sessions.get(owner)
        if session is not None and session.number == number:
            session.expiry_timer = 0
            self.close(owner, "expired")

    def foreign_change(self, change: ForeignChange) -> None:
        """Applies an external change of a znode."""
        self.store.apply_foreign(
            change.kind, change.path, change.data, version=change.version, cversion=change.cversion
        )
        self.publish(ZK_NODE)

    def publish(self, author: str) -> None:
        """Emits the store's changes as events of `author`, and sends the fired watches as messages.

        External changes found by any operation are emitted here, too, without a node of the cluster as author.
        """
        kernel = self.kernel
        for change in self.store.take_changes():
            node = author
            if change.is_foreign:
                node = ZK_NODE
                kernel.emit(ForeignZnodeChanged(change=change.kind, path=change.path, data=_text(change.data)), node)
            if change.kind == "created":
                kernel.emit(
                    ZnodeCreated(
                        path=change.path,
                        data=_text(change.data),
                        zxid=change.zxid,
                        ephemeral_owner=self.owners.get(change.ephemeral_owner, "") if change.ephemeral_owner else "",
                    ),
                    node,
                )
            elif change.kind == "changed":
                kernel.emit(
                    ZnodeChanged(path=change.path, data=_text(change.data), version=change.version, zxid=change.zxid),
                    node,
                )
            else:
                kernel.emit(ZnodeDeleted(path=change.path, zxid=change.zxid), node)
        for fired in self.store.take_watches():
            owner = self.owners.get(fired.session, "")
            session = self.sessions.get(owner)
            if session is None or session.number != fired.session:
                continue
            if fired.kind != "children":
                session.watches.pop((fired.path, "data"), None)
            if fired.kind in ("children", "deleted"):
                session.watches.pop((fired.path, "children"), None)
            kernel.emit(WatchFired(owner=owner, path=fired.path, change=fired.kind), ZK_NODE)
            if self._owner_lives(session):
                kernel.notify(owner, fired.kind, fired.path)

    def watched(self, owner: str, number: int, path: str, of: str) -> None:
        """Records a watch set by a node. `of`: data or children."""
        session = self.sessions.get(owner)
        if session is not None and session.number == number and (path, of) not in session.watches:
            session.watches[path, of] = None
            self.kernel.emit(WatchArmed(owner=owner, path=path, of=of), owner)


def _text(data: bytes | None) -> str:
    return "" if data is None else data.decode("utf-8", "backslashreplace")


class ZkClient:
    """A node's handle on its session. Same operations and errors as `ZkStore`.

    Any of them, including a read or a rejected write, may find external changes, which are emitted at once.
    """

    def __init__(self, zookeeper: ZooKeeper, session: int, owner: str) -> None:
        self.zookeeper = zookeeper
        self.session = session
        self.owner = owner

    def create(
        self, path: str, data: bytes, *, ephemeral: bool = False, sequential: bool = False, makepath: bool = False
    ) -> str:
        with self._reporting("create", path) as store:
            return store.create(self.session, path, data, ephemeral=ephemeral, sequential=sequential, makepath=makepath)

    def get(self, path: str, *, watch: bool = False) -> tuple[bytes, ZnodeStat]:
        with self._reporting("getData", path) as store:
            found = store.get(self.session, path, watch=watch)
        if watch:
            self.zookeeper.watched(self.owner, self.session, path, "data")
        return found

    def set(self, path: str, data: bytes, version: int = -1) -> ZnodeStat:
        with self._reporting("setData", path) as store:
            return store.set(self.session, path, data, version)

    def delete(self, path: str, version: int = -1) -> None:
        with self._reporting("delete", path) as store:
            store.delete(self.session, path, version)

    def exists(self, path: str, *, watch: bool = False) -> ZnodeStat | None:
        with self._reporting("exists", path) as store:
            found = store.exists(self.session, path, watch=watch)
        if watch:
            self.zookeeper.watched(self.owner, self.session, path, "data")
        return found

    def children(self, path: str, *, watch: bool = False) -> list[str]:
        with self._reporting("getChildren", path) as store:
            found = store.children(self.session, path, watch=watch)
        if watch:
            self.zookeeper.watched(self.owner, self.session, path, "children")
        return found

    def multi(self, ops: list[Create | SetData | Delete | Check]) -> list[str | ZnodeStat | None]:
        with self._reporting("multi", ops[0].path if ops else "") as store:
            return store.multi(self.session, ops)

    @contextmanager
    def _reporting(self, operation: str, path: str) -> Iterator[ZkStore]:
        result = "ok"
        try:
            yield self.zookeeper.store
        except ZkError as error:
            result = type(error).__name__
            raise
        finally:
            if self.session != OUTSIDE_SESSION:
                self.zookeeper.record_request(self.owner, operation, path, result)
            self.zookeeper.publish(self.owner)
