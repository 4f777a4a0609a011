"""Chapter 2, produce: acknowledgements, batches, limits."""

from random import Random

from broker_core.events.client import ProduceAcknowledged, ProduceStarted
from broker_core.records.record_batch import HEADER_BYTES
from broker_core.texts import text
from lab.reviews.question import Question, around, drawn, fixed, value
from lab.reviews.registry import chapter
from lab.reviews.scenario import Scenario, laid

review = chapter(2)


@review("011-acks")
def acknowledged_and_there(rng: Random) -> Question:
    """Whether the next leader has a record, and whether it was acknowledged, by acks and held followers."""
    acks = rng.choice(("0", "1", "all"))
    held = rng.choice(((), (2,), (3,), (2, 3)))
    scenario = Scenario(rng)
    scenario.do(laid("orders", [1, 2, 3]), f"producer open p1 --acks {acks}", "sleep 1s")
    scenario.do(*(f"hold fetch {follower} 1" for follower in held), "sleep 1s")
    scenario.begin("producer send p1 orders-0 rent:800")
    told = any(event.acks != 0 for _, event in scenario.events(ProduceAcknowledged))
    # A retry would bring the record to the new leader: asked is what is there at its election.
    scenario.do("producer drop p1", "broker kill 1")
    scenario.until(lambda: scenario.partition("orders-0")["leader"] == 2)
    there = scenario.replica("orders-0", 2)["log_end_offset"] == 1
    safe = "acks-all-is-stored" if acks == "all" else "acked-is-safe"
    choices, right = fixed(
        f"{'told' if told else 'quiet'}-{'there' if there else 'gone'}",
        [
            ("told-there", text("review_produce.acks.told_there"), safe),
            ("told-gone", text("review_produce.acks.told_gone"), ""),
            ("quiet-there", text("review_produce.acks.quiet_there"), "replicated-at-once"),
            ("quiet-gone", text("review_produce.acks.quiet_gone"), ""),
        ],
    )
    followers = ", ".join(map(str, held)) or "-"
    return Question(
        ask=text("review_produce.acks.ask", acks=acks, held=followers),
        choices=choices,
        right=right,
        reason=text("review_produce.acks.reason_there" if there else "review_produce.acks.reason_gone", acks=acks),
    )


@review("012-linger-and-batch")
def requests_of_a_burst(rng: Random) -> Question:
    """How many Produce requests some records take, by linger.ms, batch.size and the time between them."""
    records = rng.randint(4, 6)
    linger_ms = rng.choice((0, 50, 100))
    gap_ms = rng.choice((0, 0, 20, 40))
    batch_bytes = rng.choice((16384, 16384, 170))
    scenario = Scenario(rng, brokers=1)
    scenario.do(
        laid("orders", [1]),
        f"producer open p1 --acks all --linger {linger_ms} --batch-size {batch_bytes}",
        "producer send p1 orders-0 warm:0",
        "sleep 1s",
    )
    before = sum(1 for _ in scenario.events(ProduceStarted))
    for number in range(records):
        scenario.begin(f"producer send p1 orders-0 k{number}:message_{number}", gap_ms)
    scenario.play(1000)
    requests = sum(1 for _ in scenario.events(ProduceStarted)) - before
    alone = _size_alone(rng)
    choices, right = drawn(
        rng,
        requests,
        [(records, "linger-is-a-delay"), (0, "batch-waits-to-fill"), (1, "batch-waits-to-fill")],
        around(requests, 1),
    )
    return Question(
        ask=text("review_produce.linger.ask", n=records, gap=gap_ms, linger=linger_ms, batch=batch_bytes),
        given=(f"batch header {HEADER_BYTES} B", f"record {alone - HEADER_BYTES} B"),
        choices=choices,
        right=right,
        reason=text("review_produce.linger.reason", n=requests, linger=linger_ms, batch=batch_bytes),
    )


def _size_alone(rng: Random) -> int:
    """Bytes of a batch with one record as these."""
    scenario = Scenario(rng, brokers=1)
    scenario.do(laid("orders", [1]), "producer open p1 --acks all", "producer send p1 orders-0 k0:message_0")
    return scenario.batch_sizes("orders-0", 1)[0]


@review("013-too-large-for-whom")
def who_refuses(rng: Random) -> Question:
    """Whether the client or the leader rejects a record, by three limits."""
    record_bytes = rng.randrange(100, 700, 50)
    request_bytes = record_bytes + rng.choice((-50, 30, 400, 400))
    message_bytes = record_bytes + rng.choice((-50, 30, 500))
    batch_bytes = rng.choice((120, 16384))
    scenario = Scenario(rng, brokers=1)
    scenario.do(laid("small", [1], config=f"--config max.message.bytes={message_bytes}"))
    scenario.do(
        "kafka-console-producer.sh --bootstrap-server localhost:9092 --topic small "
        f"--producer-property max.request.size={request_bytes} --producer-property batch.size={batch_bytes} "
        f"<<< {'x' * record_bytes}"
    )
    if scenario.replica("small-0", 1)["log_end_offset"] == 1:
        refuses = "nobody"
    else:
        refuses = "leader" if scenario.messages("Produce", "request") else "client"
    choices, right = fixed(
        refuses,
        [
            ("client", text("review_produce.large.client"), "one-limit"),
            ("leader", text("review_produce.large.leader"), "first-that-fit"),
            ("nobody", text("review_produce.large.nobody"), "split-until-it-fits"),
        ],
    )
    return Question(
        ask=text("review_produce.large.ask", record=record_bytes),
        given=(
            f"max.request.size = {request_bytes}",
            f"batch.size = {batch_bytes}",
            f"max.message.bytes = {message_bytes}",
        ),
        choices=choices,
        right=right,
        reason=text("review_produce.large.reason", request=request_bytes, message=message_bytes, record=record_bytes),
    )


@review("015-sent-twice-stored-once")
def copies_in_the_log(rng: Random) -> Question:
    """How often a record is in the log after its request or its response was lost."""
    acks, idempotence, lost = rng.choice(
        (
            ("0", "false", "request"),
            ("0", "false", "request"),
            ("1", "false", "response"),
            ("all", "false", "response"),
            ("1", "false", "request"),
            ("all", "true", rng.choice(("request", "response"))),
        )
    )
    scenario = Scenario(rng, brokers=1)
    scenario.do(
        laid("pay", [1]),
        f"producer open p1 --acks {acks} --idempotence {idempotence}",
        "producer send p1 pay-0 warm:0",
        "sleep 1s",
    )
    message = scenario.send("producer send p1 pay-0 rent:800", "Produce", lost)
    scenario.do(f"message drop {message}")
    scenario.play(12_000)
    copies = scenario.replica("pay-0", 1)["log_end_offset"] - 1
    choices, right = fixed(
        str(copies),
        [
            ("0", value(0), "lost-means-failed"),
            ("1", value(1), "leader-knows-it" if lost == "response" else ""),
            ("2", value(2), ""),
        ],
    )
    return Question(
        ask=text("review_produce.twice.ask_request" if lost == "request" else "review_produce.twice.ask_response"),
        given=(f"acks = {acks}", f"enable.idempotence = {idempotence}"),
        choices=choices,
        right=right,
        reason=text(_TWICE[copies]),
    )


_TWICE = {
    0: "review_produce.twice.reason_none",
    1: "review_produce.twice.reason_once",
    2: "review_produce.twice.reason_twice",
}
