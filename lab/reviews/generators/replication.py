"""Chapter 4, replicate: high watermarks and the in-sync replicas."""

from functools import cache
from random import Random

from broker_core.events.client import ProduceAcknowledged, ProduceFailed, ProduceRetried
from broker_core.events.replica import IsrShrunk, RemoteReplicaUpdated
from broker_core.texts import text
from lab.reviews.question import Question, around, drawn, fixed
from lab.reviews.registry import chapter
from lab.reviews.scenario import Scenario, laid, numbered_records

review = chapter(4)
_NAME = "orders-0"


@review("022-leo-and-hw")
def readable(rng: Random) -> Question:
    """The last offset that a consumer reads, or the high watermark after one follower has fetched."""
    committed, more = rng.randint(1, 5), rng.randint(1, 4)
    released = rng.choice(((2,), (3,), (2, 3)))
    scenario = Scenario(rng)
    scenario.do(laid("orders", [1, 2, 3]), "producer open p1 --acks all", "producer open p2 --acks 1")
    scenario.do(
        f"producer send p1 {_NAME} {numbered_records(0, committed)}", "hold fetch 2 1", "hold fetch 3 1", "sleep 1s"
    )
    scenario.do(
        f"producer send p2 {_NAME} {numbered_records(committed, more)}", f"consumer follow c1 {_NAME} --from earliest"
    )
    scenario.play(1000)
    leader = scenario.replica(_NAME, 1)
    mark, end = leader["high_watermark"], leader["log_end_offset"]
    given = (f"broker 1 (leader): LEO {end}", f"brokers 2 and 3: LEO {mark}", "ISR 1,2,3")
    if rng.random() < 0.5:
        answer = scenario.node("c1")["position"] - 1
        choices, right = drawn(
            rng, answer, [(mark, "hw-inclusive"), (end - 1, "leo-readable"), (end, "leo-readable")], around(answer)
        )
        return Question(
            ask=text("review_replicate.marks.ask_last"),
            given=given,
            choices=choices,
            right=right,
            reason=text("review_replicate.marks.reason_last", mark=mark, last=answer),
        )
    scenario.do(*(f"release fetch {follower} 1" for follower in released))
    scenario.play(1500)
    answer = scenario.replica(_NAME, 1)["high_watermark"]
    choices, right = drawn(
        rng, answer, [(end, "min-isr-is-commit"), (mark, "hw-by-followers"), (mark + 1, "one-per-copy")], around(answer)
    )
    return Question(
        ask=text("review_replicate.marks.ask_mark", followers=", ".join(map(str, released)), end=end),
        given=given,
        choices=choices,
        right=right,
        reason=text("review_replicate.marks.reason_mark", mark=answer),
    )


@review("001-high-watermark-two-fetches")
def mark_after_fetches(rng: Random) -> Question:
    """The leader's high watermark after the fetches of a trace."""
    scenario = Scenario(rng)
    scenario.do(
        laid("orders", [1, 2, 3]),
        f"link latency 1 2 {rng.randint(1, 6)}ms",
        f"link latency 1 3 {rng.randint(1, 9)}ms",
        "producer open p1 --acks 1",
        "sleep 1s",
    )
    for number in range(rng.randint(3, 6)):
        scenario.begin(f"producer send p1 {_NAME} k{number}:v", rng.randint(1, 5))
    scenario.step_to(RemoteReplicaUpdated, rng.randint(2, 8))
    fetches = [event for _, event in scenario.events(RemoteReplicaUpdated) if event.replica.startswith(f"{_NAME}@")]
    leader = scenario.replica(_NAME, 1)
    mark, end = leader["high_watermark"], leader["log_end_offset"]
    fetched = [remote["log_end_offset"] for remote in leader["remotes"].values()]
    choices, right = drawn(
        rng,
        mark,
        [(max(fetched), "ack-message"), (end, "push-to-followers"), (mark + 1, "one-per-copy")],
        around(mark),
    )
    return Question(
        ask=text("review_replicate.trace.ask", end=end),
        given=tuple(f"{event.follower}: Fetch {_NAME} @{event.log_end_offset}" for event in fetches[-6:]),
        choices=choices,
        right=right,
        reason=text("review_replicate.trace.reason", mark=mark, offsets=", ".join(map(str, [end, *fetched]))),
    )


@review("023-in-sync-by-time-or-by-count")
def two_rules(rng: Random) -> Question:
    """Whether a follower is in the ISR under the rule by count and under the rule by time."""
    limit = rng.choice((2, 8, 30))
    rate, delay_ms = rng.choice((1, 2, 4)), rng.choice((1000, 2500, 5000))
    is_stuck = rng.random() < 0.3
    fault = "hold fetch 3 1" if is_stuck else f"link latency 1 3 {delay_ms}ms"
    by_count, by_time = _leaves(fault, rate, "0.8", limit), _leaves(fault, rate, "3.9", limit)
    outcome = "both-out" if by_count and by_time else "count-out" if by_count else "both-in"
    choices, right = fixed(
        outcome,
        [
            ("both-in", text("review_replicate.rules.both_in"), "alive-is-in-sync"),
            ("count-out", text("review_replicate.rules.count_out"), ""),
            ("both-out", text("review_replicate.rules.both_out"), "count-and-time"),
        ],
    )
    ask = (
        text("review_replicate.rules.ask_stuck", rate=rate, limit=limit)
        if is_stuck
        else text("review_replicate.rules.ask", rate=rate, delay=delay_ms, limit=limit)
    )
    return Question(ask=ask, choices=choices, right=right, reason=text(_RULES[outcome]))


