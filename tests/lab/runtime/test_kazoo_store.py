"""The store on a real server with external writers, and when the server fails."""

import contextlib
import pickle
import random
import time

import pytest
from kazoo.client import KazooClient
from kazoo.exceptions import KazooException

from broker_core.texts import render
from broker_core.zk.memory_store import MemoryStore
from broker_core.zk.store import (
    OUTSIDE_SESSION,
    BadVersion,
    Check,
    Create,
    ForeignChange,
    NodeExists,
    SetData,
    WatchedEvent,
    ZkError,
)
from lab.runtime.zookeeper.kazoo_connection import ZookeeperUnavailable
from lab.runtime.zookeeper.kazoo_store import KazooStore, ZookeeperDisagrees
from lab.runtime.zookeeper.server import EmbeddedZookeeper

DEADLINE_S = 60


@pytest.fixture
def external(zookeeper, chroot, kazoo_store):
    """An external client, such as zkCli, in the branch's chroot."""
    client = KazooClient(zookeeper.address, timeout=DEADLINE_S)
    client.start(DEADLINE_S)
    client.chroot = chroot
    yield client
    client.stop()
    client.close()


@pytest.fixture
def session(kazoo_store):
    return kazoo_store.open_session("broker-1")


def poll_until(store: KazooStore, count: int) -> list[ForeignChange]:
    """Polls and applies as the lab does, until `count` changes have arrived."""
    found: list[ForeignChange] = []
    deadline = time.monotonic() + DEADLINE_S
    while len(found) < count and time.monotonic() < deadline:
        changes = store.poll_foreign()
        for change in changes:
            store.apply_foreign(change.kind, change.path, change.data, version=change.version, cversion=change.cversion)
        found += changes
        time.sleep(0.005)
    return found


def assert_agrees(store: KazooStore, client: KazooClient) -> None:
    for path, data, stat in store.tree():
        server_data, server = client.get(path)
        assert (server_data or b"", server.version, server.cversion) == (data, stat.version, stat.cversion), path
        assert sorted(client.get_children(path)) == store.model.children_of(path)


def agrees(store: KazooStore, client: KazooClient) -> bool:
    with contextlib.suppress(AssertionError, KazooException):
        assert_agrees(store, client)
        return True
    return False


def test_server_holds_what_was_written(kazoo_store, external, session) -> None:
    kazoo_store.create(session, "/brokers/ids/1", b"{}", ephemeral=True, makepath=True)
    kazoo_store.set(session, "/brokers/ids/1", b"{1}")
    kazoo_store.create(session, "/brokers/n_", sequential=True)
    assert external.get("/brokers/ids/1")[0] == b"{1}"
    assert external.exists("/brokers/ids/1").ephemeralOwner != 0
    assert external.exists("/brokers/n_0000000001")
    assert_agrees(kazoo_store, external)
    kazoo_store.close_session(session)
    assert external.exists("/brokers/ids/1") is None


def test_znode_created_without_data_has_none_as_kafka_creates_it(kazoo_store, external, session) -> None:
    # An empty array is something else: Kafka's ZkProducerIdManager takes one for broken JSON.
    kazoo_store.create(session, "/latest_producer_id_block")
    kazoo_store.multi(session, [Create("/admin", b"")])
    assert external.get("/latest_producer_id_block")[0] is None
    assert external.get("/admin")[0] is None
    assert kazoo_store.get(session, "/admin")[0] == b""


def test_own_writes_are_not_external_changes(kazoo_store, external, session) -> None:
    kazoo_store.create(session, "/a/b", makepath=True)
    kazoo_store.multi(session, [SetData("/a", b"1"), Create("/a/c"), Create("/a/c/d")])
    kazoo_store.delete(session, "/a/c/d")
    external.create("/marker")
    assert poll_until(kazoo_store, 1) == [ForeignChange("created", "/marker", b"", version=0)]


def test_external_deletion_of_the_controller_znode(kazoo_store, external, session) -> None:
    kazoo_store.create(session, "/controller", b"1", ephemeral=True)
    kazoo_store.exists(session, "/controller", watch=True)
    external.delete("/controller")
    assert poll_until(kazoo_store, 1) == [ForeignChange("deleted", "/controller")]
    assert kazoo_store.take_watches() == [WatchedEvent(session, "deleted", "/controller")]
    kazoo_store.create(session, "/controller", b"1", ephemeral=True)
    assert kazoo_store.poll_foreign() == []
    assert_agrees(kazoo_store, external)


