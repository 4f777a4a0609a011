"""A ZooKeeper in memory: for simulation, for replay, and as the model that the adapter to a real server checks."""

import copy
from collections import deque
from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from broker_core.zk.store import (
    ANY_VERSION,
    OUTSIDE_SESSION,
    Create,
    Delete,
    ForeignChange,
    ForeignKind,
    NoNode,
    Op,
    OpResult,
    SessionExpired,
    SetData,
    WatchedEvent,
    WatchKind,
    ZkError,
    ZkStore,
    ZnodeChange,
    ZnodeStat,
    parent_of,
    validate_path,
)
from broker_core.zk.znode_tree import PlannedWrite, Znode


class MemoryStore(ZkStore):
    """Holds plain data only, so it pickles and copies with the cluster that uses it."""

    def __init__(self) -> None:
        self.zxid = 0
        self.operations = 0
        self.sessions: dict[int, str] = {}
        self._last_session = 0
        self._nodes: dict[str, Znode] = {"/": Znode(b"", 0, 0)}
        self._ephemerals: dict[int, dict[str, None]] = {}
        # Path -> sessions. Watches of `get` and `exists` are of one kind, as on a server.
        self._data_watches: dict[str, dict[int, None]] = {}
        self._child_watches: dict[str, dict[int, None]] = {}
        self._changes: list[ZnodeChange] = []
        self._fired: list[WatchedEvent] = []
        self._expected_foreign: deque[ForeignChange] = deque()

    def copy(self) -> "MemoryStore":
        return copy.deepcopy(self)

    # Sessions

    def open_session(self, owner: str) -> int:
        self._begin_operation()
        self.zxid += 1
        self._last_session += 1
        self.sessions[self._last_session] = owner
        self._ephemerals[self._last_session] = {}
        return self._last_session

    def close_session(self, session: int) -> None:
        self._begin_operation()
        if session not in self.sessions:
            raise SessionExpired("/")
        del self.sessions[session]
        for watches in (self._data_watches, self._child_watches):
            for sessions in watches.values():
                sessions.pop(session, None)
        self._commit(self._transaction(session, [Delete(path) for path in self._ephemerals[session]], as_multi=False))
        del self._ephemerals[session]

    # Writes

    def create_znode(self, session: int, op: Create) -> str:
        self._begin_operation()
        (created,) = self._write(session, [op])
        assert isinstance(created, str)
        return created

    def set(self, session: int, path: str, data: bytes, version: int = ANY_VERSION) -> ZnodeStat:
        self._begin_operation()
        (stat,) = self._write(session, [SetData(path, data, version)])
        assert isinstance(stat, ZnodeStat)
        return stat

    def delete(self, session: int, path: str, version: int = ANY_VERSION) -> None:
        self._begin_operation()
        self._write(session, [Delete(path, version)])

    def multi(self, session: int, ops: Sequence[Op]) -> list[OpResult]:
        self._begin_operation()
        return self._write(session, ops, as_multi=True)

    def plan(self, session: int, ops: Sequence[Op], *, as_multi: bool = False) -> PlannedWrite:
        """Plans a write without changing anything. Raises its ZkError."""
        if session != OUTSIDE_SESSION and session not in self.sessions:
            raise SessionExpired(ops[0].path if ops else "/")
        if session == OUTSIDE_SESSION and any(isinstance(op, Create) and op.ephemeral for op in ops):
            raise ValueError("The outside session ends with the run, so it can own no ephemeral znode: open a session.")
        return self._transaction(session, ops, as_multi=as_multi)

    def _write(self, session: int, ops: Sequence[Op], *, as_multi: bool = False) -> list[OpResult]:
        try:
            transaction = self.plan(session, ops, as_multi=as_multi)
        except ZkError:
            # A rejected write takes a zxid, too: a server logs it as an error transaction.
            self.zxid += 1
            raise
        return self._commit(transaction)

    def _transaction(self, session: int, ops: Sequence[Op], *, as_multi: bool) -> PlannedWrite:
        return PlannedWrite(self._nodes, session, self.zxid + 1, ops, as_multi=as_multi)

    def _commit(self, transaction: PlannedWrite) -> list[OpResult]:
        transaction.commit()
        self.zxid = transaction.zxid
        for change in transaction.changes:
            self._changes.append(change)
            self._remember_owner(change)
            self._fire(change.kind, change.path)
        return transaction.results

    def missing_parents(self, path: str) -> list[str]:
        validate_path(path.rstrip("/") or "/")
        missing = []
        parent = parent_of(path)
        while parent not in self._nodes:
            missing.append(parent)
            parent = parent_of(parent)
        return missing[::-1]

    def _remember_owner(self, change: ZnodeChange) -> None:
        owned = self._ephemerals.get(change.ephemeral_owner)
        if owned is not None and change.kind == "created":
            owned[change.path] = None
        elif owned is not None and change.kind == "deleted":
            owned.pop(change.path, None)

    # Reads and watches

    def get(self, session: int, path: str, *, watch: bool = False) -> tuple[bytes, ZnodeStat]:
        node = self._read(session, path)
        if watch:
            self._data_watches.setdefault(path, {})[session] = None
        return node.data, node.stat()

    def exists(self, session: int, path: str, *, watch: bool = False) -> ZnodeStat | None:
        try:
            node = self._read(session, path)
        except NoNode:
            node = None
        if watch:
            self._data_watches.setdefault(path, {})[session] = None
        return node.stat() if node else None

    def children(self, session: int, path: str, *, watch: bool = False) -> list[str]:
        node = self._read(session, path)
        if watch:
            self._child_watches.setdefault(path, {})[session] = None
        return sorted(node.children)

    def _read(self, session: int, path: str) -> Znode:
        self._begin_operation()
        if session != OUTSIDE_SESSION and session not in self.sessions:
            raise SessionExpired(path)
        validate_path(path)
        node = self._nodes.get(path)
        if node is None:
            raise NoNode(path)
        return node

    def watches(self) -> Iterator[tuple[int, bool, str]]:
        """Session, whether it watches children, and path of each watch that is set, sorted by path."""
        for of_children, watches in ((False, self._data_watches), (True, self._child_watches)):
            for path in sorted(watches):
                for session in sorted(watches[path]):
                    yield session, of_children, path

    def _fire(self, kind: WatchKind, path: str) -> None:
        fired = [(session, 0, kind, path) for session in self._data_watches.pop(path, ())]
        if kind == "deleted":
            notified = {session for session, *_ in fired}
            watching = self._child_watches.pop(path, {})
            fired += [(session, 0, kind, path) for session in watching if session not in notified]
        if kind != "changed":
            parent = parent_of(path)
            fired += [(session, 1, "children", parent) for session in self._child_watches.pop(parent, ())]
        self._fired += [WatchedEvent(session, kind, path) for session, _, kind, path in sorted(fired)]

    # External changes

    def _begin_operation(self) -> None:
        """Counts the operation, and applies the external changes that were recorded before it."""
        self.operations += 1
        while self._expected_foreign and self._expected_foreign[0].operation == self.operations:
            foreign = self._expected_foreign.popleft()
            self.apply_foreign(
                foreign.kind, foreign.path, foreign.data, version=foreign.version, cversion=foreign.cversion
            )

    def expect_foreign(self, change: ForeignChange) -> None:
        """Schedules a recorded change before the operation that found it. Call this in the recorded order."""
        self._expected_foreign.append(change)

    def apply_foreign(
        self,
        kind: ForeignKind,
        path: str,
        data: bytes | None = None,
        *,
        version: int | None = None,
        cversion: int | None = None,
    ) -> None:
        if kind == "children" and path not in self._nodes:
            raise NoNode(path)
        before = len(self._changes)
        if kind == "created":
            self._write(OUTSIDE_SESSION, [Create(path, data or b"")])
        elif kind == "changed":
            self._write(OUTSIDE_SESSION, [SetData(path, data or b"")])
        elif kind == "deleted":
            self._write(OUTSIDE_SESSION, [Delete(path)])
        self._changes[before:] = [replace(change, is_foreign=True) for change in self._changes[before:]]
        node = self._nodes.get(path)
        if node is not None and version is not None:
            node.version = version
        if node is not None and cversion is not None:
            node.creates = (cversion + len(node.children)) // 2

    # Changes and contents

    def take_changes(self) -> list[ZnodeChange]:
        changes, self._changes = self._changes, []
        return changes

    def take_watches(self) -> list[WatchedEvent]:
        fired, self._fired = self._fired, []
        return fired

    def tree(self) -> Iterator[tuple[str, bytes, ZnodeStat]]:
        for path in sorted(self._nodes):
            if path != "/":
                yield path, self._nodes[path].data, self._nodes[path].stat()

    def peek(self, path: str) -> tuple[bytes, ZnodeStat] | None:
        """Data and stat without a session or an operation; None if there is no such znode."""
        node = self._nodes.get(path)
        return (node.data, node.stat()) if node else None

    def children_of(self, path: str) -> list[str]:
        """Names of the children without a session, sorted; empty if there is no such znode."""
        node = self._nodes.get(path)
        return sorted(node.children) if node else []

    def paths_from(self, path: str) -> Iterator[str]:
        """The path, if the znode exists, and those below it; parents before children."""
        if path in self._nodes:
            yield path
            for child in self.children_of(path):
                yield from self.paths_from(f"{path.rstrip('/')}/{child}")
