"""Chapter 4, replicate: truncation, leader epochs, reading from followers."""

from random import Random
from typing import Any

from broker_core.events.log import LogTruncated
from broker_core.texts import text
from lab.reviews.question import Question, around, drawn
from lab.reviews.registry import chapter
from lab.reviews.scenario import Scenario, laid, numbered_records

review = chapter(4)


@review("006-the-lost-record")
def where_it_cuts(rng: Random) -> Question:
    """Where a follower that lacks nothing cuts its log under a new leader, by the era's rule."""
    era = rng.choice(("0.10", "0.10", "1.1", "3.9"))
    committed, more = rng.randint(1, 5), rng.randint(1, 3)
    scenario = Scenario(rng, era=era)
    scenario.do(laid("ledger", [1, 2, 3]), "producer open p1 --acks 1", "producer open p0 --acks all")
    scenario.do(f"producer send p0 ledger-0 {numbered_records(0, committed)}", "sleep 2s")
    scenario.do("hold fetch 2 1", "hold fetch 3 1", "sleep 1s")
    scenario.do(
        f"producer send p1 ledger-0 {numbered_records(committed, more)}", "release fetch 2 1", "release fetch 3 1"
    )
    end = committed + more
    while any(scenario.replica("ledger-0", broker)["log_end_offset"] < end for broker in (2, 3)):
        scenario.run.step_event()
    mark = scenario.replica("ledger-0", 3)["high_watermark"]
    began_us = scenario.run.now_us
    scenario.do("broker kill 1")
    scenario.until(lambda: scenario.partition("ledger-0")["leader"] == 2)
    scenario.play(3000)
    cuts = [
        event for at_us, event in scenario.events(LogTruncated) if at_us >= began_us and event.replica == "ledger-0@b3"
    ]
    kept = cuts[0].to_offset if cuts else end
    choices, right = drawn(
        rng,
        kept,
        [(end, "nothing-is-cut"), (0, "starts-anew"), (mark, "cut-at-high-watermark")],
        around(kept),
    )
    return Question(
        ask=text("review_replicate.cut.ask", era=era),
        given=(f"ledger-0@2: LEO {end}, HW {mark}", f"ledger-0@3: LEO {end}, HW {mark}"),
        choices=choices,
        right=right,
        reason=text(
            "review_replicate.cut.reason_mark" if cuts else "review_replicate.cut.reason_kept", era=era, offset=kept
        ),
    )


@review("026-one-line-for-each-leader")
def lines_of_the_file(rng: Random) -> Question:
    """How many lines leader-epoch-checkpoint has, at the leader or at a follower."""
    scenario = Scenario(rng, settings={"auto.leader.rebalance.enable": "false"})
    scenario.do(laid("ledger", [2, 3, 1]), "producer open p1 --acks all")
    given = [f"producer send p1 ledger-0 {numbered_records(0, 2)}"]
    scenario.do(given[0], "sleep 1s")
    written = 2
    epochs = 1
    writes: list[bool] = []
    for _ in range(rng.randint(1, 2)):
        leader = scenario.partition("ledger-0")["leader"]
        other = 5 - leader
        scenario.do(f"broker stop {leader}")
        _until_led_by(scenario, "ledger-0", other)
        given += [f"broker stop {leader}", f"# broker {other} leads"]
        epochs = scenario.partition("ledger-0")["leader_epoch"] + 1
        writes.append(rng.random() < 0.5)
        if writes[-1]:
            count = rng.randint(1, 3)
            given.append(f"producer send p1 ledger-0 {numbered_records(written, count)}")
            written += count
            scenario.do(given[-1], "sleep 1s")
        scenario.do(f"broker start {leader}")
        scenario.until(lambda: len(scenario.partition("ledger-0")["isr"]) == 3)
        given.append(f"broker start {leader}")
    scenario.play(2000)
    broker = rng.choice((1, scenario.partition("ledger-0")["leader"]))
    lines = len(scenario.replica("ledger-0", broker)["epochs"])
    choices, right = drawn(
        rng,
        lines,
        [
            (len(writes) + 1, "epoch-to-all"),
            (0, "leader-only") if broker == 1 else (sum(writes) + 1, "epoch-per-leader"),
            (epochs, "epoch-per-broker"),
        ],
        around(lines, 1),
    )
    return Question(
        ask=text("review_replicate.epochs.ask", broker=broker),
        given=tuple(given),
        choices=choices,
        right=right,
        reason=text(
            "review_replicate.epochs.reason_follower" if broker == 1 else "review_replicate.epochs.reason_leader",
            n=lines,
        ),
    )


_REASSIGN = "kafka-reassign-partitions.sh --bootstrap-server localhost:9092"
_PLANS = {
    number: '{"version":1,"partitions":[{"topic":"twins","partition":0,"replicas":[' + replicas + "]}]}"
    for number, replicas in ((1, "1,2"), (2, "2,1"))
}


