"""Small recordings, each of which contains something that a table could get wrong."""

from collections.abc import Callable

from tests.support.analytics.recorded_runs import RecordedRun

_SMALL = {"offsets.topic.num.partitions": "1", "zookeeper.session.timeout.ms": "1000"}
_QUICK = {**_SMALL, "replica.lag.time.max.ms": "1500"}
_CREATE = "kafka-topics.sh --create --topic orders --partitions {} --replication-factor 3"
_MOVE = '{"version":1,"partitions":[{"topic":"orders","partition":0,"replicas":[1,2,3]}]}'


def steady() -> RecordedRun:
    """Nothing fails; a consumer reads, and one of each acks writes."""
    return RecordedRun(
        (
            (_CREATE.format(2), 300),
            ("producer open p-all --acks all", 0),
            ("producer open p-one --acks 1", 0),
            ("producer open p-none --acks 0", 0),
            ("consumer follow c1 orders-0 --from earliest", 0),
            ("producer stream p-all orders-0 20", 0),
            ("producer stream p-one orders-1 15", 0),
            ("producer stream p-none orders-1 10", 1_000),
            ("producer stream p-all orders-0 0", 500),
        ),
        broker_config=_SMALL,
    )


def leader_killed() -> RecordedRun:
    """Each broker dies once and comes back: leaders change, and the ISR shrinks and grows."""
    return RecordedRun(
        (
            (_CREATE.format(2), 300),
            ("producer open p --acks all", 0),
            ("producer open q --acks 1", 0),
            ("producer stream p orders-0 10", 0),
            ("producer stream q orders-1 10", 500),
            ("broker kill 1", 2_500),
            ("broker start 1", 1_500),
            ("broker kill 2", 2_500),
            ("broker start 2", 1_500),
            ("producer stream p orders-0 0", 0),
            ("producer stream q orders-1 0", 1_000),
        ),
        seed=7, broker_config=_QUICK,
    )  # fmt: skip


def created_again() -> RecordedRun:
    """A topic is deleted and created again: the same offsets mean other records."""
    again = (
        ("producer open p{} --acks all", 0),
        ("producer open q{} --acks 1", 0),
        ("producer stream p{} orders-0 10", 0),
        ("producer stream q{} orders-0 10", 1_000),
        ("producer stream p{} orders-0 0", 0),
        ("producer stream q{} orders-0 0", 300),
    )
    return RecordedRun(
        (
            (_CREATE.format(1), 300),
            *((line.format(1), then_ms) for line, then_ms in again),
            ("kafka-topics.sh --delete --topic orders", 1_500),
            (_CREATE.format(1), 300),
            *((line.format(2), then_ms) for line, then_ms in again),
        ),
        seed=3, broker_config=_SMALL,
    )  # fmt: skip


def rebalanced() -> RecordedRun:
    """Members join, are killed, and leave."""
    return RecordedRun(
        (
            (_CREATE.format(3), 300),
            ("producer open p --acks all", 0),
            ("producer stream p orders-0 10", 0),
            ("consumer start g1 --group g --topic orders", 4_000),
            ("consumer start g2 --group g --topic orders", 4_000),
            ("consumer kill g1", 8_000),
            ("producer stream p orders-0 0", 0),
            ("consumer stop g2", 500),
        ),
        seed=11, broker_config=_SMALL,
    )  # fmt: skip


def transactional() -> RecordedRun:
    """Transactions that are committed, aborted, and left open."""
    return RecordedRun(
        (
            (_CREATE.format(2), 300),
            ("producer open t --transactional-id pay", 800),
            ("producer begin t", 0),
            ("producer send t orders-0 a:1", 0),
            ("producer send t orders-1 b:2", 400),
            ("producer commit t", 600),
            ("producer begin t", 0),
            ("producer send t orders-0 c:3", 300),
            ("producer abort t", 600),
            ("producer begin t", 0),
            ("producer send t orders-0 d:4", 500),
        ),
        seed=4,
        broker_config={
            **_SMALL, "transaction.state.log.num.partitions": "1", "transaction.state.log.replication.factor": "3",
        },
    )  # fmt: skip