@cache
def _leaves(fault: str, rate: int, era: str, limit: int) -> bool:
    """Whether broker 3 is out of the ISR after 50 s. Cached: each case takes thousands of events."""
    settings = {"replica.lag.max.messages": str(limit)} if era == "0.8" else {}
    scenario = Scenario(Random(limit), era=era, settings=settings)
    scenario.do(laid("spikes", [1, 2, 3]), "sleep 2s", fault, "producer open p1 --acks 1")
    scenario.do(f"producer stream p1 spikes-0 {rate}", "sleep 50s")
    return 3 not in scenario.partition("spikes-0")["isr"]


_RULES = {
    "both-in": "review_replicate.rules.reason_in",
    "count-out": "review_replicate.rules.reason_count",
    "both-out": "review_replicate.rules.reason_out",
}
_SOON_MS, _LATE_MS = 16_000, 47_000


@review("024-stuck-slow-or-gone")
def leaves_when(rng: Random) -> Question:
    """When a follower whose fetches stop leaves the ISR, counted from the first record that it lacks."""
    silent_s = rng.choice((0, 1, rng.randint(40, 90), rng.randint(40, 90)))
    is_slow = rng.random() < 0.3
    scenario = Scenario(rng)
    scenario.do(laid("orders", [1, 2, 3]), "producer open p1 --acks 1", f"producer send p1 {_NAME} a:1", "sleep 2s")
    if is_slow:
        given = ["link latency 1 3 2s", f"producer stream p1 {_NAME} 2"]
    else:
        given = ["hold fetch 3 1", f"sleep {silent_s}s", f"producer send p1 {_NAME} b:2"]
    scenario.do(*given)
    began_us = scenario.run.now_us
    scenario.play(60_000)
    shrinks = [at_us for at_us, event in scenario.events(IsrShrunk) if at_us >= began_us]
    after_ms = (shrinks[0] - began_us) // 1000 if shrinks else -1
    outcome = "never" if after_ms < 0 else "soon" if after_ms <= _SOON_MS else "late"
    assert after_ms <= _LATE_MS
    choices, right = fixed(
        outcome,
        [
            ("soon", text("review_replicate.leaves.soon"), "zk-keeps-isr"),
            ("late", text("review_replicate.leaves.late"), "clock-starts-now"),
            ("never", text("review_replicate.leaves.never"), "alive-is-in-sync"),
        ],
    )
    return Question(
        ask=text("review_replicate.leaves.ask_slow" if is_slow else "review_replicate.leaves.ask"),
        given=tuple(given),
        choices=choices,
        right=right,
        reason=text(_LEAVES[outcome]),
    )


_LEAVES = {
    "soon": "review_replicate.leaves.reason_soon",
    "late": "review_replicate.leaves.reason_late",
    "never": "review_replicate.leaves.reason_never",
}


@review("025-min-insync-replicas")
def acknowledged_or_refused(rng: Random) -> Question:
    """The outcome of a record, by ISR, min.insync.replicas, acks and the followers that can fetch."""
    minimum = rng.choice((1, 2, 2, 3))
    dead = rng.choice(((), (3,), (2, 3)))
    held = tuple(one for one in (2, 3) if one not in dead and rng.random() < 0.5)
    acks = rng.choice(("1", "all", "all", "all"))
    scenario = Scenario(rng)
    config = f"--config min.insync.replicas={minimum}"
    scenario.do(laid("orders", [1, 2, 3], config=config), f"producer open p1 --acks {acks}", "sleep 1s")
    scenario.do(*(f"broker kill {one}" for one in dead))
    if dead:
        scenario.until(lambda: len(scenario.partition(_NAME)["isr"]) == 3 - len(dead))
    scenario.do(*(f"hold fetch {one} 1" for one in held), "sleep 1s")
    isr = scenario.partition(_NAME)["isr"]
    scenario.begin(f"producer send p1 {_NAME} rent:800", 3000)
    if any(True for _ in scenario.events(ProduceAcknowledged)):
        outcome = "told"
    elif any(True for kind in (ProduceRetried, ProduceFailed) for _ in scenario.events(kind)):
        outcome = "refused"
    else:
        outcome = "waits"
    choices, right = fixed(
        outcome,
        [
            ("told", text("review_replicate.minimum.told"), "min-isr-is-commit"),
            ("waits", text("review_replicate.minimum.waits"), "min-isr-is-all"),
            ("refused", text("review_replicate.minimum.refused"), "acks-one-asks-min" if acks == "1" else ""),
        ],
    )
    return Question(
        ask=text("review_replicate.minimum.ask", acks=acks),
        given=(
            f"ISR {','.join(map(str, isr))}",
            f"min.insync.replicas = {minimum}",
            *(f"hold fetch {one} 1" for one in held),
        ),
        choices=choices,
        right=right,
        reason=text(_MINIMUM[outcome], isr=len(isr), minimum=minimum),
    )


_MINIMUM = {
    "told": "review_replicate.minimum.reason_told",
    "waits": "review_replicate.minimum.reason_waits",
    "refused": "review_replicate.minimum.reason_refused",
}
