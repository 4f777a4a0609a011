"""The lab's own producer: linger and batches, where records go, memory, requests in flight, numbers, offsets."""

import re
import string
from itertools import pairwise
from typing import Any

import pytest

from broker_core.clients.producer.partitioners import PARTITIONERS, Partitioner
from broker_core.eras import ERAS
from broker_core.events.client import (
    BatchSplit,
    ProduceFailed,
    ProducerBlocked,
    ProduceRepeated,
    ProducerUnblocked,
    ProduceStarted,
    RecordPartitioned,
)
from broker_core.events.envelope import sentence
from broker_core.events.log import BatchAppended
from broker_core.events.rpc import RpcSent
from broker_core.shell.console.producer_options import settings_of
from broker_core.shell.grammar.parser import ShellError
from broker_core.sim.rng import RandomStream
from devtools.sim.parity import differences
from tests.support.shell_runs import ShellRun

ORDERS = "kafka-topics.sh --create --topic orders --replica-assignment 1:2:3,2:3:1,1:3:2"


@pytest.fixture
def shell() -> ShellRun:
    run = ShellRun()
    run.at(ORDERS)
    return run


def batches(shell: ShellRun, name: str = "p") -> list[dict[str, Any]]:
    found: Any = shell.node(name)["batches"]
    return list(found.values())


def test_records_linger_until_linger_ms_or_a_full_batch(shell: ShellRun) -> None:
    shell.at("producer open p --linger 500 --batch-size 300")
    shell.at("producer send p orders-0 warm:up")
    begun_us = shell.run.now_us
    assert shell.at("producer send p orders-0 a:1") == ["orders-0@1"]
    assert shell.run.now_us - begun_us >= 500_000
    shell.at("producer burst p orders-0 2")
    (waiting,) = batches(shell)
    assert (waiting["state"], waiting["count"], waiting["due_us"]) == ("linger", 2, shell.run.now_us + 500_000)
    shell.events()
    shell.at("producer burst p orders-0 30")
    shell.after(0.1)
    sent = [event.count for event in shell.events(ProduceStarted)]
    assert len(sent) > 2
    assert 0 < sum(batch["count"] for batch in batches(shell)) < 32
    shell.at("producer flush p")
    assert (batches(shell), shell.node("p")["acknowledged"]) == ([], 34)


def test_partitions_of_one_leader_share_a_request(shell: ShellRun) -> None:
    shell.at("producer open p --linger 100")
    shell.at("producer send p orders-0 warm:up")
    shell.events()
    for partition in (0, 1, 2):
        shell.at(f"producer burst p orders-{partition} 1")
    shell.at("producer flush p")
    requests = {event.partition: event.request for event in shell.events(ProduceStarted)}
    assert requests["orders-0"] == requests["orders-2"] != requests["orders-1"]


def test_in_flight_requests_are_limited(shell: ShellRun) -> None:
    shell.at("producer open p --max-in-flight 1 --batch-size 100")
    shell.at("producer send p orders-0 warm:up")
    shell.at("producer burst p orders-0 5")
    assert sorted(batch["state"] for batch in batches(shell)) == ["in flight"] * 4 + ["sent"]
    shell.at("producer close p")
    assert len(shell.at("log describe orders-0")) > 5


def test_send_to_a_topic_uses_the_partitioner(shell: ShellRun) -> None:
    shell.at("producer open p")
    assert shell.at("producer send p orders foobar:1 kafka:2") == ["orders-0@0", "orders-1@0"]
    shell.at("producer open q --partitioner round-robin")
    sent = shell.at("producer send q orders one two three")
    assert sorted(line.partition("@")[0] for line in sent) == ["orders-0", "orders-1", "orders-2"]
    shell.at("producer open r --partitioner round-robin --ignore-keys true")
    assert len({line.partition("@")[0] for line in shell.at("producer send r orders same:1 same:2 same:3")}) == 3
    chosen = shell.events(RecordPartitioned)
    assert [(event.client, event.key, event.rule) for event in chosen][:4] == [
        ("p", "foobar", "key"),
        ("p", "kafka", "key"),
        ("q", None, "next"),
        ("q", None, "next"),
    ]
    assert (chosen[0].key_hash, chosen[0].partition_count) == (-790332482, 3)
    assert differences(shell.run) == []


