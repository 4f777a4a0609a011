"""Clusters for clients: one of Highwater's, or a real Kafka with the same ids, addresses and settings."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from devtools.oracle.real_kafka import RealKafka
from lab.runtime.zookeeper.server import EmbeddedZookeeper

ROOT = Path(__file__).parents[2]
ENDING_S = 60


@dataclass(frozen=True)
class Layout:
    """What a test suite expects of a cluster. `port`: of the first broker, the others use the following ports; 0 = free
    ports. `advertise`: the host and the first broker's port in responses to clients, where these are not 127.0.0.1 and
    the port it listens on. `settings`: of every broker.
    """

    brokers: int = 3
    first_id: int = 0
    port: int = 0
    advertise: tuple[str, int] | None = None
    settings: tuple[str, ...] = ()


@dataclass(frozen=True)
class OurCluster:
    """The addresses on which the brokers listen, and the process."""

    addresses: list[str]
    pid: int


@contextmanager
def our_cluster(layout: Layout, data: Path) -> Iterator[OurCluster]:
    """A new cluster that records into a data folder. Raises ChildProcessError when it does not start; it has printed
    the reason.
    """
    command = [sys.executable, "manage.py", "cluster", "--brokers", str(layout.brokers)]
    command += ["--first-id", str(layout.first_id), "--port", str(layout.port)]
    command += [part for setting in layout.settings for part in ("--config", setting)]
    if layout.advertise is not None:
        command += ["--advertise", "{}:{}".format(*layout.advertise)]
    environment = {**os.environ, "HIGHWATER_DATA": str(data)}
    with subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            process.stdout.readline()
            addresses = process.stdout.readline().strip().removeprefix("All brokers: ")
            if not addresses:
                raise ChildProcessError("The cluster did not start.")
            yield OurCluster(addresses.split(", "), process.pid)
        finally:
            process.terminate()
            process.wait(ENDING_S)


@contextmanager
def real_cluster(layout: Layout, jars: Path, work: Path) -> Iterator[list[str]]:
    """The addresses of the brokers of a real Kafka in ZooKeeper mode. Raises RealKafkaError."""
    kafka = RealKafka(jars, work / "kafka")
    settings = dict(setting.split("=", 1) for setting in layout.settings)
    with ExitStack() as stack:
        zookeeper = stack.enter_context(EmbeddedZookeeper(work / "zookeeper"))
        brokers = []
        for number in range(layout.brokers):
            broker_id = layout.first_id + number
            own = dict(settings)
            if layout.advertise is not None:
                host, port = layout.advertise
                own["advertised.listeners"] = f"PLAINTEXT://{host}:{port + number}"
            port = layout.port + number if layout.port else 0
            broker = kafka.start_broker(broker_id, work / f"logs-{broker_id}", zookeeper.address, own, port)
            stack.callback(broker.stop)
            brokers.append(broker)
        for broker in brokers:
            broker.wait_until_it_serves()
        yield [broker.address for broker in brokers]