def test_polling_does_not_apply_changes(kazoo_store, external) -> None:
    external.create("/a")
    deadline = time.monotonic() + DEADLINE_S
    while not (found := kazoo_store.poll_foreign()) and time.monotonic() < deadline:
        time.sleep(0.005)
    assert [change.path for change in found] == ["/a"]
    assert kazoo_store.model.peek("/a") is None
    # A second watch of the same change may still be in flight; once the change is applied it has no effect.
    kazoo_store.apply_foreign("created", "/a", b"", version=0)
    assert kazoo_store.poll_foreign() == []


def test_external_creation_and_deletion_of_trees(kazoo_store, external, session) -> None:
    kazoo_store.create(session, "/mine/x/y", b"1", makepath=True)
    external.create("/theirs/x/y", b"2", makepath=True)
    external.set("/theirs/x/y", b"3")
    external.delete("/mine", recursive=True)
    poll_until(kazoo_store, 6)
    assert [(path, data) for path, data, _ in kazoo_store.tree()] == [
        ("/theirs", b""), ("/theirs/x", b""), ("/theirs/x/y", b"3"),
    ]  # fmt: skip
    assert_agrees(kazoo_store, external)


def test_changes_below_what_the_lab_created_are_seen(kazoo_store, external, session) -> None:
    kazoo_store.create(session, "/a/b/c", b"1", makepath=True)
    external.set("/a/b/c", b"2")
    assert poll_until(kazoo_store, 1) == [ForeignChange("changed", "/a/b/c", b"2", version=1)]


def test_recreated_znode_is_a_deletion_and_a_creation(kazoo_store, external, session) -> None:
    kazoo_store.create(session, "/controller", b"1", ephemeral=True)
    transaction = external.transaction()
    transaction.delete("/controller")
    transaction.create("/controller", b"1")
    transaction.commit()
    found = poll_until(kazoo_store, 2)
    assert found == [ForeignChange("deleted", "/controller"), ForeignChange("created", "/controller", b"1", version=0)]
    kazoo_store.close_session(session)
    assert kazoo_store.exists(OUTSIDE_SESSION, "/controller") is not None


def test_short_lived_children_count_in_sequence_numbers(kazoo_store, external, session) -> None:
    kazoo_store.create(session, "/queue")
    external.create("/queue/n_", sequence=True)
    external.delete("/queue/n_0000000000")
    deadline = time.monotonic() + DEADLINE_S
    while kazoo_store.exists(session, "/queue").cversion < 2 and time.monotonic() < deadline:
        poll_until(kazoo_store, 1)
    assert kazoo_store.create(session, "/queue/n_", sequential=True) == "/queue/n_0000000001"
    assert_agrees(kazoo_store, external)


def test_operation_applies_after_an_external_change(kazoo_store, external, session) -> None:
    kazoo_store.create(session, "/state", b"1")
    operations = kazoo_store.model.operations
    external.set("/state", b"theirs")
    with pytest.raises(BadVersion):
        kazoo_store.set(session, "/state", b"mine", 0)
    expected = ForeignChange("changed", "/state", b"theirs", version=1, operation=operations + 1)
    assert kazoo_store.take_foreign() == [expected]
    assert kazoo_store.get(session, "/state")[0] == b"theirs"
    kazoo_store.set(session, "/state", b"mine", 1)
    assert external.get("/state")[0] == b"mine"


@pytest.mark.parametrize("operation", ["create", "exists", "children", "multi", "delete"])
def test_each_operation_detects_external_changes(kazoo_store, external, session, operation) -> None:
    kazoo_store.create(session, "/epoch", b"0")
    if operation == "create":
        external.create("/controller", b"theirs")
        with pytest.raises(NodeExists):
            kazoo_store.create(session, "/controller", b"mine", ephemeral=True)
    elif operation == "exists":
        external.delete("/epoch")
        assert kazoo_store.exists(session, "/epoch") is None
    elif operation == "children":
        external.create("/epoch/x")
        assert kazoo_store.children(session, "/epoch") == ["x"]
    elif operation == "multi":
        external.set("/epoch", b"7")
        with pytest.raises(BadVersion):
            kazoo_store.multi(session, [Create("/controller"), Check("/epoch", 0)])
        assert external.exists("/controller") is None
    else:
        # The model has no such znode, so the lab must read again before it reports that.
        external.create("/new", b"theirs")
        kazoo_store.delete(session, "/new")
        assert external.exists("/new") is None
    assert len(kazoo_store.take_foreign()) == 1
    kazoo_store.poll_foreign()
    assert_agrees(kazoo_store, external)