class _Queues:
    """Of which each batch takes four records."""

    def __init__(self) -> None:
        self.counts = [0, 0, 0]

    def waiting(self, partition: int) -> int | None:
        return None

    def takes_more(self, partition: int) -> bool:
        return self.counts[partition] % 4 != 0


def _chosen(kind: type[Partitioner], count: int) -> list[int]:
    partitioner, queues = kind(RandomStream(3, "partitioner"), 100), _Queues()
    found = []
    for number in range(count):
        found.append(partitioner.without_key((0, 1, 2), queues, number * 1_000_000).partition)
        queues.counts[found[-1]] += 1
        partitioner.appended(25, batch_completed=not queues.takes_more(found[-1]))
    return found


def test_partition_of_records_without_a_key_depends_on_the_era() -> None:
    for name in ("built-in", "sticky"):
        chosen = _chosen(PARTITIONERS[name], 80)
        assert all(len(set(chosen[at : at + 4])) == 1 for at in range(0, 80, 4)), name
    sticky = _chosen(PARTITIONERS["sticky"], 80)[::4]
    assert all(one != other for one, other in pairwise(sticky))
    turns = _chosen(PARTITIONERS["round-robin"], 9)
    assert turns[:3] == turns[3:6] == turns[6:]
    kept = _chosen(PARTITIONERS["random"], 700)
    assert len(set(kept[:600])) == 1
    assert PARTITIONERS["random"](RandomStream(1, "p"), 1).of_key(b"key-1", 10).key_hash == 101943363


def test_send_blocks_while_no_memory_is_free(shell: ShellRun) -> None:
    shell.at("producer open p --buffer-memory 400 --batch-size 200 --max-block 1000 --linger 5000")
    shell.at("producer send p orders-0 warm:up")
    for broker_id in (1, 2, 3):
        shell.at(f"link cut p {broker_id}")
    printed = shell.at("producer burst p orders-0 20")
    assert printed == [
        "BufferExhaustedException: Failed to allocate 200 bytes within the configured max blocking time 1000 ms. "
        "Total memory: 400 bytes. Available memory: 0 bytes. Poolable size: 200 bytes"
    ]
    blocked = shell.events(ProducerBlocked, ProducerUnblocked)
    assert [sentence(event) for event in blocked] == [
        "p: send() blocked: buffer.memory is exhausted",
        "p: send() no longer blocked",
    ]
    for broker_id in (1, 2, 3):
        shell.at(f"link restore p {broker_id}")
    assert shell.at("producer burst p orders-0 20") == []
    shell.at("producer flush p")
    assert shell.node("p")["failed"] == 0
    assert differences(shell.run) == []


def test_sequence_numbers_are_those_of_the_era(shell: ShellRun) -> None:
    assert [era.producer.idempotent for era in ERAS.values()] == [False, False, False, False, True]
    assert [era.producer.partitioner for era in ERAS.values()] == [
        "random",
        "round-robin",
        "round-robin",
        "sticky",
        "built-in",
    ]
    shell.at("producer open p")
    shell.at("producer open q --acks 1")
    for name in ("p", "q"):
        shell.at(f"producer send {name} orders-0 a:1 b:2")
    assert [(event.client, event.base_sequence) for event in shell.events(ProduceStarted)] == [
        ("p", 0),
        ("p", 1),
        ("q", -1),
        ("q", -1),
    ]
    assert shell.node("p")["sequences"] == {"orders-0": [0, 2]}


def test_expired_batch_bumps_the_epoch_and_nothing_is_written_twice(shell: ShellRun) -> None:
    shell.at("producer open p --timeout 6000")
    assert shell.at("producer send p orders-0 a:1") == ["orders-0@0"]
    shell.at("link cut p 1")
    (failed,) = shell.at("producer send p orders-0 b:2")
    assert failed.startswith("TimeoutException")
    shell.at("link restore p 1")
    # the timed-out request arrived after all
    assert shell.at("producer send p orders-0 c:3") == ["orders-0@2"]
    started = shell.events(ProduceStarted)[-1]
    transaction: Any = shell.node("p")["transaction"]
    assert (started.producer_epoch, started.base_sequence, transaction["producer_epoch"]) == (1, 0, 1)
    assert differences(shell.run) == []


