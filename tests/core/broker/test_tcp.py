"""Clients by TCP as the core sees them: frames go in, frames come out, and all of it happens again from the inputs."""

from collections.abc import Iterator, Mapping

import msgspec
import pytest

from broker_core.broker.admin.config_admin import ConfigAdmin
from broker_core.broker.apis import HANDLERS
from broker_core.broker.logs.log_manager import Flusher
from broker_core.broker.replicas.replica_manager import ReplicaManager
from broker_core.errors import Errors
from broker_core.run import Input, Run
from broker_core.sim.simulated_disk import SimulatedDisk
from broker_core.texts import render
from broker_core.wire.messages import ConfigEntry
from broker_core.wire.schemas import BY_NAME
from broker_core.zk.memory_store import MemoryStore
from tests.support.tcp_conversation import (
    CONFIG,
    SECOND_US,
    answers,
    ask,
    batch,
    create,
    fetch_fields,
    frame,
    produce_fields,
    started,
)


@pytest.fixture
def run() -> Iterator[Run]:
    yield started()


def test_metadata_contains_the_advertised_ports(run: Run) -> None:
    run.advertise({0: ("127.0.0.1", 1000), 1: ("127.0.0.1", 1001), 2: ("127.0.0.1", 1002)})
    brokers = ask(run, run.connect(1, "127.0.0.1"), "Metadata", 9, topics=[]).brokers
    assert [(each.node_id, each.port) for each in brokers] == [(0, 1000), (1, 1001), (2, 1002)]


def test_produced_records_are_fetched(run: Run) -> None:
    leader = create(run, run.connect(0, "127.0.0.1"), "orders")
    connection = run.connect(leader, "127.0.0.1")
    sent = batch(b"a", b"b")
    produced = ask(run, connection, "Produce", 9, **produce_fields("orders", sent))
    assert produced.responses[0].partition_responses[0].error_code == 0
    fetched = ask(run, connection, "Fetch", 11, **fetch_fields("orders")).responses[0].partitions[0]
    assert fetched.high_watermark == 2
    # all but the offset, its leader epoch and what these change
    assert fetched.records[21:] == sent[21:]


def test_requests_are_answered_one_by_one_in_their_order(run: Run) -> None:
    leader = create(run, run.connect(0, "127.0.0.1"), "orders")
    connection = run.connect(leader, "127.0.0.1")
    run.frame(connection, frame("Fetch", 11, 7, **fetch_fields("orders", max_wait_ms=500)))
    run.frame(connection, frame("ApiVersions", 0, 8))
    run.advance(run.now_us + 400_000)
    assert answers(run) == []
    run.advance(run.now_us + 200_000)
    assert [number for number, _ in answers(run, ("Fetch", 11), ("ApiVersions", 0))] == [7, 8]


def test_acks_0_has_no_response_and_an_error_closes_the_connection(run: Run) -> None:
    leader = create(run, run.connect(0, "127.0.0.1"), "orders")
    connection = run.connect(leader, "127.0.0.1")
    run.frame(connection, frame("Produce", 9, **produce_fields("orders", batch(b"a"), acks=0)))
    run.advance(run.now_us + SECOND_US)
    assert run.take_outputs() == [(connection, b"")]
    run.frame(connection, frame("Produce", 9, **produce_fields("orders", batch(b"a")[:-1] + b"?", acks=0)))
    run.advance(run.now_us + SECOND_US)
    assert run.take_outputs() == [(connection, b""), (connection, None)]
    assert connection not in run.connections


@pytest.mark.parametrize("data", [b"", b"GET / HTTP/1.1\r\n\r\n", b"\x03\xe7\0\0\0\0\0\1\xff\xff", b"\0\3\0\5\0\0\0\1"])
def test_malformed_request_closes_the_connection(run: Run, data: bytes) -> None:
    connection = run.connect(0, "127.0.0.1")
    run.frame(connection, data)
    run.advance(run.now_us + 1)
    assert run.take_outputs() == [(connection, None)]
    assert f"tcp-{connection}" not in run.view["nodes"]


def test_view_lists_connected_clients(run: Run) -> None:
    connection = run.connect(2, "127.0.0.1")
    ask(run, connection, "ApiVersions", 3, client_software_name="kit", client_software_version="1.0")
    node = run.view["nodes"][f"tcp-{connection}"]
    assert (node["kind"], node["settings"]["client.id"], node["settings"]["software"]) == ("client", "test", "kit 1.0")
    run.disconnect(connection)
    assert f"tcp-{connection}" not in run.view["nodes"]


def test_killed_broker_closes_connections_with_requests_in_flight(run: Run) -> None:
    leader = create(run, run.connect(0, "127.0.0.1"), "orders")
    connection = run.connect(leader, "127.0.0.1")
    run.frame(connection, frame("Fetch", 11, **fetch_fields("orders", max_wait_ms=60_000)))
    run.advance(run.now_us + 1_000)
    run.submit(f"broker kill {leader}")
    run.advance(run.now_us + 1_000)
    assert leader not in run.listeners
    assert (connection, None) in run.take_outputs()


