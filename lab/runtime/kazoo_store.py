"""A `ZkStore` on a real ZooKeeper server: one chroot, and one connection for each session of the cluster.

The run must be the same on any server, so the server is an input and never a clock. A model in memory (`MemoryStore`)
does every operation too and gives the answers: its zxids, its session ids. The server gets each write in a form that
succeeds only if it agrees with the model about the znodes concerned, and each read is compared. Where the two differ,
somebody else has written: the store reads what there is, takes it in as a foreign change, and tries again.

After a write the store waits until the server has delivered the watches that the model says it sets off, and hands
them on in the model's order.
"""

import contextlib
import logging
import threading
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

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
    WatchFired,
    WatchKind,
    ZkError,
    ZnodeChange,
    ZnodeStat,
    parent_of,
    validate_path,
)
from broker_core.zk.znode_tree import Transaction
from lab.runtime.foreign import Reading, child_path, differences
from lab.runtime.transplant import batches, steps_to_make
from lab.runtime.zookeeper import LONGEST_SESSION_MS, ZookeeperError, ask

OPERATION_TIMEOUT_S = 10.0
ATTEMPTS = 5
# On loopback a connection breaks when the server ends, so there is little to wait for.
RECONNECT = {"max_tries": 5, "delay": 0.1, "backoff": 2, "max_delay": 1.0}

# What kazoo would log the store says itself, once and in a sentence.
QUIET = logging.getLogger("highwater.kazoo")
QUIET.setLevel(logging.CRITICAL + 1)

REFUSALS = (BadVersionError, NoChildrenForEphemeralsError, NodeExistsError, NoNodeError, NotEmptyError)


class ZookeeperUnavailable(ZookeeperError):
    """The server does not answer."""

    def __init__(self, address: str, doing: str, reason: object = None):
        detail = str(reason) or type(reason).__name__ if reason else "no answer"
        super().__init__(
            f"ZooKeeper at {address} did not {doing} ({detail}; waited up to {OPERATION_TIMEOUT_S:.0f} s). What was "
            "recorded is safe. Start the lab again; its log of ZooKeeper is zookeeper.log in the data folder."
        )


class ZookeeperDisagrees(ZookeeperError):
    """The server holds something else than the lab, and no change that can be taken in explains it."""


