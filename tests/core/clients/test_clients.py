"""The lab's producers and consumers: partitioning, batches, retries, positions."""

import pytest

from broker_core.clients.metadata import backoff_us
from broker_core.clients.producer.accumulator import record_size_upper_bound
from broker_core.clients.producer.partitioners import StickyPartitioner, murmur2
from broker_core.events.group import OffsetCommitted
from broker_core.events.rpc import RpcSent
from broker_core.sim.rng import RandomStream
from devtools.sim.parity import differences
from tests.support.shell_runs import ShellRun, refused

ORDERS = "kafka-topics.sh --create --topic orders --replica-assignment 1:2:3,2:3:1,3:1:2"


@pytest.mark.parametrize(
    ("key", "signed_hash", "of_3", "of_10"),
    [
        ("", 275646681, 0, 1),
        ("a", -1563381124, 1, 4),
        ("21", -973932308, 0, 0),
        ("k1", 1684045097, 2, 7),
        ("foobar", -790332482, 0, 6),
        ("kafka", -798503068, 1, 0),
        ("order-1001", 297523878, 0, 8),
        ("a-little-bit-long-string", -985981536, 2, 2),
    ],
)
def test_keys_hash_as_in_kafka(key: str, signed_hash: int, of_3: int, of_10: int) -> None:
    assert murmur2(key.encode()) == signed_hash
    partitioner = StickyPartitioner(RandomStream(1, "partitioner"), batch_size=100)
    assert partitioner.of_key(key.encode(), 3).partition == of_3
    assert partitioner.of_key(key.encode(), 10).partition == of_10


def test_records_without_a_key_use_one_partition_per_batch() -> None:
    sticky = StickyPartitioner(RandomStream(1, "partitioner"), batch_size=100)
    chosen = []
    for _ in range(200):
        chosen.append(sticky.partition(range(3)))
        sticky.appended(25, batch_completed=True)
    assert all(len(set(chosen[at : at + 4])) == 1 for at in range(0, 200, 4))
    assert set(chosen) == {0, 1, 2}


def test_adaptive_partitioning_prefers_partitions_with_short_queues() -> None:
    counts = [0, 0, 0]
    for seed in range(800):
        sticky = StickyPartitioner(RandomStream(seed, "partitioner"), batch_size=1)
        counts[sticky.partition(range(3), [0, 3, 1])] += 1
    # the weights are 4 : 1 : 3
    assert counts[0] == pytest.approx(400, abs=60)
    assert counts[1] == pytest.approx(100, abs=40)
    assert counts[2] == pytest.approx(300, abs=60)


def test_upper_bound_of_a_record_size_matches_kafka() -> None:
    assert record_size_upper_bound(None, b"0" * 106) == 192


