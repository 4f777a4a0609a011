"""c7: make a script that violates I-LOGMATCH as short as possible; it must still violate it on each seed, and be
shorter than the script given.
"""

from collections.abc import Sequence

from broker_core.texts import text
from lab.challenges.loader import challenges
from lab.challenges.outcome import Entry, Outcome, ended, outcome_of
from lab.challenges.scripts import FAULTS, FREE, script_lines
from lab.runtime.host import RunConfig
from lab.trials.pauses import pause_us
from lab.trials.trial import Ended, Limits, Trial
from lab.trials.watchers import Alarms

SLUG = "c7-shrink-it"
INVARIANT = "I-LOGMATCH"
ERA = "1.1"
CONFIG = {"auto.leader.rebalance.enable": "false"}
ALLOWED = (
    FREE
    | FAULTS
    | {"file", "kafka-topics.sh", "kafka-reassign-partitions.sh", "kafka-leader-election.sh", "producer open"}
    | {
        "producer burst",
        "producer stream",
        "producer flush",
        "producer close",
        "consumer follow",
        "consumer unfollow",
        "task",
    }
)
AFTER_US = 20_000_000


def check(entry: Entry) -> None:
    """Raises Refusal."""
    script_lines("script", entry["script"], ALLOWED)


def play(entry: Entry, seed: int) -> Outcome:
    """Plays the script; some time later the invariant must be violated."""
    lines = script_lines("script", entry["script"], ALLOWED)
    alarms = Alarms()
    trial = Trial(RunConfig(name="twins", seed=seed, era=ERA, broker_config=CONFIG), (alarms.see,), Limits())
    count = _counted(lines)
    scores = {"lines": float(count)}
    try:
        trial.type_all(lines)
        trial.advance(AFTER_US)
    except Ended as end:
        return ended(trial, end)
    trial.view  # noqa: B018  (the watchers see the last events)
    found = next((at_us for at_us, event in alarms.all if event.invariant == INVARIANT), None)
    if found is None:
        return outcome_of(trial, False, text("verdict.invariant_holds", invariant=INVARIANT), scores)
    if count >= _counted(script_lines("script", challenges()[SLUG].fields[0].default, ALLOWED)):
        return outcome_of(trial, False, text("verdict.not_shorter", invariant=INVARIANT), scores, at_us=found)
    return outcome_of(trial, True, text("verdict.invariant_broken", invariant=INVARIANT), scores, at_us=found)


def _counted(lines: Sequence[str]) -> int:
    """Without the pauses."""
    return sum(1 for line in lines if pause_us(line) is None)
