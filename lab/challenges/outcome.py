"""The outcome of one seed of a challenge."""

from collections.abc import Mapping

import msgspec

from broker_core.texts import Text
from lab.trials.trial import Ended, Trial, Typed

FOREVER_US = 1 << 62

Entry = Mapping[str, str]
"""The fields of an entry: scripts, settings or an answer, by name."""


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """One seed. `why`: the code of a message, why it failed, or what it demonstrates. `scores`: figures by name.
    `brokers`, `era`, `config` and `typed` execute it again; `at_us` is the instant at which it went wrong. The lines
    from `ends_us` on are the judge's own: they revert faults and read the final state. `events`: number of events.
    `is_marked`: the seed may fail without failing the entry.
    """

    seed: int
    passed: bool
    why: str
    scores: dict[str, float] = {}
    brokers: int = 3
    era: str = "3.9"
    config: dict[str, str] = {}
    typed: tuple[Typed, ...] = ()
    at_us: int = 0
    ends_us: int = FOREVER_US
    events: int = 0
    is_marked: bool = False


def outcome_of(
    trial: Trial,
    passed: bool,
    why: Text,
    scores: Mapping[str, float] | None = None,
    *,
    at_us: int | None = None,
    ends_us: int = FOREVER_US,
    is_marked: bool = False,
) -> Outcome:
    """The outcome of a trial."""
    return Outcome(
        seed=trial.config.seed,
        passed=passed,
        why=why.code,
        scores=dict(scores or {}),
        brokers=len(trial.config.brokers),
        era=trial.config.era,
        config=dict(trial.config.broker_config),
        typed=tuple(trial.typed),
        at_us=trial.now_us if at_us is None else at_us,
        ends_us=ends_us,
        events=trial.run.seq,
        is_marked=is_marked,
    )


def ended(trial: Trial, end: Ended, *, is_marked: bool = False) -> Outcome:
    """The outcome of a trial that could not continue."""
    return outcome_of(trial, False, end.why, is_marked=is_marked)
