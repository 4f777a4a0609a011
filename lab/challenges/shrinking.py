"""Shrinks the schedule of a seed that failed: the shortest script found in which records are lost or repeated, too."""

import time
from collections import Counter

from lab.challenges.outcome import Outcome
from lab.runtime.host import RunConfig
from lab.trials.shrink import shrink_lines
from lab.trials.trial import Ended, Trial
from lab.trials.watchers import Promises, values_of

MAX_TRIES = 80
MAX_CPU_S = 60.0
HEAL_US = 72_000_000
SHRINKABLE = ("verdict.records_lost", "verdict.records_twice")


def shrunk(outcome: Outcome) -> tuple[str, ...]:
    """The lines of the short script; none for a failure of another kind, or one that needs the judge's own timing."""
    kind = outcome.why.partition("?")[0]
    if outcome.passed or kind not in SHRINKABLE:
        return ()
    begun_s = time.process_time()

    def fails(lines: list[str]) -> bool:
        return time.process_time() - begun_s < MAX_CPU_S and _fails(outcome, lines, kind)

    lines = [typed.line for typed in outcome.typed]
    return tuple(shrink_lines(lines, fails, MAX_TRIES)) if fails(lines) else ()


def _fails(outcome: Outcome, lines: list[str], kind: str) -> bool:
    config = RunConfig(
        name="short",
        seed=outcome.seed,
        brokers=tuple(range(1, outcome.brokers + 1)),
        era=outcome.era,
        broker_config=outcome.config,
    )
    promises = Promises()
    trial = Trial(config, (promises.see,))
    try:
        trial.type_all(lines)
        trial.type_all(f"producer stream {name} {node['partition']} 0" for name, node in _streams(trial))
        trial.heal(HEAL_US)
    except Ended:
        return False
    partitions = {each.partition for each in promises.made} | set(trial.view["partitions"])
    if kind == "verdict.records_lost":
        acknowledged = sum(node["acknowledged"] for node in trial.view["nodes"].values() if node["kind"] == "producer")
        held = sum(len(values_of(trial.view, trial.disk, name)) for name in partitions)
        return bool(promises.lost(trial.view, trial.disk)) or held < acknowledged
    return any(max(Counter(values_of(trial.view, trial.disk, name)).values(), default=0) > 1 for name in partitions)


def _streams(trial: Trial) -> list[tuple[str, dict[str, object]]]:
    nodes = trial.view["nodes"].items()
    return [(name, dict(node)) for name, node in nodes if node["kind"] == "producer" and node["rate"]]
