"""Engines without a page: for solutions of exercises, transcripts and scripts."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from tempfile import TemporaryDirectory
from typing import Any

from broker_core import run
from broker_core.eras import DEFAULT_ERA
from broker_core.run import Run, RunConfig
from broker_core.sim.disk import Disk, SimulatedDisk
from broker_core.zk.memory_store import MemoryStore
from broker_core.zk.store import ZkStore
from lab.runtime.headless.booted import booted_run
from lab.runtime.zookeeper.kazoo_store import KazooStore
from lab.runtime.zookeeper.server import EmbeddedZookeeper


def rehearsal_run(seed: int, era: str = DEFAULT_ERA, brokers: tuple[int, ...] = (1, 2, 3), **more: Any) -> Run:
    """A run in memory with the latencies of a lab, all its brokers up. `more`: of RunConfig."""
    config = RunConfig(name="rehearsal", seed=seed, era=era, brokers=brokers, **more)
    return booted_run(config, MemoryStore(), SimulatedDisk())


def check_line(line: str) -> None:
    """Raises ShellError for a console line that names no command."""
    run.check_line(line)


def pageless_run(config: RunConfig, store: ZkStore, disk: Disk | None = None) -> Run:
    """A run whose brokers have their disks in memory, or on `disk`."""
    return Run(config, disk=disk or SimulatedDisk(), zk=store)


@contextmanager
def stores(kind: str) -> Iterator[Callable[[], ZkStore]]:
    """A factory of empty ZooKeepers for runs: in memory, or (`zookeeper`) chroots of a real server that runs as long as
    the context. Raises ZookeeperError if the server does not start.
    """
    if kind == "memory":
        yield MemoryStore
        return
    with TemporaryDirectory(prefix="highwater-") as folder:
        server = EmbeddedZookeeper(folder)
        server.start()
        numbers = count(1)
        opened: list[KazooStore] = []

        def open_store() -> KazooStore:
            while opened:
                opened.pop().close()
            opened.append(KazooStore(server.address, f"/play/{next(numbers)}"))
            return opened[-1]

        try:
            yield open_store
        finally:
            for store in opened:
                store.close()
            server.stop()
