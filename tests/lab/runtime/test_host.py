"""Labs of one process: they take turns, they stop when nobody watches, and they outlive what goes wrong."""

import asyncio
import errno
import os
import shutil
import socket
import threading
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, cast

import pytest

from broker_core.run import Run
from lab.protocol.frames import No
from lab.recordings.logs import RecordedLogs, Stamped
from lab.runtime import host as host_module
from lab.runtime import lab as lab_module
from lab.runtime.host import Host
from lab.runtime.lab import Lab
from lab.runtime.live_run import LiveRun, PublishedUpdate
from lab.runtime.streaming.watcher import Gone, Visitor, Watcher
from lab.runtime.tcp import gateway as gateway_module
from lab.runtime.tcp.bound_ports import hold, let_go, port_of
from lab.texts.refusal import Refusal
from tests.support.lab_server import PATIENCE_S
from tests.support.recorded_runs import CONFIG, TOPIC

VISITOR = Visitor(user_id=1, user="me", run_name="a run", is_owner=True, language="en")
Scene = Callable[[Host], Awaitable[None]]


def play(root: Path, scene: Scene, zookeeper: str = "") -> None:
    """Runs a scene with a host of its own."""

    async def with_host() -> None:
        host = Host(root, zookeeper)
        try:
            await scene(host)
        finally:
            await host.close()

    asyncio.run(with_host())


async def connected(lab: Lab) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """A connection to the first broker, that has asked for ApiVersions and was answered with its correlation id."""
    host, port = lab.bootstrap.split(",")[0].split(":")
    deadline_s = time.monotonic() + PATIENCE_S
    while True:
        try:
            reader, writer = await asyncio.open_connection(host, port)
            break
        except ConnectionRefusedError:
            # its broker is up, and its port listens a moment later
            assert time.monotonic() < deadline_s
            await asyncio.sleep(0.01)
    writer.write(bytes.fromhex("0000000a 0012 0000 0000002a ffff"))
    head = await asyncio.wait_for(reader.readexactly(8), PATIENCE_S)
    assert head[4:] == bytes.fromhex("0000002a")
    return reader, writer


def test_an_engine_that_ends_with_clients_connected_stays_ended(tmp_path: Path) -> None:
    """Its clients are hung up on, and nobody wakes it to tell it so."""

    async def scene(host: Host) -> None:
        lab = await host.start("left", "main", CONFIG)
        reader, writer = await connected(lab)
        await lab.sleep()
        await asyncio.wait_for(reader.read(), PATIENCE_S)  # to the end
        writer.close()
        await writer.wait_closed()
        for _ in range(100):  # turns of the event loop, of which one would do
            await asyncio.sleep(0)
            assert lab.core == "recorded" and not lab._waking.locked()
        await lab.act(set_mode("play"))
        (await connected(lab))[1].close()
        assert lab.core == "live"

    play(tmp_path, scene)


def test_an_engine_ends_though_something_comes_due_meanwhile(tmp_path: Path) -> None:
    """Between the turn in which that is told and the one in which who waits for it goes on, there are some."""

    async def scene(host: Host) -> None:
        lab = await host.start("ends", "main", CONFIG)
        for turns in range(8):
            await lab.act(set_mode("pause"))
            await asyncio.sleep(0.1)  # it looks outside four times a second, and waits meanwhile
            lab.time_changed()
            for _ in range(turns):
                await asyncio.sleep(0)
            await asyncio.wait_for(lab.sleep(), PATIENCE_S)
            assert lab.core == "recorded"

    play(tmp_path, scene)


