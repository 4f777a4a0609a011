"""c3: the same record is processed by two members of one group that both consider themselves the partition's owner."""

from broker_core.texts import text
from lab.challenges.outcome import Entry, Outcome, ended, outcome_of
from lab.challenges.scripts import FAULTS, FREE, MEMBER_FAULTS, fault_count, script_lines
from lab.runtime.host import RunConfig
from lab.trials.trial import Ended, Limits, Trial
from lab.trials.watchers import Alarms, Handling

ALLOWED = (FREE | FAULTS | MEMBER_FAULTS | {"consumer thaw"}) - {"producer send"}
CONFIG = {"group.initial.rebalance.delay.ms": "0", "offsets.topic.num.partitions": "1"}
MEMBER = "--group g --topic jobs --process-ms 200 --max-poll-records 5 --session-timeout-ms 6000"
SETUP = (
    "kafka-topics.sh --create --topic jobs --partitions 2 --replication-factor 3",
    "producer open p1",
    f"consumer start c1 {MEMBER}",
    f"consumer start c2 {MEMBER}",
    'wait "group g == Stable 2" 60s',
    "producer stream p1 jobs 8",
    "sleep 5s",
)
AFTER_US = 15_000_000


def check(entry: Entry) -> None:
    """Raises Refusal."""
    script_lines("script", entry["script"], ALLOWED)


def play(entry: Entry, seed: int) -> Outcome:
    """Plays the script, and compares what both members have processed at its end."""
    lines = script_lines("script", entry["script"], ALLOWED)
    handling, alarms = Handling(), Alarms()
    trial = Trial(RunConfig(name="jobs", seed=seed, broker_config=CONFIG), (handling.see, alarms.see), Limits())
    try:
        trial.type_all(SETUP)
        at_us = trial.now_us
        trial.type_all(lines)
        trial.advance(AFTER_US)
    except Ended as end:
        return ended(trial, end)
    faults = max(1, fault_count(lines))
    scores = {"twice_per_fault": handling.twice / faults}
    if alarms.all:
        at_us, alarm = alarms.all[0]
        return outcome_of(
            trial, False, text("verdict.invariant_broken", invariant=alarm.invariant), scores, at_us=at_us
        )
    if not handling.twice:
        return outcome_of(trial, False, text("verdict.nothing_twice"), scores, at_us=at_us)
    return outcome_of(trial, True, text("verdict.handled_twice", n=handling.twice), scores, at_us=at_us)
