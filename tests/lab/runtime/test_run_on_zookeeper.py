"""A whole cluster on a real ZooKeeper: the same events as in memory, and external changes of znodes."""

import time

import msgspec
import pytest
from kazoo.client import KazooClient

from broker_core.events.world import ForeignZnodeChanged
from broker_core.run import Run
from broker_core.sim.disk import SimulatedDisk
from broker_core.zk.memory_store import MemoryStore
from broker_core.zk.store import ForeignChange
from tests.support.main_scenario import CONFIG, journal, new_run, play

DEADLINE_S = 60


@pytest.fixture
def run_on_zookeeper(kazoo_store) -> Run:
    return Run(CONFIG, disk=SimulatedDisk(), zk=kazoo_store)


def test_main_scenario_gives_the_same_events_on_both_stores(run_on_zookeeper) -> None:
    in_memory = new_run()
    play(in_memory)
    play(run_on_zookeeper)
    assert journal(run_on_zookeeper) == journal(in_memory)
    assert run_on_zookeeper.digest() == in_memory.digest()


def test_writes_of_the_lab_are_not_external(run_on_zookeeper, kazoo_store) -> None:
    play(run_on_zookeeper)
    assert kazoo_store.poll_foreign() == []
    assert kazoo_store.take_foreign() == []


def test_external_deletion_of_the_controller_znode(zookeeper, chroot, run_on_zookeeper, kazoo_store) -> None:
    run = run_on_zookeeper
    run.advance(5_000_000)
    external = KazooClient(zookeeper.address, timeout=DEADLINE_S)
    external.start(DEADLINE_S)
    external.chroot = chroot
    try:
        epoch = int(external.get("/controller_epoch")[0])
        external.delete("/controller")
        deadline = time.monotonic() + DEADLINE_S
        changes: list[ForeignChange] = []
        while not changes and time.monotonic() < deadline:
            changes = kazoo_store.poll_foreign()
        assert changes == [ForeignChange("deleted", "/controller")]
        for change in changes:
            run.submit_foreign(change)
        run.advance(15_000_000)
        assert int(external.get("/controller_epoch")[0]) == epoch + 1
        assert external.exists("/controller") is not None
    finally:
        external.stop()
        external.close()
    inputs = run.take_inputs()
    assert [(given.kind, msgspec.json.decode(given.text, type=ForeignChange)) for given in inputs] == [
        ("foreign", ForeignChange("deleted", "/controller"))
    ]
    live = run.take()
    assert any(isinstance(envelope[4], ForeignZnodeChanged) for envelope, _, _ in live)

    replayed = Run(CONFIG, disk=SimulatedDisk(), zk=MemoryStore())
    replayed.replay(inputs, run.seq)
    assert [data for _, _, data in replayed.take()] == [data for _, _, data in live]