def test_a_branch_keeps_its_ports_and_a_fork_has_its_own(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    found: list[str] = []
    ports: list[int] = []

    async def begin(host: Host) -> None:
        lab = await host.start("ports", "main", CONFIG)
        found.append(lab.bootstrap)
        ports.extend(port for _, port in lab.endpoints.values())
        (await connected(lab))[1].close()
        fork = await host.fork("ports", "main", lab.ring.last_seq, "other")
        assert not set(fork.bootstrap.split(",")) & set(lab.bootstrap.split(","))

    async def again(host: Host) -> None:
        lab = await host.lab("ports", "main")
        assert lab.bootstrap == ""
        await lab.wake()
        await lab.act(set_mode("play"))
        if lab.bootstrap != found[0]:
            # somebody else has taken one meanwhile
            assert "gets other ports than before" in caplog.text
            assert "another broker of this lab" not in caplog.text
        (await connected(lab))[1].close()
        assert not [node for node in (await lab.act(lambda live: dict(live.run.view["nodes"]))) if node == "tcp-1"]

    play(tmp_path, begin)
    for port in ports:
        try:
            released = hold({1: port})[1]
        except Refusal as refusal:
            # somebody else has taken it meanwhile
            assert "another broker of this lab" not in refusal.what
        else:
            let_go(port)
            released.close()
    play(tmp_path, again)


def submit(line: str) -> Callable[[LiveRun], int]:
    return lambda live: live.run.submit(line, "me")


def test_no_two_brokers_hold_a_port(tmp_path: Path) -> None:
    ones = [hold(dict.fromkeys(range(7), 0)) for _ in range(30)]
    ports = [port_of(bound) for one in ones for bound in one.values()]
    try:
        assert len(set(ports)) == len(ports)
        with pytest.raises(Refusal, match="another broker of this lab"):
            hold({1: ports[0]})
        with pytest.raises(Refusal, match=r"another broker of this lab|cannot be used"):
            hold({1: ports[0] + 10_000, 2: ports[0] + 10_000})
    finally:
        for one in ones:
            for bound in one.values():
                let_go(port_of(bound))
                bound.close()


def test_a_broker_whose_port_is_taken_meanwhile_gets_it_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gateway_module, "LISTEN_AGAIN_S", 0.05)

    async def scene(host: Host) -> None:
        lab = await host.start("ports", "main", CONFIG)
        (await connected(lab))[1].close()
        await lab.act(submit("broker kill 1"))
        port = lab.endpoints[1][1]
        gateway = lab._gateway
        assert gateway is not None
        await until(lambda: 1 not in gateway._listening)
        with socket.socket() as other:
            other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            other.bind(("127.0.0.1", port))
            other.listen()
            await lab.act(submit("broker start 1"))
            await until(lambda: 1 in gateway._listeners)
            await asyncio.sleep(0.2)  # it may try in vain
            assert 1 not in gateway._listening
        await gateway.ready()
        (await connected(lab))[1].close()

    play(tmp_path, scene)


def set_mode(mode: Any) -> Callable[[LiveRun], None]:
    return lambda live: live.pacer.set_mode(mode)


