"""sarama's functional tests: five brokers behind proxies that the tests disable and enable."""

import json
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

from devtools.oracle.clients import go_tests
from devtools.oracle.clients.outcome import Outcome, tool
from devtools.oracle.clusters import Layout
from lab.runtime.zookeeper.server import free_port

PROXIED_PORT = 29_091
"""Port of the first proxy; hard-coded in the tests."""
LAYOUT = Layout(
    brokers=5,
    first_id=1,
    advertise=("localhost", PROXIED_PORT),
    settings=(
        "default.replication.factor=2",
        "offsets.topic.replication.factor=2",
        "transaction.state.log.replication.factor=2",
        "zookeeper.session.timeout.ms=6000",
        "auto.create.topics.enable=false",
        "group.initial.rebalance.delay.ms=0",
    ),
)
"""As in the project's own test environment, without racks."""
SUITE = go_tests.Suite(
    package="github.com/IBM/sarama",
    version="v1.61.1",
    wanted="^Test(Func|VersionMatrix|Interceptors|AsyncProducerRemoteBrokerClosed|ReadOnlyAndAllCommittedMessages|"
    "ConsumerHighWaterMarkOffset|ConsumerPartialBatchRecovery|ConsumerGroupDeadlock)",
    least=60,
    # These stop brokers, or read their output, with the commands of a container runtime.
    left_out=(
        "TestFuncAdminListConsumerGroupOffsets",
        "TestFuncIdempotentBufferedSequence",
        "TestFuncTxnProduceWithBrokerFailure",
    ),
    # Two need Kafka 4.0 or a Java client in a container; one is always skipped.
    skipped=(
        "TestFuncAdminUpdateFeatures",
        "TestFuncJavaInteropCooperativeRebalance",
        "TestReadOnlyAndAllCommittedMessages",
    ),
    tags="functional",
    settings={"KAFKA_VERSION": "3.9.1"},
)
PROXY = "github.com/Shopify/toxiproxy/v2"
PROXY_VERSION = "v2.5.0"
START_TIMEOUT_S = 30


def need() -> None:
    """Raises ToolMissing."""
    tool("go", "sarama's tests")


@contextmanager
def proxies(addresses: Sequence[str], work: Path) -> Iterator[str]:
    """The address of a toxiproxy with a proxy for each broker. Raises CalledProcessError and TimeoutError."""
    go_tests.prepare_module(work, "proxy", f"{PROXY}/cmd/server@{PROXY_VERSION}")
    server = work / "toxiproxy"
    subprocess.run(["go", "build", "-mod=mod", "-o", str(server), f"{PROXY}/cmd/server"], cwd=work, check=True)
    wanted = [
        {
            "name": f"kafka{number}",
            "listen": f"127.0.0.1:{PROXIED_PORT + number - 1}",
            "upstream": address,
            "enabled": True,
        }
        for number, address in enumerate(addresses, 1)
    ]
    (work / "proxies.json").write_text(json.dumps(wanted))
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    command = [str(server), "-host", "127.0.0.1", "-port", str(port), "-config", str(work / "proxies.json")]
    with (
        (work / "toxiproxy.log").open("w") as log,
        subprocess.Popen(command, stdout=log, stderr=log) as process,
    ):
        try:
            _wait_until_it_serves(url, len(wanted))
            yield url
        finally:
            process.terminate()


def _wait_until_it_serves(url: str, count: int) -> None:
    deadline_s = time.monotonic() + START_TIMEOUT_S
    while time.monotonic() < deadline_s:
        try:
            with urlopen(f"{url}/proxies") as answer:
                if len(json.load(answer)) == count:
                    return
        except URLError:
            pass
        time.sleep(0.1)
    raise TimeoutError(f"toxiproxy has not opened ports {PROXIED_PORT} to {PROXIED_PORT + count - 1}; are they in use?")


def play(addresses: Sequence[str], work: Path) -> Outcome:
    """Runs the tests on the cluster described by LAYOUT. Raises CalledProcessError when they cannot be fetched."""
    with proxies(addresses, work / "proxy") as url:
        return go_tests.play(SUITE, work / "sarama", {"TOXIPROXY_ADDR": url})
