"""A `ZkStore` on a real ZooKeeper server: one chroot, and one connection for each session of the cluster.

The run must be the same on any server, so the server is an input and never a clock. A model in memory (`MemoryStore`)
executes every operation too and provides the results: its zxids, its session ids. The server gets each write in a form
that succeeds only if it agrees with the model about the znodes concerned, and each read is compared. If the two differ,
there was an external write: the store reads the current state, applies it as an external change, and tries again.

After a write the store waits until the server has delivered the watches that it triggers according to the model, and
passes them on in the model's order.
"""

import threading
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from broker_core.texts import text
from broker_core.zk.memory_store import MemoryStore
from broker_core.zk.store import (
    ANY_VERSION,
    OUTSIDE_SESSION,
    Create,
    DataTooLarge,
    Delete,
    ForeignChange,
    ForeignKind,
    InvalidPath,
    Op,
    OpResult,
    SessionExpired,
    SetData,
    WatchedEvent,
    ZkError,
    ZkStore,
    ZnodeChange,
    ZnodeStat,
    parent_of,
    validate_path,
)
from broker_core.zk.znode_tree import PlannedWrite
from lab.runtime.zookeeper.external_changes import Reading, child_path, differences
from lab.runtime.zookeeper.kazoo_connection import OPERATION_TIMEOUT_S, KazooConnection, ReadKind, ZookeeperUnavailable
from lab.runtime.zookeeper.server import ZookeeperError, send_word
from lab.runtime.zookeeper.zk_copy import batches, ops_to_recreate

ATTEMPTS = 5


class ZookeeperDisagrees(ZookeeperError):
    """The server holds something else than the lab, and no change that can be taken in explains it."""


@dataclass(frozen=True)
class Server:
    """Where a run has its tree: HOST:PORT, and a chroot that is its own."""

    address: str
    chroot: str

    def ensure_alive(self) -> None:
        """Raises `ZookeeperUnavailable` when the server does not answer."""
        if not send_word(self.address):
            raise ZookeeperUnavailable(self.address, text("refusal.zookeeper_answer"))

    def copy(self, model: MemoryStore) -> "KazooStore":
        """Writes the tree of a model into the chroot."""
        store = KazooStore(self.address, self.chroot)
        try:
            store.materialise(model)
        except BaseException:
            store.close(remove=True)
            raise
        return store