async def until(condition: Callable[[], bool], seconds: float = PATIENCE_S) -> None:
    """Waits for something that must come about."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not come about"
        await asyncio.sleep(0.01)


class Page(Watcher):
    """A watcher that keeps what it is told."""

    def __init__(self, lab: Lab) -> None:
        super().__init__(lab, VISITOR, have=0, boot="")
        self.said: list[Any] = []
        lab.watch(self)

    def say(self, frame: Any) -> None:
        self.said.append(frame)
        super().say(frame)


def test_a_new_run_has_its_brokers_up_and_plays(tmp_path: Path) -> None:
    async def scene(host: Host) -> None:
        lab = await host.start("r1", "main", CONFIG)
        snapshot = await lab.snapshot()
        assert snapshot.state.count(b'"state":"up"') >= 3
        before_us = lab.clock().at_us
        await until(lambda: lab.clock().at_us > before_us + 100_000)
        assert lab.clock().mode == "play"

    play(tmp_path, scene)


def test_a_lab_with_much_to_do_makes_nobody_wait_but_itself(tmp_path: Path) -> None:
    async def scene(host: Host) -> None:
        busy, other = await host.start("r1", "main", CONFIG), await host.start("r2", "main", CONFIG)
        began, ends = threading.Event(), threading.Event()
        heavy = asyncio.create_task(busy.act(lambda live: began.set() or ends.wait(PATIENCE_S)))
        await until(began.is_set)
        await other.act(submit(TOPIC))
        assert not heavy.done()
        ends.set()
        assert await heavy

    play(tmp_path, scene)


def test_a_lab_that_nobody_watches_pauses_and_later_closes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host_module, "HOUSEKEEPING_S", 0.02)
    monkeypatch.setattr(host_module, "UNWATCHED_PAUSE_S", 0.3)
    monkeypatch.setattr(host_module, "UNWATCHED_SLEEP_S", 0.8)

    async def scene(host: Host) -> None:
        watched = await host.start("r1", "main", CONFIG)
        page = Page(watched)
        await watched.act(set_mode("play"))
        unwatched = await host.start("r2", "main", CONFIG)
        await until(lambda: unwatched.clock().rests)
        assert unwatched.clock().mode == "pause"
        assert watched.clock().mode == "play" and not watched.clock().rests
        await until(lambda: host.open_lab("r2", "main") is None)
        assert watched.clock().mode == "play"
        watched.leave(page)
        await until(lambda: host.open_lab("r1", "main") is None)
        again = await host.lab("r2", "main")
        assert again.core == "recorded" and again.ring.last_seq == unwatched.ring.last_seq
        assert again.clock().rests
        await again.act(submit(TOPIC))
        assert again.core == "live" and again.clock().mode == "pause" and not again.clock().rests
        # what its owner has paused stands still for that reason, whoever watches
        await until(lambda: host.open_lab("r2", "main") is None)
        assert not (await host.lab("r2", "main")).clock().rests

    play(tmp_path, scene)


def test_who_acts_while_a_branch_is_closed_is_served_or_refused(tmp_path: Path) -> None:
    async def scene(host: Host) -> None:
        lab = await host.start("r1", "main", CONFIG)
        seq = lab.ring.last_seq

        async def act_after(turns: int) -> int:
            for _ in range(turns):
                await asyncio.sleep(0)
            return await lab.act(submit("zk ls /"))

        told = await asyncio.wait_for(
            asyncio.gather(host.close_run("r1"), *map(act_after, range(40)), return_exceptions=True), PATIENCE_S
        )
        assert {type(each) for each in told[1:]} <= {int, Refusal}
        with pytest.raises(Refusal, match="closed meanwhile"):
            await lab.act(submit("zk ls /"))
        with pytest.raises(Gone):
            await Page(lab).next_frame()
        again = await host.lab("r1", "main")
        await again.act(submit(TOPIC))
        assert again.core == "live" and again.ring.last_seq > seq

    play(tmp_path, scene)


def test_a_lab_is_looked_after_though_another_one_is_closed_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(host_module, "HOUSEKEEPING_S", 0.02)
    monkeypatch.setattr(lab_module, "SUMMARY_S", 0.0)

    async def scene(host: Host) -> None:
        first, second = await host.start("r1", "main", CONFIG), await host.start("r2", "main", CONFIG)
        pages = [Page(first), Page(second)]
        ends = threading.Event()
        busy = asyncio.create_task(first.act(lambda live: ends.wait(PATIENCE_S)))
        monkeypatch.setattr(host_module, "UNWATCHED_PAUSE_S", 0.0)
        first.leave(pages[0])
        await asyncio.sleep(0.2)  # by now it is to be paused, and takes its time
        await second.act(submit(TOPIC))
        await host.close_run("r2")
        ends.set()
        assert await busy
        await until(lambda: first.clock().rests)
        await first.act(set_mode("play"))
        await until(lambda: first.clock().rests)

    play(tmp_path, scene)


def test_many_who_open_one_branch_get_one_lab(tmp_path: Path) -> None:
    async def scene(host: Host) -> None:
        await host.start("r1", "main", CONFIG)
        await host.close_run("r1")
        labs = await asyncio.gather(*(host.lab("r1", "main") for _ in range(10)))
        assert len(set(map(id, labs))) == 1
        runs = await asyncio.gather(*(labs[0].wake() for _ in range(5)))
        assert len(set(map(id, runs))) == 1

    play(tmp_path, scene)


def test_a_branch_that_is_not_there_is_refused_every_time(tmp_path: Path) -> None:
    async def scene(host: Host) -> None:
        for _ in range(2):
            with pytest.raises(Refusal, match="cannot be opened"):
                await host.lab("nosuch", "main")
            with pytest.raises(Refusal, match="no run or branch"):
                await host.lab("../etc", "main")

    play(tmp_path, scene)


def test_an_engine_that_fails_tells_the_pages_and_starts_again_from_the_recording(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scene(host: Host) -> None:
        lab = await host.start("r1", "main", CONFIG)
        page = Page(lab)
        with monkeypatch.context() as patched:

            def fail(self: Run, until_us: int, *, max_events: int | None = None) -> int:
                raise RuntimeError("planted")

            patched.setattr(Run, "advance", fail)
            await until(lambda: lab.core == "recorded")
        await until(lambda: any(isinstance(frame, No) for frame in page.said))
        (told,) = [frame for frame in page.said if isinstance(frame, No)]
        assert "stopped" in told.what and "safe" in told.todo
        assert not lab.clock().rests, "somebody watched"
        seq = lab.recording.last_seq
        await lab.act(set_mode("play"))
        await until(lambda: lab.ring.last_seq > seq)

    play(tmp_path, scene)


def test_an_engine_that_fails_at_a_command_says_so_to_who_gave_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scene(host: Host) -> None:
        lab = await host.start("r1", "main", CONFIG)
        with monkeypatch.context() as patched:

            def fail(self: Run, line: str, actor: str) -> int:
                raise RuntimeError("planted")

            patched.setattr(Run, "submit", fail)
            with pytest.raises(Refusal, match="see the terminal"):
                await lab.act(submit(TOPIC))
        assert lab.core == "recorded"
        await lab.act(submit(TOPIC))
        assert lab.core == "live"

    play(tmp_path, scene)


def test_an_observer_that_fails_is_removed_and_the_lab_continues(tmp_path: Path) -> None:
    class Broken:
        has_stopped = False

        def happened(self, live: LiveRun, batch: object) -> None:
            raise RuntimeError("planted")

        def stopped(self) -> None:
            self.has_stopped = True

    async def scene(host: Host) -> None:
        lab = await host.start("r1", "main", CONFIG)
        broken = Broken()
        lab.observers[1] = broken
        await lab.act(submit(TOPIC))
        assert lab.core == "live" and not lab.observers
        assert broken.has_stopped
        seq = lab.ring.last_seq
        await until(lambda: lab.ring.last_seq > seq)

    play(tmp_path, scene)


def test_an_observer_of_a_run_that_plays_misses_no_event(tmp_path: Path) -> None:
    class Counting:
        def __init__(self, live: LiveRun | None) -> None:
            assert live is not None
            self.expected = live.run.seq + 1
            self.gaps = 0
            self.events = 0

        def happened(self, live: LiveRun, batch: PublishedUpdate) -> None:
            for envelope in batch.envelopes:
                self.gaps += envelope[0] != self.expected
                self.expected = envelope[0] + 1
                self.events += 1

        def stopped(self) -> None:
            raise AssertionError("it does not fail")

    async def scene(host: Host) -> None:
        lab = await host.start("r1", "main", CONFIG)
        await lab.act(set_mode("play"))
        lab.time_changed()
        for number in range(20):
            await lab.observe(number, Counting)
        observers = [cast(Counting, observer) for observer in lab.observers.values()]
        assert len(observers) == 20
        await until(lambda: all(observer.events for observer in observers))
        assert [observer.gaps for observer in observers] == [0] * 20
        first = lab.observers[0]
        await lab.observe(0, Counting)
        assert lab.observers[0] is first, "a user has one observer"

    play(tmp_path, scene)


def test_no_disk_space_is_said_before_anything_happens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lab_module, "SPACE_S", 0.0)

    async def scene(host: Host) -> None:
        lab = await host.start("r1", "main", CONFIG)
        page = Page(lab)
        with monkeypatch.context() as patched:
            patched.setattr(shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(10**9, 10**9 - 5, 5))
            await until(lambda: lab.clock().mode == "pause")
            seq = lab.ring.last_seq
            with pytest.raises(Refusal, match="is full") as refused:
                await lab.act(submit(TOPIC))
            assert refused.value.status == 507
            await asyncio.sleep(0.6)
            assert lab.ring.last_seq == seq and lab.core == "live"
        (told,) = [frame for frame in page.said if isinstance(frame, No)]
        assert "full" in told.what and "Free some space" in told.todo
        await lab.act(set_mode("play"))
        await lab.act(submit(TOPIC))
        await until(lambda: lab.ring.last_seq > seq)

    play(tmp_path, scene)


def test_a_client_that_a_full_disk_sends_away_is_not_thought_to_be_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lab_module, "SPACE_S", 0.0)

    async def scene(host: Host) -> None:
        lab = await host.start("r1", "main", CONFIG)
        reader, writer = await connected(lab)
        await lab.act(set_mode("pause"))
        with monkeypatch.context() as patched:
            patched.setattr(shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(10**9, 10**9 - 5, 5))
            writer.write(bytes.fromhex("0000000a 0012 0000 0000002b ffff"))
            assert bytes.fromhex("0000002b") not in await asyncio.wait_for(reader.read(), 30)
            assert lab._live is not None and lab._live.run.connections
        await lab.act(set_mode("play"))
        # The engine hears of that, without anybody who comes or goes.
        await until(lambda: lab._live is not None and not lab._live.run.connections)
        await connected(lab)

    play(tmp_path, scene)


def test_a_disk_that_fills_up_in_the_middle_loses_nothing_that_was_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scene(host: Host) -> None:
        lab = await host.start("r1", "main", CONFIG)
        await lab.act(submit(TOPIC))
        await until(lambda: not lab._live.run.running_commands)  # type: ignore[union-attr]
        await lab.act(set_mode("pause"))
        kept = lab.recording.records(1, lab.recording.last_seq)
        with monkeypatch.context() as patched:

            def full(descriptor: int, data: bytes, position: int) -> int:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

            patched.setattr(os, "pwrite", full)
            patched.setattr(os, "pwritev", full)
            with pytest.raises(Refusal, match="free some space"):
                await lab.act(submit("kafka-topics.sh --create --topic lost --partitions 1 --replication-factor 1"))
            assert lab.core == "recorded"
        await lab.act(submit("kafka-topics.sh --create --topic other --partitions 1 --replication-factor 1"))
        assert lab.recording.records(1, len(kept)) == kept
        await lab.act(set_mode("play"))
        await until(lambda: b'"/topics/other"' in lab.recording.records(1, 10**6)[-1] or _has_topic(lab, "other"))
        assert not _has_topic(lab, "lost")

    play(tmp_path, scene)


def test_nothing_follows_what_could_not_be_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What waits for its turn while the recording fails is refused: done by an engine that nothing can make again, it
    would be acknowledged and gone.
    """

    async def scene(host: Host) -> None:
        lab = await host.start("r1", "main", CONFIG)
        await lab.act(set_mode("pause"))
        write = RecordedLogs.append_inputs
        failed: list[Any] = []

        def fails_once(logs: RecordedLogs, inputs: Sequence[Stamped]) -> None:
            if inputs and not failed and logs is lab.recording.logs:
                failed.append(inputs)
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            write(logs, inputs)

        monkeypatch.setattr(RecordedLogs, "append_inputs", fails_once)
        topics = ["first", "second"]
        create = "kafka-topics.sh --create --partitions 1 --replication-factor 1 --topic"
        told = await asyncio.gather(*(lab.act(submit(f"{create} {name}")) for name in topics), return_exceptions=True)
        assert [type(each) for each in told] == [Refusal, Refusal]
        await lab.act(submit(f"{create} third"))
        await lab.act(set_mode("play"))
        await until(lambda: _has_topic(lab, "third"))
        assert not any(_has_topic(lab, name) for name in topics)

    play(tmp_path, scene)


