"""Chapter 2, produce: partitions and transactions."""

from random import Random

from broker_core.events.client import RecordPartitioned, RecordsConsumed
from broker_core.partitions import TopicPartition
from broker_core.texts import text
from lab.reviews.question import Question, around, drawn
from lab.reviews.registry import chapter
from lab.reviews.scenario import SINGLE, Scenario, laid

review = chapter(2)
_KEYS = ("order", "user", "cart", "k", "item", "visit")


@review("014-which-partition")
def partition_of_a_key(rng: Random) -> Question:
    """Where a key goes after a partition was added."""
    key = f"{rng.choice(_KEYS)}{rng.randint(1, 99)}"
    count = rng.randint(2, 5)
    scenario = Scenario(rng, brokers=1)
    scenario.do(laid("orders", *[[1]] * count), "producer open p1", f"producer send p1 orders {key}:first")
    scenario.do(f"kafka-topics.sh --alter --topic orders --partitions {count + 1}", "sleep 1s")
    scenario.do("producer open p2", f"producer send p2 orders {key}:second")
    before, after = (
        TopicPartition.parse(chosen.partition).partition for _, chosen in scenario.events(RecordPartitioned)
    )
    hashed = next(chosen.key_hash for _, chosen in scenario.events(RecordPartitioned)) or 0
    choices, right = drawn(
        rng,
        after,
        [(before, "key-sticks"), (count, "new-fills-first")],
        [one for one in range(count + 1) if one != before],
    )
    return Question(
        ask=text("review_produce.key.ask", key=key, partitions=count, before=before, after=count + 1),
        given=(f"toPositive(murmur2({key})) = {hashed & 0x7FFFFFFF}",),
        choices=choices,
        right=right,
        reason=text("review_produce.key.reason", hash=hashed & 0x7FFFFFFF, partitions=count + 1, partition=after),
    )


@review("016-all-or-nothing")
def last_stable_offset(rng: Random) -> Question:
    """The last stable offset, or the number of readable records, after some transactions."""
    scenario = Scenario(rng, brokers=1, settings=SINGLE)
    scenario.do(laid("orders", [1]), "producer open t1 --transactional-id pay")
    given: list[str] = []
    written = 0
    ends = [rng.choice(("commit", "abort")), rng.choice(("commit", "abort")), rng.choice(("commit", "abort", ""))]
    for end in ends[rng.randint(0, 1) :]:
        records = rng.randint(1, 3)
        sent = " ".join(f"k{written + number}:v" for number in range(records))
        lines = ["producer begin t1", f"producer send t1 orders-0 {sent}", *([f"producer {end} t1"] if end else [])]
        written += records
        scenario.do(*lines)
        given += lines
    scenario.do("sleep 1s", "consumer start rc --group a --topic orders --isolation read_committed", "sleep 10s")
    replica = scenario.replica("orders-0", 1)
    unstable = replica["first_unstable_offset"]
    stable = replica["high_watermark"] if unstable < 0 else unstable
    readable = sum(len(read.records) for _, read in scenario.events(RecordsConsumed) if read.client == "rc")
    asks_offset = rng.random() < 0.5
    answer = stable if asks_offset else readable
    choices, right = drawn(
        rng,
        answer,
        [(written, "markers-are-free"), (replica["log_end_offset"], "abort-removes"), (readable, "abort-removes")],
        around(answer),
    )
    return Question(
        ask=text("review_produce.transactions.ask_offset" if asks_offset else "review_produce.transactions.ask_count"),
        given=tuple(given),
        choices=choices,
        right=right,
        reason=text("review_produce.transactions.reason", stable=stable, n=readable, end=replica["log_end_offset"]),
    )