def timed_out() -> RecordedRun:
    """A transaction times out, and its producer is fenced; another producer takes over the id of one that is open."""
    return RecordedRun(
        (
            (_CREATE.format(2), 300),
            ("producer open t --transactional-id pay --transaction-timeout 2000", 800),
            ("producer open u --transactional-id ship", 800),
            ("producer begin t", 0),
            ("producer send t orders-0 a:1", 300),
            ("producer begin u", 0),
            ("producer send u orders-0 b:2", 300),
            ("link cut t 1", 0),
            ("link cut t 2", 0),
            ("link cut t 3", 5_000),
            ("producer commit u", 800),
            ("link restore t 1", 0),
            ("link restore t 2", 0),
            ("link restore t 3", 300),
            ("producer send t orders-0 c:3", 500),
            ("producer begin u", 0),
            ("producer send u orders-1 d:4", 300),
            ("producer open v --transactional-id ship", 1_500),
            ("producer begin v", 0),
            ("producer send v orders-1 e:5", 500),
        ),
        seed=24,
        broker_config={
            **_SMALL, "transaction.state.log.num.partitions": "1", "transaction.state.log.replication.factor": "3",
            "transaction.abort.timed.out.transaction.cleanup.interval.ms": "1000",
        },
    )  # fmt: skip


def truncated() -> RecordedRun:
    """Records that were acknowledged with acks=1 are lost in an unclean election."""
    return RecordedRun(
        (
            ("kafka-topics.sh --create --topic orders --replica-assignment 1:2", 300),
            ("producer open p --acks 1", 0),
            ("producer stream p orders-0 20", 500),
            ("broker kill 2", 3_000),
            ("broker kill 1", 1_500),
            ("broker start 2", 2_500),
            ("broker start 1", 2_000),
            ("producer stream p orders-0 0", 500),
        ),
        seed=9, brokers=(1, 2, 3), broker_config={**_QUICK, "unclean.leader.election.enable": "true"},
    )  # fmt: skip


def reassigned() -> RecordedRun:
    """A replica moves to another broker; the old one is removed."""
    return RecordedRun(
        (
            (_CREATE.format(1), 300),
            ("producer open p --acks all", 0),
            ("producer stream p orders-0 10", 500),
            (f"file move.json\n< {_MOVE}", 0),
            ("kafka-reassign-partitions.sh --reassignment-json-file move.json --execute", 2_000),
            ("producer stream p orders-0 0", 500),
        ),
        seed=6, brokers=(1, 2, 3, 4), broker_config=_SMALL,
    )  # fmt: skip


def disturbed() -> RecordedRun:
    """Links are cut, lossy and slow, a broker freezes, a disk is slow."""
    return RecordedRun(
        (
            (_CREATE.format(1), 300),
            ("producer open p --acks all", 0),
            ("producer stream p orders-0 10", 300),
            ("link latency 1 2 20", 300),
            ("link loss 1 3 10", 300),
            ("disk slow 2 15", 300),
            ("link cut 2 3", 300),
            ("link restore 2 3", 0),
            ("disk slow 2 0", 0),
            ("broker freeze 3", 2_500),
            ("broker thaw 3", 1_500),
            ("producer stream p orders-0 0", 1_000),
        ),
        seed=8, broker_config=_QUICK,
    )  # fmt: skip


def cleaned() -> RecordedRun:
    """Small segments are rolled, deleted by retention, and compacted; a broker loses its power."""
    return RecordedRun(
        (
            (_CREATE.format(1) + " --config segment.bytes=200 --config retention.bytes=400", 300),
            ("producer open p --acks all --linger 200", 0),
            ("producer stream p orders-0 30", 2_000),
            ("broker powerloss 2", 1_500),
            ("broker start 2", 1_500),
            ("producer stream p orders-0 0", 500),
        ),
        seed=12, broker_config={**_SMALL, "log.retention.check.interval.ms": "1000"},
    )  # fmt: skip


