"""The first job of a new run, such as the set-up of a lesson: it does not wait for ZooKeeper."""

import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from kazoo.client import KazooClient

from broker_core.events.world import ForeignZnodeChanged
from broker_core.zk.memory_store import MemoryStore
from lab.runtime import live_run
from lab.runtime.engine import boot
from lab.runtime.host import Host
from lab.runtime.live_run import LiveRun
from lab.runtime.policy import IN_CLASS
from lab.runtime.zookeeper.kazoo_store import KazooStore, Server
from lab.runtime.zookeeper.server import free_port
from lab.texts.refusal import Refusal
from tests.support.lab_server import PATIENCE_S
from tests.support.labs import play, submit, until
from tests.support.recorded_runs import CONFIG, TOPIC


def set_up(live: LiveRun) -> None:
    boot(live)
    command = submit(TOPIC)(live)
    while command in live.run.running_commands:
        live.run.step_event()
    live.pacer.set_mode("pause")


def held_copy() -> tuple[Callable[[Server, MemoryStore], KazooStore], threading.Event, threading.Event]:
    """`Server.copy`, waiting for the first of two events; it sets the second at its end."""
    may_copy, copied = threading.Event(), threading.Event()
    copy = Server.copy

    def held(self: Server, model: MemoryStore) -> KazooStore:
        may_copy.wait(PATIENCE_S)
        store = copy(self, model)
        copied.set()
        return store

    return held, may_copy, copied


def test_lab_of_a_class_that_wakes_acts_before_its_tree_is_on_the_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, zookeeper
) -> None:
    held, may_copy, copied = held_copy()
    client = KazooClient(zookeeper.address)
    client.start(PATIENCE_S)

    async def scene(host: Host) -> None:
        host.set_policy("wakes", IN_CLASS)
        lab = await host.begin("wakes", "main", CONFIG)
        await lab.act(set_up)
        await lab.sleep()
        monkeypatch.setattr(Server, "copy", held)
        try:
            before = lab.recording.last_seq
            await lab.act(submit("broker kill 2"))
            assert lab.recording.last_seq > before and not copied.is_set()
            path = lab.zookeeper.partition("/")[2]
        finally:
            may_copy.set()
        while await lab.act(LiveRun.begin_join) is not None:
            # The engine has worked meanwhile, so another copy is made.
            pass
        assert client.get_children(f"/{path}/brokers/topics") == ["orders"]
        await lab.act(lambda live: live.run.advance(live.run.now_us + 30_000_000))
        assert sorted(client.get_children(f"/{path}/brokers/ids")) == ["1", "3"]

    try:
        play(tmp_path, scene, zookeeper.address)
    finally:
        client.stop()
        client.close()


def test_first_job_ends_before_the_tree_is_on_the_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, zookeeper
) -> None:
    held, may_copy, copied = held_copy()
    monkeypatch.setattr(Server, "copy", held)
    client = KazooClient(zookeeper.address)
    client.start(PATIENCE_S)

    async def scene(host: Host) -> None:
        lab = await host.begin("first-job", "main", CONFIG)
        try:
            await lab.act(set_up)
            assert not copied.is_set()
            address, _, path = lab.zookeeper.partition("/")
            assert address == zookeeper.address
        finally:
            may_copy.set()
        await until(copied.is_set)
        assert client.get_children(f"/{path}/brokers/topics") == ["orders"]
        # External changes in ZooKeeper are observed, as in any other run.
        before = lab.recording.last_seq
        client.delete(f"/{path}/controller")
        await until(lambda: lab.recording.last_seq > before)
        events = lab.recording.events(before + 1, lab.recording.last_seq)
        assert any(isinstance(event, ForeignZnodeChanged) for *_, event in events)

    try:
        play(tmp_path, scene, zookeeper.address)
    finally:
        client.stop()
        client.close()


def test_tree_is_on_the_server_as_soon_as_time_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, zookeeper) -> None:
    monkeypatch.setattr(live_run, "JOIN_SERVER_S", float("inf"))
    copied = threading.Event()
    copy, poll = Server.copy, LiveRun.poll_external_changes
    slices: list[None] = []

    def noted(self: Server, model: MemoryStore) -> KazooStore:
        copied.set()
        return copy(self, model)

    def counted(self: LiveRun) -> None:
        slices.append(None)
        poll(self)

    monkeypatch.setattr(Server, "copy", noted)
    monkeypatch.setattr(LiveRun, "poll_external_changes", counted)

    async def scene(host: Host) -> None:
        lab = await host.begin("first-slices", "main", CONFIG)
        await lab.act(set_up)
        # While it is paused the processor is left to the page that shows it.
        await until(lambda: len(slices) > 1)
        assert not copied.is_set()
        await lab.act(lambda live: live.pacer.set_mode("play"))
        lab.time_changed()
        await until(copied.is_set)

    play(tmp_path, scene, zookeeper.address)


def test_new_run_is_refused_if_zookeeper_has_ended(tmp_path: Path) -> None:
    async def scene(host: Host) -> None:
        lab = await host.begin("no-server", "main", CONFIG)
        with pytest.raises(Refusal, match="ZooKeeper"):
            await lab.act(set_up)
        assert not lab.recording.last_seq

    play(tmp_path, scene, f"127.0.0.1:{free_port()}")
