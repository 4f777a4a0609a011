"""`manage.py cluster` as a process of its own, and its run in the lab's list afterwards."""

import re
import shutil
import signal
from pathlib import Path

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from django.conf import settings

from tests.support.lab_server import PATIENCE_S, Visitor
from tests.support.processes.cluster_process import cluster, first_line


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGKILL])
def test_recording_is_listed_once_the_cluster_has_ended(visitor: Visitor, end: signal.Signals) -> None:
    with cluster(settings.DATA, "--port", "0", "--brokers", "2", "--first-id", "0") as running:
        address = first_line(running)
        producer = Producer({"bootstrap.servers": address, "acks": "all"})
        producer.produce("incident", b"what happened")
        assert producer.flush(PATIENCE_S) == 0
        before = set(re.findall(r'/r/(cluster-[0-9a-f]{8})/main"', visitor.get("/runs/").text))
        running.send_signal(end)
        assert running.wait(PATIENCE_S) == (0 if end is signal.SIGINT else -end)
    page = visitor.get("/runs/").text
    (run,) = set(re.findall(r'/r/(cluster-[0-9a-f]{8})/main"', page)) - before
    assert re.search(r"cluster 20\d\d-\d\d-\d\d \d\d:\d\d:\d\d UTC", page)
    with visitor.socket(run) as client:
        assert client.of_kind("welcome")["core"] == "recorded"
        # Events lost in a kill are made again from the inputs when time continues.
        assert end is signal.SIGKILL or "incident" in client.of_kind("snap")["state"]["topics"]
        client.ask({"k": "time", "op": "play"})
        line = "kafka-console-consumer.sh --topic incident --partition 0 --from-beginning --max-messages 1"
        assert client.run(line)[0] == "what happened"
    # as a deletion that was cut short leaves it
    left = settings.RUNS / f".deleted-{run}" / "main"
    left.mkdir(parents=True)
    (left / "ports.json").write_text("{}")
    visitor.post(f"/runs/{run}/delete", confirm="yes")
    assert run not in visitor.get("/runs/").text and not (settings.RUNS / run).exists() and not left.exists()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--port", "70000"), "Port 70000"),
        (("--config", "num.partitions=abc"), "Invalid value abc"),
        (("--config", "9:broker.rack=a"), "ID:KEY=VALUE for one of the brokers 1, 2, 3"),
        (("--brokers", "8"), "1 to 7 brokers"),
        (("--advertise", "localhost"), "Expected HOST:PORT"),
        (("--advertise", "localhost:65534"), "Expected HOST:PORT"),
        (("--keep", "soon"), "such as 1h"),
    ],
)
def test_cluster_that_fails_to_start_leaves_nothing_behind(
    tmp_path: Path, arguments: tuple[str, ...], says: str
) -> None:
    with cluster(tmp_path, *arguments) as running:
        said = running.communicate(timeout=PATIENCE_S)
        assert running.returncode == 1
        assert says in said[1] and "Traceback" not in said[1]
    assert list(tmp_path.glob("runs/*")) == []


def test_clients_receive_the_advertised_addresses(tmp_path: Path) -> None:
    with cluster(tmp_path, "--port", "0", "--brokers", "2", "--advertise", "localhost:9092") as running:
        metadata = AdminClient({"bootstrap.servers": first_line(running)}).list_topics(timeout=PATIENCE_S)
        addresses = {broker.id: (broker.host, broker.port) for broker in metadata.brokers.values()}
    assert addresses == {1: ("localhost", 9092), 2: ("localhost", 9093)}


def test_cluster_without_recording_writes_only_the_brokers_files(tmp_path: Path) -> None:
    with cluster(tmp_path, "--port", "0", "--record", "none") as running:
        address = first_line(running)
        assert running.stdout is not None
        running.stdout.readline()
        assert "Nothing is recorded" in running.stdout.readline()
        producer = Producer({"bootstrap.servers": address, "acks": "all"})
        producer.produce("fleeting", b"a record")
        assert producer.flush(PATIENCE_S) == 0
        (run,) = (tmp_path / "runs").iterdir()
        assert [path.name for path in run.iterdir()] == ["main"]
        assert [path.name for path in (run / "main").iterdir()] == ["cluster"]
        running.send_signal(signal.SIGINT)
        assert running.wait(PATIENCE_S) == 0
    assert list((tmp_path / "runs").iterdir()) == []


def test_cluster_without_recording_ends_when_its_engine_fails(tmp_path: Path) -> None:
    with cluster(tmp_path, "--port", "0", "--record", "none") as running:
        address = first_line(running)
        AdminClient({"bootstrap.servers": address}).list_topics(timeout=PATIENCE_S)
        (folder,) = (tmp_path / "runs").glob("*/main")
        # The data folder does not exist: free space cannot be measured, and nothing can be written.
        shutil.rmtree(folder)
        assert running.wait(PATIENCE_S) == 1
        assert running.stderr is not None and "The cluster has ended" in running.stderr.read()
