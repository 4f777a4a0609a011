"""c2: settings with which random faults neither lose nor duplicate a record."""

from collections import Counter
from random import Random

from broker_core.texts import text
from lab.challenges.outcome import Entry, Outcome, ended, outcome_of
from lab.challenges.rules.drawn_faults import Fault, draw_faults, timeline, two_power_losses
from lab.runtime.host import RunConfig
from lab.texts.refusal import Refusal
from lab.trials.trial import Ended, Limits, Trial
from lab.trials.watchers import Promises, values_of

SPAN_MS = 20_000
RATE = 12
FSYNC = "8ms"
MARKED_EVERY = 10
"""In one seed of this many, two brokers lose power at once: only a forced flush survives that."""
HEAL_US = 72_000_000
QUIET_MS = 9_000
"""After the end of a fault, until the latency counts again."""
MAX_P99_US = 50_000
MIN_ACKNOWLEDGED = 0.9


def check(entry: Entry) -> None:
    """Raises Refusal."""
    if int(entry["min_insync"]) > int(entry["factor"]):
        raise Refusal("refusal.entry_min_insync", field="min_insync", min=entry["min_insync"], factor=entry["factor"])
    if entry["idempotence"] == "true" and (entry["acks"] != "all" or entry["retries"] == "0"):
        raise Refusal("refusal.entry_idempotence", field="idempotence")


def play(entry: Entry, seed: int) -> Outcome:
    """One schedule."""
    random = Random(seed)
    session_ms = int(entry["session_ms"])
    restart_ms = session_ms + 3_000
    is_marked = seed % MARKED_EVERY == 0
    faults = two_power_losses(random, restart_ms) if is_marked else draw_faults(random, SPAN_MS - 4_000, restart_ms)
    promises = Promises()
    config = {
        "zookeeper.session.timeout.ms": entry["session_ms"],
        "replica.lag.time.max.ms": entry["lag_ms"],
        "auto.leader.rebalance.enable": "false",
    }
    trial = Trial(RunConfig(name="survive", seed=seed, broker_config=config), (promises.see,), Limits())
    try:
        return _schedule(trial, promises, entry, faults, is_marked=is_marked)
    except Ended as end:
        return ended(trial, end, is_marked=is_marked)


def _schedule(trial: Trial, promises: Promises, entry: Entry, faults: list[Fault], *, is_marked: bool) -> Outcome:
    replicas = ":".join(map(str, range(1, int(entry["factor"]) + 1)))
    flush = "" if entry["flush_messages"] == "none" else f" --config flush.messages={entry['flush_messages']}"
    trial.type_all(
        [
            f"kafka-topics.sh --create --topic orders --replica-assignment {replicas}"
            f" --config min.insync.replicas={entry['min_insync']}"
            f" --config unclean.leader.election.enable={entry['unclean']}{flush}",
            f'wait "isr orders-0 == [{replicas.replace(":", ",")}]" 30s',
            *(f"disk fsync {broker} {FSYNC}" for broker in (1, 2, 3)),
            f"producer open p1 --acks {entry['acks']} --idempotence {entry['idempotence']}"
            f" --retries {entry['retries']} --timeout 15000",
            f"producer stream p1 orders-0 {RATE}",
            "sleep 1s",
        ]
    )
    begun_us = trial.now_us
    for at_ms, line in timeline(faults):
        _sleep_until(trial, begun_us + at_ms * 1_000)
        trial.type(line)
    _sleep_until(trial, begun_us + SPAN_MS * 1_000)
    ends_us = trial.now_us
    trial.type("producer stream p1 orders-0 0")
    healed = trial.heal(HEAL_US)
    trial.advance(16_000_000)
    node = trial.view["nodes"]["p1"]
    share = node["acknowledged"] / max(1, node["acknowledged"] + node["failed"])
    quiet = _latencies(promises, begun_us, faults)
    p99_us = quiet[len(quiet) * 99 // 100] if quiet else 0
    scores = {"p99": p99_us / 1_000, "acknowledged": 100 * share}
    lost = promises.lost(trial.view, trial.disk)
    twice = sum(count - 1 for count in Counter(values_of(trial.view, trial.disk, "orders-0")).values())
    if lost or (entry["acks"] != "all" and _fewer(trial, node["acknowledged"])):
        why = text("verdict.records_lost", n=sum(each.records for each in lost) or _fewer(trial, node["acknowledged"]))
    elif twice:
        why = text("verdict.records_twice", n=twice)
    elif not healed:
        why = text("verdict.not_healed")
    elif share < MIN_ACKNOWLEDGED:
        why = text("verdict.too_few_acknowledged", percent=int(100 * share), min=int(100 * MIN_ACKNOWLEDGED))
    elif p99_us > MAX_P99_US:
        why = text("verdict.p99_too_long", ms=p99_us // 1_000, max=MAX_P99_US // 1_000)
    else:
        survived = text("verdict.survived")
        return outcome_of(trial, True, survived, scores, at_us=ends_us, ends_us=ends_us, is_marked=is_marked)
    at_us = promises.lost_us(lost[0]) if lost else promises.first_loss_us or ends_us
    return outcome_of(trial, False, why, scores, at_us=at_us, ends_us=ends_us, is_marked=is_marked)


def _fewer(trial: Trial, acknowledged: int) -> int:
    """Number of acknowledged records missing from the log."""
    return max(0, acknowledged - len(values_of(trial.view, trial.disk, "orders-0")))


def _sleep_until(trial: Trial, at_us: int) -> None:
    if at_us > trial.now_us:
        trial.type(f"sleep {(at_us - trial.now_us) // 1_000}ms")


def _latencies(promises: Promises, begun_us: int, faults: list[Fault]) -> list[int]:
    """The latencies of records sent while no fault was active, in order."""
    open_us = [(begun_us + one.begins_ms * 1_000, begun_us + (one.ends_ms + QUIET_MS) * 1_000) for one in faults]
    return sorted(
        latency
        for at_us, latency, _ in promises.latencies
        if at_us >= begun_us and not any(begin <= at_us and at_us - latency <= end for begin, end in open_us)
    )
