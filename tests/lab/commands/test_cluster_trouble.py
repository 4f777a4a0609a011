"""Failures of clusters without a page: nothing that was acknowledged is lost, and each failure is reported."""

import errno
import os
import signal
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest
from confluent_kafka import OFFSET_BEGINNING, Consumer, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from lab.runtime import lab as lab_module
from lab.runtime.machine import space
from lab.runtime.machine.descriptors import OWN_DESCRIPTORS, use_all_descriptors
from lab.runtime.tcp import gateway
from lab.testing import Highwater
from tests.support.lab_server import PATIENCE_S
from tests.support.processes.cluster_process import cluster, first_line

STOPPED_S = 3.0
API_VERSIONS = bytes.fromhex("0000000a 0012 0000 0000002b ffff")


@pytest.fixture
def unpaged(tmp_path: Path) -> Iterator[Highwater]:
    running = Highwater(tmp_path)
    yield running
    running.close()


class Sender:
    """Produces numbered records with acks=all. A record that is not acknowledged fails the test."""

    def __init__(self, bootstrap: str) -> None:
        self.bootstrap = bootstrap
        self.sent = 0
        self._producer = Producer({"bootstrap.servers": bootstrap, "acks": "all", "reconnect.backoff.max.ms": 500})

    def send(self, count: int) -> None:
        for number in range(self.sent, self.sent + count):
            self._producer.produce("records", str(number), partition=0, on_delivery=self._delivered)
        self.sent += count

    def wait(self, seconds: float) -> int:
        """Returns the number of records without an answer."""
        return self._producer.flush(seconds)

    def messages(self) -> list[Message]:
        """What a consumer reads, as many as were sent."""
        consumer = Consumer({"bootstrap.servers": self.bootstrap, "group.id": "reader"})
        consumer.assign([TopicPartition("records", 0, OFFSET_BEGINNING)])
        found: list[Message] = []
        while len(found) < self.sent:
            found += consumer.consume(self.sent, PATIENCE_S)
        consumer.close()
        return found

    def stored(self) -> list[int]:
        """The numbers that a consumer reads."""
        return [int(message.value() or b"") for message in self.messages()]

    @staticmethod
    def _delivered(error: object, message: object) -> None:
        assert error is None


def test_suspended_process_continues_and_reports_it(tmp_path: Path) -> None:
    with cluster(tmp_path, "--port", "0") as running:
        sender = Sender(first_line(running))
        sender.send(100)
        assert sender.wait(PATIENCE_S) == 0
        os.kill(running.pid, signal.SIGSTOP)
        sender.send(100)
        assert sender.wait(STOPPED_S) == 100
        os.kill(running.pid, signal.SIGCONT)
        assert sender.wait(PATIENCE_S) == 0
        assert sender.stored() == list(range(200))
        running.send_signal(signal.SIGINT)
        _, reported = running.communicate(timeout=PATIENCE_S)
        assert "The cluster did not run for" in reported


