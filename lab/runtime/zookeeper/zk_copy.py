"""Copies the tree of a model to a ZooKeeper server: the operations that recreate it, versions included."""

from collections.abc import Iterable, Iterator

from broker_core.zk.memory_store import MemoryStore
from broker_core.zk.store import OUTSIDE_SESSION, Create, Delete, Op, SetData
from lab.runtime.zookeeper.external_changes import child_path

BATCH_OPS = 100
BATCH_BYTES = 400_000


def ops_to_recreate(model: MemoryStore) -> Iterator[tuple[int, Op]]:
    """The operations that recreate the tree of a model on an empty server, each with its session."""
    for path, data, stat in model.tree():
        owner = stat.ephemeral_owner
        yield owner, Create(path, b"" if stat.version else data, ephemeral=bool(owner))
        for count in range(1, stat.version + 1):
            yield owner, SetData(path, data if count == stat.version else b"")
    for path in model.paths_from("/"):
        # Children that were created and deleted count in the parent's cversion, and so in sequence numbers.
        found = model.peek(path)
        assert found is not None
        for _ in range((found[1].cversion - found[1].num_children) // 2):
            yield OUTSIDE_SESSION, Create(child_path(path, "came-and-went"))
            yield OUTSIDE_SESSION, Delete(child_path(path, "came-and-went"))


def batches(steps: Iterable[tuple[int, Op]]) -> Iterator[tuple[int, list[Op]]]:
    """Transactions of one session each, small enough for a server."""
    batch: list[Op] = []
    batch_session, size = OUTSIDE_SESSION, 0
    for session, op in steps:
        added = len(op.path) + len(op.data if isinstance(op, Create | SetData) else b"")
        if batch and (session != batch_session or len(batch) == BATCH_OPS or size + added > BATCH_BYTES):
            yield batch_session, batch
            batch, size = [], 0
        batch_session, size = session, size + added
        batch.append(op)
    if batch:
        yield batch_session, batch
