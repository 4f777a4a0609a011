"""A whole cluster on a real ZooKeeper: the same events as in memory, and external changes of znodes."""

import asyncio
import threading
import time
from pathlib import Path

import msgspec
import pytest
from kazoo.client import KazooClient

from broker_core.events.world import ForeignZnodeChanged
from broker_core.run import Run
from broker_core.sim.disk import SimulatedDisk
from broker_core.zk.memory_store import MemoryStore
from broker_core.zk.store import ForeignChange
from lab.runtime.engine import CHROOT, boot
from lab.runtime.host import Host
from lab.runtime.live_run import LiveRun
from lab.runtime.policy import IN_CLASS
from lab.runtime.zookeeper.server import EmbeddedZookeeper
from lab.runtime.zookeeper.tree_copy import TreeCopy
from lab.texts.refusal import Refusal
from tests.support import labs
from tests.support.lab_server import PATIENCE_S
from tests.support.main_scenario import CONFIG, journal, new_run, play
from tests.support.recorded_runs import TOPIC

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


@pytest.fixture
def held_copies(monkeypatch: pytest.MonkeyPatch) -> tuple[threading.Event, threading.Event]:
    """Whether a copy of a tree is being written, and what lets it be written."""
    begun, goes_on, write = threading.Event(), threading.Event(), TreeCopy.write

    def held(copied: TreeCopy) -> None:
        begun.set()
        assert goes_on.wait(PATIENCE_S)
        write(copied)

    monkeypatch.setattr(TreeCopy, "write", held)
    return begun, goes_on


def znodes(zookeeper: EmbeddedZookeeper, path: str) -> list[str]:
    """The children of a znode on the server."""
    external = KazooClient(zookeeper.address, timeout=DEADLINE_S)
    external.start(DEADLINE_S)
    try:
        children: list[str] = external.get_children(path) if external.exists(path) else []
        return sorted(children)
    finally:
        external.stop()
        external.close()


def is_on_the_server(live: LiveRun) -> bool:
    return live.begin_join() is None


def test_lab_of_a_class_acts_while_its_tree_is_written_to_the_server(
    zookeeper: EmbeddedZookeeper, held_copies: tuple[threading.Event, threading.Event], tmp_path: Path
) -> None:
    begun, goes_on = held_copies

    async def scene(host: Host) -> None:
        host.set_policy("joins-1", IN_CLASS)
        lab = await host.begin("joins-1", "main", CONFIG)
        await lab.act(boot)
        await labs.until(begun.is_set)
        await lab.act(labs.submit(TOPIC))
        await labs.until(lambda: "orders" in ((lab.engine and lab.engine.run.view["topics"]) or ()))
        assert not await lab.act(is_on_the_server)
        goes_on.set()
        while not await lab.act(is_on_the_server):
            pass
        assert znodes(zookeeper, f"{CHROOT}/joins-1/main/brokers/topics") == ["orders"]

    labs.play(tmp_path, scene, zookeeper.address)


def test_lab_that_sleeps_while_its_tree_is_written_leaves_none_and_joins_later(
    zookeeper: EmbeddedZookeeper, held_copies: tuple[threading.Event, threading.Event], tmp_path: Path
) -> None:
    begun, goes_on = held_copies
    tree = f"{CHROOT}/joins-2/main/brokers/ids"

    async def scene(host: Host) -> None:
        host.set_policy("joins-2", IN_CLASS)
        lab = await host.begin("joins-2", "main", CONFIG)
        await lab.act(boot)
        await labs.until(begun.is_set)
        sleeping = asyncio.create_task(lab.sleep())
        goes_on.set()
        await sleeping
        assert lab.core == "recorded" and znodes(zookeeper, tree) == []
        await lab.wake()
        while not await lab.act(is_on_the_server):
            pass
        assert znodes(zookeeper, tree) == ["1", "2", "3"]

    labs.play(tmp_path, scene, zookeeper.address)


def test_engine_built_after_a_failure_waits_for_the_copy_of_the_failed_one(
    zookeeper: EmbeddedZookeeper, held_copies: tuple[threading.Event, threading.Event], tmp_path: Path
) -> None:
    begun, goes_on = held_copies

    async def scene(host: Host) -> None:
        host.set_policy("joins-3", IN_CLASS)
        lab = await host.begin("joins-3", "main", CONFIG)
        await lab.act(boot)
        await labs.until(begun.is_set)
        with pytest.raises(Refusal):
            await lab.act(lambda live: 1 // 0)
        begun.clear()
        await lab.wake()
        await lab.act(lambda live: live.run.seq)
        assert not begun.is_set(), "two copies of one lab would meet in its chroot"
        goes_on.set()
        while not await lab.act(is_on_the_server):
            pass
        assert znodes(zookeeper, f"{CHROOT}/joins-3/main/brokers/ids") == ["1", "2", "3"]

    labs.play(tmp_path, scene, zookeeper.address)