def test_cluster_on_a_full_disk_resumes_when_space_is_freed(
    unpaged: Highwater, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(lab_module, "SPACE_S", 0.0)
    sender = Sender(unpaged.bootstrap)
    sender.send(50)
    assert sender.wait(PATIENCE_S) == 0
    with monkeypatch.context() as full:
        full.setattr(space, "MIN_FREE_BYTES", 1 << 60)
        while "serves no client until then" not in caplog.text:
            sender.wait(0.1)
        sender.send(50)
        assert sender.wait(1.0) == 50
    assert sender.wait(PATIENCE_S) == 0
    assert sender.stored() == list(range(100))
    assert "is full" in caplog.text and "The cluster continues" in caplog.text


def test_jumps_of_the_host_clock_are_reported_and_change_no_timestamp(
    unpaged: Highwater, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    time_ns = time.time_ns
    unpaged.run(
        "kafka-topics.sh --create --topic records --partitions 1 --replication-factor 3"
        " --config message.timestamp.type=LogAppendTime"
    )
    sender = Sender(unpaged.bootstrap)
    sender.send(20)
    assert sender.wait(PATIENCE_S) == 0
    for hours, said in ((1, "set forward by 3600.0 s"), (-1, "set back by 7200.0 s")):
        monkeypatch.setattr(time, "time_ns", lambda hours=hours: time_ns() + hours * 3_600_000_000_000)
        while said not in caplog.text:
            sender.wait(0.1)
        sender.send(20)
        assert sender.wait(PATIENCE_S) == 0
    monkeypatch.undo()
    assert sender.stored() == list(range(60))
    now_ms = time_ns() // 1_000_000
    assert all(0 <= now_ms - message.timestamp()[1] < 60_000 for message in sender.messages())


@pytest.mark.parametrize("part", ["cluster", "recording"])
def test_cluster_whose_writes_fail_is_rebuilt_from_its_recording(
    unpaged: Highwater, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, part: str
) -> None:
    write = os.pwrite

    def fail(descriptor: int, data: bytes, position: int) -> int:
        if f"/{part}/" in str(Path(f"/proc/self/fd/{descriptor}").readlink()):
            # a part of the bytes gets there
            if len(data) > 10:
                return write(descriptor, data[:10], position)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return write(descriptor, data, position)

    sender = Sender(unpaged.bootstrap)
    sender.send(50)
    assert sender.wait(PATIENCE_S) == 0
    with monkeypatch.context() as full:
        full.setattr(os, "pwrite", fail)
        full.setattr(os, "pwritev", lambda descriptor, parts, at: fail(descriptor, b"".join(parts), at))
        sender.send(50)
        while "The lab stopped" not in caplog.text:
            sender.wait(0.1)
    assert sender.wait(PATIENCE_S) == 0
    assert sender.stored() == list(range(100))
    assert "No space left on device; free some space" in caplog.text
    assert "The cluster was built again from its recording" in caplog.text


@pytest.mark.parametrize(("requests", "topics"), [(1, 1_000), (100, 5)])
def test_many_topics_asked_for_at_once_are_all_created(unpaged: Highwater, requests: int, topics: int) -> None:
    admin = AdminClient({"bootstrap.servers": unpaged.bootstrap})
    names = [[f"t-{request}-{number}" for number in range(topics)] for request in range(requests)]
    created = [
        admin.create_topics([NewTopic(name, 1, 1) for name in asked], operation_timeout=PATIENCE_S) for asked in names
    ]
    for futures in created:
        for future in futures.values():
            assert future.result(PATIENCE_S) is None
    found = admin.list_topics(timeout=PATIENCE_S).topics
    assert {name for asked in names for name in asked} <= set(found)
    assert all(partition.leader > 0 for topic in found.values() for partition in topic.partitions.values())
    assert unpaged.view()["alarms"] == {}


def test_two_thousand_connections_do_not_keep_others_out(unpaged: Highwater) -> None:
    use_all_descriptors()
    host, _, port = unpaged.bootstrap.partition(",")[0].partition(":")
    with ExitStack() as closing:
        many = [closing.enter_context(socket.create_connection((host, int(port)), PATIENCE_S)) for _ in range(2_000)]
        for each in many:
            each.sendall(API_VERSIONS)
        for each in many:
            assert each.recv(8)[4:] == bytes.fromhex("0000002b")
        sender = Sender(unpaged.bootstrap)
        sender.send(10)
        assert sender.wait(PATIENCE_S) == 0


def test_connections_beyond_the_descriptors_of_the_process_are_refused_and_reported(tmp_path: Path) -> None:
    with cluster(tmp_path, "--port", "0", max_files=400) as running:
        bootstrap = first_line(running)
        host, _, port = bootstrap.partition(":")
        served = 0
        with ExitStack() as closing:
            for _ in range(300):
                each = closing.enter_context(socket.create_connection((host, int(port)), PATIENCE_S))
                with suppress(ConnectionError):
                    each.sendall(API_VERSIONS)
                    served += each.recv(8)[4:] == bytes.fromhex("0000002b")
        assert served == 400 // 2 - OWN_DESCRIPTORS
        sender = Sender(bootstrap)
        sender.send(10)
        assert sender.wait(PATIENCE_S) == 0
        assert sender.stored() == list(range(10))
        running.send_signal(signal.SIGINT)
        _, reported = running.communicate(timeout=PATIENCE_S)
        assert "72 are open, which is the limit" in reported and "Traceback" not in reported


def test_refused_connection_is_reported(
    unpaged: Highwater, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(gateway, "MAX_CONNECTIONS", 1)
    host, _, port = unpaged.bootstrap.partition(",")[0].partition(":")
    with ExitStack() as closing:
        first, *others = (
            closing.enter_context(socket.create_connection((host, int(port)), PATIENCE_S)) for _ in range(3)
        )
        for other in others:
            with pytest.raises(ConnectionError):
                while other.recv(1):
                    pass
                raise ConnectionError
        first.sendall(API_VERSIONS)
        assert first.recv(8)[4:] == bytes.fromhex("0000002b")
    assert caplog.text.count("which is the limit") == 1
