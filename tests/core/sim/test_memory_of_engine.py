"""What an engine holds in memory does not grow with the topics and records of the past."""

import gc

import pytest

from broker_core.events.codec import encode_all
from broker_core.events.world import BrokerStarted
from broker_core.replication.partition import Partition
from broker_core.sim.invariants import checker, log_rules, shadow
from broker_core.sim.messages import Timer
from tests.support.shell_runs import ShellRun


def create_and_delete(shell: ShellRun, topic: str) -> None:
    shell.at(f"kafka-topics.sh --create --topic {topic} --partitions 2 --replication-factor 3")
    shell.at(f"kafka-console-producer.sh --topic {topic}", "a record")
    shell.at(f"kafka-console-consumer.sh --topic {topic} --from-beginning --timeout-ms 1000")
    shell.at(f"kafka-topics.sh --delete --topic {topic}")
    shell.after(30)
    shell.journal()


def test_replicas_of_deleted_topics_leave_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checker, "KEPT_DELETED", 4)
    shell = ShellRun(log_initial_task_delay_ms="1000", log_segment_delete_delay_ms="1000")
    create_and_delete(shell, "first")
    subjects = set(shell.run._kernel.subjects)
    for number in range(4):
        create_and_delete(shell, f"later-{number}")
    brokers = shell.run._cluster.brokers.values()
    assert set(shell.run._kernel.subjects) == subjects
    assert not [name for broker in brokers for name in broker.replicas.fetches._delayed._watchers if "later" in name]
    gc.collect()
    live = {partition.key for broker in brokers for partition in broker.partitions.values()}
    kept = [found.key for found in gc.get_objects() if type(found) is Partition and found.kernel is shell.run._kernel]
    assert sorted(kept) == sorted(live)
    found = shell.run._checker
    assert found is not None
    assert sorted(name for name in found.partitions if not name.startswith("__")) == [
        "later-2-0", "later-2-1", "later-3-0", "later-3-1",
    ]  # fmt: skip
    assert found.partitions_of("later-0") == [] and found.partitions_of("later-3") == ["later-3-0", "later-3-1"]
    assert "topics/later-0" not in found.settings["b1"] and "topics/later-3" in found.settings["b1"]


def test_encoding_of_events_leaves_nothing_behind() -> None:
    envelopes = [(seq, 0, "lab", 0, BrokerStarted(broker=f"b{seq}", broker_epoch=seq)) for seq in range(1, 10)]
    gc.collect()
    before = len(gc.get_objects())
    for _ in range(100):
        assert len(encode_all(envelopes)) == 9
    assert len(gc.get_objects()) < before + 50


def test_appends_of_coordinators_that_are_committed_leave_no_timer() -> None:
    shell = ShellRun()
    shell.at("kafka-topics.sh --create --topic t --partitions 1 --replication-factor 3")
    shell.at("producer open p --transactional-id bank")
    for _ in range(5):
        for line in ("producer begin p", "producer send p t-0 a:1", "producer commit p"):
            shell.at(line)
            assert shell.exit_code == 0
        shell.after(1)
    scheduler = shell.run._kernel.scheduler
    waiting = [item[3] for item in scheduler._heap if item[1] not in scheduler._cancelled]
    names = [what.name for what in waiting if isinstance(what, Timer)]
    assert names and "coordinator_append_expired" not in names


def test_checker_keeps_a_bounded_number_of_batches_once_for_all_replicas(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shadow, "KEPT_BATCHES", 8)
    monkeypatch.setattr(log_rules, "KEPT_HISTORY", 16)
    shell = ShellRun()
    shell.at("kafka-topics.sh --create --topic t --partitions 1 --replication-factor 3")
    shell.at("producer open p --acks all --idempotence false --batch-size 0")
    for _ in range(3):
        shell.at("producer send p t-0 " + " ".join(f"k{number}:v" for number in range(20)))
        shell.after(1)
    found = shell.run._checker
    assert found is not None
    logs = [found.replicas[f"t-0@b{broker}"].log for broker in (1, 2, 3)]
    assert [log.end for log in logs] == [60, 60, 60]
    assert all(8 <= len(log.batches) <= 16 for log in logs)
    assert len(found.partitions["t-0"].history) <= 16
    newest = {id(log.batches[-1]) for log in logs}
    assert len(newest) == 1, "the batch is one object"
    assert shell.run.view["alarms"] == {}
