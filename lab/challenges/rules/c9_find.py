"""c9: without which line of the script would the record not have been lost? The judge omits that line and plays the
script. Not a cause are a line of the work itself, such as the sending of the record, and the failures that it must
survive: several of these lines are also necessary for the loss.
"""

from pathlib import Path

from broker_core.texts import text
from lab.challenges.outcome import Entry, Outcome, ended, outcome_of
from lab.exercises.loader import lines_of
from lab.runtime.host import RunConfig
from lab.texts.refusal import Refusal
from lab.trials.trial import Ended, Limits, Trial
from lab.trials.watchers import Promises

SLUG = "c9-who-did-it"
LOOKS = "looks"
"""The score: how many answers were given until one saved the record. The judge of one entry counts that one."""
CASE = Path(__file__).parents[1] / "content" / SLUG / "case.lab"
CONFIG = {"auto.leader.rebalance.enable": "false", "zookeeper.session.timeout.ms": "6000"}
ERA = "0.10"
HEAL_US = 72_000_000
WORK = ("kafka-topics.sh", "producer", "consumer")
FAILURES = ("broker kill", "broker start", "sleep", "wait")
"""The failures, and their times. A record that was acknowledged with acks=all survives them."""


def case_lines() -> list[str]:
    """The lines of the case, in order."""
    return list(lines_of(CASE.read_text(encoding="utf-8")))


def case_config(seed: int) -> RunConfig:
    """The run of the case."""
    return RunConfig(name="case", seed=seed, era=ERA, broker_config=CONFIG)


def played_case(seed: int) -> Trial:
    """The complete case, played to its end."""
    trial = Trial(case_config(seed))
    trial.type_all(case_lines())
    return trial


def check(entry: Entry) -> None:
    """Raises Refusal."""
    if not 1 <= int(entry["answer"]) <= len(case_lines()):
        raise Refusal("refusal.entry_answer", field="answer", answer=entry["answer"], max=len(case_lines()))


def play(entry: Entry, seed: int) -> Outcome:
    """The case without the line that the answer names."""
    lines = case_lines()
    left_out = lines.pop(int(entry["answer"]) - 1)
    promises = Promises()
    trial = Trial(case_config(seed), (promises.see,), Limits())
    try:
        trial.type_all(lines)
        at_us = trial.now_us
        trial.heal(HEAL_US)
        lost = promises.lost(trial.view, trial.disk)
    except Ended as end:
        return ended(trial, end)
    if not promises.made:
        return outcome_of(trial, False, text("verdict.nothing_acknowledged"), at_us=at_us)
    if lost:
        why = text("verdict.still_lost", line=left_out, offset=lost[0].base_offset)
        return outcome_of(trial, False, why, at_us=promises.lost_us(lost[0]), ends_us=at_us)
    if left_out.startswith(WORK):
        return outcome_of(trial, False, text("verdict.work_left_out", line=left_out), at_us=at_us)
    if left_out.startswith(FAILURES):
        return outcome_of(trial, False, text("verdict.failure_left_out", line=left_out), at_us=at_us)
    return outcome_of(trial, True, text("verdict.saved", line=left_out), {LOOKS: 1}, at_us=at_us)
