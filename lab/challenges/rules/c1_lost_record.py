"""c1: lose a record acknowledged with acks=all, without an unclean election, in two rounds."""

from broker_core.texts import text
from lab.challenges.outcome import Entry, Outcome, ended, outcome_of
from lab.challenges.scripts import FAULTS, FREE, fault_count, script_lines
from lab.runtime.host import RunConfig
from lab.texts.refusal import Refusal
from lab.trials.trial import Ended, Limits, Trial
from lab.trials.watchers import Alarms, Promises

MAX_FAULTS = 6
HEAL_US = 72_000_000
CONFIG = {"auto.leader.rebalance.enable": "false", "zookeeper.session.timeout.ms": "6000"}
ROUNDS = {"A": ("0.10", 2), "B": ("3.9", 1)}
"""Field of the entry: its era, and min.insync.replicas of the topic."""
ALLOWED = FREE | FAULTS


def setup(min_insync: int) -> list[str]:
    """The lines executed before the entry's."""
    return [
        "kafka-topics.sh --create --topic ledger --replica-assignment 1:2:3"
        f" --config min.insync.replicas={min_insync} --config unclean.leader.election.enable=false",
        'wait "isr ledger-0 == [1,2,3]" 30s',
        "producer open p1 --acks all",
        "producer send p1 ledger-0 anna:10",
        "sleep 2s",
    ]


def check(entry: Entry) -> None:
    """Raises Refusal."""
    for name in ROUNDS:
        faults = fault_count(script_lines(name, entry[name], ALLOWED))
        if faults > MAX_FAULTS:
            raise Refusal("refusal.entry_faults", field=name, faults=faults, max=MAX_FAULTS)


def play(entry: Entry, seed: int) -> Outcome:
    """Plays both rounds; the outcome is that of the first round without a loss, or else of the last."""
    faults = 0
    for name, (era, min_insync) in ROUNDS.items():
        lines = script_lines(name, entry[name], ALLOWED)
        faults += fault_count(lines)
        outcome = _round(seed, era, min_insync, lines)
        if not outcome.passed:
            return outcome
    return Outcome(
        **{name: getattr(outcome, name) for name in outcome.__struct_fields__} | {"scores": {"faults": faults}}
    )


def _round(seed: int, era: str, min_insync: int, lines: list[str]) -> Outcome:
    promises, alarms = Promises(), Alarms()
    config = RunConfig(name="ledger", seed=seed, era=era, broker_config=CONFIG)
    trial = Trial(config, (promises.see, alarms.see), Limits())
    try:
        trial.type_all(setup(min_insync))
        before = len(promises.made)
        trial.type_all(lines)
        at_us = trial.now_us
        if len(promises.made) == before:
            return outcome_of(trial, False, text("verdict.nothing_acknowledged"))
        healed = trial.heal(HEAL_US)
        lost = promises.lost(trial.view, trial.disk)
    except Ended as end:
        return ended(trial, end)
    if alarms.unexplained:
        return outcome_of(trial, False, text("verdict.unexplained", invariant=alarms.unexplained), at_us=at_us)
    if not healed and not lost:
        return outcome_of(trial, False, text("verdict.not_healed"), at_us=at_us)
    if not lost:
        return outcome_of(trial, False, text("verdict.nothing_lost", era=era, n=len(promises.made)), at_us=at_us)
    first = lost[0]
    return outcome_of(
        trial,
        True,
        text("verdict.lost", partition=first.partition, offset=first.base_offset),
        at_us=promises.lost_us(first),
    )