def test_batches_in_flight_after_a_lost_batch_get_new_sequence_numbers(shell: ShellRun) -> None:
    shell.at("kafka-topics.sh --create --topic alone --replica-assignment 1 --config max.message.bytes=400")
    shell.at("producer open p --batch-size 1000")
    shell.at("producer send p alone-0 a:1")
    shell.events()
    large = shell.run.submit(f"producer send p alone-0 big:{'x' * 600}", "test")
    small = shell.run.submit("producer send p alone-0 c:3", "test")
    shell.after(3)
    printed = [shell.run.view["console"][str(number)]["output"] for number in (large, small)]
    assert printed[0][0].startswith("RecordTooLargeException")
    assert printed[1] == ["alone-0@1"]
    assert [(event.producer_epoch, event.base_sequence) for event in shell.events(ProduceRepeated)] == [(1, 0)]


def test_abort_drops_unsent_batches(shell: ShellRun) -> None:
    shell.at("producer open t --transactional-id pay --linger 5000")
    shell.at("producer begin t")
    shell.at("producer burst t orders-0 5")
    shell.events()
    shell.at("producer abort t")
    assert (shell.node("t")["failed"], shell.node("t")["last_error"]) == (5, "TransactionAbortedException")
    # the partition belongs to the transaction as soon as something was handed over for it: only the marker is written
    appended = [event for event in shell.events(BatchAppended) if event.replica == "orders-0@b1"]
    assert [(event.base_offset, event.last_offset) for event in appended] == [(0, 0)]
    shell.at("producer begin t")
    shell.at("producer burst t orders-0 5")
    shell.at("producer commit t")
    assert shell.node("t")["acknowledged"] == 5


def test_transaction_commits_consumed_offsets(shell: ShellRun) -> None:
    shell.at("producer open p")
    shell.at("producer send p orders-0 a:1 b:2")
    shell.at("consumer start c --group g --topic orders --isolation read_committed")
    shell.at('wait "group g == Stable 1" 30s')
    shell.after(2)
    shell.at("producer open t --transactional-id pay")
    assert shell.at("producer offsets t --consumer c")[0].endswith("(currentState= READY)")
    shell.at("producer begin t")
    assert shell.at("producer offsets t --group other orders-1@7") == ["orders-1@7"]
    assert "orders-0@2" in shell.at("producer offsets t --consumer c")[0].split()
    (other,) = (group for group in shell.run.view["groups"].values() if group["group"] == "other")
    assert (other["offsets"], list(other["pending"].values())) == ({}, [{"orders-1": 7}])
    shell.at("producer commit t")
    shell.at('wait "committed other orders-1 == 7" 10s')
    shell.at("producer begin t")
    for broker_id in (1, 2, 3):
        shell.at(f"link cut c {broker_id}")
    shell.after(10)
    (refused,) = shell.at("producer offsets t --consumer c")
    assert re.match("CommitFailedException: Transaction offset Commit failed due to consumer group metadata", refused)
    shell.at("producer abort t")
    shell.at("producer begin t")
    assert shell.at("producer send t orders-2 x:1") == ["orders-2@0"]
    assert differences(shell.run) == []


def test_idempotence_implies_acks_all_in_each_era() -> None:
    requested = [settings_of({"--idempotence": "true"}, ERAS[era]) for era in ("1.1", "2.4", "3.9")]
    assert [(settings.acks, settings.enable_idempotence) for settings in requested] == [(-1, True)] * 3
    unasked = settings_of({}, ERAS["2.4"])
    assert (unasked.acks, unasked.enable_idempotence) == (1, False)


def too_large_run(options: str, limit: int) -> ShellRun:
    run = ShellRun()
    run.at(f"kafka-topics.sh --create --topic small --partitions 1 --config max.message.bytes={limit}")
    run.at(f"producer open p {options}")
    run.at("producer send p small-0 warm:up")
    return run


def test_batch_too_large_after_compression_is_split_and_keeps_its_sequence_numbers() -> None:
    """As Kafka's producer it goes by what compressed so far, and so takes too much of what does not."""
    shell = too_large_run("--compression gzip --linger 60 --batch-size 4096", 4_000)
    shell.at("producer burst p small-0 10000")
    shell.at("producer flush p")
    assert shell.events(BatchSplit) == []
    noise, letters = RandomStream(5, "noise"), string.ascii_letters + string.digits
    values = ["".join(letters[noise.below(62)] for _ in range(600)) for _ in range(24)]
    requested = [shell.run.submit(f"producer send p small-0 {value}", "test") for value in values]
    shell.after(1)
    split = shell.events(BatchSplit)
    assert [[count for _, count, _ in event.parts] for event in split] == [[6, 3], [6, 3]]
    printed = [shell.run.view["console"][str(number)]["output"] for number in requested]
    assert printed == [[f"small-0@{offset}"] for offset in range(10_001, 10_025)]
    node = shell.node("p")
    assert (node["sent"], node["acknowledged"], node["failed"]) == (10_025, 10_025, 0)
    assert differences(shell.run) == []


