"""The ports of the labs of one process."""

import asyncio
import socket
from pathlib import Path

import pytest

from lab.runtime.host import Host
from lab.runtime.tcp import gateway as gateway_module
from lab.runtime.tcp.bound_ports import hold, port_of, release_port
from lab.texts.refusal import Refusal
from tests.support.lab_server import PATIENCE_S
from tests.support.labs import connected, play, set_mode, submit, until
from tests.support.recorded_runs import CONFIG


def test_engine_stopped_with_clients_connected_stays_stopped(tmp_path: Path) -> None:
    """Its clients are disconnected, and this does not wake it."""

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


def test_engine_stops_though_a_timer_is_due(tmp_path: Path) -> None:
    """Some turns pass between the notification and the one in which the waiting task continues."""

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


def test_branch_keeps_its_ports_and_a_fork_has_its_own(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
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
            # another process has taken one meanwhile
            assert "gets other ports than before" in caplog.text
            assert "another broker of this lab" not in caplog.text
        (await connected(lab))[1].close()
        assert not [node for node in (await lab.act(lambda live: dict(live.run.view["nodes"]))) if node == "tcp-1"]

    play(tmp_path, begin)
    for port in ports:
        try:
            released = hold({1: port})[1]
        except Refusal as refusal:
            # another process has taken it meanwhile
            assert refusal.id != "refusal.port_of_other_broker"
        else:
            release_port(port)
            released.close()
    play(tmp_path, again)


def test_ports_are_held_by_one_broker(tmp_path: Path) -> None:
    ones = [hold(dict.fromkeys(range(7), 0)) for _ in range(30)]
    ports = [port_of(bound) for one in ones for bound in one.values()]
    try:
        assert len(set(ports)) == len(ports)
        with pytest.raises(Refusal) as again:
            hold({1: ports[0]})
        assert again.value.id == "refusal.port_of_other_broker"
        with pytest.raises(Refusal) as twice:
            hold({1: ports[0] + 10_000, 2: ports[0] + 10_000})
        assert twice.value.id in ("refusal.port_of_other_broker", "refusal.port_unusable")
    finally:
        for one in ones:
            for bound in one.values():
                release_port(port_of(bound))
                bound.close()


def test_broker_regains_a_port_when_it_is_free_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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
            # Its old session has to end first.
            await lab.act(lambda live: live.pacer.set_rate(20))
            await until(lambda: 1 in gateway._listeners)
            await asyncio.sleep(0.2)  # it may try without success
            assert 1 not in gateway._listening
        await gateway.ready()
        (await connected(lab))[1].close()

    play(tmp_path, scene)
