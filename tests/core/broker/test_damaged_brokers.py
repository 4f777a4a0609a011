"""Brokers of a cluster start on damaged files: they repair what can be derived from the logs and report it, or report
why they cannot start. The events, the view and a console show the same.
"""

import struct
from typing import Any

import pytest

from broker_core.events.log import (
    CheckpointReset,
    LogDirectoryFailed,
    LogRepaired,
    LogUncleanable,
    RefusedAppendWritten,
    RetentionFailed,
    SegmentChecked,
    SegmentsDeleted,
)
from broker_core.events.world import BrokerStarted, BrokerStopped
from broker_core.texts import render
from devtools.sim.parity import differences
from tests.support.shell_runs import ShellRun

DIRECTORY = "broker-2"
LOG = f"{DIRECTORY}/orders-0/{0:020d}.log"


@pytest.fixture
def cluster() -> ShellRun:
    """Three replicas of orders-0 with a few batches; broker 2 is a follower or leader, no matter."""
    run = ShellRun()
    run.at("kafka-topics.sh --create --topic orders --partitions 1 --replication-factor 3")
    run.at("producer open p1 --acks all")
    for number in range(6):
        run.at(f"producer send p1 orders-0 k:{number}")
    run.after(2)
    return run


def start_again(run: ShellRun) -> None:
    run.events()
    run.at("broker start 2")
    run.after(30)


def test_torn_tail_is_truncated_reported_and_refetched(cluster: ShellRun) -> None:
    cluster.at("broker kill 2")
    whole = cluster.disk.read_file(LOG)
    cluster.disk.replace_file(LOG, whole[:-7])
    start_again(cluster)
    events = cluster.events(SegmentChecked, LogRepaired)
    cuts = [event for event in events if isinstance(event, LogRepaired) and event.file == LOG]
    assert [(cut.replica, cut.repair) for cut in cuts] == [("orders-0@b2", "cut")]
    assert 0 < cuts[0].position < len(whole) and cuts[0].position + cuts[0].length == len(whole) - 7
    assert cuts[0].rule == "fault.batch_cut_off?left=63&size=70"
    assert [event.segment for event in events if isinstance(event, SegmentChecked)] == [0]
    replica = cluster.run.view["replicas"]["orders-0@b2"]
    assert replica["checked"] == [0]
    assert [row[:4] for row in replica["repairs"] if row[0] == LOG] == [[LOG, "cut", cuts[0].position, cuts[0].length]]
    assert cluster.disk.read_file(LOG) == whole
    assert differences(cluster.run) == []


def test_console_reports_why_a_broker_did_not_start(cluster: ShellRun) -> None:
    cluster.at("broker kill 2")
    path = f"{DIRECTORY}/orders-0/leader-epoch-checkpoint"
    whole = cluster.disk.read_file(path)
    cluster.disk.replace_file(path, b"0\n1\n0 x\n")
    printed = cluster.at("broker start 2")
    (line,) = printed
    assert path in line
    assert "'x' is not a valid number" in render(line.removeprefix("! "))
    assert cluster.exit_code == 1
    cluster.disk.replace_file(path, whole)
    assert (cluster.at("broker start 2"), cluster.exit_code) == ([], 0)


def test_recovery_reports_nothing_after_a_clean_shutdown(cluster: ShellRun) -> None:
    cluster.at("broker stop 2")
    cluster.after(5)
    start_again(cluster)
    assert cluster.events(SegmentChecked, LogRepaired, CheckpointReset, LogDirectoryFailed) == []
    assert cluster.run.view["replicas"]["orders-0@b2"]["repairs"] == []


@pytest.mark.parametrize("file", ["recovery-point-offset-checkpoint", "log-start-offset-checkpoint"])
def test_corrupt_checkpoint_fails_the_start_and_is_removed(cluster: ShellRun, file: str) -> None:
    cluster.at("broker kill 2")
    cluster.disk.replace_file(f"{DIRECTORY}/{file}", b"0\n3\norders 0 5\n")
    start_again(cluster)
    (failed,) = cluster.events(LogDirectoryFailed)
    assert failed.file == f"{DIRECTORY}/{file}"
    assert render(failed.rule) == "line 2 is '3', expected the number of entries, 1"
    assert render(failed.what) == "Exiting Kafka due to fatal exception during startup."
    node = cluster.run.view["nodes"]["b2"]
    assert node["failure"] is not None
    assert (node["state"], node["failure"]["file"]) == ("down", failed.file)
    start_again(cluster)
    assert cluster.events(LogDirectoryFailed) == []
    assert cluster.run.view["nodes"]["b2"]["state"] == "up"
    assert cluster.run.view["nodes"]["b2"]["failure"] is None
    assert differences(cluster.run) == []


