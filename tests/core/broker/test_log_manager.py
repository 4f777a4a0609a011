"""The brokers' background work on logs, and what outlives the end of a broker."""

import hashlib
import os
import subprocess
import sys

import pytest

from broker_core.events import Event
from broker_core.events.log import (
    CheckpointWritten,
    FilesMarkedDeleted,
    FilesUnlinked,
    LogDeleted,
    LogFlushed,
    LogStartOffsetIncremented,
    PowerLost,
    SegmentsDeleted,
)
from devtools.sim.parity import differences
from tests.support.paths import ROOT
from tests.support.shell_runs import ShellRun, refused

TOPIC = "kafka-topics.sh --create --topic orders --replica-assignment 1:2 --config segment.bytes=200"
SENT = " ".join(f"{key}:{key}" for key in "abcdefg")
FOLDER = "broker-1/orders-0"
HANDLER_LOGGER = "(org.apache.kafka.clients.admin.internals.DeleteRecordsHandler)"


def bases(shell: ShellRun, replica: str = "orders-0@b1") -> list[int]:
    return sorted(map(int, shell.run.view["replicas"][replica]["segments"]))


def files(shell: ShellRun, folder: str = FOLDER) -> list[str]:
    return shell.disk.list(folder)


def checkpoint(shell: ShellRun, name: str, broker: int = 1) -> list[str]:
    return shell.disk.read_file(f"broker-{broker}/{name}").decode().splitlines()[2:]


def delete_below(shell: ShellRun, offset: int) -> list[str]:
    shell.at("file del.json", f'{{"partitions":[{{"topic":"orders","partition":0,"offset":{offset}}}]}}')
    return shell.at("kafka-delete-records.sh --offset-json-file del.json")


@pytest.fixture
def shell() -> ShellRun:
    """Seven records in four segments, on brokers 1 and 2."""
    shell = ShellRun(log_initial_task_delay_ms="30000")
    shell.at(TOPIC)
    shell.at("producer open p --acks all --idempotence false")
    shell.at(f"producer send p orders-0 {SENT}")
    shell.after(1)
    return shell


def test_expired_segments_are_deleted_at_the_next_check_and_files_a_minute_later(shell: ShellRun) -> None:
    assert delete_below(shell, 5)[-1] == "partition: orders-0\tlow_watermark: 5"
    shell.journal()
    assert bases(shell) == [0, 2, 4, 6]
    shell.after(30)
    deleted = shell.events(SegmentsDeleted)
    assert [(event.replica, event.segments, event.why) for event in deleted] == [
        ("orders-0@b1", (0, 2), "reason.retention_start?offset=5"),
        ("orders-0@b2", (0, 2), "reason.retention_start?offset=5"),
    ]
    assert bases(shell) == [4, 6] and differences(shell.run) == []
    waiting = [name for name in files(shell) if name.endswith(".deleted")]
    assert sorted(shell.run.view["replicas"]["orders-0@b1"]["deleted_files"]) == waiting
    assert "00000000000000000002.log.deleted" in waiting
    shell.after(61)
    assert not [name for name in files(shell) if name.endswith(".deleted")]
    assert shell.run.view["replicas"]["orders-0@b1"]["deleted_files"] == {}
    (unlinked, _) = shell.events(FilesUnlinked)
    assert (unlinked.folder, unlinked.count) == (FOLDER, len(waiting))


def test_killed_broker_leaves_files_that_its_next_start_removes(shell: ShellRun) -> None:
    delete_below(shell, 5)
    shell.at("task retention")
    assert bases(shell) == [4, 6]
    shell.at("broker kill 1")
    shell.after(120)
    assert [name for name in files(shell) if name.endswith(".deleted")]
    shell.at("broker start 1")
    shell.after(2)
    assert not [name for name in files(shell) if name.endswith(".deleted")]
    assert differences(shell.run) == []


def test_log_start_offset_is_restored_from_checkpoint_or_leader(shell: ShellRun) -> None:
    delete_below(shell, 5)
    shell.at("task log-starts 1")
    assert checkpoint(shell, "log-start-offset-checkpoint") == ["orders 0 5"]
    for broker in (1, 2):
        shell.at(f"broker kill {broker}")
        shell.at(f"broker start {broker}")
        shell.at('wait "isr orders-0 == [1,2]" 30s')
        shell.after(1)
        assert shell.run.view["replicas"][f"orders-0@b{broker}"]["log_start_offset"] == 5
    # a start that equals the name of the first segment needs no line
    shell.at("task retention")
    delete_below(shell, 6)
    shell.at("task retention")
    shell.at("task log-starts")
    assert bases(shell) == [6] and checkpoint(shell, "log-start-offset-checkpoint") == []


