"""The interface of a ZooKeeper store, and the facts that it returns.

A store is synchronous and deterministic: the same calls give the same answers, ids, zxids and watches. Two implement
it: `MemoryStore` beside this file, and the lab's adapter to a real server. Names and rules are ZooKeeper's own
(ZooKeeper Programmer's Guide: data model, watches, sequence nodes; `Op` and `KeeperException` for transactions).
"""

import re
from collections.abc import Iterator, Sequence
from typing import Literal, Protocol

import msgspec

ANY_VERSION = -1
"""Given as an expected version: whatever the version is."""

OUTSIDE_SESSION = 0
"""The session of clients outside of the cluster: the console's `zk` commands and ZooKeeper shells."""

MAX_DATA_BYTES = 1_000_000
"""A server closes the connection on requests above jute.maxbuffer (1,048,575 bytes, path and header included)."""

ChangeKind = Literal["created", "changed", "deleted"]
WatchKind = Literal["created", "changed", "deleted", "children"]
ForeignKind = Literal["created", "changed", "deleted", "children"]


class ZnodeStat(msgspec.Struct, frozen=True, gc=False):
    """The part of ZooKeeper's `Stat` that is the same in every run.

    Attributes:
        czxid: the transaction that created the znode. A broker's is its broker epoch.
        mzxid: the transaction that last set its data.
        version: the number of times its data was set; Kafka's partition epoch and fencing token.
        cversion: creations and deletions of children so far.
        ephemeral_owner: the session that the znode is deleted with; 0 if it is persistent.
    """

    czxid: int
    mzxid: int
    version: int
    cversion: int
    ephemeral_owner: int
    num_children: int


