"""Judges an entry: runs it on each seed of its challenge and aggregates the outcomes."""

import hashlib
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, cast

import msgspec

from broker_core.texts import text
from lab.challenges.loader import Challenge, Field
from lab.challenges.outcome import Entry, Outcome
from lab.challenges.rules import (
    c1_lost_record,
    c2_settings,
    c3_two_owners,
    c4_exactly_once,
    c5_rebalances,
    c6_requests,
    c7_shrink,
    c8_two_leaders,
    c9_find,
    c10_on_call,
)
from lab.texts.refusal import Refusal

MAX_CPU_S = 300.0
"""Seconds of processor time for one judgement. 200 schedules take some 80 s."""


class Rules(Protocol):
    """A module of `rules`."""

    def check(self, entry: Entry) -> None:
        """Raises Refusal for an invalid entry."""

    def play(self, entry: Entry, seed: int) -> Outcome:
        """Judges the entry on one seed."""


RULES: dict[str, Rules] = {
    "c1-lose-one-acknowledged-record": cast(Rules, c1_lost_record),
    "c2-settings-that-survive": cast(Rules, c2_settings),
    "c3-two-owners": cast(Rules, c3_two_owners),
    "c4-exactly-once-under-fire": cast(Rules, c4_exactly_once),
    "c5-ten-rebalances": cast(Rules, c5_rebalances),
    "c6-fewest-requests": cast(Rules, c6_requests),
    "c7-shrink-it": cast(Rules, c7_shrink),
    "c8-longest-two-leaders": cast(Rules, c8_two_leaders),
    "c9-who-did-it": cast(Rules, c9_find),
    "c10-on-call": cast(Rules, c10_on_call),
}


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """The result of an entry. `shown`: the deciding seed, which is the first that failed, or else the last. `passes`
    and `seeds` count the seeds that must pass, `marked_passes` and `marked` the marked ones. `digest` is equal for
    equal outcomes. `short`: the shortest script found that fails like the seed shown, where one was looked for.
    """

    passed: bool
    passes: int
    seeds: int
    marked_passes: int = 0
    marked: int = 0
    scores: dict[str, float] = {}
    shown: Outcome
    digest: str
    cpu_s: float = 0.0
    short: tuple[str, ...] = ()


def entry_of(challenge: Challenge, form: Mapping[str, str]) -> dict[str, str]:
    """The entry submitted in a form. Raises Refusal if it cannot be judged."""
    entry = {field.name: _value(field, form.get(field.name, "")) for field in challenge.fields}
    RULES[challenge.slug].check(entry)
    return entry


def _value(field: Field, given: str) -> str:
    value = given.replace("\r\n", "\n") if field.kind == "script" else given.strip()
    if field.kind == "choice" and value not in field.choices:
        raise _invalid(field, value, ", ".join(field.choices))
    if field.kind == "integer":
        if not value.isdecimal() or len(value) > 12 or not field.min <= int(value) <= field.max:
            raise _invalid(field, value, f"{field.min} – {field.max}")
        value = str(int(value))
    return value


def _invalid(field: Field, value: str, expected: str) -> Refusal:
    return Refusal("refusal.entry_field", field=field.name, name=field.name, value=value[:40], expected=expected)


def judge(
    challenge: Challenge,
    entry: Entry,
    seeds: Sequence[int] | None = None,
    progress: Callable[[int, int], None] = lambda done, passes: None,
) -> Verdict:
    """Runs the entry on the given seeds, by default on all seeds of its challenge. `progress` receives the number of
    seeds done and the number that passed. An attack stops at the first seed on which it fails.
    """
    wanted = range(1, challenge.seeds + 1) if seeds is None else seeds
    begun_s = time.process_time()
    outcomes: list[Outcome] = []
    for seed in wanted:
        if time.process_time() - begun_s > MAX_CPU_S:
            why = text("verdict.too_much_time", seconds=int(MAX_CPU_S))
            outcomes.append(Outcome(seed=seed, passed=False, why=why.code))
            break
        outcomes.append(play_seed(challenge, entry, seed))
        progress(len(outcomes), sum(outcome.passed for outcome in outcomes))
        if not outcomes[-1].passed and challenge.kind != "defend":
            break
    return _verdict(challenge, outcomes, len(wanted), time.process_time() - begun_s)


def play_seed(challenge: Challenge, entry: Entry, seed: int) -> Outcome:
    """Runs one seed. An engine failure fails the seed and is reported."""
    try:
        return RULES[challenge.slug].play(entry, seed)
    except Exception as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{type(error).__name__} in {place.filename.rpartition('/')[2]}:{place.lineno}"
        return Outcome(seed=seed, passed=False, why=text("verdict.engine_failed", problem=where).code)


def _verdict(challenge: Challenge, outcomes: list[Outcome], seeds: int, cpu_s: float) -> Verdict:
    decisive = [outcome for outcome in outcomes if not outcome.is_marked]
    marked = [outcome for outcome in outcomes if outcome.is_marked]
    missing = seeds - len(outcomes)
    first_failed = next((outcome for outcome in decisive if not outcome.passed), None)
    shown = first_failed or next((outcome for outcome in marked if not outcome.passed), outcomes[-1])
    scores = {}
    for score in challenge.scores:
        values = [outcome.scores[score.name] for outcome in outcomes if score.name in outcome.scores]
        if values:
            total = {"max": max(values), "min": min(values), "mean": sum(values) / len(values)}[score.aggregate]
            scores[score.name] = round(total, 3)
    facts = [(outcome.seed, outcome.passed, outcome.why, sorted(outcome.scores.items())) for outcome in outcomes]
    return Verdict(
        passed=first_failed is None and not missing,
        passes=sum(outcome.passed for outcome in decisive),
        seeds=len(decisive) + missing,
        marked_passes=sum(outcome.passed for outcome in marked),
        marked=len(marked),
        scores=scores,
        shown=shown,
        digest=hashlib.sha256(msgspec.json.encode(facts)).hexdigest()[:16],
        cpu_s=round(cpu_s, 2),
    )
