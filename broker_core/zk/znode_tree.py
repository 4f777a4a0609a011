"""The tree of znodes and its transactions: every write is planned on copies, and applied completely or not at all.

The rules, their order and the errors are those of ZooKeeper's `PrepRequestProcessor` and `DataTree`.
"""

from collections.abc import Sequence

from broker_core.zk.store import (
    ANY_VERSION,
    MAX_DATA_BYTES,
    BadVersion,
    Check,
    Create,
    DataTooLarge,
    Delete,
    InvalidPath,
    NoChildrenForEphemerals,
    NodeExists,
    NoNode,
    NotEmpty,
    Op,
    OpResult,
    SetData,
    ZkError,
    ZnodeChange,
    ZnodeStat,
    parent_of,
    validate_path,
)


class Znode:
    """A znode. `creates` counts all children ever created: sequence numbers and cversion are derived from it."""

    __slots__ = ("children", "creates", "czxid", "data", "ephemeral_owner", "mzxid", "version")

    def __init__(self, data: bytes, zxid: int, ephemeral_owner: int):
        self.data = data
        self.czxid = zxid
        self.mzxid = zxid
        self.version = 0
        self.creates = 0
        self.ephemeral_owner = ephemeral_owner
        self.children: dict[str, None] = {}

    def copy(self) -> "Znode":
        twin = Znode(self.data, self.czxid, self.ephemeral_owner)
        twin.mzxid = self.mzxid
        twin.version = self.version
        twin.creates = self.creates
        twin.children = dict(self.children)
        return twin

    @property
    def cversion(self) -> int:
        """Creations and deletions: the formula of ZooKeeper's `DataNode.copyStat`."""
        return self.creates * 2 - len(self.children)

    def stat(self) -> ZnodeStat:
        return ZnodeStat(
            self.czxid, self.mzxid, self.version, self.cversion, self.ephemeral_owner, len(self.children)
        )  # fmt: skip


class PlannedWrite:
    """A planned write: its results and its changes. The tree is not changed until `commit`.

    Raises the ZkError of the first member that fails, with its index if there is more than one member or
    `as_multi` is set.
    """

    def __init__(self, nodes: dict[str, Znode], session: int, zxid: int, ops: Sequence[Op], *, as_multi: bool):
        self._nodes = nodes
        self._session = session
        self._copies: dict[str, Znode | None] = {}
        self.zxid = zxid
        self.changes: list[ZnodeChange] = []
        self.results: list[OpResult] = []
        if sum(len(op.data) for op in ops if isinstance(op, Create | SetData)) > MAX_DATA_BYTES:
            raise DataTooLarge(ops[0].path)
        for index, op in enumerate(ops):
            try:
                self.results.append(self._plan(op))
            except ZkError as error:
                error.index = index if as_multi else None
                raise

    def commit(self) -> None:
        for path, node in self._copies.items():
            if node is None:
                self._nodes.pop(path, None)
            else:
                self._nodes[path] = node

    def _plan(self, op: Op) -> OpResult:
        match op:
            case Create():
                return self._create(op)
            case SetData():
                return self._set(op)
            case Delete():
                self._delete(op)
                return None
            case Check():
                self._node_at(op.path, op.version)
                return None

    def _create(self, op: Create) -> str:
        validate_path(op.path + "1" if op.sequential else op.path)
        if op.path == "/":
            raise NodeExists(op.path)
        parent_path = parent_of(op.path)
        parent = self._find(parent_path)
        if parent is None:
            raise NoNode(op.path)
        path = f"{op.path}{parent.creates:010d}" if op.sequential else op.path
        if self._find(path) is not None:
            raise NodeExists(path)
        if parent.ephemeral_owner:
            raise NoChildrenForEphemerals(path)
        node = Znode(op.data, self.zxid, self._session if op.ephemeral else 0)
        self._copies[path] = node
        parent = self._writable(parent_path, parent)
        parent.children[path.rpartition("/")[2]] = None
        parent.creates += 1
        self._note("created", path, node, op.data)
        return path

    def _set(self, op: SetData) -> ZnodeStat:
        node = self._writable(op.path, self._node_at(op.path, op.version))
        node.data = op.data
        node.version += 1
        node.mzxid = self.zxid
        self._note("changed", op.path, node, op.data)
        return node.stat()

    def _delete(self, op: Delete) -> None:
        if op.path == "/":
            raise InvalidPath(op.path)
        node = self._node_at(op.path, op.version)
        if node.children:
            raise NotEmpty(op.path)
        self._copies[op.path] = None
        parent_path = parent_of(op.path)
        parent = self._find(parent_path)
        if parent is None:
            raise NoNode(parent_path)
        del self._writable(parent_path, parent).children[op.path.rpartition("/")[2]]
        self._note("deleted", op.path, node, None)

    def _node_at(self, path: str, version: int) -> Znode:
        validate_path(path)
        node = self._find(path)
        if node is None:
            raise NoNode(path)
        if version not in (ANY_VERSION, node.version):
            raise BadVersion(path)
        return node

    def _find(self, path: str) -> Znode | None:
        return self._copies[path] if path in self._copies else self._nodes.get(path)

    def _writable(self, path: str, node: Znode) -> Znode:
        copy = self._copies.get(path)
        if copy is None:
            copy = self._copies[path] = node.copy()
        return copy

    def _note(self, kind: str, path: str, node: Znode, data: bytes | None) -> None:
        self.changes.append(
            ZnodeChange(
                kind=kind,  # type: ignore[arg-type]
                path=path,
                data=data,
                version=node.version,
                cversion=node.cversion,
                ephemeral_owner=node.ephemeral_owner,
                zxid=self.zxid,
            )
        )