class ZnodeChange(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One znode was created, got new data, or was deleted. `data` is None for a deletion; `is_foreign`: changed
    externally, not through this store.
    """

    kind: ChangeKind
    path: str
    data: bytes | None
    version: int
    cversion: int
    ephemeral_owner: int
    zxid: int
    is_foreign: bool = False


class WatchedEvent(msgspec.Struct, frozen=True, gc=False):
    """A watch of a session fired. Watches are one-shot: read again with `watch=True` to set it again."""

    session: int
    kind: WatchKind
    path: str


class ForeignChange(msgspec.Struct, frozen=True, gc=False):
    """An external change of a znode, as an input of the run.

    Attributes:
        kind: "children" means that only `cversion` changed: children were created and deleted again.
        version, cversion: the znode's after the change; None increments by one as ZooKeeper does.
        operation: None, or the number of the store's operation that found the change and that it precedes.
    """

    kind: ForeignKind
    path: str
    data: bytes | None = None
    version: int | None = None
    cversion: int | None = None
    operation: int | None = None


class Create(msgspec.Struct, frozen=True, gc=False):
    """Creates a znode below an existing parent. Sequential: ten digits of the parent's counter follow the path."""

    path: str
    data: bytes = b""
    ephemeral: bool = False
    sequential: bool = False


class SetData(msgspec.Struct, frozen=True, gc=False):
    """Replaces the data of a znode, if its version is the expected one."""

    path: str
    data: bytes
    version: int = ANY_VERSION


class Delete(msgspec.Struct, frozen=True, gc=False):
    """Deletes a znode without children, if its version is the expected one."""

    path: str
    version: int = ANY_VERSION


class Check(msgspec.Struct, frozen=True, gc=False):
    """Makes a transaction fail unless the znode has this version. Kafka's controllers fence themselves with it."""

    path: str
    version: int


Op = Create | SetData | Delete | Check
OpResult = str | ZnodeStat | None
"""The created path, the new stat, or nothing for Delete and Check."""


class ZkError(Exception):
    """ZooKeeper rejected an operation.

    Attributes:
        path: the znode of the operation.
        index: the member of a transaction that failed; None outside of one.
    """

    sentence = "ZooKeeper refused the operation"

    def __init__(self, path: str, index: int | None = None):
        super().__init__(path, index)
        self.path = path
        self.index = index

    def __str__(self) -> str:
        return f"{self.sentence}: {self.path}"


class NoNode(ZkError):
    sentence = "Node does not exist"


class NodeExists(ZkError):
    sentence = "Node already exists"


class BadVersion(ZkError):
    sentence = "The znode's version is not the expected one"


class NotEmpty(ZkError):
    sentence = "Node not empty"


class NoChildrenForEphemerals(ZkError):
    sentence = "Ephemerals cannot have children"


class SessionExpired(ZkError):
    sentence = "The session is closed or never was"


class InvalidPath(ZkError):
    sentence = "A path starts with /, does not end with one, and has no empty, '.' or '..' part; / stays"


class DataTooLarge(ZkError):
    sentence = f"ZooKeeper takes at most {MAX_DATA_BYTES} bytes in one request"


class ZkStore(Protocol):
    """A ZooKeeper with the sessions of one cluster. All methods raise `ZkError` for what ZooKeeper rejects.

    Every write takes the next zxid of the store, as do rejected writes, transactions (one for all members), and the
    opening and closing of sessions.
    """

    def open_session(self, owner: str) -> int:
        """Opens a session; ids count up from 1. `owner` is for display."""
        ...

    def close_session(self, session: int) -> None:
        """Ends a session: removes its watches, then deletes its ephemerals in the order of their creation."""
        ...

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
        """Creates a znode and returns its path. `makepath` creates missing parents first, each a write of its own."""
        if makepath:
            for parent in self.missing_parents(path):
                self.create(session, parent)
        return self.create_znode(session, Create(path, data, ephemeral, sequential))

    def create_znode(self, session: int, op: Create) -> str:
        """Creates a znode whose parent exists; returns its path."""
        ...

    def missing_parents(self, path: str) -> list[str]:
        """Ancestors of a path that do not exist, the topmost first."""
        ...

    def get(self, session: int, path: str, *, watch: bool = False) -> tuple[bytes, ZnodeStat]:
        """Data and stat. The watch fires on the next change of the data, or the deletion."""
        ...

    def set(self, session: int, path: str, data: bytes, version: int = ANY_VERSION) -> ZnodeStat: ...

    def delete(self, session: int, path: str, version: int = ANY_VERSION) -> None: ...

    def exists(self, session: int, path: str, *, watch: bool = False) -> ZnodeStat | None:
        """The stat, or None. The watch is set in both cases, and also fires on the creation."""
        ...

    def children(self, session: int, path: str, *, watch: bool = False) -> list[str]:
        """Names of the children, sorted. The watch fires when a child is created or deleted, or on the deletion."""
        ...

    def multi(self, session: int, ops: Sequence[Op]) -> list[OpResult]:
        """Applies all operations or none. Raises the error of the first member that fails, with its `index`."""
        ...

    def apply_foreign(
        self,
        kind: ForeignKind,
        path: str,
        data: bytes | None = None,
        *,
        version: int | None = None,
        cversion: int | None = None,
    ) -> None:
        """Applies an external change; see `ForeignChange`."""
        ...

    def take_changes(self) -> list[ZnodeChange]:
        """Returns and clears the changes since the last call, in order."""
        ...

    def take_watches(self) -> list[WatchedEvent]:
        """Returns and clears the watches fired since the last call, in the order of operations, then of session ids.

        For one session and operation the znode itself comes before its parent, as a server sends them.
        """
        ...

    def tree(self) -> Iterator[tuple[str, bytes, ZnodeStat]]:
        """Every znode but the root, sorted by path."""
        ...


def parent_of(path: str) -> str:
    """The parent's path; the root is its own."""
    return path.rpartition("/")[0] or "/"


_UNTOLD = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\uf8ff\ufff0-\uffff\U00010000-\U0010ffff]")
"""Characters that are not valid in a path."""


_UNTOLD_3_4 = re.compile(r"[\x00-\x1e\x80-\x9e\ud801-\uf8fe\ufff1-\ufffe]")
"""The same for ZooKeeper 3.4's client."""


def path_fault(path: str, *, is_old: bool = False) -> str | None:
    """ZooKeeper's message for an invalid path that begins with a slash (`PathUtils.validatePath`); None for a valid
    one. `is_old`: that of the client of 3.4.
    """
    if path == "/":
        return None
    if path.endswith("/"):
        return "Path must not end with / character"
    at = 1
    for part in path[1:].split("/"):
        if not part:
            return _path_fault(path, "empty node name specified", at)
        if part in (".", ".."):
            return _path_fault(path, "relative paths not allowed", at + len(part) - 1)
        untold = (_UNTOLD_3_4 if is_old else _UNTOLD).search(part)
        if untold is not None:
            invalid = "invalid charater" if is_old else "invalid character"
            why = invalid if untold[0] != "\0" else "null character not allowed"
            return _path_fault(path, why, at + untold.start())
        at += len(part) + 1
    return None


def _path_fault(path: str, why: str, at: int) -> str:
    return f'Invalid path string "{path}" caused by {why} @{at}'


def validate_path(path: str) -> None:
    """Raises InvalidPath for what ZooKeeper's `PathUtils.validatePath` rejects."""
    if not path.startswith("/") or path_fault(path) is not None:
        raise InvalidPath(path)
