"""The store in memory against a real server, operation by operation; and what only the one in memory can do."""

import pickle
import random

import pytest
from kazoo.client import KazooClient
from kazoo.exceptions import KazooException

from broker_core.zk.memory_store import MemoryStore
from broker_core.zk.store import Check, Create, Delete, ForeignChange, SetData, WatchedEvent, ZkError

PATHS = ["/a", "/b", "/a/x", "/a/y", "/a/x/deep", "/b/x", "/nosuch/x"]


def random_op(draw: random.Random):
    path = draw.choice(PATHS)
    version = draw.choice([-1, -1, -1, 0, 1])
    return draw.choice(
        [
            Create(path, draw.randbytes(3)),
            Create(path, b"", ephemeral=draw.random() < 0.3, sequential=draw.random() < 0.4),
            SetData(path, draw.randbytes(3), version),
            Delete(path, version),
            Check(path, version),
        ]
    )


def on_server(client: KazooClient, ops):
    """Does ops as one transaction; the results, or the index and the name of the first error."""
    transaction = client.transaction()
    for op in ops:
        match op:
            case Create():
                transaction.create(op.path, op.data, ephemeral=op.ephemeral, sequence=op.sequential)
            case SetData():
                transaction.set_data(op.path, op.data, op.version)
            case Delete():
                transaction.delete(op.path, op.version)
            case Check():
                transaction.check(op.path, op.version)
    results = transaction.commit()
    for index, result in enumerate(results):
        if isinstance(result, KazooException) and type(result).__name__ not in (
            "RolledBackError",
            "RuntimeInconsistency",
        ):
            return index, type(result).__name__.removesuffix("Error")
    return [result.version if hasattr(result, "version") else result for result in results]


def in_memory(store: MemoryStore, session: int, ops):
    try:
        results = store.multi(session, ops)
    except ZkError as error:
        return error.index, type(error).__name__
    # The server answers True where our transactions answer nothing.
    return [getattr(result, "version", True if result is None else result) for result in results]


@pytest.mark.parametrize("seed", range(4))
def test_results_stats_and_zxids_match_a_server(zookeeper, chroot, seed) -> None:
    draw = random.Random(seed)
    client = KazooClient(zookeeper.address)
    client.start()
    try:
        client.ensure_path(chroot)
        client.chroot = chroot
        store = MemoryStore()
        session = store.open_session("somebody")
        for _ in range(250):
            ops = [random_op(draw) for _ in range(draw.choice([1, 1, 1, 2, 3]))]
            assert on_server(client, ops) == in_memory(store, session, ops), ops
        tree = list(store.tree())
        assert tree
        assert children_below(client, "") == [path for path, _, _ in tree]
        offsets = set()
        for path, data, stat in tree:
            server_data, server = client.get(path)
            assert (server_data, server.version, server.cversion, server.numChildren) == (
                data, stat.version, stat.cversion, stat.num_children,
            )  # fmt: skip
            assert bool(server.ephemeralOwner) == bool(stat.ephemeral_owner)
            offsets |= {server.czxid - stat.czxid, server.mzxid - stat.mzxid}
        assert len(offsets) == 1, "refused writes and transactions take as many zxids as on the server"
    finally:
        client.delete("/", recursive=True)
        client.stop()


def children_below(client: KazooClient, path: str) -> list[str]:
    found = []
    for name in client.get_children(path or "/"):
        found += [f"{path}/{name}", *children_below(client, f"{path}/{name}")]
    return sorted(found)


def test_copy_is_independent() -> None:
    store = MemoryStore()
    session = store.open_session("a")
    store.create(session, "/a", b"1")
    store.get(session, "/a", watch=True)
    for twin in (store.copy(), pickle.loads(pickle.dumps(store))):
        twin.set(session, "/a", b"2")
        assert twin.take_watches() == [WatchedEvent(session, "changed", "/a")]
        assert twin.open_session("b") == 2
    assert store.get(session, "/a")[0] == b"1"
    assert store.take_watches() == []


def test_external_changes_are_applied_like_those_of_the_external_session() -> None:
    store = MemoryStore()
    session = store.open_session("a")
    store.create(session, "/controller", b"1", ephemeral=True)
    store.exists(session, "/controller", watch=True)
    store.apply_foreign("deleted", "/controller")
    assert store.take_watches() == [WatchedEvent(session, "deleted", "/controller")]
    store.apply_foreign("created", "/config", b"x", version=3)
    store.apply_foreign("changed", "/config", b"y")
    store.apply_foreign("children", "/config", cversion=6)
    data, stat = store.get(session, "/config")
    assert (data, stat.version, stat.cversion) == (b"y", 4, 6)
    assert store.create(session, "/config/n_", sequential=True) == "/config/n_0000000003"


def test_recorded_foreign_change_comes_before_its_operation() -> None:
    store = MemoryStore()
    session = store.open_session("a")
    store.create(session, "/a", b"1")
    store.expect_foreign(ForeignChange("changed", "/a", b"2", operation=4))
    assert store.get(session, "/a")[0] == b"1"
    assert store.get(session, "/a")[0] == b"2"