def test_checkpoint_with_an_invalid_number_is_read_as_empty(cluster: ShellRun) -> None:
    cluster.at("broker kill 2")
    cluster.disk.replace_file(f"{DIRECTORY}/recovery-point-offset-checkpoint", b"0\n1\norders 0 five\n")
    start_again(cluster)
    (reset,) = cluster.events(CheckpointReset)
    assert (reset.file, render(reset.rule)) == ("recovery-point-offset-checkpoint", "'five' is not a valid number")
    assert cluster.run.view["nodes"]["b2"]["state"] == "up"


@pytest.mark.parametrize(
    ("path", "content", "rule"),
    [
        ("orders-0/leader-epoch-checkpoint", b"1\n0\n", "line 1 is '1', expected the version, 0"),
        ("orders-0/leader-epoch-checkpoint", b"\xff", "not valid UTF-8"),
        ("orders-0/partition.metadata", b"rubbish", "line 1 is 'rubbish', expected version: 0"),
        ("replication-offset-checkpoint", b"0\n1\n", "line 2 is '1', expected the number of entries, 0"),
        ("cleaner-offset-checkpoint", b"9\n", "line 1 is '9', expected the version, 0"),
    ],
)
def test_file_that_cannot_be_read_takes_the_log_directory_and_the_broker_down(
    cluster: ShellRun, path: str, content: bytes, rule: str
) -> None:
    cluster.at("broker stop 2")
    cluster.after(5)
    whole = cluster.disk.read_file(f"{DIRECTORY}/{path}")
    cluster.disk.replace_file(f"{DIRECTORY}/{path}", content)
    for _ in range(2):
        start_again(cluster)
        failed, stopped = cluster.events(LogDirectoryFailed, BrokerStopped, BrokerStarted)
        assert failed.file == f"{DIRECTORY}/{path}"
        assert render(failed.rule).endswith(rule)
        assert render(failed.what) == f"Shutdown broker because all log dirs in {DIRECTORY} have failed"
        assert (stopped.broker, stopped.how) == ("b2", "failure")
    cluster.disk.replace_file(f"{DIRECTORY}/{path}", whole)
    start_again(cluster)
    # It was not a clean stop: the log is checked.
    assert len(cluster.events(SegmentChecked)) == 1
    assert cluster.run.view["nodes"]["b2"]["state"] == "up"
    assert differences(cluster.run) == []


@pytest.mark.parametrize(
    ("content", "rule"),
    [
        ("broker.id=7\nversion=0\ncluster.id={cluster}\n", "the directory belongs to broker 7, not to broker 2"),
        (
            "broker.id=2\nversion=0\ncluster.id=elsewhere\n",
            "the directory belongs to cluster elsewhere, not to cluster {cluster}",
        ),
        ("broker.id=2\nversion=7\ncluster.id={cluster}\n", "version 7 is not supported, expected 0"),
    ],
)
def test_directories_that_are_not_logs_are_left_alone(cluster: ShellRun, content: str, rule: str) -> None:
    path = f"{DIRECTORY}/meta.properties"
    whole = cluster.disk.read_file(path)
    cluster_id = whole.decode().partition("cluster.id=")[2].strip()
    cluster.at("broker stop 2")
    cluster.after(5)
    before = {
        name: cluster.disk.read_file(f"{DIRECTORY}/orders-0/{name}")
        for name in cluster.disk.list(f"{DIRECTORY}/orders-0")
    }
    cluster.disk.replace_file(path, content.format(cluster=cluster_id).encode())
    start_again(cluster)
    (failed,) = cluster.events(LogDirectoryFailed)
    assert (failed.file, render(failed.rule)) == (path, rule.format(cluster=cluster_id))
    assert cluster.disk.exists(f"{DIRECTORY}/.kafka_cleanshutdown")
    assert before == {name: cluster.disk.read_file(f"{DIRECTORY}/orders-0/{name}") for name in before}
    cluster.disk.replace_file(path, whole)
    start_again(cluster)
    assert cluster.run.view["nodes"]["b2"]["state"] == "up"


@pytest.mark.parametrize("content", [b"", b"\xff\x00rubbish", b"version=0\n"])
def test_empty_meta_properties_is_rewritten(cluster: ShellRun, content: bytes) -> None:
    path = f"{DIRECTORY}/meta.properties"
    whole = cluster.disk.read_file(path)
    cluster.at("broker kill 2")
    cluster.disk.replace_file(path, content)
    start_again(cluster)
    assert cluster.run.view["nodes"]["b2"]["state"] == "up"
    assert cluster.disk.read_file(path) == whole


