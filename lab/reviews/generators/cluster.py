"""Chapter 1, meet the cluster."""

from random import Random

from broker_core.texts import text
from lab.reviews.question import Question, around, drawn
from lab.reviews.registry import chapter
from lab.reviews.scenario import Scenario, laid

review = chapter(1)


@review("008-a-records-way")
def fetches_of_a_record(rng: Random) -> Question:
    """How many Fetch answers carry one record to its followers and consumers."""
    factor, consumers = rng.randint(1, 4), rng.randint(1, 3)
    scenario = Scenario(rng, brokers=factor)
    scenario.do(laid("orders", list(range(1, factor + 1))))
    scenario.do(*(f"consumer follow c{number} orders-0 --from earliest" for number in range(1, consumers + 1)))
    scenario.do("sleep 1s", "producer open p1 --acks all", "producer send p1 orders-0 hello:world", "sleep 1s")
    carrying = [sent for sent in scenario.messages("Fetch", "response") if sent.label.startswith("label.records")]
    pushed = len(scenario.messages("Produce", "request"))
    choices, right = drawn(
        rng,
        len(carrying),
        [(consumers - 1 + pushed, "push-to-followers"), (factor - 1, "push-to-consumers"), (0, "push-to-consumers")],
        around(len(carrying), 1),
    )
    return Question(
        ask=text("review_cluster.fetches.ask", factor=factor, consumers=consumers),
        choices=choices,
        right=right,
        reason=text("review_cluster.fetches.reason", n=len(carrying), followers=factor - 1, consumers=consumers),
    )


@review("009-ask-with-kafkas-own-commands")
def partitions_without_a_leader(rng: Random) -> Question:
    """Counts the partitions that lose their leader with one broker, from a described topic."""
    brokers = 3
    lists = [rng.sample(range(1, brokers + 1), rng.choice((1, 1, 2))) for _ in range(rng.randint(4, 6))]
    scenario = Scenario(rng, brokers)
    topics = [("single", [one for one in lists if len(one) == 1]), ("double", [one for one in lists if len(one) == 2])]
    scenario.do(*(laid(topic, *held) for topic, held in topics if held))
    given = [
        line.strip()
        for topic, held in topics
        if held
        for line in scenario.do(f"kafka-topics.sh --bootstrap-server localhost:9092 --describe --topic {topic}")
        if "Partition: " in line
    ]
    gone = rng.choice(lists)[0]
    led = sum(one["leader"] == gone for name, one in scenario.run.view["partitions"].items())
    on_it = sum(gone in one["replicas"] for name, one in scenario.run.view["partitions"].items())
    scenario.do(f"broker kill {gone}", "sleep 25s")
    lost = sum(one["leader"] == -1 for name, one in scenario.run.view["partitions"].items())
    choices, right = drawn(
        rng,
        lost,
        [(led, "waits-for-owner"), (on_it, "leader-gone-all-gone"), (0, "factor-extra")],
        around(lost),
    )
    return Question(
        ask=text("review_cluster.described.ask", broker=gone),
        given=tuple(" ".join(line.split()).partition(" Elr:")[0] for line in given),
        choices=choices,
        right=right,
        reason=text("review_cluster.described.reason", n=lost, broker=gone),
    )


@review("010-where-replicas-land")
def second_replica(rng: Random) -> Question:
    """The broker of the second replica of a later partition, when the first partition is known."""
    brokers, factor = rng.randint(3, 5), rng.randint(2, 3)
    count = rng.randint(brokers + 1, 2 * brokers)
    scenario = Scenario(rng, brokers)
    scenario.do(f"kafka-topics.sh --create --topic wide --partitions {count} --replication-factor {factor}")
    lists = [scenario.partition(f"wide-{number}")["replicas"] for number in range(count)]
    asked = rng.randint(brokers, count - 1)
    right_broker = lists[asked][1]
    leader = lists[asked][0]
    choices, right = drawn(
        rng,
        right_broker,
        [(lists[asked % brokers][1], "mod-n"), (leader, "two-on-one")],
        [one for one in range(1, brokers + 1) if one != leader],
    )
    return Question(
        ask=text("review_cluster.replicas.ask", brokers=brokers, partition=asked, leader=leader),
        given=tuple(f"wide-{number}  {','.join(map(str, lists[number]))}" for number in range(asked)),
        choices=choices,
        right=right,
        reason=text("review_cluster.replicas.reason", partition=asked, replicas=",".join(map(str, lists[asked]))),
    )
