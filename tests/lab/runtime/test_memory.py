"""The garbage collector of a process with a single engine looks at new objects only."""

import asyncio
import gc
import weakref
from collections.abc import Iterator
from pathlib import Path

import pytest

from broker_core.run import RunConfig
from lab.recordings.folder import branch_folder
from lab.runtime import host as host_module
from lab.runtime.headless import standalone as standalone_module
from lab.runtime.headless.standalone import standalone
from lab.runtime.host import Host
from lab.runtime.machine.memory import collect_survivors, freeze_old_survivors, freeze_survivors
from lab.runtime.pacer import wall_ms
from lab.runtime.tcp.bound_ports import HOST
from tests.support.labs import play, set_mode
from tests.support.recorded_runs import CONFIG


class Node:
    other: "Node"


@pytest.fixture
def frozen() -> Iterator[None]:
    callbacks, thresholds = gc.callbacks[:], gc.get_threshold()
    freeze_survivors()
    yield
    gc.callbacks[:] = callbacks
    gc.set_threshold(*thresholds)
    gc.unfreeze()


@pytest.mark.usefixtures("frozen")
def test_survivors_are_not_looked_at_again_until_they_are_collected() -> None:
    node = Node()
    node.other = node
    gc.collect(0)
    assert gc.get_freeze_count() > 0 and not any(found is node for found in gc.get_objects())
    known = weakref.ref(node)
    del node
    gc.collect()
    assert known() is not None
    collect_survivors()
    assert known() is None


@pytest.mark.usefixtures("frozen")
def test_cycles_among_new_objects_are_freed() -> None:
    node = Node()
    node.other = node
    known = weakref.ref(node)
    del node
    gc.collect(0)
    assert known() is None


@pytest.fixture
def old_ones_frozen() -> Iterator[None]:
    callbacks = gc.callbacks[:]
    freeze_old_survivors()
    yield
    gc.callbacks[:] = callbacks
    gc.unfreeze()


@pytest.mark.usefixtures("old_ones_frozen")
def test_survivors_of_two_passes_are_not_looked_at_again_until_they_are_collected() -> None:
    node = Node()
    node.other = node
    gc.collect(0)
    assert any(found is node for found in gc.get_objects())
    gc.collect(1)
    assert not any(found is node for found in gc.get_objects())
    known = weakref.ref(node)
    del node
    gc.collect()
    assert known() is not None
    collect_survivors()
    assert known() is None


@pytest.mark.usefixtures("old_ones_frozen")
def test_engine_that_has_ended_is_freed_once_nothing_plays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host_module, "REST_S", 0.0)

    async def scene(host: Host) -> None:
        plays, ends = await host.start("r1", "main", CONFIG), await host.start("r2", "main", CONFIG)
        engine = weakref.ref((await ends.wake()).run)
        gc.collect(1)
        await ends.sleep()
        host.free_memory()
        assert engine() is not None, "the other one would have to wait"
        await plays.act(set_mode("pause"))
        host.free_memory()
        assert engine() is None

    play(tmp_path, scene)


@pytest.mark.usefixtures("frozen")
def test_connections_of_a_cluster_are_freed_after_they_were_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(standalone_module, "CLOSED_CONNECTIONS", 1)
    monkeypatch.setattr(standalone_module, "LOOK_S", 0.05)

    async def test() -> None:
        config = RunConfig(name="test", brokers=(1,), start_wall_ms=wall_ms())
        folder = branch_folder("test", "main", runs=tmp_path)
        async with asyncio.timeout(30), standalone(folder, config, {1: 0}) as (_, gateway):
            _, writer = await asyncio.open_connection(HOST, gateway.ports[1])
            while not gateway.client_count:
                await asyncio.sleep(0.01)
            transports = [weakref.ref(client._transport) for client in gateway._open if client._transport]
            gc.collect(0)
            writer.close()
            while any(known() is not None for known in transports):
                await asyncio.sleep(0.01)
            assert transports and not gateway.client_count

    asyncio.run(test())