def test_periodic_tasks_of_an_idle_cluster_emit_no_events(shell: ShellRun) -> None:
    shell.after(300)
    shell.journal()
    shell.after(900)
    kinds = {type(event).__name__ for event in shell.events(Event)}
    # what is left is the followers' fetching
    fetching = {"RequestParked", "RequestCompleted", "RemoteReplicaUpdated"}
    assert {kind for kind in kinds if not kind.startswith("Rpc")} <= fetching


def test_checkpoints_are_written_at_intervals_if_changed() -> None:
    shell = ShellRun(log_initial_task_delay_ms="1000", log_flush_offset_checkpoint_interval_ms="5000")
    shell.at(TOPIC)
    shell.at("producer open p --acks all --idempotence false")
    shell.after(10)
    shell.journal()
    shell.at(f"producer send p orders-0 {SENT}")
    shell.after(10)
    written = [event for event in shell.events(CheckpointWritten) if event.file.startswith("recovery-point")]
    # each roll flushes what is before it
    assert [(event.broker, event.entries) for event in written] == [
        ("b1", (("orders-0", 6),)),
        ("b2", (("orders-0", 6),)),
    ]


def test_flush_messages_and_flush_ms_move_the_recovery_point() -> None:
    shell = ShellRun(
        log_initial_task_delay_ms="1000", log_flush_scheduler_interval_ms="500", log_flush_interval_ms="2000"
    )
    shell.at("kafka-topics.sh --create --topic orders --replica-assignment 1 --config flush.messages=3")
    shell.at("producer open p --acks all --idempotence false")
    shell.at("producer send p orders-0 a:1 b:2")
    assert not shell.events(LogFlushed)
    shell.at("producer send p orders-0 c:3 d:4")
    (flushed,) = shell.events(LogFlushed)
    assert (flushed.offset, flushed.segments) == (3, (0,))
    shell.after(1)
    assert not shell.events(LogFlushed)
    shell.after(2)
    (flushed,) = shell.events(LogFlushed)
    assert flushed.offset == 4
    assert differences(shell.run) == []


def test_power_loss_loses_unsynced_bytes_and_a_kill_does_not(shell: ShellRun) -> None:
    view = shell.run.view["replicas"]["orders-0@b1"]
    size, _, _ = view["segments"]["6"]
    assert size > 0 and view["synced"]["6"] == [0, 0, 0]
    assert view["synced"]["0"] == view["segments"]["0"]
    assert (view["flushed"], view["log_end_offset"]) == (6, 7)
    path = f"{FOLDER}/00000000000000000006.log"
    shell.at("broker kill 1")
    assert shell.disk.size_of(path) == size
    shell.at("broker powerloss 1")
    assert shell.exit_code == 0 and shell.disk.size_of(path) == 0
    (lost,) = shell.events(PowerLost)
    assert next(cut for cut in lost.cuts if cut[0] == path)[1:3] == (0, size)
    view = shell.run.view["replicas"]["orders-0@b1"]
    assert view["segments"] == view["synced"] and view["segments"]["6"][0] == 0
    # the follower has it still, and becomes the leader
    shell.at('wait "leader orders-0 == 2" 30s')
    shell.at("broker start 1")
    shell.at('wait "isr orders-0 == [2,1]" 30s')
    shell.after(1)
    assert shell.run.view["replicas"]["orders-0@b1"]["log_end_offset"] == 7
    assert shell.run.view["alarms"] == {} and differences(shell.run) == []


def test_records_lost_by_power_loss_of_all_replicas_are_explained(shell: ShellRun) -> None:
    for broker in (2, 1):
        shell.at(f"broker powerloss {broker}")
    for broker in (1, 2):
        shell.at(f"broker start {broker}")
    shell.at('wait "leader orders-0 == 1" 30s')
    shell.after(5)
    assert shell.run.view["replicas"]["orders-0@b1"]["log_end_offset"] == 6
    shell.at("producer send p orders-0 z:26")
    shell.after(2)
    alarms = list(shell.run.view["alarms"].values())
    assert alarms and all(alarm["explained_by"].startswith("cause.log_power_lost?broker=b") for alarm in alarms)


def test_power_loss_works_in_any_broker_state(shell: ShellRun) -> None:
    shell.at("broker freeze 2")
    shell.at("broker powerloss 2")
    assert shell.run.view["nodes"]["b2"]["state"] == "down"
    shell.at("broker powerloss 2")
    assert shell.exit_code == 0
    assert shell.at("broker thaw 2") == [
        refused("shell.broker_state", broker=2, state="down", verb="thaw", states="frozen")
    ]


