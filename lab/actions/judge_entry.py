"""A challenge's entry: submit it, cancel its judgement, open the seed that decided it as a run."""

import asyncio
from collections.abc import Mapping

import msgspec
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User

from broker_core.texts import text
from lab.actions.delete_run import delete_run
from lab.actions.rerun import repeat_commands
from lab.actions.start_run import checked_name, enter_run, start_entered_run
from lab.challenges.background import JUDGES
from lab.challenges.judge import Verdict, entry_of
from lab.challenges.loader import Challenge
from lab.challenges.outcome import Outcome, outcome_of
from lab.challenges.rules.c9_find import LOOKS, played_case
from lab.challenges.worker import Order
from lab.learning import log as learning
from lab.learning.events import ChallengeJudged
from lab.models import MAX_NAME_LENGTH, Branch, ChallengeEntry
from lab.rights import require
from lab.runtime.host import Host, RunConfig
from lab.selectors import OWNER_SOURCE
from lab.texts.refusal import Refusal

AFTER_LAST_US = 1_000_000
"""Simulated time for which a seed that is opened as a run continues after its last line."""


async def submit_entry(user: User, challenge: Challenge, form: Mapping[str, str]) -> ChallengeEntry:
    """Stores an entry and starts its judge in the background. Raises Refusal if it cannot be judged."""
    fields = await asyncio.to_thread(entry_of, challenge, form)
    await sync_to_async(require)(user, None, "act")
    JUDGES.ensure_free(user.pk)
    entry = await ChallengeEntry.objects.acreate(user=user, challenge=challenge.slug, fields=fields)

    async def finished(verdict: bytes | None) -> None:
        await sync_to_async(_store)(entry.pk, verdict)

    JUDGES.start(entry.pk, user.pk, Order(challenge.slug, fields), finished)
    return entry


def _store(entry_id: int, verdict: bytes | None) -> None:
    """Without a verdict the judgement was cancelled, or its process ended at a limit."""
    entries = ChallengeEntry.objects.filter(pk=entry_id)
    if verdict is None:
        cancelled = entries.filter(state=ChallengeEntry.State.CANCELLED).exists()
        entries.update(state=ChallengeEntry.State.CANCELLED if cancelled else ChallengeEntry.State.FAILED)
        return
    found = msgspec.json.decode(verdict, type=Verdict)
    entry = entries.first()
    if entry is None:
        return
    if LOOKS in found.scores:
        own = ChallengeEntry.objects.filter(user_id=entry.user_id, challenge=entry.challenge, verdict__isnull=False)
        found = msgspec.structs.replace(found, scores={**found.scores, LOOKS: own.exclude(pk=entry_id).count() + 1})
    score = next(iter(found.scores.values()), None)
    judged = ChallengeJudged(
        lesson=entry.challenge, entry=str(entry.pk), passed=found.passed, score=score or 0.0, digest=found.digest
    )
    learning.append(entry.user_id, judged)
    entries.update(
        state=ChallengeEntry.State.JUDGED,
        passed=found.passed,
        score=score,
        digest=found.digest,
        verdict=msgspec.to_builtins(found),
    )


async def cancel_entry(entry: ChallengeEntry) -> None:
    """Ends the judgement of an entry; nothing happens to one that is judged."""
    judging = ChallengeEntry.objects.filter(pk=entry.pk, state=ChallengeEntry.State.JUDGING)
    await judging.aupdate(state=ChallengeEntry.State.CANCELLED)
    JUDGES.cancel(entry.pk)


async def open_case(host: Host, user: User, title: str) -> Branch:
    """Plays the case of c9 to a new run. Raises Refusal."""
    trial = await asyncio.to_thread(played_case, 1)
    return await play_outcome(host, user, outcome_of(trial, True, text("verdict.survived")), checked_name(title))


async def open_seed(host: Host, user: User, entry: ChallengeEntry, title: str) -> tuple[Branch, int]:
    """Plays the seed that decided an entry to a new run; returns it with the instant before the one that decided, in
    microseconds. Raises Refusal.
    """
    if entry.verdict is None:
        raise Refusal("refusal.no_failing_seed", 409)
    shown = msgspec.convert(entry.verdict, Verdict).shown
    if not shown.typed:
        raise Refusal("refusal.no_failing_seed", 409)
    name = checked_name(f"{title[: MAX_NAME_LENGTH - 20]} · {shown.seed}")
    return await play_outcome(host, user, shown, name), max(0, shown.at_us - 1)


async def play_outcome(host: Host, user: User, shown: Outcome, name: str) -> Branch:
    """Replays a judge's commands in a new run, at the same instants."""
    branch = await sync_to_async(enter_run)(user, name, shown.seed, shown.brokers, shown.era)
    config = RunConfig(
        name=name,
        seed=shown.seed,
        brokers=tuple(range(1, shown.brokers + 1)),
        era=shown.era,
        broker_config=shown.config,
    )
    await start_entered_run(host, branch, config)
    try:
        lab = await host.lab(branch.run.slug, branch.name)
        typed = [(one.at_us, one.line) for one in shown.typed]
        await repeat_commands(lab, typed, typed[-1][0] + AFTER_LAST_US, OWNER_SOURCE)
    except BaseException:
        await delete_run(host, branch.run, confirmed=True)
        raise
    return branch
