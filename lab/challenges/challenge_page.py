"""The page of a challenge: a visitor's entries, verdicts next to the par, the distribution of all entries."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec
from django.contrib.auth.models import User

from broker_core.texts import render
from lab.challenges.background import JUDGES
from lab.challenges.judge import Verdict
from lab.challenges.loader import Challenge, Field, Score
from lab.exercises.bilingual import Bilingual
from lab.models import ChallengeEntry
from lab.texts.i18n import translate
from lab.texts.refusal import Refusal
from lab.trials.pauses import pause_us

MAX_SHOWN = 8
SPREAD_FROM = 5
"""With fewer entries of others a bar would be a person."""
BINS = 12


class Figure(NamedTuple):
    """A score of a verdict. `reached` is empty if the entry has no such score; `holds`: at least as good as the par."""

    label: Bilingual
    reached: str
    par: str
    holds: bool


class Bar(NamedTuple):
    """A bar of the distribution: its height in percent of the highest bar, and whether it contains the visitor's
    entry.
    """

    entries: int
    height: int
    is_own: bool
    first: str


def entries_of(user: User, challenge: Challenge) -> list[ChallengeEntry]:
    """The visitor's entries, newest first. An entry whose judge ended with the server process counts as failed."""
    entries = list(ChallengeEntry.objects.filter(user_id=user.pk, challenge=challenge.slug)[:MAX_SHOWN])
    for entry in entries:
        if entry.state == ChallengeEntry.State.JUDGING and JUDGES.of(entry.pk) is None:
            entry.state = ChallengeEntry.State.FAILED
            # Not `save`: the verdict may have been stored in the meantime.
            ChallengeEntry.objects.filter(pk=entry.pk, state=ChallengeEntry.State.JUDGING).update(state=entry.state)
    return entries


def entry_of_user(user: User, challenge: Challenge, entry_id: int) -> ChallengeEntry:
    """An entry of this user. Raises Refusal (404) for a missing entry and for another user's alike."""
    entry = ChallengeEntry.objects.filter(user_id=user.pk, challenge=challenge.slug, pk=entry_id).first()
    if entry is None:
        raise Refusal("refusal.no_entry", 404, entry=entry_id)
    return entry


def challenge_page(
    challenge: Challenge, user: User, language: str, chosen: str, form: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """The context of the page. `chosen`: the id of the entry to show, by default the newest; `form`: a rejected
    entry.
    """
    entries = entries_of(user, challenge)
    shown = next((entry for entry in entries if str(entry.pk) == chosen), entries[0] if entries else None)
    verdict = verdict_of(shown)
    has_passed = any(entry.passed for entry in entries)
    fields = form if form is not None else shown.fields if shown else None
    return {
        "challenge": challenge,
        "fields": [(field, _value(field, fields)) for field in challenge.fields],
        "entries": entries,
        "shown": shown,
        "verdict": verdict,
        "why": "" if verdict is None else translated(verdict.shown.why, language),
        "figures": [] if verdict is None else [_figure(score, verdict) for score in challenge.scores],
        "spread": spread(challenge, None if shown is None else shown.score),
        "shortest": _shortest(challenge) if has_passed else [],
        "has_passed": has_passed,
        "is_judged": any(entry.verdict for entry in entries),
    }


def verdict_of(entry: ChallengeEntry | None) -> Verdict | None:
    """The verdict of an entry, or None."""
    return None if entry is None or entry.verdict is None else msgspec.convert(entry.verdict, Verdict)


def translated(code: str, language: str) -> str:
    """The sentence for a message code."""
    return render(code, language)


def progress_of(entry: ChallengeEntry, challenge: Challenge, language: str) -> dict[str, Any]:
    """The progress of a judgement, for the page that waits for it."""
    judgement = JUDGES.of(entry.pk)
    done, passes = (judgement.done, judgement.passes) if judgement else (0, 0)
    said = translate(language, "challenge.progress", done=done, n=challenge.seeds, passes=passes)
    return {"state": entry.state, "done": done, "seeds": challenge.seeds, "passes": passes, "said": said}


def _value(field: Field, fields: Mapping[str, str] | None) -> str:
    return field.default if fields is None else fields.get(field.name, field.default)


def _figure(score: Score, verdict: Verdict) -> Figure:
    reached = verdict.scores.get(score.name)
    holds = (
        verdict.passed
        and reached is not None
        and (reached <= score.par if score.better == "lower" else reached >= score.par)
    )
    return Figure(score.label, "" if reached is None else _shown(reached, score), _shown(score.par, score), holds)


def _shown(value: float, score: Score) -> str:
    return f"{value:.4g} {score.unit}".strip()


def spread(challenge: Challenge, own: float | None) -> list[Bar]:
    """A histogram of all judged entries by their first score; empty with fewer than five."""
    judged = ChallengeEntry.objects.filter(challenge=challenge.slug, score__isnull=False)
    scores = sorted(score for score in judged.values_list("score", flat=True) if score is not None)
    if len(scores) < SPREAD_FROM:
        return []
    low, high = scores[0], scores[-1]
    width = (high - low) / BINS or 1.0
    places = [min(BINS - 1, int((score - low) / width)) for score in scores]
    own_place = None if own is None else min(BINS - 1, int((own - low) / width))
    most = max(map(places.count, places))
    return [
        Bar(count, round(100 * count / most), place == own_place, f"{low + place * width:.3g}")
        for place in range(BINS)
        for count in [places.count(place)]
    ]


def _shortest(challenge: Challenge) -> list[tuple[Field, str]]:
    """The fields of the best entry known: the shortest script, or the best first score; the course's own counts."""
    passed = ChallengeEntry.objects.filter(challenge=challenge.slug, passed=True)
    known: list[tuple[float, dict[str, str]]] = [(_rank(challenge, challenge.par, None), challenge.par)]
    known += [(_rank(challenge, entry.fields, entry.score), entry.fields) for entry in passed]
    _, best = min(known, key=lambda row: row[0])
    return [(field, best.get(field.name, "")) for field in challenge.fields]


def _rank(challenge: Challenge, fields: Mapping[str, str], score: float | None) -> float:
    scripts = [fields.get(field.name, "") for field in challenge.fields if field.kind == "script"]
    if scripts or not challenge.scores:
        return float(sum(_lines(script.split("\n")) for script in scripts))
    first = challenge.scores[0]
    value = first.par if score is None else score
    return value if first.better == "lower" else -value


def _lines(lines: Sequence[str] | Iterable[str]) -> int:
    return sum(1 for line in lines if line.strip() and not line.startswith("#") and pause_us(line) is None)