class KazooStore(ZkStore):
    """For one thread at a time.

    Besides the errors of `ZkStore` every method raises `ZookeeperUnavailable` when the server does not answer, and
    `ZookeeperDisagrees` when its chroot has been tampered with beyond repair.

    Args:
        address: HOST:PORT.
        chroot: an absolute path below the root, made if absent. It must be empty, and it is for one store at a time.
    """

    def __init__(self, address: str, chroot: str):
        validate_path(chroot)
        Server(address, chroot).ensure_alive()
        self.address = address
        self.chroot = chroot
        self.model = MemoryStore()
        # Written by kazoo's threads under the lock: paths that may have changed, and whether we looked away.
        self._noticed = threading.Lock()
        self._dirty: set[str] = set()
        self._lost_sight = False
        # Paths on which the server holds watches of ours, and the server's czxid of each znode of the model.
        self._observed: set[str] = set()
        self._known: dict[str, int] = {}
        self._foreign: list[ForeignChange] = []
        self._fired: list[WatchedEvent] = []
        self._connections = {OUTSIDE_SESSION: KazooConnection(address, chroot, self._notice, self._reread)}
        try:
            self._move_in()
        except BaseException:
            self.close()
            raise

    def _move_in(self) -> None:
        outside = self._connections[OUTSIDE_SESSION]
        outside.make_chroot()
        root = self._read(["/"])["/"]
        assert root is not None
        if root.children:
            raise ZookeeperDisagrees(text("refusal.zookeeper_occupied", address=self.address, chroot=self.chroot))
        self._known["/"] = root.czxid

    def close(self, *, remove: bool = False) -> None:
        """Ends all sessions. `remove` deletes the chroot with all that is in it."""
        outside = self._connections.pop(OUTSIDE_SESSION)
        for connection in self._connections.values():
            connection.close()
        self._connections.clear()
        if remove:
            outside.remove_chroot()
        outside.close()

    # Sessions

    def open_session(self, owner: str) -> int:
        session = self.model.open_session(owner)
        self._connections[session] = KazooConnection(self.address, self.chroot)
        return session

    def close_session(self, session: int) -> None:
        self.model.close_session(session)
        if not self._connections.pop(session).close(OPERATION_TIMEOUT_S):
            raise ZookeeperUnavailable(self.address, text("refusal.zookeeper_close_session"))
        self._settle()

    # Writes

    def missing_parents(self, path: str) -> list[str]:
        return self.model.missing_parents(path)

    def create_znode(self, session: int, op: Create) -> str:
        self._mirror(session, [op])
        created = self.model.create_znode(session, op)
        self._settle()
        return created

    def set(self, session: int, path: str, data: bytes, version: int = ANY_VERSION) -> ZnodeStat:
        self._mirror(session, [SetData(path, data, version)])
        stat = self.model.set(session, path, data, version)
        self._settle()
        return stat

    def delete(self, session: int, path: str, version: int = ANY_VERSION) -> None:
        self._mirror(session, [Delete(path, version)])
        self.model.delete(session, path, version)
        self._settle()

    def multi(self, session: int, ops: Sequence[Op]) -> list[OpResult]:
        self._mirror(session, ops, as_multi=True)
        results = self.model.multi(session, ops)
        self._settle()
        return results

    def _mirror(self, session: int, ops: Sequence[Op], *, as_multi: bool = False) -> None:
        """Does a write on the server, and makes sure that the model will answer as the server did."""
        concerned = [path for op in ops for path in (parent_of(op.path), op.path)]
        for _ in range(ATTEMPTS):
            try:
                plan = self.model.plan(session, ops, as_multi=as_multi)
            except (SessionExpired, InvalidPath, DataTooLarge):
                return
            except ZkError:
                if not self._take_in(concerned):
                    return
                continue
            if self._write(session, exact(ops, plan), as_multi=as_multi):
                return
            self._take_in([*concerned, *(change.path for change in plan.changes)])
        raise self._disagreement(concerned)

    def _write(self, session: int, ops: Sequence[Op], *, as_multi: bool) -> bool:
        """Whether the server did it."""
        connection = self._connections[session]
        created = connection.write_all(ops) if as_multi else connection.write(ops[0])
        if created is None:
            return False
        for op in ops:
            if isinstance(op, Delete):
                self._known.pop(op.path, None)
        self._known.update(created)
        return True

    # Reads

    def get(self, session: int, path: str, *, watch: bool = False) -> tuple[bytes, ZnodeStat]:
        self._compare(session, path, "get", watch)
        return self.model.get(session, path, watch=watch)

    def exists(self, session: int, path: str, *, watch: bool = False) -> ZnodeStat | None:
        self._compare(session, path, "exists", watch)
        return self.model.exists(session, path, watch=watch)

    def children(self, session: int, path: str, *, watch: bool = False) -> list[str]:
        self._compare(session, path, "get_children", watch)
        return self.model.children(session, path, watch=watch)

    def _compare(self, session: int, path: str, kind: ReadKind, watch: bool) -> None:
        """Reads from the server, with its watch, until the model agrees."""
        try:
            validate_path(path)
            connection = self._connections[session]
        except (InvalidPath, KeyError):
            return  # The model refuses it.
        for _ in range(ATTEMPTS):
            here = self.model.peek(path)
            there = connection.read(path, kind, watch=watch)
            if there is None or here is None:
                agreed = there is None and here is None
            elif kind == "get":
                agreed = (here[0], here[1].version) == (there[0], there[1].version)
            elif kind == "exists":
                agreed = here[1].version == there.version
            else:
                agreed = self.model.children_of(path) == sorted(there)
            if agreed:
                return
            self._take_in([path])
        raise self._disagreement([path])

    # What others do

    def poll_foreign(self) -> list[ForeignChange]:
        """External changes since the last call. Cheap if there are none.

        The caller records the changes as inputs and applies them at once, with `apply_foreign`.
        """
        with self._noticed:
            dirty, self._dirty = self._dirty, set()
            lost_sight, self._lost_sight = self._lost_sight, False
        if lost_sight:
            self._observed.clear()
            dirty.update(self.model.paths_from("/"))
        return self._differences(dirty) if dirty else []

    def take_foreign(self) -> list[ForeignChange]:
        """External changes that an operation detected, and that are already applied.

        They are also inputs. Each has the number of its operation; a replay gives them to `MemoryStore.expect_foreign`
        before the handler runs.
        """
        foreign, self._foreign = self._foreign, []
        return foreign

    def apply_foreign(
        self,
        kind: ForeignKind,
        path: str,
        data: bytes | None = None,
        *,
        version: int | None = None,
        cversion: int | None = None,
    ) -> None:
        self.model.apply_foreign(kind, path, data, version=version, cversion=cversion)
        self._fired += self.model.take_watches()

    def _take_in(self, paths: Iterable[str]) -> bool:
        """Applies the server's changes to the model; returns whether there were any."""
        found = self._differences(paths)
        for change in found:
            self.apply_foreign(change.kind, change.path, change.data, version=change.version, cversion=change.cversion)
            self._foreign.append(
                ForeignChange(
                    change.kind, change.path, change.data, change.version, change.cversion, self.model.operations + 1
                )
            )
        return bool(found)

    def _differences(self, paths: Iterable[str]) -> list[ForeignChange]:
        readings = self._read(paths)
        changes = differences(self.model, readings, self._known)
        for change in changes:
            reading = readings.get(change.path)
            if change.kind == "deleted":
                self._known.pop(change.path, None)
            elif change.kind == "created" and reading is not None:
                self._known[change.path] = reading.czxid
        return changes

    def _read(self, paths: Iterable[str]) -> dict[str, Reading | None]:
        """Reads znodes and all that was not seen before below them, and watches them from then on."""
        readings: dict[str, Reading | None] = {}
        wanted = set(paths)
        while wanted:
            found = self._connections[OUTSIDE_SESSION].observe(sorted(wanted))
            readings |= found
            wanted = set()
            for path, reading in found.items():
                if reading is None:
                    self._observed.discard(path)
                    continue
                self._observed.add(path)
                is_new = self._known.get(path) != reading.czxid
                for child in (child_path(path, name) for name in reading.children):
                    if is_new or child not in self._observed or self.model.peek(child) is None:
                        wanted.add(child)
            wanted -= readings.keys()
        if "/" in readings and readings["/"] is None:
            raise self._disagreement(["/"])
        return readings

    def _notice(self, path: str) -> None:
        with self._noticed:
            self._dirty.add(path)

    def _reread(self) -> None:
        with self._noticed:
            self._lost_sight = True

    # What has happened, and what there is

    def take_changes(self) -> list[ZnodeChange]:
        return self.model.take_changes()

    def take_watches(self) -> list[WatchedEvent]:
        fired, self._fired = self._fired, []
        return fired

    def tree(self) -> Iterator[tuple[str, bytes, ZnodeStat]]:
        return self.model.tree()

    def _settle(self) -> None:
        """Waits for the server to deliver the watches that the last write set off."""
        fired = self.model.take_watches()
        self._fired += fired
        for watch in fired:
            if watch.session in self._connections:
                self._connections[watch.session].wait_for(watch.kind, watch.path)

    # A branch that was forked or opened again

    def materialise(self, model: MemoryStore) -> None:
        """Makes the empty chroot, and this store, hold what a model holds: data, versions, sessions and watches."""
        if self.model.operations or self._known.keys() != {"/"}:
            raise ValueError("Only a store that was not used yet can be given the tree of a model.")
        self.model = model.copy()
        for session in self.model.sessions:
            self._connections[session] = KazooConnection(self.address, self.chroot)
        self._fired += self.model.take_watches()
        for session, ops in batches(ops_to_recreate(self.model)):
            if not self._write(session, ops, as_multi=True):
                raise self._disagreement([op.path for op in ops])
        readings = self._read(["/"])
        self._known = {path: reading.czxid for path, reading in readings.items() if reading is not None}
        found = differences(self.model, readings, self._known)
        if found:
            raise self._disagreement([change.path for change in found])
        armed: defaultdict[int, list[tuple[str, ReadKind]]] = defaultdict(list)
        for session, of_children, path in self.model.watches():
            armed[session].append((path, "get_children" if of_children else "exists"))
        for session, wanted in armed.items():
            self._connections[session].arm(wanted)

    def continue_from(self, model: MemoryStore) -> None:
        """Continues where a model is that has done nothing since its tree was materialised: what its owner has taken
        from it meanwhile is not given again.
        """
        self.model = model.copy()
        self._fired = self.model.take_watches()

    def _disagreement(self, paths: Sequence[str]) -> ZookeeperDisagrees:
        at = ", ".join(dict.fromkeys(paths))
        return ZookeeperDisagrees(text("refusal.zookeeper_differs", address=self.address, chroot=self.chroot, paths=at))


def exact(ops: Sequence[Op], plan: PlannedWrite) -> list[Op]:
    """The same write, with the versions and sequence numbers that the model expects: it fails where they are others."""
    changes = iter(plan.changes)
    exact_ops: list[Op] = []
    for op in ops:
        match op:
            case Create():
                exact_ops.append(Create(next(changes).path, op.data, op.ephemeral))
            case SetData():
                exact_ops.append(SetData(op.path, op.data, next(changes).version - 1))
            case Delete():
                exact_ops.append(Delete(op.path, next(changes).version))
            case _:
                exact_ops.append(op)
    return exact_ops