def old_era() -> RecordedRun:
    """Kafka 0.8."""
    return RecordedRun(
        (
            (_CREATE.format(1), 300),
            ("producer open p --acks all", 0),
            ("producer open q --acks 1", 0),
            ("producer stream p orders-0 10", 0),
            ("producer stream q orders-0 10", 500),
            ("broker kill 1", 2_500),
            ("broker start 1", 1_500),
            ("producer stream p orders-0 0", 0),
            ("producer stream q orders-0 0", 500),
        ),
        seed=2, era="0.8", broker_config={"zookeeper.session.timeout.ms": "1000", "replica.lag.time.max.ms": "1500"},
    )  # fmt: skip


def taken_over() -> RecordedRun:
    """The coordinator of a transaction dies within it, and leads again within the next one."""
    return RecordedRun(
        (
            (
                "kafka-topics.sh --create --topic __transaction_state --replica-assignment 2:3:1 "
                "--config cleanup.policy=compact",
                0,
            ),
            ("kafka-topics.sh --create --topic ledger --replica-assignment 1:2:3,3:1:2", 300),
            ("producer open a --transactional-id alpha --timeout 60000", 500),
            ("producer begin a", 0),
            ("producer send a ledger-0 k:1", 300),
            ("broker kill 2", 2_500),
            ("producer send a ledger-1 k:2", 800),
            ("producer commit a", 800),
            ("producer begin a", 0),
            ("producer send a ledger-0 k:3", 300),
            ("broker start 2", 2_000),
            ("kafka-leader-election.sh --election-type PREFERRED --all-topic-partitions", 1_500),
            ("producer abort a", 1_000),
        ),
        seed=23, broker_config={**_QUICK, "transaction.state.log.num.partitions": "1"},
    )  # fmt: skip


def came_back() -> RecordedRun:
    """The only leader that there can be dies twice, and one is frozen and thawed long before it loses its partition."""
    return RecordedRun(
        (
            ("kafka-topics.sh --create --topic orders --replica-assignment 1:2", 300),
            ("producer open p --acks 1", 0),
            ("producer stream p orders-0 10", 300),
            ("broker freeze 1", 200),
            ("broker thaw 1", 500),
            ("kafka-configs.sh --alter --entity-type brokers --entity-default --add-config min.insync.replicas=2", 200),
            ("broker stop 1", 1_500),
            ("broker start 1", 2_000),
            ("broker kill 1", 2_500),
            ("broker kill 2", 2_500),
            ("broker start 2", 2_000),
            ("broker kill 2", 1_500),
            ("broker start 2", 2_000),
        ),
        seed=34, broker_config=_QUICK,
    )  # fmt: skip


def compacted() -> RecordedRun:
    """A log is compacted; then its topic is created again, with fewer replicas."""
    return RecordedRun(
        (
            (_CREATE.format(1) + " --config cleanup.policy=compact --config segment.bytes=300", 300),
            ("producer open p --acks all", 0),
            *((f"producer send p orders-0 k{number % 3}:v{number}", 60) for number in range(12)),
            ("log clean orders-0", 500),
            ("kafka-topics.sh --delete --topic orders", 1_500),
            ("kafka-topics.sh --create --topic orders --replica-assignment 2", 300),
            ("producer send p orders-0 k:v", 500),
        ),
        seed=36, broker_config=_SMALL,
    )  # fmt: skip


_OFFSETS = "kafka-topics.sh --create --topic __consumer_offsets --replica-assignment {} --config cleanup.policy=compact"
_STATIC = "consumer start s{0} --group g --topic orders --instance i{0} --session-timeout-ms 20000"


def restarted() -> RecordedRun:
    """A static member restarts without a rebalance, the coordinator dies before the next one, and another group, which
    reads the same topic, loses its only member for ever.
    """
    return RecordedRun(
        (
            (_OFFSETS.format("2:3:1"), 0),
            ("kafka-topics.sh --create --topic orders --replica-assignment 1:3:2,3:1:2,1:2:3", 300),
            ("producer open p --acks all", 0),
            ("producer stream p orders-0 5", 0),
            (_STATIC.format(1), 4_000),
            (_STATIC.format(2), 4_000),
            ("consumer start other --group h --topic orders", 4_000),
            ("consumer kill s1", 1_500),
            (_STATIC.format(1), 3_000),
            ("broker kill 2", 4_000),
            ("consumer start s3 --group g --topic orders", 5_000),
            ("consumer kill other", 500),
            ("broker start 2", 3_000),
            ("producer stream p orders-0 0", 500),
        ),
        seed=41, broker_config=_QUICK,
    )  # fmt: skip