def test_replay_in_memory_applies_the_same_changes(kazoo_store, external) -> None:
    """What take_foreign gives is enough to do the same again without the server."""

    def handler(store) -> list[object]:
        seen = [store.open_session("broker-1"), store.create(1, "/a", b"1")]
        if isinstance(store, KazooStore):
            external.set("/a", b"2")
        seen.append(store.get(1, "/a", watch=True))
        if isinstance(store, KazooStore):
            external.delete("/a")
        seen.append(store.exists(1, "/a"))
        return [*seen, store.take_watches(), store.take_changes(), store.create(1, "/a")]

    live = handler(kazoo_store)
    replayed = MemoryStore()
    for change in kazoo_store.take_foreign():
        replayed.expect_foreign(change)
    assert handler(replayed) == live


def test_watches_have_arrived_when_a_write_returns(kazoo_store, external, session) -> None:
    other = kazoo_store.open_session("broker-2")
    kazoo_store.create(session, "/a")
    for count in range(30):
        kazoo_store.get(other, "/a", watch=True)
        kazoo_store.set(session, "/a", b"%d" % count)
        assert not kazoo_store._connections[other]._armed
        assert kazoo_store.take_watches() == [WatchedEvent(other, "changed", "/a")]


def used_model() -> MemoryStore:
    model = MemoryStore()
    first, second = model.open_session("broker-1"), model.open_session("broker-2")
    model.create(first, "/brokers/ids/1", b"one", ephemeral=True, makepath=True)
    model.create(second, "/brokers/ids/2", b"two", ephemeral=True)
    model.set(second, "/brokers/ids/2", b"two again")
    for count in range(250):
        model.set(first, "/brokers", b"%d" % count)
    model.create(first, "/queue")
    for _ in range(120):
        model.delete(first, model.create(first, "/queue/n_", sequential=True))
    model.create(first, "/queue/n_", bytes(900_000), sequential=True)
    model.exists(second, "/controller", watch=True)
    model.children(second, "/brokers/ids", watch=True)
    model.close_session(model.open_session("gone"))
    model.take_changes()
    return model


def test_materialise_writes_a_tree_with_its_versions_sessions_and_watches(kazoo_store, external) -> None:
    model = used_model()
    kazoo_store.materialise(model)
    assert_agrees(kazoo_store, external)
    assert list(kazoo_store.tree()) == list(model.tree())
    assert kazoo_store.poll_foreign() == []
    for store in (kazoo_store, model):
        assert store.create(1, "/queue/n_", sequential=True) == "/queue/n_0000000121"
        store.create(1, "/controller", ephemeral=True)
        store.close_session(1)
        assert store.take_watches() == [
            WatchedEvent(2, "created", "/controller"),
            WatchedEvent(2, "children", "/brokers/ids"),
        ]
        assert store.open_session("broker-1") == 4
    assert pickle.dumps(list(kazoo_store.tree())) == pickle.dumps(list(model.tree()))
    assert external.exists("/brokers/ids/1") is None
    assert external.exists("/brokers/ids/2") is not None


def test_chroot_must_be_empty(zookeeper, chroot, external) -> None:
    external.create("/left-over")
    with pytest.raises(ZookeeperDisagrees, match="already holds znodes below /test"):
        KazooStore(zookeeper.address, chroot)


def test_deleted_chroot_is_reported(kazoo_store, external, session) -> None:
    external.delete("/", recursive=True)
    with pytest.raises(ZookeeperDisagrees, match="Reopen the branch"):
        kazoo_store.create(session, "/a")