def test_configurations_of_created_topics_are_computed_once_for_those_alike(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    computed: list[object] = []
    entries = ConfigAdmin.topic_entries

    def counted(admin: ConfigAdmin, overrides: Mapping[str, str]) -> list[ConfigEntry]:
        computed.append(overrides)
        return entries(admin, overrides)

    monkeypatch.setattr(ConfigAdmin, "topic_entries", counted)
    request = BY_NAME["CreateTopics"].request
    compacted = [request.CreatableTopicConfig(name="cleanup.policy", value="compact")]
    topics = [
        request.CreatableTopic(name=f"t-{number}", num_partitions=1, replication_factor=1, configs=configs)
        for number, configs in enumerate([[], compacted, [], compacted, []])
    ]
    active = run.view["controller"]["broker"]
    created = ask(run, run.connect(active, "127.0.0.1"), "CreateTopics", 7, topics=topics, timeout_ms=5_000).topics
    policies = [next(each.value for each in topic.configs if each.name == "cleanup.policy") for topic in created]
    assert policies == ["delete", "compact", "delete", "compact", "delete"]
    assert len(computed) == 2


def conversation(run: Run) -> None:
    leader = create(run, run.connect(0, "127.0.0.1"), "orders")
    connection = run.connect(leader, "127.0.0.1")
    ask(run, connection, "Produce", 9, **produce_fields("orders", batch(b"a" * 5_000_000)[:900_000]))
    ask(run, connection, "Produce", 9, **produce_fields("orders", batch(b"b")))
    run.frame(connection, frame("Fetch", 11, **fetch_fields("orders", max_wait_ms=60_000)))
    run.frame(connection, b"x" * 9_000_000)
    run.frame(connection, frame("ApiVersions", 0))
    run.advance(run.now_us + SECOND_US)
    # the fetch and timers of the brokers become due before it, and are late
    run.frame(connection, frame("ApiVersions", 0), run.now_us + 2 * SECOND_US)


def test_request_is_stamped_with_its_arrival_while_earlier_work_waits(run: Run) -> None:
    leader = create(run, run.connect(0, "127.0.0.1"), "orders")
    run.submit("kafka-configs.sh --alter --topic orders --add-config message.timestamp.type=LogAppendTime")
    run.advance(run.now_us + SECOND_US)
    run.take_outputs()
    connection = run.connect(leader, "127.0.0.1")
    due_us = run.next_due_us
    assert due_us is not None
    arrives_us = due_us + 400_000
    run.frame(connection, frame("Produce", 9, **produce_fields("orders", batch(b"a"), acks=1)), arrives_us)
    run.advance(arrives_us)
    ((_, response),) = answers(run, ("Produce", 9))
    stamped_ms = response.responses[0].partition_responses[0].log_append_time_ms
    assert stamped_ms == CONFIG.start_wall_ms + arrives_us // 1_000
    assert not run.view["alarms"]


def test_tcp_conversation_replays_from_its_inputs(run: Run) -> None:
    conversation(run)
    inputs = run.take_inputs()
    again = Run(CONFIG, disk=SimulatedDisk(), zk=MemoryStore())
    again.replay(inputs, run.seq)
    assert again.seq == run.seq
    assert again.digest() == run.digest()
    assert again.connections == run.connections


def test_request_in_flight_survives_a_checkpoint(run: Run) -> None:
    leader = create(run, run.connect(0, "127.0.0.1"), "orders")
    connection = run.connect(leader, "127.0.0.1")
    run.frame(connection, frame("Fetch", 11, 9, **fetch_fields("orders", max_wait_ms=5_000)))
    run.frame(connection, frame("ApiVersions", 0, 10))
    run.advance(run.now_us + 1_000)
    run.take()
    engine = run.checkpoint()
    assert engine is not None
    restored = Run.restore(engine, disk=SimulatedDisk(), zk=MemoryStore())
    restored.advance(restored.now_us + 6 * SECOND_US)
    assert [number for number, _ in answers(restored, ("Fetch", 11), ("ApiVersions", 0))] == [9, 10]


def test_alter_replica_log_dirs_to_the_current_directory_succeeds(run: Run) -> None:
    connection = run.connect(0, "127.0.0.1")
    create(run, connection, "orders")
    (directory,) = ask(run, connection, "DescribeLogDirs", 4, topics=None).results
    request = BY_NAME["AlterReplicaLogDirs"].request
    topics = [request.AlterReplicaLogDirTopic(name=name, partitions=[0]) for name in ("orders", "no", "n" * 220)]
    here = request.AlterReplicaLogDir(path=directory.log_dir, topics=topics)
    results = ask(run, connection, "AlterReplicaLogDirs", 2, dirs=[here]).results
    replicas = [partition.partition_index for topic in directory.topics for partition in topic.partitions]
    assert [result.partitions[0].error_code for result in results] == [0 if replicas else 9, 3, 17]


def test_log_directory_names_the_size_of_its_disk(run: Run) -> None:
    leader = create(run, run.connect(0, "127.0.0.1"), "orders")
    connection = run.connect(leader, "127.0.0.1")

    def described(version: int, topics: list[object] | None) -> tuple[int, int, int]:
        (directory,) = ask(run, connection, "DescribeLogDirs", version, topics=topics).results
        sizes = [partition.partition_size for topic in directory.topics for partition in topic.partitions]
        return directory.total_bytes, directory.usable_bytes, sum(sizes)

    total, usable, logs = described(4, None)
    ask(run, connection, "Produce", 9, **produce_fields("orders", batch(b"one")))
    later_total, later_usable, later_logs = described(4, None)
    assert 0 < usable <= total == later_total
    assert usable - later_usable == later_logs - logs > 0
    assert described(4, [])[:2] == (later_total, later_usable)
    assert described(3, None)[:2] == (-1, -1)


def test_empty_and_impossible_requests_are_answered(run: Run) -> None:
    connection = run.connect(0, "127.0.0.1")
    assert ask(run, connection, "Produce", 9, acks=-1, timeout_ms=100).responses == []
    controller = ask(run, connection, "Metadata", 9, topics=[]).controller_id
    names = ["", ".", "..", "a/b", "\0", "\ufffd"]
    results = ask(run, run.connect(controller, "127.0.0.1"), "DeleteTopics", 5, topic_names=names).responses
    assert {result.error_code for result in results} == {3} and len(results) == len(names)


def test_internal_error_raises_an_alarm_and_is_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(broker: object, message: object) -> None:
        raise ValueError("nobody expected it")

    monkeypatch.setitem(HANDLERS, "Metadata", fails)
    monkeypatch.setitem(HANDLERS, "FindCoordinator", fails)
    seen: list[Exception] = []
    run = started(survives=lambda failure: bool(seen.append(failure)) or True)
    connection = run.connect(0, "127.0.0.1")
    found = ask(run, connection, "FindCoordinator", 3, key="g")
    assert Errors.of(found.error_code) is Errors.UNKNOWN_SERVER_ERROR
    run.frame(connection, frame("Metadata", 9))
    run.advance(run.now_us + SECOND_US)
    assert run.take_outputs() == [(connection, None)]
    assert [alarm["invariant"] for alarm in run.view["alarms"].values()] == ["UNKNOWN_SERVER_ERROR"] * 2
    assert len(seen) == 2
    other = started()
    other.frame(other.connect(0, "127.0.0.1"), frame("Metadata", 9))
    with pytest.raises(ValueError, match="nobody expected it"):
        other.advance(other.now_us + SECOND_US)


def test_failed_background_task_raises_an_alarm_and_is_retried(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: list[Exception] = []
    run = started(survives=lambda failure: bool(seen.append(failure)) or True)
    create(run, run.connect(0, "127.0.0.1"), "orders")
    run.submit("broker freeze 2", "test")
    with monkeypatch.context() as broken:
        for owner, job in ((ReplicaManager, "shrink_isrs"), (Flusher, "run")):
            broken.setattr(owner, job, lambda _: 1 // 0)
        run.advance(run.now_us + 45 * SECOND_US)
    alarms = [render(alarm["detail"]) for alarm in run.view["alarms"].values()]
    assert {detail.partition(": ")[0] for detail in alarms} == {
        "internal error of the lab in the timer isr_expiration",
        "internal error of the lab in the timer log_manager.flush",
    }
    assert len(seen) == len(alarms)
    produced = ask(run, run.connect(1, "127.0.0.1"), "Metadata", 9, topics=None)
    assert [topic.name for topic in produced.topics] == ["orders"]
    run.advance(run.now_us + 45 * SECOND_US)
    assert len(run.view["alarms"]) == len(alarms)
    other = started()
    monkeypatch.setattr(ReplicaManager, "shrink_isrs", lambda _: 1 // 0)
    with pytest.raises(ZeroDivisionError):
        other.advance(other.now_us + 45 * SECOND_US)


def test_inputs_are_recorded_with_raw_bytes_and_older_recordings_are_read() -> None:
    recorded = Input(7, 12, 1_000_000, "frame", "3", "", b'\n["{\x00\xff\n')
    assert Input.decode(recorded.encode()) == recorded
    assert recorded.encode().endswith(recorded.data)
    assert Input.decode(msgspec.json.encode(recorded)) == recorded
    command = Input(7, 12, 1_000_000, "command", "page", "broker kill 1")
    assert Input.decode(command.encode()) == command == Input.decode(msgspec.json.encode(command))
