"""c6: serve a given load with as few Produce requests as possible, within a latency limit."""

from random import Random

from broker_core.events import Envelope
from broker_core.events.rpc import RpcSent
from broker_core.texts import text
from lab.challenges.outcome import Entry, Outcome, ended, outcome_of
from lab.runtime.host import RunConfig
from lab.trials.trial import Ended, Limits, Trial
from lab.trials.watchers import Promises

LINK = "20ms"
SECONDS = 8
RATE = 500
MAX_P99_US = 66_000
MAX_REQUESTS = 130
"""For a thousand records."""


class Requests:
    """Counts Produce requests."""

    def __init__(self) -> None:
        self.count = 0

    def see(self, envelope: Envelope) -> None:
        """Observes an event."""
        event = envelope[4]
        if isinstance(event, RpcSent) and event.api == "Produce" and event.kind == "request":
            self.count += 1


def check(entry: Entry) -> None:
    """Every combination of the settings is a valid entry."""


def play(entry: Entry, seed: int) -> Outcome:
    """Eight seconds of random bursts, 500 records per second on average."""
    random = Random(seed)
    requests, promises = Requests(), Promises()
    config = RunConfig(name="bursts", seed=seed)
    trial = Trial(config, (requests.see, promises.see), Limits())
    try:
        trial.type_all(
            [
                "kafka-topics.sh --create --topic orders --replica-assignment 1:2:3",
                'wait "isr orders-0 == [1,2,3]" 30s',
                f"producer open p1 --linger {entry['linger_ms']} --batch-size {entry['batch_size']}"
                f" --max-in-flight {entry['max_in_flight']} --compression {entry['compression']}",
                f"link latency p1 1 {LINK}",
                "producer send p1 orders-0 warm:up",
                "sleep 1s",
            ]
        )
        requests.count = 0
        promises.latencies.clear()
        begun_us = trial.now_us
        sent = 0
        while sent < RATE * SECONDS:
            burst = min(random.choice((1, 2, 3, 5, 8, 20)), RATE * SECONDS - sent)
            sent += burst
            trial.type(f"producer burst p1 orders-0 {burst} &")
            trial.type(f"sleep {max(1, round(burst * 1_000 / RATE * random.uniform(0.7, 1.3)))}ms")
        trial.type("producer flush p1")
    except Ended as end:
        return ended(trial, end)
    latencies = sorted(latency for _, latency, count in promises.latencies for _ in range(count))
    p99_us = latencies[len(latencies) * 99 // 100] if latencies else 0
    per_thousand = requests.count * 1_000 / sent
    scores = {"requests": per_thousand, "p99": p99_us / 1_000}
    if p99_us > MAX_P99_US:
        why = text("verdict.p99_too_long", ms=p99_us // 1_000, max=MAX_P99_US // 1_000)
        return outcome_of(trial, False, why, scores, at_us=begun_us)
    if per_thousand > MAX_REQUESTS:
        why = text("verdict.too_many_requests", n=round(per_thousand), max=MAX_REQUESTS)
        return outcome_of(trial, False, why, scores, at_us=begun_us)
    return outcome_of(trial, True, text("verdict.requests", n=round(per_thousand)), scores, at_us=begun_us)