@review("027-two-histories-one-offset")
def first_cut(rng: Random) -> Question:
    """Where a log with another history is cut after the first answer, by the era's rule."""
    era = rng.choice(("1.1", "2.4", "3.9"))
    shared, first, second, after = rng.randint(2, 4), rng.randint(2, 4), rng.randint(1, 3), rng.randint(1, 2)
    scenario = Scenario(rng, era=era)
    scenario.do(laid("twins", [1, 2]), *(f"file to-{number} <<< '{plan}'" for number, plan in _PLANS.items()))
    scenario.do("producer open p1 --acks 1", f"producer send p1 twins-0 {numbered_records(0, shared)}", "sleep 2s")
    scenario.do("hold fetch 2 1", "sleep 1s", f"producer send p1 twins-0 {numbered_records(shared, first)}")
    scenario.do("hold fetch 1 2")
    _move_to(scenario, 2)
    scenario.do(f"producer send p1 twins-0 {numbered_records(shared, second)}")
    _move_to(scenario, 1)
    scenario.do(f"producer send p1 twins-0 {numbered_records(shared + first, after)}")
    leader, follower = scenario.replica("twins-0", 1), scenario.replica("twins-0", 2)
    given = (*_lines("broker 1 (leader)", leader), *_lines("broker 2", follower))
    end = follower["log_end_offset"]
    began_us = scenario.run.now_us
    scenario.do("release fetch 2 1", "release fetch 1 2")
    scenario.play(3000)
    cuts = [
        event for at_us, event in scenario.events(LogTruncated) if at_us >= began_us and event.replica == "twins-0@b2"
    ]
    answer = cuts[-1].to_offset if cuts else end
    choices, right = drawn(
        rng,
        answer,
        [(end, "same-end-same-log"), (shared, "cuts-where-they-part"), (0, "starts-anew")],
        around(answer),
    )
    return Question(
        ask=text("review_replicate.twins.ask", era=era),
        given=given,
        choices=choices,
        right=right,
        reason=text(
            "review_replicate.twins.reason_kept" if answer == end else "review_replicate.twins.reason_cut",
            era=era,
            offset=answer,
        ),
    )


def _move_to(scenario: Scenario, broker: int) -> None:
    """Makes a broker the leader, whatever its log lacks."""
    scenario.do(
        f"{_REASSIGN} --reassignment-json-file to-{broker} --execute",
        "kafka-leader-election.sh --bootstrap-server localhost:9092 --election-type preferred --topic twins "
        "--partition 0",
    )
    _until_led_by(scenario, "twins-0", broker)


def _until_led_by(scenario: Scenario, partition: str, broker: int) -> None:
    scenario.until(lambda: scenario.partition(partition)["leader"] == broker)


def _lines(name: str, replica: dict[str, Any]) -> list[str]:
    epochs = "  ".join(f"{epoch} {start}" for epoch, start in replica["epochs"])
    return [f"{name}: LEO {replica['log_end_offset']}, leader-epoch-checkpoint: {epochs}"]


@review("028-why-not-read-from-followers")
def read_where(rng: Random) -> Question:
    """How many records can be read from one replica, just after the newest was acknowledged."""
    records = rng.randint(1, 5)
    is_held = rng.random() < 0.5
    scenario = Scenario(rng)
    scenario.do(laid("orders", [1, 2, 3]), "producer open p1 --acks all", "producer open p2 --acks 1")
    scenario.do(f"producer send p1 orders-0 {numbered_records(0, records)}", "sleep 1s")
    if is_held:
        scenario.do(
            "hold fetch 3 1", f"producer send p2 orders-0 {numbered_records(records, rng.randint(1, 3))}", "sleep 50s"
        )
    scenario.do("producer send p1 orders-0 new:1")
    states = [(one, scenario.replica("orders-0", one)) for one in (1, 2, 3)]
    broker = rng.choice((1, 2, 3, 3))
    leader, replica = states[0][1], states[broker - 1][1]
    answer = replica["high_watermark"]
    choices, right = drawn(
        rng,
        answer,
        [
            (leader["high_watermark"], "hw-everywhere-equal"),
            (replica["log_end_offset"], "leo-readable"),
            (0, "followers-refuse"),
            (answer + 1, "hw-inclusive"),
        ],
        around(answer),
    )
    return Question(
        ask=text("review_replicate.read.ask", broker=broker),
        given=(
            *(f"broker {one}: LEO {state['log_end_offset']}, HW {state['high_watermark']}" for one, state in states),
            f"ISR {','.join(map(str, scenario.partition('orders-0')['isr']))}",
        ),
        choices=choices,
        right=right,
        reason=text("review_replicate.read.reason", broker=broker, n=answer),
    )