def test_batch_that_cannot_be_split_is_retried_until_delivery_timeout() -> None:
    """batch.size limits the size of the parts, whatever the topic allows (KAFKA-8350), as in Kafka 3.9.1."""
    shell = too_large_run("--linger 20 --timeout 6000", 400)
    shell.at("producer burst p small-0 60")
    shell.at("producer flush p")
    splits = shell.events(BatchSplit)
    assert 10 < len(splits) <= 60
    assert {(len(event.parts), event.count) for event in splits} == {(1, 60)}
    node = shell.node("p")
    assert (node["sent"], node["acknowledged"], node["failed"]) == (61, 1, 60)
    assert node["last_error"] == "TimeoutException"
    shell.at("producer burst p small-0 3")
    shell.at("producer flush p")
    assert shell.node("p")["acknowledged"] == 4
    assert differences(shell.run) == []


def test_record_above_max_request_size_fails_in_send(shell: ShellRun) -> None:
    shell.at("producer open p --max-request-size 200")
    shell.events()
    value = "x" * 200
    (said,) = shell.at(f"producer send p orders-0 k:{value}")
    assert said.startswith("RecordTooLargeException: The message is 287 bytes when serialized which is larger than 200")
    (failed,) = shell.events(ProduceFailed)
    assert (failed.partition, failed.count, failed.error) == ("orders-0", 1, "RecordTooLargeException")
    assert (shell.node("p")["failed"], shell.node("p")["sent"]) == (1, 0)
    assert shell.at("producer send p orders-0 k:v") == ["orders-0@0"]
    assert differences(shell.run) == []


def test_console_producer_reports_the_same_failure_as_an_event(shell: ShellRun) -> None:
    line = "kafka-console-producer.sh --topic orders --producer-property max.request.size=200"
    shell.events()
    shell.at(f"{line} <<< {'x' * 200}")
    assert [failed.error for failed in shell.events(ProduceFailed)] == ["RecordTooLargeException"]


def test_timestamp_of_a_record_is_the_one_given(shell: ShellRun) -> None:
    shell.at("producer open p")
    assert shell.at("producer send p orders-0 a:1 b:2 --timestamp 1500") == ["orders-0@0", "orders-0@1"]
    assert [event.max_timestamp for event in shell.events(BatchAppended) if event.replica == "orders-0@b1"] == [
        1500
    ] * 2


def test_key_may_contain_what_separates_it_when_another_separator_is_given(shell: ShellRun) -> None:
    shell.at("producer open p")
    assert shell.at("producer send p orders-0 'a:b=c d:e' --key-separator = --timestamp 7") == ["orders-0@0"]
    read = "kafka-console-consumer.sh --bootstrap-server b1:9092 --topic orders --from-beginning --max-messages 1"
    printed = shell.at(f"{read} --property print.key=true --property key.separator=' is '")
    assert printed[0] == "a:b is c d:e"


@pytest.mark.parametrize(
    "words",
    [
        "a:1 --timestamp -1",
        "--timestamp 5",
        "a:1 --timestamp",
        "a:1 --timestamp 5 b:2",
        "a:1 --key-separator ''",
        "a:1 --key-separator = --key-separator :",
    ],
)
def test_invalid_option_of_send_is_refused(shell: ShellRun, words: str) -> None:
    shell.at("producer open p")
    with pytest.raises(ShellError) as refused:
        shell.at(f"producer send p orders-0 {words}")
    assert refused.value.what.id == "shell.invalid_send_options"


def test_metadata_is_requested_again_at_its_maximum_age(shell: ShellRun) -> None:
    shell.at("producer open young --metadata-max-age-ms 2000")
    shell.at("producer open old")
    for name in ("young", "old"):
        shell.at(f"producer send {name} orders-0 a:1")
    shell.events()
    shell.after(10)
    asked = [sent.source for sent in shell.events(RpcSent) if sent.api == "Metadata" and sent.kind == "request"]
    assert set(asked) == {"young"}
    assert 4 <= len(asked) <= 5
