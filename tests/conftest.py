"""What several test modules share: a real ZooKeeper for the session, and stores of both kinds."""

import itertools
from collections.abc import Callable, Iterator

import pytest

from broker_core.zk.memory_store import MemoryStore
from broker_core.zk.store import ZkStore
from lab.runtime.kazoo_store import KazooStore
from lab.runtime.zookeeper import EmbeddedZookeeper


@pytest.fixture(scope="session")
def zookeeper(tmp_path_factory) -> Iterator[EmbeddedZookeeper]:
    """A running server. It serves the whole session: give each test a chroot of its own."""
    with EmbeddedZookeeper(tmp_path_factory.mktemp("zookeeper")) as server:
        yield server


@pytest.fixture(scope="session")
def _chroot_numbers() -> Iterator[int]:
    return itertools.count(1)


@pytest.fixture
def chroot(_chroot_numbers) -> str:
    """A path on the server that nothing has used yet."""
    return f"/test-{next(_chroot_numbers)}"


@pytest.fixture
def kazoo_store(zookeeper, chroot) -> Iterator[KazooStore]:
    store = KazooStore(zookeeper.address, chroot)
    yield store
    store.close(remove=True)


@pytest.fixture(params=["memory", "zookeeper"])
def store(request) -> ZkStore:
    """A store of each kind in turn."""
    make: dict[str, Callable[[], ZkStore]] = {
        "memory": MemoryStore,
        "zookeeper": lambda: request.getfixturevalue("kazoo_store"),
    }
    return make[request.param]()