def old_group() -> RecordedRun:
    """A group of Kafka 0.8, without a coordinator: members join, one is killed, and its topic grows."""
    return RecordedRun(
        (
            (_CREATE.format(2), 300),
            ("producer open p --acks all", 0),
            ("producer stream p orders-0 10", 0),
            ("consumer start g1 --group g --topic orders", 2_500),
            ("consumer start g2 --group g --topic orders", 4_000),
            ("consumer start g3 --group g --topic orders", 4_000),
            ("consumer kill g1", 9_000),
            ("kafka-topics.sh --alter --topic orders --partitions 4", 4_000),
            ("producer stream p orders-0 0", 0),
            ("consumer stop g2", 2_000),
        ),
        seed=42, era="0.8", broker_config={"zookeeper.session.timeout.ms": "1000"},
    )  # fmt: skip


def never_back() -> RecordedRun:
    """A frozen broker is elected before its session ends, and at last no broker is left."""
    return RecordedRun(
        (
            ("kafka-topics.sh --create --topic orders --replica-assignment 1:2:3", 0),
            ("kafka-topics.sh --create --topic lone --replica-assignment 2", 300),
            ("producer open p --acks 1", 0),
            ("producer stream p orders-0 10", 500),
            ("broker kill 1", 400),
            ("broker freeze 2", 3_000),
            ("broker kill 3", 1_500),
        ),
        seed=43, broker_config=_QUICK,
    )  # fmt: skip


def deleted_in_use() -> RecordedRun:
    """A topic that a group reads is deleted and created again."""
    return RecordedRun(
        (
            (_CREATE.format(1), 300),
            ("producer open p --acks all", 0),
            ("producer stream p orders-0 20", 0),
            ("consumer start g1 --group g --topic orders", 8_000),
            ("producer stream p orders-0 0", 200),
            ("consumer kill g1", 200),
            ("kafka-topics.sh --delete --topic orders", 2_000),
            (_CREATE.format(1), 300),
            ("producer open q --acks all", 0),
            ("producer stream q orders-0 10", 0),
            ("consumer start g2 --group g --topic orders", 7_000),
            ("producer stream q orders-0 0", 200),
        ),
        seed=44, broker_config={**_SMALL, "group.min.session.timeout.ms": "1000"},
    )  # fmt: skip


def forgotten() -> RecordedRun:
    """Committed offsets are lost in an unclean election of the coordinator."""
    return RecordedRun(
        (
            (_OFFSETS.format("1:2") + " --config unclean.leader.election.enable=true", 0),
            ("kafka-topics.sh --create --topic orders --replica-assignment 3", 300),
            ("producer open p --acks 1", 0),
            ("producer stream p orders-0 10", 0),
            ("consumer start g1 --group g --topic orders", 7_000),
            ("broker kill 2", 7_000),
            ("broker kill 1", 2_000),
            ("consumer freeze g1", 0),
            ("broker start 2", 3_000),
        ),
        seed=45, brokers=(1, 2, 3), broker_config=_QUICK,
    )  # fmt: skip


def drawn_0_10() -> RecordedRun:
    """A random schedule in Kafka 0.10: logs are compacted and truncated while members of groups come and go."""
    return RecordedRun.drawn(3072, "0.10", 3_000)


def drawn_1_1() -> RecordedRun:
    """A random schedule in Kafka 1.1, with several topics and many faults."""
    return RecordedRun.drawn(1002, "1.1", 2_500)


def drawn_2_4() -> RecordedRun:
    """A random schedule in Kafka 2.4, with transactions and groups while brokers die."""
    return RecordedRun.drawn(3034, "2.4", 4_000)


RECORDINGS: dict[str, Callable[[], RecordedRun]] = {
    made.__name__: made
    for made in (
        steady, leader_killed, created_again, rebalanced, transactional, timed_out, truncated, reassigned, disturbed,
        cleaned, old_era, taken_over, came_back, compacted, restarted, old_group, never_back, deleted_in_use, forgotten,
        drawn_0_10, drawn_1_1, drawn_2_4,
    )
}  # fmt: skip