def test_retry_backoff_doubles_up_to_one_second() -> None:
    assert [backoff_us(attempts) // 1000 for attempts in range(1, 7)] == [100, 200, 400, 800, 1000, 1000]


def test_producer_finds_the_new_leader() -> None:
    shell = ShellRun()
    shell.at(ORDERS)
    shell.at("producer open p --acks all")
    assert shell.at("producer send p orders-1 a:1") == ["orders-1@0"]
    shell.at("broker kill 2")
    assert shell.at("producer send p orders-1 b:2") == ["orders-1@1"]
    # no request is lost: the dead broker refuses the connection, and the batch waits for metadata
    assert shell.node("p")["retried"] == 0
    assert (shell.node("p")["acknowledged"], shell.node("p")["last_offset"]) == (2, 1)
    assert differences(shell.run) == []


def test_record_that_cannot_be_delivered_expires() -> None:
    shell = ShellRun()
    shell.at(ORDERS)
    shell.at("producer open p --timeout 8000")
    shell.at("producer send p orders-0 a:1")
    for broker_id in (1, 2, 3):
        shell.at(f"broker kill {broker_id}")
    begun_us = shell.run.now_us
    assert shell.at("producer send p orders-0 b:2") == [
        "TimeoutException: Expiring 1 record(s) for orders-0:8000 ms has passed since batch creation"
    ]
    assert 8_000_000 <= shell.run.now_us - begun_us <= 8_010_000
    assert (shell.node("p")["failed"], shell.node("p")["last_error"]) == (1, "TimeoutException")


def test_send_to_a_missing_partition_fails() -> None:
    shell = ShellRun()
    shell.at(ORDERS)
    shell.at("producer open p")
    assert shell.at("producer send p orders-7 a:1") == [
        "TimeoutException: Partition 7 of topic orders with partition count 3 is not present in metadata after 15000 "
        "ms."
    ]
    assert shell.at("producer send nobody orders-0 a:1") == [
        "no such producer: nobody",
        refused("shell.no_producer", name="nobody"),
    ]


def test_producing_creates_the_topic_unless_auto_create_is_off() -> None:
    shell = ShellRun()
    shell.at("producer open p")
    assert shell.at("producer send p fresh-0 a:1") == ["fresh-0@0"]
    strict = ShellRun(auto_create_topics_enable="false")
    strict.at("producer open p")
    assert strict.at("producer send p fresh-0 a:1") == [
        "TimeoutException: Topic fresh not present in metadata after 15000 ms. / UnknownTopicOrPartitionException: "
        "This server does not host this topic-partition."
    ]
    assert strict.at("kafka-topics.sh --list") == []


def test_burst_fills_batches_and_keeps_the_order() -> None:
    shell = ShellRun()
    shell.at(ORDERS)
    shell.at("producer open p")
    shell.at("producer burst p orders-0 3000")
    shell.at("producer close p")
    printed = shell.at("kafka-console-consumer.sh --topic orders --partition 0 --from-beginning --max-messages 3000")
    assert printed[:-1] == [f"p-{number}" for number in range(3000)]
    batches = len(shell.run.view["replicas"]["orders-0@b1"]["tail"])
    assert batches < 20


def test_stream_keeps_its_rate_until_it_is_stopped() -> None:
    shell = ShellRun()
    shell.at(ORDERS)
    shell.at("producer open p --acks 1")
    shell.at("producer stream p orders-2 200")
    shell.after(5)
    assert shell.node("p")["acknowledged"] == pytest.approx(1000, abs=5)
    shell.at("producer stream p orders-2 50")
    shell.after(2)
    shell.at("producer stream p orders-2 0")
    sent = shell.node("p")["sent"]
    assert sent == pytest.approx(1100, abs=8)
    shell.after(2)
    assert shell.node("p")["sent"] == sent
    assert shell.node("p")["rate"] == 0


def test_stream_continues_after_an_election_without_loss_or_reordering() -> None:
    shell = ShellRun()
    shell.at(ORDERS)
    shell.at("producer open p --acks all")
    shell.at("producer stream p orders-1 100")
    shell.after(2)
    shell.at("broker stop 2")
    shell.after(3)
    shell.at("producer close p")
    assert differences(shell.run) == []
    (line,) = shell.at("kafka-get-offsets.sh --topic orders --partitions 1")
    count = int(line.rpartition(":")[2])
    printed = shell.at(
        f"kafka-console-consumer.sh --topic orders --partition 1 --from-beginning --max-messages {count}"
    )
    assert printed[:-1] == [f"p-{number}" for number in range(count)]


def test_producer_with_acks_0_detects_a_lost_leader() -> None:
    shell = ShellRun()
    shell.at(ORDERS)
    shell.at("producer open p --acks 0")
    assert shell.at("producer send p orders-1 a:1") == ["orders-1 sent"]
    shell.at("broker kill 2")
    shell.at("producer send p orders-1 lost:1")
    shell.at('wait "leader orders-1 == 3" 20s')
    shell.after(1)
    shell.at("producer send p orders-1 lost-too:1")
    shell.after(1)
    shell.at("producer send p orders-1 b:2")
    shell.after(1)
    assert [line for line in shell.at("log describe orders-1") if line.endswith(" b 2")] != []


def test_consumer_follows_a_partition_from_leader_to_leader() -> None:
    shell = ShellRun()
    shell.at(ORDERS)
    shell.at("producer open p")
    shell.at("producer send p orders-1 a:1 b:null null:3")
    shell.at("consumer follow c orders-1 --from earliest")
    shell.after(1)
    node = shell.node("c")
    assert (node["position"], node["high_watermark"]) == (3, 3)
    assert [row[2:] for row in node["records"]] == [["a", "1"], ["b", None], [None, "3"]]
    shell.at("broker kill 2")
    shell.at("producer send p orders-1 d:4")
    shell.after(2)
    assert shell.node("c")["position"] == 4
    assert differences(shell.run) == []
    shell.at("consumer unfollow c")
    assert "c" not in shell.run.view["nodes"]
    shell.after(3)


def test_consumer_whose_offset_is_out_of_range_is_reset() -> None:
    shell = ShellRun()
    shell.at(ORDERS)
    shell.at("producer open p")
    shell.at("producer send p orders-0 a:1 b:2")
    shell.at("consumer follow c orders-0 --from 99")
    shell.after(1)
    node = shell.node("c")
    assert node["position"] == 2
    assert node["last_reset"] == "reason.out_of_range?offset=99&policy=latest"


def test_new_consumer_starts_at_the_end() -> None:
    shell = ShellRun()
    shell.at(ORDERS)
    shell.at("producer open p")
    shell.at("producer send p orders-0 a:1 b:2")
    shell.at("consumer follow c orders-0")
    shell.after(1)
    shell.at("producer send p orders-0 c:3")
    shell.after(1)
    assert [row[0] for row in shell.node("c")["records"]] == [2]


def test_client_name_is_unique_and_can_be_reused_after_close() -> None:
    shell = ShellRun()
    shell.at("producer open p")
    assert shell.at("producer open p --acks 0") == [refused("shell.name_taken", name="p", command="producer close")]
    assert shell.node("p")["settings"]["acks"] == "-1"
    assert shell.at("producer close p") == []
    shell.at("producer open p")
    shell.at("producer drop p")
    assert shell.at("producer open p") == []


def test_invalid_settings_are_refused_with_kafkas_message_and_a_fix() -> None:
    shell = ShellRun()
    trace = (
        "! org.apache.kafka.common.KafkaException: Failed to construct kafka producer / Caused by: "
        "org.apache.kafka.common.config.ConfigException: delivery.timeout.ms should be equal to or larger than "
        "linger.ms + request.timeout.ms"
    )
    assert shell.at("producer open p --acks 1 --linger 500 --timeout 5400") == [
        trace,
        refused("shell.producer_settings", options="--linger / --timeout"),
    ]
    assert shell.exit_code == 1
    assert shell.at("producer open p --acks 1 --idempotence true") == [
        "! org.apache.kafka.common.config.ConfigException: Must set acks to all in order to use the idempotent "
        "producer. Otherwise we cannot guarantee idempotence.",
        refused("shell.producer_settings", options="--acks"),
    ]
    # without a delivery timeout, as much time as needed is given
    assert shell.at("producer open p --linger 12000") == []
    assert dict(shell.node("p")["settings"])["delivery.timeout.ms"] == "17000"


@pytest.mark.parametrize(
    ("era", "message"),
    [
        ("3.9", "TimeoutException: Disconnected from node 1 due to timeout"),
        ("2.4", "NetworkException: The server disconnected before a response was received."),
    ],
)
def test_request_timeout_is_reported_as_by_clients_of_that_era(era: str, message: str) -> None:
    shell = ShellRun(era=era, zookeeper_session_timeout_ms="30000")
    shell.at(ORDERS)
    shell.at("producer open p --acks 1 --timeout 5000")
    shell.at("producer send p orders-0 a:1")
    shell.at("broker freeze 1")
    assert shell.at("producer send p orders-0 b:2") == [message]


def test_producer_without_delivery_timeout_accepts_any_request_timeout() -> None:
    shell = ShellRun(era="1.1")
    assert shell.at("producer open p --linger 500 --timeout 1000") == []
    assert dict(shell.node("p")["settings"])["delivery.timeout.ms"] == "1000"


def test_send_to_a_frozen_leader_is_retried_after_the_request_timeout() -> None:
    shell = ShellRun(zookeeper_session_timeout_ms="30000")
    shell.at(ORDERS)
    shell.at("producer open p --acks 1 --timeout 20000")
    shell.at("producer send p orders-0 a:1")
    shell.at("broker freeze 1")
    number = shell.run.submit("producer send p orders-0 b:2", "test")
    shell.after(6)
    assert shell.node("p")["retried"] == 1
    shell.at("broker thaw 1")
    shell.after(6)
    assert number not in shell.run.running_commands
    assert shell.run.view["console"][str(number)]["output"] in (["orders-0@1"], ["orders-0@2"])


def test_partitioned_client_delivers_once_the_link_is_restored() -> None:
    shell = ShellRun()
    shell.at(ORDERS)
    shell.at("producer open p")
    shell.at("producer send p orders-0 a:1")
    shell.at("link cut p 1")
    number = shell.run.submit("producer send p orders-0 b:2", "test")
    shell.after(2)
    assert number in shell.run.running_commands
    shell.at("link restore p 1")
    shell.after(2)
    assert shell.run.view["console"][str(number)]["output"] == ["orders-0@1"]
    shell.at("link cut p 1")
    shell.at("producer drop p")
    assert shell.run.view["links"] == {}
    assert differences(shell.run) == []


def test_producer_waits_between_metadata_requests() -> None:
    shell = ShellRun()
    shell.at("kafka-topics.sh --create --topic single --replica-assignment 2")
    shell.at("producer open p")
    shell.at("producer send p single-0 a:1")
    shell.at("broker kill 2")
    shell.run.submit("producer send p single-0 b:2", "test")
    shell.run.take()
    shell.after(14)
    requested = [
        envelope[4]
        for envelope, _, _ in shell.run.take()
        if isinstance(envelope[4], RpcSent) and envelope[4].source == "p" and envelope[4].kind == "request"
    ]
    assert 0 < len(requested) < 60


@pytest.fixture
def shell() -> ShellRun:
    run = ShellRun()
    run.at(ORDERS)
    return run


def commits(shell: ShellRun) -> list[tuple[str, int]]:
    """What was committed since the last look."""
    return [(event.partition, event.offset) for event in shell.events(OffsetCommitted)]


def test_follower_with_a_group_commits_without_joining_it(shell: ShellRun) -> None:
    shell.at("producer open p")
    shell.at("producer send p orders-1 a:1 b:2 c:3")
    shell.at("consumer follow c orders-1 --from earliest --group audit")
    shell.after(3)
    assert ("orders-1", 3) in commits(shell)
    (group,) = [each for name, each in shell.run.view["groups"].items() if name.startswith("audit@")]
    assert (group["state"], group["members"]) == ("Empty", {})
    shell.at("consumer unfollow c")
    shell.at("producer send p orders-1 d:4")
    shell.at("consumer follow c orders-1 --from earliest --group audit")
    shell.after(2)
    assert [record[0] for record in shell.node("c")["records"]] == [3]
    assert differences(shell.run) == []


def test_follower_commits_on_demand(shell: ShellRun) -> None:
    shell.at("producer open p")
    shell.at("producer send p orders-1 a:1 b:2")
    shell.at("consumer follow c orders-1 --from earliest --group audit --auto-commit false")
    shell.after(3)
    assert commits(shell) == []
    assert shell.at("consumer commit c") == []
    assert commits(shell) == [("orders-1", 2)]
    shell.at("consumer follow plain orders-1")
    assert shell.at("consumer commit plain") == [refused("shell.follower_without_group", name="plain")]


def test_follower_may_not_commit_for_a_group_with_members(shell: ShellRun) -> None:
    shell.at("consumer start m --group audit --topic orders")
    shell.after(8)
    shell.at("consumer follow c orders-1 --from earliest --group audit --auto-commit false")
    shell.after(2)
    (said,) = shell.at("consumer commit c")
    assert said.startswith("CommitFailedException: Offset commit cannot be completed since the consumer is not part")


def test_follower_without_a_coordinator_tries_again(shell: ShellRun) -> None:
    shell.at("producer open p")
    shell.at("producer send p orders-1 a:1")
    shell.at("consumer follow c orders-1 --from earliest --group audit")
    shell.after(3)
    (home,) = {group.partition("@")[2] for group in shell.run.view["groups"] if group.startswith("audit@")}
    shell.at(f"broker kill {home.removeprefix('b')}")
    shell.after(15)
    shell.events()
    shell.at("producer send p orders-1 b:2")
    shell.after(4)
    assert ("orders-1", 2) in commits(shell)


def test_follower_of_an_old_era_has_no_coordinator() -> None:
    old = ShellRun(era="0.8")
    assert old.at("consumer follow c orders-0 --group g") == [refused("shell.old_follow_group", era="0.8")]


def test_follower_requests_metadata_at_its_maximum_age(shell: ShellRun) -> None:
    shell.at("consumer follow c orders-0 --metadata-max-age-ms 1000")
    shell.after(1)
    shell.events()
    shell.after(5)
    asked = [sent for sent in shell.events(RpcSent) if sent.api == "Metadata" and sent.kind == "request"]
    assert [sent.source for sent in asked] == ["c"] * 5