def _has_topic(lab: Lab, topic: str) -> bool:
    return topic in lab.recording.last_topics()


def test_what_others_do_in_zookeeper_is_an_input(tmp_path: Path, zookeeper: Any) -> None:
    from lab.runtime.zookeeper.client import ZookeeperClient

    async def scene(host: Host) -> None:
        lab = await host.start("r1", "main", CONFIG)
        before = lab.ring.last_seq
        with ZookeeperClient(lab.zookeeper) as outside:
            outside.delete("/controller")
        kinds: list[str] = []

        def elected_again() -> bool:
            events = lab.recording.events(before + 1, 10**6)
            kinds[:] = [type(event[4]).__name__ for event in events]
            return "ForeignZnodeChanged" in kinds and "ControllerElected" in kinds[kinds.index("ForeignZnodeChanged") :]

        await until(elected_again)
        await lab.act(set_mode("pause"))
        recorded = lab.recording.records(1, 10**6)
        # In a ZooKeeper of its own, where nobody else writes, a fork makes the same events of the same input.
        forked = await host.fork("r1", "main", len(recorded), "main-2")
        assert forked.zookeeper.endswith("/r1/main-2")
        assert forked.recording.records(1, len(recorded)) == recorded
        with ZookeeperClient(forked.zookeeper) as outside:
            assert outside.get("/controller")[0] != b""

    play(tmp_path, scene, zookeeper.address)


