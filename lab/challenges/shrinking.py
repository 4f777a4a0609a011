"""Shrinks the schedule of a seed that failed: the shortest script found that fails in the same way."""

import time
from collections import Counter
from collections.abc import Callable

from lab.challenges.outcome import Outcome
from lab.challenges.rules import c4_exactly_once
from lab.runtime.host import RunConfig
from lab.trials.aftermath import complaints
from lab.trials.shrink import shrink_lines
from lab.trials.trial import Trial, leader_id
from lab.trials.watchers import Alarms, Promises, values_of

MAX_TRIES = 80
MAX_CPU_S = 60.0
HEAL_US = 72_000_000
MIN_ACKNOWLEDGED = 0.9


class _Again:
    """Replays a script on the seed of an outcome."""

    def __init__(self, outcome: Outcome, lines: list[str]) -> None:
        """Raises Ended."""
        config = RunConfig(
            name="short",
            seed=outcome.seed,
            brokers=tuple(range(1, outcome.brokers + 1)),
            era=outcome.era,
            broker_config=outcome.config,
        )
        self.promises, self.alarms, self.printed = Promises(), Alarms(), c4_exactly_once.Printed()
        self.trial = Trial(config, (self.promises.see, self.alarms.see, self.printed.see))
        self.trial.type_all(lines)

    def heal(self) -> bool:
        """Stops the streams of records and reverts every fault."""
        for name, node in list(self.trial.view["nodes"].items()):
            if node["kind"] == "producer" and node["rate"]:
                self.trial.type(f"producer stream {name} {node['partition']} 0")
        return self.trial.heal(HEAL_US)

    @property
    def sent(self) -> tuple[int, int]:
        """Numbers of acknowledged and of unacknowledged records."""
        producers = [node for node in self.trial.view["nodes"].values() if node["kind"] == "producer"]
        return sum(node["acknowledged"] for node in producers), sum(node["failed"] for node in producers)

    @property
    def values(self) -> dict[str, list[bytes | None]]:
        """The values of the records of each partition."""
        partitions = {each.partition for each in self.promises.made} | set(self.trial.view["partitions"])
        return {name: values_of(self.trial.view, self.trial.disk, name) for name in partitions}


def _loses(again: _Again) -> bool:
    again.heal()
    held = sum(map(len, again.values.values()))
    return bool(again.promises.lost(again.trial.view, again.trial.disk)) or held < again.sent[0]


def _repeats(again: _Again) -> bool:
    again.heal()
    return any(max(Counter(values).values(), default=0) > 1 for values in again.values.values())


def _never_heals(again: _Again) -> bool:
    return not again.heal()


def _never_heals_by_itself(again: _Again) -> bool:
    return not again.trial.advance_until(lambda view: not complaints(view), HEAL_US)


def _acknowledges_too_few(again: _Again) -> bool:
    again.heal()
    again.trial.advance(16_000_000)
    acknowledged, failed = again.sent
    return acknowledged < MIN_ACKNOWLEDGED * (acknowledged + failed)


def _breaks_an_invariant(again: _Again) -> bool:
    return bool(again.alarms.all)


def _breaks_one_without_reason(again: _Again) -> bool:
    return bool(again.alarms.unexplained)


def _is_offline(again: _Again) -> bool:
    view = again.trial.view
    return any(leader_id(view, name) is None for name in view["partitions"])


def _misses_output(again: _Again) -> bool:
    return c4_exactly_once.missing_and_more(again.trial, again.printed)[0] > 0


def _repeats_output(again: _Again) -> bool:
    return c4_exactly_once.missing_and_more(again.trial, again.printed)[1] > 0


SHRINKABLE: dict[str, Callable[[_Again], bool]] = {
    "verdict.records_lost": _loses,
    "verdict.still_lost": _loses,
    "verdict.records_twice": _repeats,
    "verdict.not_healed": _never_heals,
    "verdict.not_healed_by_itself": _never_heals_by_itself,
    "verdict.too_few_acknowledged": _acknowledges_too_few,
    "verdict.invariant_broken": _breaks_an_invariant,
    "verdict.unexplained": _breaks_one_without_reason,
    "verdict.still_offline": _is_offline,
    "verdict.output_missing": _misses_output,
    "verdict.output_more": _repeats_output,
}
"""The failures whose property a script shows when it is played again. Not among them are those that compare what the
script does with a bar (latency, number of requests, seconds), and attacks that failed: a shorter script of these shows
nothing.
"""


def shrunk(outcome: Outcome) -> tuple[str, ...]:
    """The lines of the shortened script; empty if it fails in another way or depends on the judge's timing."""
    has_property = SHRINKABLE.get(outcome.why.partition("?")[0])
    if outcome.passed or has_property is None:
        return ()
    begun_s = time.process_time()

    def fails(lines: list[str]) -> bool:
        if time.process_time() - begun_s >= MAX_CPU_S:
            return False
        try:
            return has_property(_Again(outcome, lines))
        except Exception:
            # A line that depends on an omitted one is rejected, and an engine failure must not cost the verdict.
            return False

    lines = [typed.line for typed in outcome.typed if typed.at_us < outcome.ends_us]
    return tuple(shrink_lines(lines, fails, MAX_TRIES)) if fails(lines) else ()