def test_files_of_a_deleted_topic_are_removed_after_the_delay(shell: ShellRun) -> None:
    shell.journal()
    shell.at("kafka-topics.sh --delete --topic orders")
    shell.after(5)
    deleted = shell.events(LogDeleted)
    assert {event.replica for event in deleted} == {"orders-0@b1", "orders-0@b2"}
    folder = next(event.folder for event in deleted if event.replica.endswith("@b1"))
    name = folder.removeprefix("broker-1/")
    topic, _, rest = name.rpartition("-0.")
    assert topic == "orders" and len(rest) == 32 + len("-delete") and rest.endswith("-delete")
    assert not shell.disk.exists(FOLDER) and "00000000000000000000.log" in files(shell, folder)
    assert set(shell.run.view["deleted_logs"][folder]["files"]) == set(files(shell, folder))
    assert checkpoint(shell, "recovery-point-offset-checkpoint") == []
    # a restart does not forget it
    shell.at("broker stop 1")
    shell.at("broker start 1")
    assert name in shell.disk.list("broker-1")
    shell.after(150)
    assert name not in shell.disk.list("broker-1")
    assert shell.run.view["deleted_logs"] == {} and differences(shell.run) == []
    unlinked = shell.events(FilesUnlinked)
    assert {event.broker for event in unlinked} == {"b1", "b2"}


def test_truncated_segments_are_renamed() -> None:
    shell = ShellRun(replica_lag_time_max_ms="30000")
    shell.at(TOPIC)
    shell.at("producer open p --acks 1 --idempotence false")
    shell.at("producer send p orders-0 a:1")
    shell.after(1)
    shell.at("broker freeze 2")
    shell.after(1)
    shell.at(f"producer send p orders-0 {SENT}")
    shell.at("broker kill 1")
    shell.at("broker thaw 2")
    shell.at('wait "leader orders-0 == none" 30s')
    shell.at("broker start 1")
    shell.at('wait "isr orders-0 == [1,2]" 60s')
    shell.after(2)
    assert shell.events(FilesMarkedDeleted)


def test_on_demand_tasks_require_a_running_broker(shell: ShellRun) -> None:
    shell.at("broker kill 2")
    assert shell.at("task retention 2") == [refused("shell.task_state", broker=2, state="down", task="retention")]
    assert shell.exit_code == 1
    # the others do it
    assert shell.at("task retention") == [] and shell.exit_code == 0


def test_follower_takes_the_log_start_offset_of_the_leader(shell: ShellRun) -> None:
    shell.journal()
    delete_below(shell, 4)
    assert [(event.replica, event.why) for event in shell.events(LogStartOffsetIncremented)] == [
        ("orders-0@b1", "reason.delete_records"),
        ("orders-0@b2", "reason.leader_offset_increment"),
    ]


def play_for_digest() -> str:
    shell = ShellRun(log_initial_task_delay_ms="1000", log_retention_check_interval_ms="1000")
    shell.at(TOPIC + " --config retention.bytes=300")
    shell.at("producer open p --acks all --idempotence false")
    shell.at(f"producer send p orders-0 {SENT}")
    shell.after(3)
    shell.at("broker powerloss 1")
    shell.at("broker start 1")
    shell.at("kafka-topics.sh --delete --topic orders")
    shell.after(70)
    data = b"\n".join(shell.journal())
    assert b"SegmentsDeleted" in data and b"FilesUnlinked" in data and b"PowerLost" in data
    return hashlib.sha256(data).hexdigest()


def test_journal_does_not_depend_on_the_hash_seed() -> None:
    program = "from tests.core.broker.test_log_manager import play_for_digest; print(play_for_digest())"
    digests = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("0", "1")
    }
    assert len(digests) == 1


def test_records_of_internal_topics_are_not_deleted() -> None:
    shell = ShellRun()
    shell.at("kafka-topics.sh --create --topic __consumer_offsets --partitions 1 --replication-factor 1")
    shell.at("file del.json", '{"partitions":[{"topic":"__consumer_offsets","partition":0,"offset":-1}]}')
    printed = shell.at("kafka-delete-records.sh --offset-json-file del.json")
    assert printed[2] == (
        "partition: __consumer_offsets-0\terror: org.apache.kafka.common.errors.InvalidTopicException: "
        "The request attempted to perform an operation on an invalid topic."
    )
    assert printed[3].endswith("unexpected error INVALID_TOPIC_EXCEPTION " + HANDLER_LOGGER)