def test_missing_partition_metadata_file_is_restored(cluster: ShellRun) -> None:
    path = f"{DIRECTORY}/orders-0/partition.metadata"
    whole = cluster.disk.read_file(path)
    cluster.at("broker stop 2")
    cluster.after(5)
    cluster.disk.delete(path)
    start_again(cluster)
    assert cluster.disk.read_file(path) == whole
    assert differences(cluster.run) == []


FOLDER = f"{DIRECTORY}/orders-0/{0:020d}"
SEVEN = range(7)


def stopped_with_orders(replicas: str, config: str, **broker_config: Any) -> ShellRun:
    """Seven batches of 70 bytes in one segment on broker 2, which was stopped in good order."""
    run = ShellRun(**broker_config)
    run.at(f"kafka-topics.sh --create --topic orders --replica-assignment {replicas} --config {config}")
    run.at("producer open p --acks all --idempotence false --linger 0")
    for number in SEVEN:
        run.at(f"producer send p orders-0 k:{number}")
    run.after(2)
    run.at("broker stop 2")
    return run


def alter(run: ShellRun, topic: str, config: str) -> None:
    run.at(f"kafka-configs.sh --alter --entity-type topics --entity-name {topic} --add-config {config}")


def test_failed_retention_of_a_damaged_log_is_reported_and_retried() -> None:
    run = stopped_with_orders(
        "2:1", "index.interval.bytes=0", log_initial_task_delay_ms="1000", log_retention_check_interval_ms="10000"
    )
    run.disk.replace_file(LOG, run.disk.read_file(LOG)[:30])
    start_again(run)
    alter(run, "orders", "retention.ms=1")
    run.after(25)
    failures = [event for event in run.events(RetentionFailed, SegmentsDeleted) if event.replica == "orders-0@b2"]
    assert len(failures) >= 2 and {type(event) for event in failures} == {RetentionFailed}
    assert "while it already exists" in render(failures[0].why)
    # whose log is whole gives up what is old
    assert run.run.view["replicas"]["orders-0@b1"]["log_start_offset"] == len(SEVEN)
    assert differences(run.run) == []


def test_cleaner_marks_a_damaged_log_uncleanable() -> None:
    run = stopped_with_orders("2:1", "index.interval.bytes=0", log_cleaner_backoff_ms="1000")
    run.disk.replace_file(LOG, run.disk.read_file(LOG)[:30])
    start_again(run)
    alter(run, "orders", "cleanup.policy=[compact,delete],retention.ms=1")
    run.after(25)
    (failure,) = run.events(LogUncleanable)
    assert failure.replica == "orders-0@b2" and "while it already exists" in render(failure.why)
    assert run.run.view["replicas"]["orders-0@b1"]["log_start_offset"] == len(SEVEN)
    assert differences(run.run) == []


def test_entry_rejected_by_a_damaged_time_index_is_in_the_file() -> None:
    run = stopped_with_orders("2", "index.interval.bytes=0")
    path = f"{FOLDER}.timeindex"
    (timestamp,) = struct.unpack(">q", run.disk.read_file(path)[-12:-4])
    run.disk.replace_file(path, struct.pack(">qi", timestamp, 5000))
    start_again(run)
    assert run.at("producer send p orders-0 a:1") == ["orders-0@7"]
    run.events()
    for number in range(1, 4):
        assert "UnknownServerException" in "".join(run.at("producer send p orders-0 b:2"))
        (written,) = run.events(RefusedAppendWritten)
        assert written.size == run.disk.size_of(LOG) == (8 + number) * 70
        assert differences(run.run) == []
    replica = run.run.view["replicas"]["orders-0@b2"]
    assert replica["log_end_offset"] == 8 and list(replica["tail"]) == [str(offset) for offset in range(8)]
    # of the first one the other index had an entry already
    assert replica["segments"]["0"] == [770, 7, 1]
    # rejected data is not read
    printed = run.at("kafka-console-consumer.sh --topic orders --from-beginning --timeout-ms 3000")
    assert [line for line in printed if line[0] != "!"] == [*map(str, SEVEN), "1"]
    assert not run.run.view["alarms"]


def test_log_appends_after_a_damaged_index_rejected_an_entry() -> None:
    run = stopped_with_orders("2", "index.interval.bytes=0 --config segment.bytes=1000")
    run.disk.replace_file(f"{FOLDER}.index", struct.pack(">ii", 5000, 0))
    run.disk.replace_file(f"{FOLDER}.timeindex", b"")
    start_again(run)
    printed = []
    # the first segment is full of what was refused when the log rolls
    for number in range(60):
        printed += run.at(f"producer send p orders-0 k:{number}")
        assert differences(run.run) == []
    assert (printed[0], printed[-1]) == ("orders-0@0", "orders-0@53")
    assert len(run.events(RefusedAppendWritten)) == 6
    run.at("broker kill 2")
    start_again(run)
    assert differences(run.run) == []