def test_server_that_died_gives_one_clear_message(tmp_path) -> None:
    with EmbeddedZookeeper(tmp_path) as server:
        store = KazooStore(server.address, "/branch")
        session = store.open_session("broker-1")
        server.stop()
        began = time.monotonic()
        with pytest.raises(ZookeeperUnavailable, match=r"ZooKeeper at 127\.0\.0\.1:\d+ did not create a znode"):
            store.create(session, "/a")
        store.close()
        assert time.monotonic() - began < 2 * DEADLINE_S


def test_connection_refused_is_one_clear_message() -> None:
    with pytest.raises(ZookeeperUnavailable, match=r"ZooKeeper at 127\.0\.0\.1:\d+ did not answer") as unavailable:
        KazooStore("127.0.0.1:1", "/branch")
    assert render(unavailable.value.what, "zh-CN").startswith("127.0.0.1:1 上的 ZooKeeper 没有响应（没有响应；")


RANDOM_PATHS = ["/a", "/b", "/a/x", "/a/y", "/a/x/deep"]


def random_call(draw: random.Random):
    """One operation of the lab, as something that can be done to any store."""
    path, session = draw.choice(RANDOM_PATHS), draw.choice([1, 2])
    data, version = draw.randbytes(2), draw.choice([-1, -1, 0, 1])
    return draw.choice(
        [
            lambda store: store.create(session, path, data),
            lambda store: store.create(session, path, data, ephemeral=True),
            lambda store: store.create(session, path, data, makepath=True),
            lambda store: store.create(session, path, data, sequential=True),
            lambda store: store.set(session, path, data, version),
            lambda store: store.delete(session, path, version),
            lambda store: store.multi(session, [SetData(path, data), Create("/b", data)]),
            lambda store: store.get(session, path, watch=True),
            lambda store: store.exists(session, path, watch=True),
            lambda store: store.children(session, path, watch=True),
        ]
    )


def outcome(call, store) -> object:
    try:
        result = call(store)
    except ZkError as error:
        result = (type(error).__name__, error.path, error.index)
    return result, store.take_changes(), store.take_watches()


def write_something(draw: random.Random, client: KazooClient) -> None:
    path = draw.choice(RANDOM_PATHS)
    write = draw.choice(
        [
            lambda: client.create(path, draw.randbytes(2)),
            lambda: client.create(path, b"", sequence=True),
            lambda: client.set(path, draw.randbytes(2)),
            lambda: client.delete(path),
            lambda: client.delete(path, recursive=True),
        ]
    )
    with contextlib.suppress(KazooException):
        write()


@pytest.mark.parametrize("seed", range(6))
def test_random_external_writes_replay_alike(kazoo_store, external, seed) -> None:
    draw = random.Random(seed)
    inputs = [lambda store: store.open_session("broker-1"), lambda store: store.open_session("broker-2")]
    live = [outcome(call, kazoo_store) for call in inputs]
    met = []

    def take_in_what_is_known() -> None:
        for change in kazoo_store.poll_foreign():

            def follow(store, change=change) -> None:
                store.apply_foreign(
                    change.kind, change.path, change.data, version=change.version, cversion=change.cversion
                )

            inputs.append(follow)
            live.append(outcome(follow, kazoo_store))

    for _ in range(300):
        if draw.random() < 0.3:
            write_something(draw, external)
        if draw.random() < 0.2:
            take_in_what_is_known()
        call = random_call(draw)
        inputs.append(call)
        live.append(outcome(call, kazoo_store))
        met += kazoo_store.take_foreign()
    # The last watches may be on their way still, whatever was read meanwhile.
    external.create("/marker")
    deadline = time.monotonic() + DEADLINE_S
    while not (kazoo_store.model.peek("/marker") and agrees(kazoo_store, external)) and time.monotonic() < deadline:
        take_in_what_is_known()
    assert met
    assert_agrees(kazoo_store, external)
    assert len(list(kazoo_store.tree())) == count_below(external, "/")

    replayed = MemoryStore()
    for change in met:
        replayed.expect_foreign(change)
    assert [outcome(call, replayed) for call in inputs] == live
    assert pickle.dumps(list(replayed.tree())) == pickle.dumps(list(kazoo_store.tree()))


def count_below(client: KazooClient, path: str) -> int:
    names = client.get_children(path)
    return len(names) + sum(count_below(client, f"{path.rstrip('/')}/{name}") for name in names)