def test_who_was_next_in_line_hears_why_the_engine_stopped(tmp_path: Path) -> None:
    def breaks(live: LiveRun) -> None:
        raise OSError("no space left on device")

    async def scene(host: Host) -> None:
        lab = await host.start("r1", "main", CONFIG)
        refusals = await asyncio.gather(
            lab.act(breaks), lab.act(submit("zk ls /")), lab.act(submit("zk ls /")), return_exceptions=True
        )
        assert [type(refusal) for refusal in refusals] == [Refusal] * 3
        assert {str(refusal) for refusal in refusals} == {str(refusals[0])}
        assert "no space left on device" in str(refusals[0])
        await lab.act(submit("zk ls /"))
        assert lab.core == "live"

    play(tmp_path, scene)


def test_a_zookeeper_that_goes_away_is_said_and_nothing_recorded_is_lost(tmp_path: Path) -> None:
    from lab.runtime.zookeeper.server import EmbeddedZookeeper

    async def scene(host: Host) -> None:
        lab = await host.start("r1", "main", CONFIG)
        page = Page(lab)
        kept = lab.recording.last_seq
        await asyncio.to_thread(server.stop)
        with pytest.raises(Refusal, match="ZooKeeper"):
            await lab.act(submit("zk create /x y"))
        assert lab.core == "recorded" and any(isinstance(frame, No) for frame in page.said)
        assert lab.recording.last_seq >= kept

    server = EmbeddedZookeeper(tmp_path / "zookeeper")
    server.start()
    try:
        play(tmp_path / "runs", scene, server.address)
    finally:
        server.stop()
