"""The log cleaner at work in a cluster: when it runs, its events, and what consumers and followers see of it."""

from typing import Any

import pytest

from broker_core.cluster import Cluster
from broker_core.events.codec import decode
from broker_core.events.console import shown
from broker_core.events.log import CheckpointWritten, FilesMarkedDeleted, LogCleaned, LogUncleanable
from broker_core.events.world import InvariantViolated
from broker_core.shell.grammar.transcript import run_command
from broker_core.texts import render, text
from devtools.sim.parity import differences
from tests.support.shell_runs import ShellRun, refused

SMALL = "--config cleanup.policy=compact --config segment.bytes=300 --config min.cleanable.dirty.ratio=0.01"
CHECKPOINT = "cleaner-offset-checkpoint"


class HeardRun(ShellRun):
    """A cluster whose events are kept."""

    def __init__(self, **config: Any) -> None:
        self.heard: list[bytes] = []
        super().__init__(**config)

    def at(self, line: str, *stdin: str) -> list[str]:
        printed, self.exit_code = run_command(self.run, line, stdin, "test", keep=self.heard)
        return printed

    def after(self, seconds: float) -> None:
        super().after(seconds)
        self.heard += [data for _, _, data in self.run.take()]

    @property
    def cluster(self) -> Cluster:
        return self.run._cluster


def events(shell: HeardRun, kind: type) -> list:
    every = (decode(seq, data)[4] for seq, data in enumerate(shell.heard))
    return [event for event in every if isinstance(event, kind)]


def told_by_cleaners(shell: HeardRun) -> list:
    checkpoints = [event for event in events(shell, CheckpointWritten) if event.file == CHECKPOINT]
    return [*events(shell, LogCleaned), *events(shell, FilesMarkedDeleted), *checkpoints]


def with_topic(options: str = SMALL, replicas: str = "1:2", **config: Any) -> HeardRun:
    shell = HeardRun(**config)
    shell.at(f"kafka-topics.sh --create --topic prices --replica-assignment {replicas} {options}")
    shell.at("producer open p --acks all --idempotence false")
    return shell


def produce(shell: HeardRun, pairs: str) -> None:
    shell.at(f"producer send p prices-0 {pairs}")


def logged(shell: HeardRun, broker_id: int) -> list[str]:
    """The records of a replica as `offset key value`."""
    lines = shell.at("log describe prices-0")
    start = next(number for number, line in enumerate(lines) if line.startswith(f"broker {broker_id}:"))
    found = []
    for line in lines[start + 1 :]:
        if line.startswith("broker"):
            break
        offset, _, key, value = line.split()
        found.append(f"{offset} {key} {value}")
    return found


def test_each_broker_cleans_its_replica_and_emits_events() -> None:
    shell = with_topic()
    produce(shell, "a:1 b:1 a:2 c:1 b:2 c:null a:3 d:1 e:1 f:1")
    shell.after(16)
    cleaned = events(shell, LogCleaned)
    assert sorted(event.replica for event in cleaned) == ["prices-0@b1", "prices-0@b2"]
    event = cleaned[0]
    assert (event.from_offset, event.to_offset) == (0, 8)
    assert event.groups == ((0, ((0, 280),)), (4, ((4, 279),)))
    assert (event.records_before, event.records_after) == (8, 4)
    assert dict(event.counts) == {"kept": 4, "superseded": 4}
    assert event.fates[:2] == ((0, "superseded", 6), (1, "superseded", 4))
    assert logged(shell, 1) == logged(shell, 2) == ["4 b 2", "5 c null", "6 a 3", "7 d 1", "8 e 1", "9 f 1"]
    assert differences(shell.run) == []
    view = shell.run.view["replicas"]["prices-0@b1"]["cleaned"]
    assert view is not None
    assert (view["from"], view["to"], view["records"]) == (0, 8, [8, 4])
    assert [group["sources"] for group in view["groups"]] == [[[0, 280]], [[4, 279]]]
    assert shell.run.view["checkpoints"]["b1"][CHECKPOINT]["entries"] == [["prices-0", 8]]


def test_idle_cleaner_emits_no_events() -> None:
    shell = with_topic()
    produce(shell, "a:1 b:1 a:2 c:1 b:2 c:null a:3 d:1 e:1 f:1")
    shell.after(40)
    before = told_by_cleaners(shell)
    assert before
    shell.after(600)
    assert told_by_cleaners(shell) == before


def test_log_below_the_dirty_ratio_is_cleaned_only_on_demand() -> None:
    shell = with_topic(SMALL.replace("0.01", "1.0"))
    produce(shell, "a:1 b:1 a:2 c:1 b:2 c:null a:3 d:1 e:1")
    shell.after(60)
    assert not events(shell, LogCleaned)
    assert list(map(shown, shell.at("log clean prices-0 2"))) == [
        "broker 2: 0 to 8: 8 records -> 4 (4 superseded), 559 bytes -> 282",
    ]
    assert list(map(shown, shell.at("log clean prices-0"))) == [
        "broker 1: 0 to 8: 8 records -> 4 (4 superseded), 559 bytes -> 282",
        "broker 2: nothing to clean",
    ]