class KazooStore:
    """Implements `ZkStore`, for one thread at a time.

    Besides the errors of `ZkStore` every method raises `ZookeeperUnavailable` when the server does not answer, and
    `ZookeeperDisagrees` when its chroot has been tampered with beyond repair.

    Args:
        address: HOST:PORT.
        chroot: an absolute path below the root, made if absent. It must be empty, and it is for one store at a time.
    """

    def __init__(self, address: str, chroot: str):
        validate_path(chroot)
        if not ask(address):
            raise ZookeeperUnavailable(address, "answer")
        self.address = address
        self.chroot = chroot
        self.model = MemoryStore()
        self._arrived = threading.Condition()
        # Written by kazoo's threads under `_arrived`: paths that may have changed, and whether we looked away.
        self._dirty: set[str] = set()
        self._lost_sight = False
        # Paths on which the server holds watches of ours, and the server's czxid of each znode of the model.
        self._observed: set[str] = set()
        self._known: dict[str, int] = {}
        self._foreign: list[ForeignChange] = []
        self._fired: list[WatchFired] = []
        self._connections: dict[int, _Connection] = {}
        outside = self._connect(OUTSIDE_SESSION)
        try:
            self._make_chroot(outside)
            if root := self._read(["/"]).get("/"):
                self._known["/"] = root.czxid
        except BaseException:
            outside.close()
            raise
        outside.client.add_listener(self._on_state)

    def close(self, *, remove: bool = False) -> None:
        """Ends all sessions. `remove` deletes the chroot with all that is in it."""
        outside = self._connections.pop(OUTSIDE_SESSION)
        outside.client.remove_listener(self._on_state)
        for connection in self._connections.values():
            connection.close()
        self._connections.clear()
        if remove:
            with contextlib.suppress(KazooException, KazooTimeoutError):
                outside.client.delete("/", recursive=True)
        outside.close()

    # Sessions

    def open_session(self, owner: str) -> int:
        session = self.model.open_session(owner)
        self._connect(session)
        return session

    def close_session(self, session: int) -> None:
        self.model.close_session(session)
        if not self._connections.pop(session).close():
            raise ZookeeperUnavailable(self.address, "close a session")
        self._settle()

    # Writes

    def create(
        self,
        session: int,
        path: str,
        data: bytes = b"",
        *,
        ephemeral: bool = False,
        sequential: bool = False,
        makepath: bool = False,
    ) -> str:
        if makepath:
            for parent in self.model.missing_parents(path):
                self.create(session, parent)
        self._mirror(session, [Create(path, data, ephemeral, sequential)])
        created = self.model.create(session, path, data, ephemeral=ephemeral, sequential=sequential)
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
            if self._send(self._connections[session].client, exact(ops, plan), as_multi=as_multi):
                return
            self._take_in([*concerned, *(change.path for change in plan.changes)])
        raise self._disagreement(concerned)

    def _send(self, client: KazooClient, ops: Sequence[Op], *, as_multi: bool) -> bool:
        """Whether the server did it."""
        if as_multi:
            return self._send_transaction(client, ops)
        (op,) = ops
        try:
            match op:
                case Create():
                    request = client.create_async(op.path, op.data, ephemeral=op.ephemeral, include_data=True)
                    self._known[op.path] = self._answer(request, "create a znode")[1].czxid
                case SetData():
                    self._answer(client.set_async(op.path, op.data, op.version), "set a znode")
                case Delete():
                    self._answer(client.delete_async(op.path, op.version), "delete a znode")
                    self._known.pop(op.path, None)
        except REFUSALS:
            return False
        return True

    def _send_transaction(self, client: KazooClient, ops: Sequence[Op]) -> bool:
        if not ops:
            return True
        transaction = client.transaction()
        for op in ops:
            match op:
                case Create():
                    transaction.create(op.path, op.data, ephemeral=op.ephemeral)
                case SetData():
                    transaction.set_data(op.path, op.data, op.version)
                case Delete():
                    transaction.delete(op.path, op.version)
                case _:
                    transaction.check(op.path, op.version)
        answers = self._answer(transaction.commit_async(), "do a transaction")
        if any(isinstance(answer, Exception) for answer in answers):
            return False
        created = {op.path: client.exists_async(op.path) for op in ops if isinstance(op, Create)}
        for op in ops:
            if isinstance(op, Delete):
                self._known.pop(op.path, None)
        for path, request in created.items():
            stat = self._answer(request, "read a znode")
            if stat is not None:
                self._known[path] = stat.czxid
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

    def _compare(self, session: int, path: str, reading: str, watch: bool) -> None:
        """Reads from the server, with its watch, until the model agrees."""
        try:
            validate_path(path)
            connection = self._connections[session]
        except (InvalidPath, KeyError):
            return  # The model refuses it.
        for _ in range(ATTEMPTS):
            here = self.model.look(path)
            there = self._ask(connection, path, reading, watch)
            if there is None or here is None:
                agreed = there is None and here is None
            elif reading == "get":
                agreed = (here[0], here[1].version) == (there[0], there[1].version)
            elif reading == "exists":
                agreed = here[1].version == there.version
            else:
                agreed = self.model.children_of(path) == sorted(there)
            if agreed:
                return
            self._take_in([path])
        raise self._disagreement([path])

    def _ask(self, connection: "_Connection", path: str, reading: str, watch: bool) -> Any:
        """The server's answer, or None where it has nothing."""
        callback = connection.arm(path, of_children=reading == "get_children") if watch else None
        try:
            return self._answer(getattr(connection.client, f"{reading}_async")(path, watch=callback), "read a znode")
        except NoNodeError:
            if watch:
                connection.disarm(path, of_children=reading == "get_children")
            return None

    # What others do

    def poll_foreign(self) -> list[ForeignChange]:
        """What others have changed since the last call. Cheap when nothing has happened.

        The caller makes inputs of the changes and applies them at once, with `apply_foreign`.
        """
        with self._arrived:
            dirty, self._dirty = self._dirty, set()
            lost_sight, self._lost_sight = self._lost_sight, False
        if lost_sight:
            self._observed.clear()
            dirty.update(self.model.paths_from("/"))
        return self._differences(dirty) if dirty else []

    def take_foreign(self) -> list[ForeignChange]:
        """Changes of others that an operation ran into, and that are applied already.

        They are inputs, too. Each has the number of its operation; a replay gives them to
        `MemoryStore.expect_foreign` before the handler runs.
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
        """Has the model follow the server. Whether there was anything to follow."""
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
        client = self._connections[OUTSIDE_SESSION].client
        readings: dict[str, Reading | None] = {}
        wanted = set(paths)
        while wanted:
            requests = [
                (
                    path,
                    client.get_async(path, watch=self._on_observed),
                    client.get_children_async(path, watch=self._on_observed, include_data=True),
                )
                for path in sorted(wanted)
            ]
            wanted = set()
            for path, data_request, children_request in requests:
                try:
                    data, _ = self._answer(data_request, "read a znode")
                    names, stat = self._answer(children_request, "read a znode")
                except NoNodeError:
                    if path == "/":
                        raise self._disagreement(["/"]) from None
                    readings[path] = None
                    self._observed.discard(path)
                    continue
                readings[path] = Reading(data, stat.version, stat.czxid, stat.cversion, tuple(sorted(names)))
                self._observed.add(path)
                is_new = self._known.get(path) != stat.czxid
                for child in (child_path(path, name) for name in names):
                    if is_new or child not in self._observed or self.model.look(child) is None:
                        wanted.add(child)
            wanted -= readings.keys()
        return readings

    def _on_observed(self, event: WatchedEvent) -> None:
        if event.type != EventType.NONE:
            with self._arrived:
                self._dirty.add(event.path)

    def _on_state(self, state: str) -> None:
        if state == KazooState.CONNECTED:
            with self._arrived:
                self._lost_sight = True

    # What has happened, and what there is

    def take_changes(self) -> list[ZnodeChange]:
        return self.model.take_changes()

    def take_watches(self) -> list[WatchFired]:
        fired, self._fired = self._fired, []
        return fired

    def tree(self) -> Iterator[tuple[str, bytes, ZnodeStat]]:
        return self.model.tree()

    def _settle(self) -> None:
        """Waits for the server to deliver the watches that the last write set off."""
        fired = self.model.take_watches()
        self._fired += fired
        for watch in fired:
            connection = self._connections.get(watch.session)
            if connection is not None and not connection.wait_for(watch.kind, watch.path):
                raise ZookeeperUnavailable(self.address, f"deliver the watch on {watch.path}")

    # A branch that was forked or opened again

    def materialise(self, model: MemoryStore) -> None:
        """Makes the empty chroot, and this store, hold what a model holds: data, versions, sessions and watches."""
        if self.model.operations or self._known.keys() != {"/"}:
            raise ValueError("Only a store that was not used yet can be given the tree of a model.")
        self.model = model.copy()
        for session in self.model.sessions:
            self._connect(session)
        self._fired += self.model.take_watches()
        for session, ops in batches(steps_to_make(self.model)):
            if not self._send_transaction(self._connections[session].client, ops):
                raise self._disagreement([op.path for op in ops])
        for path, reading in self._read(["/"]).items():
            if reading is not None:
                self._known[path] = reading.czxid
        found = differences(self.model, self._read(self.model.paths_from("/")), self._known)
        if found:
            raise self._disagreement([change.path for change in found])
        for session, of_children, path in self.model.watches():
            self._ask(self._connections[session], path, "get_children" if of_children else "exists", True)

    def _make_chroot(self, outside: "_Connection") -> None:
        client = outside.client
        client.chroot = ""
        try:
            client.ensure_path(self.chroot)
        except (KazooException, KazooTimeoutError) as error:
            raise ZookeeperUnavailable(self.address, f"create {self.chroot}", error) from error
        client.chroot = self.chroot
        if self._answer(client.get_children_async("/"), "read a znode"):
            raise ZookeeperDisagrees(
                f"ZooKeeper at {self.address} already holds znodes below {self.chroot}. A branch starts with an empty "
                "chroot: choose another one, or delete what is there."
            )

    def _connect(self, session: int) -> "_Connection":
        connection = self._connections[session] = _Connection(self.address, self.chroot, self._arrived)
        return connection

    def _answer(self, request: Any, doing: str) -> Any:
        try:
            return request.get(timeout=OPERATION_TIMEOUT_S)
        except REFUSALS:
            raise
        except (KazooException, KazooTimeoutError, OSError) as error:
            raise ZookeeperUnavailable(self.address, doing, error) from error

    def _disagreement(self, paths: Sequence[str]) -> ZookeeperDisagrees:
        return ZookeeperDisagrees(
            f"ZooKeeper at {self.address} no longer holds below {self.chroot} what the lab wrote, at "
            f"{', '.join(dict.fromkeys(paths))}, and the lab cannot follow the change. Open the branch anew: it is "
            "written again from its recording."
        )


class _Connection:
    """The connection of one session. kazoo's threads only note which watches have come."""

    def __init__(self, address: str, chroot: str, arrived: threading.Condition):
        self._arrived = arrived
        # The watches that the server holds for the session: (path, whether it is one for children).
        self._armed: set[tuple[str, bool]] = set()
        self.client = KazooClient(
            hosts=address, timeout=LONGEST_SESSION_MS / 1000, connection_retry=RECONNECT, logger=QUIET
        )
        self.client.add_listener(self._on_state)
        try:
            self.client.start(timeout=OPERATION_TIMEOUT_S)
        except KazooTimeoutError as error:
            self.close()
            raise ZookeeperUnavailable(address, "open a session", error) from error
        self.client.chroot = chroot

    def arm(self, path: str, *, of_children: bool) -> "Any":
        """Notes that a watch is about to be set; what to give to kazoo as its callback."""
        with self._arrived:
            self._armed.add((path, of_children))
        return self._on_watch

    def disarm(self, path: str, *, of_children: bool) -> None:
        """The server did not take the watch after all."""
        with self._arrived:
            self._armed.discard((path, of_children))

    def wait_for(self, kind: WatchKind, path: str) -> bool:
        """Waits until the watch has come. At once if the server holds none: it has come before."""
        waited_for = {(path, kind == "children")} if kind != "deleted" else {(path, False), (path, True)}
        with self._arrived:
            return self._arrived.wait_for(lambda: not waited_for & self._armed, OPERATION_TIMEOUT_S)

    def close(self) -> bool:
        """Ends the session. Beside us, since kazoo waits as long as the session may last; whether it came back."""
        closing = threading.Thread(target=self._close, daemon=True)
        closing.start()
        closing.join(OPERATION_TIMEOUT_S)
        return not closing.is_alive()

    def _close(self) -> None:
        with contextlib.suppress(KazooException, OSError):
            self.client.stop()
            self.client.close()

    def _on_watch(self, event: WatchedEvent) -> None:
        with self._arrived:
            if event.type == EventType.DELETED:
                self._armed -= {(event.path, False), (event.path, True)}
            else:
                self._armed.discard((event.path, event.type == EventType.CHILD))
            self._arrived.notify_all()

    def _on_state(self, state: str) -> None:
        # kazoo forgets all watches when a connection breaks.
        if state != KazooState.CONNECTED:
            with self._arrived:
                self._armed.clear()
                self._arrived.notify_all()


def exact(ops: Sequence[Op], plan: Transaction) -> list[Op]:
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
