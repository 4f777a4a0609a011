"""c4: pipelines that must write each committed input record exactly once, while workers and brokers fail."""

from collections import Counter
from random import Random

from broker_core.events import Envelope
from broker_core.events.console import CommandPrinted
from broker_core.texts import text
from lab.challenges.outcome import Entry, Outcome, ended, outcome_of
from lab.runtime.host import RunConfig
from lab.texts.refusal import Refusal
from lab.trials.trial import Ended, Limits, Trial

WORKERS = ("w1", "w2")
TRANSACTIONS = 6
RECORDS = 8
DRAIN_US = 20_000_000
HEAL_US = 72_000_000
CONFIG = {
    "zookeeper.session.timeout.ms": "4000",
    "group.initial.rebalance.delay.ms": "0",
    "offsets.topic.num.partitions": "2",
    "transaction.state.log.num.partitions": "2",
    "transaction.state.log.min.isr": "1",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "1000",
    "auto.leader.rebalance.enable": "false",
}


class Printed:
    """Output of the newest command."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._command = 0

    def see(self, envelope: Envelope) -> None:
        """Observes an event."""
        event = envelope[4]
        if isinstance(event, CommandPrinted):
            if event.command != self._command:
                self._command, self.lines = event.command, []
            self.lines += event.lines


def check(entry: Entry) -> None:
    """Raises Refusal."""
    if entry["order"] != "transaction" and entry["ids"] == "shared":
        raise Refusal("refusal.entry_ids", field="ids", order=entry["order"])


def play(entry: Entry, seed: int) -> Outcome:
    """One schedule: input transactions, failures of workers and brokers, then a check of the output."""
    printed = Printed()
    trial = Trial(RunConfig(name="once", seed=seed, broker_config=CONFIG), (printed.see,), Limits())
    try:
        return _schedule(trial, printed, entry, Random(seed))
    except Ended as end:
        return ended(trial, end)


def _schedule(trial: Trial, printed: Printed, entry: Entry, random: Random) -> Outcome:
    trial.type_all(
        f"kafka-topics.sh --create --topic {topic} --partitions 2 --replication-factor 3 --config min.insync.replicas=2"
        for topic in ("in", "out")
    )
    trial.type("producer open src --transactional-id src")
    for name in WORKERS:
        id_of = {"own": f" --transactional-id {name}", "shared": " --transactional-id worker"}
        ids = id_of[entry["ids"]] if entry["order"] == "transaction" else ""
        trial.type(
            f"pipeline start {name} --from in --to out --group g --order {entry['order']}{ids}"
            f" --isolation {entry['isolation']} --session-timeout-ms {entry['session_ms']}"
            " --process-ms 2 --transaction-timeout 8000"
        )
    trial.type("sleep 3s")
    begun_us = trial.now_us
    for _ in range(TRANSACTIONS):
        trial.type("producer begin src")
        trial.type(f"producer burst src in {RECORDS}")
        _maybe_fault(trial, random)
        trial.type(f"sleep {random.randint(100, 900)}ms")
        trial.type(f"producer {random.choice(('commit', 'commit', 'abort'))} src")
    at_us = trial.now_us
    _drain(trial)
    elapsed_us = trial.now_us - begun_us
    wanted, found = (_values(trial, printed, topic) for topic in ("in", "out"))
    scores = {"records_per_second": found.total() * 1_000_000 / elapsed_us}
    missing, more = (wanted - found).total(), (found - wanted).total()
    if missing:
        why = text("verdict.output_missing", n=missing)
        return outcome_of(trial, False, why, scores, at_us=at_us, ends_us=at_us)
    if more:
        return outcome_of(trial, False, text("verdict.output_more", n=more), scores, at_us=at_us, ends_us=at_us)
    return outcome_of(trial, True, text("verdict.each_once", n=found.total()), scores, at_us=at_us, ends_us=at_us)


def missing_and_more(trial: Trial, printed: Printed) -> tuple[int, int]:
    """Numbers of input records missing from the output and of extra records in it, once all input is processed. Raises
    Ended.
    """
    _drain(trial)
    wanted, found = (_values(trial, printed, topic) for topic in ("in", "out"))
    return (wanted - found).total(), (found - wanted).total()


def _drain(trial: Trial) -> None:
    """Reverts every fault and lets the workers process the remaining input."""
    trial.heal(HEAL_US)
    trial.type_all([f"consumer thaw {name} &" for name in WORKERS])
    trial.type_all([f"pipeline restart {name} &" for name in WORKERS if name not in trial.view["nodes"]])
    trial.advance(DRAIN_US)


def _maybe_fault(trial: Trial, random: Random) -> None:
    worker, broker = random.choice(WORKERS), random.randint(1, 3)
    kind = random.choice(("none", "restart", "restart", "freeze", "broker", "coordinator"))
    if kind == "restart":
        trial.type(f"sleep {random.randint(5, 60)}ms")
        trial.type(f"pipeline restart {worker} &")
    elif kind == "freeze":
        trial.type(f"consumer freeze {worker} &")
        trial.type(f"sleep {random.randint(1_000, 9_000)}ms")
        trial.type(f"consumer thaw {worker} &")
    elif kind == "broker":
        trial.type(f"broker kill {broker} &")
        trial.type(f"sleep {random.randint(4_500, 6_000)}ms")
        trial.type(f"broker start {broker} &")
    elif kind == "coordinator":
        trial.type(f"session expire {broker} &")


def _values(trial: Trial, printed: Printed, topic: str) -> Counter[str]:
    """How many times a read_committed consumer reads each value of a topic."""
    trial.type(f"consumer start check --group check-{topic} --topic {topic} --isolation read_committed")
    trial.advance(7_000_000)
    trial.type("consumer stop check")
    return Counter(line.rpartition(":")[2] for line in printed.lines)