def test_task_cleaner_runs_at_once() -> None:
    shell = with_topic(log_cleaner_backoff_ms="600000")
    produce(shell, "a:1 b:1 a:2 c:1 b:2 c:null a:3 d:1 e:1")
    shell.after(60)
    assert not events(shell, LogCleaned)
    shell.at("task cleaner")
    assert len(events(shell, LogCleaned)) == 2


def test_broker_without_a_cleaner_cleans_nothing() -> None:
    shell = with_topic(log_cleaner_enable="false")
    produce(shell, "a:1 b:1 a:2 c:1 b:2 c:null a:3 d:1 e:1")
    shell.after(60)
    assert not events(shell, LogCleaned)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("log clean orders-0", refused("shell.no_live_replica", partition="orders-0")),
        ("log clean prices-0 3", refused("shell.no_live_replica_on", broker=3, partition="prices-0")),
        (
            "log clean plain-0 1",
            refused(
                "refused.on_broker", broker=1, why=text("refused.not_compacted", partition="plain-0", policy="delete")
            ),
        ),
    ],
)
def test_cleaning_a_log_that_is_not_compacted_is_refused(line: str, said: str) -> None:
    shell = with_topic()
    shell.at("kafka-topics.sh --create --topic plain --replica-assignment 1")
    assert shell.at(line) == [said]
    assert shell.exit_code == 1


def test_new_replica_of_a_compacted_log_copies_the_remaining_records() -> None:
    shell = with_topic()
    shell.at("broker kill 2")
    produce(shell, "a:1 b:1 a:2 c:1 b:2 c:null a:3 d:1 e:1 f:1 a:4 a:5 a:6 a:7 a:8 a:9")
    shell.after(40)
    shell.at("broker start 2")
    shell.at('wait "isr prices-0 == [1,2]" 30s')
    assert logged(shell, 2) == logged(shell, 1)
    shell.at("broker kill 1")
    shell.at('wait "leader prices-0 == 2" 30s')
    assert [record.split()[1] for record in logged(shell, 2)].count("b") == 1
    assert not events(shell, InvariantViolated)


def test_consumer_reads_over_the_gaps() -> None:
    shell = with_topic()
    produce(shell, "a:1 b:1 a:2 c:1 b:2 c:null a:3 d:1 e:1 f:1")
    shell.after(20)
    which = "--topic prices --partition 0 --offset 1 --max-messages 3"
    lines = shell.at(f"kafka-console-consumer.sh {which} --property print.offset=true")
    assert lines[:3] == ["Offset:4\t2", "Offset:5\tnull", "Offset:6\t3"]


def test_restarted_broker_resumes_from_the_cleaner_checkpoint() -> None:
    shell = with_topic()
    produce(shell, "a:1 b:1 a:2 c:1 b:2 c:null a:3 d:1 e:1 f:1")
    shell.after(20)
    before = logged(shell, 1)
    shell.at("broker kill 1")
    shell.at("broker start 1")
    shell.at('wait "isr prices-0 == [2,1]" 30s')
    shell.after(60)
    assert logged(shell, 1) == before
    assert len([event for event in events(shell, LogCleaned) if event.replica == "prices-0@b1"]) == 1


def test_truncated_log_is_dirty_again_from_its_last_segment_on() -> None:
    shell = with_topic(replica_lag_time_max_ms="600000", segment="1")
    produce(shell, "a:1 b:1 a:2 c:1 b:2 c:null a:3 d:1 e:1 f:1 g:1 h:1 i:1")
    shell.after(20)
    partition = shell.cluster.brokers[2].partitions["prices-0"]
    partition.truncate_to(6, "a test wants it")
    assert shell.cluster.disk.read_file(f"broker-2/{CHECKPOINT}") == b"0\n1\nprices 0 4\n"


def test_deleted_topic_is_removed_from_the_cleaner_checkpoint() -> None:
    shell = with_topic()
    produce(shell, "a:1 b:1 a:2 c:1 b:2 c:null a:3 d:1 e:1 f:1")
    shell.after(20)
    shell.at("kafka-topics.sh --delete --topic prices")
    shell.at('wait "topic prices gone" 30s')
    shell.after(5)
    assert shell.cluster.disk.read_file(f"broker-1/{CHECKPOINT}") == b"0\n0\n"


def test_compact_and_delete_does_both() -> None:
    shell = with_topic(SMALL.replace("=compact", "=compact,delete") + " --config retention.ms=60000")
    produce(shell, "a:1 b:1 a:2 c:1 b:2 c:null a:3 d:1 e:1 f:1")
    shell.after(20)
    assert logged(shell, 1) == ["4 b 2", "5 c null", "6 a 3", "7 d 1", "8 e 1", "9 f 1"]
    shell.after(90)
    assert logged(shell, 1) == []
    assert differences(shell.run) == []


def test_unreadable_log_is_marked_uncleanable_with_an_event() -> None:
    shell = with_topic(replicas="1")
    produce(shell, "a:1 b:1 a:2 c:1 b:2 c:null a:3 d:1 e:1 f:1")
    segment = shell.cluster.brokers[1].partitions["prices-0"].log.segments[0]
    segment.log.write_at(16, b"\x07")
    shell.after(40)
    (event,) = events(shell, LogUncleanable)
    assert render(event.why).endswith(
        f"{segment.base_offset:020d}.log, byte 0: batch magic 7 is not supported, the highest is 2"
    )
    assert not events(shell, LogCleaned)
