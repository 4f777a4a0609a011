"""Starts a new run."""

import asyncio
import secrets
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.db import transaction

from broker_core.eras import DEFAULT_ERA, ERAS
from lab.models import MAX_NAME_LENGTH, Branch, Participant, Run
from lab.recordings.folder import remove_run_folder
from lab.rights import require
from lab.run_limits import MAX_BROKERS, MAX_SEED
from lab.runtime.host import Host, RunConfig
from lab.runtime.pacer import wall_ms
from lab.selectors import MAIN
from lab.texts.refusal import Refusal

MAX_RUNS = 200
"""Runs of one user, because disk space is limited."""
MAX_GUEST_RUNS = 20
"""Runs of a guest, who does not even need a name."""
_NUMBERS = {
    "brokers": ("refusal.missing_brokers", "refusal.invalid_brokers"),
    "seed": ("refusal.missing_seed", "refusal.invalid_seed"),
}
"""Field of the form: the refusals for an empty value and for one that is not a number in its range."""


async def start_run(host: Host, user: User, form: Mapping[str, str]) -> Branch:
    """Starts what the form asks for; returns its main branch when the brokers are registered. Raises Refusal."""
    name = checked_name(form.get("name", ""))
    brokers = _integer(form.get("brokers", "3"), "brokers", 1, MAX_BROKERS)
    seed = _integer(form.get("seed", ""), "seed", 0, MAX_SEED)
    era = form.get("era") or DEFAULT_ERA
    if era not in ERAS:
        raise Refusal("refusal.unknown_era", field="era", era=era, eras=", ".join(ERAS))
    branch = await sync_to_async(enter_run)(user, name, seed, brokers, era)
    await start_entered_run(host, branch, config_of(branch.run))
    return branch


async def start_entered_run(host: Host, branch: Branch, config: RunConfig) -> None:
    """Starts the engine of a run that has just been created; if it does not start, the run is deleted."""
    async with removed_unless_started(host, branch):
        await host.start(branch.run.slug, branch.name, config)


@asynccontextmanager
async def removed_unless_started(host: Host, branch: Branch) -> AsyncIterator[None]:
    """Deletes a run that has just been created if the block raises."""
    try:
        yield
    except BaseException:
        await host.close_run(branch.run.slug)
        await sync_to_async(branch.run.delete)()
        await asyncio.to_thread(remove_run_folder, branch.run.slug)
        raise


def checked_name(name: str) -> str:
    """A run's name without surrounding space. Raises Refusal for an empty or long one."""
    name = " ".join(name.split())
    if not name:
        raise Refusal("refusal.run_name_missing", field="name", max=MAX_NAME_LENGTH)
    if len(name) > MAX_NAME_LENGTH:
        raise Refusal("refusal.run_name_too_long", field="name", start=name[:20], length=len(name), max=MAX_NAME_LENGTH)
    return name


def proposed_seed() -> int:
    """A seed for the form."""
    return secrets.randbelow(10_000)


def enter_run(user: User, name: str, seed: int, brokers: int, era: str) -> Branch:
    """Stores a run and its main branch. Raises Refusal when there are too many."""
    require(user, None, "act")
    with transaction.atomic():
        ensure_few_runs(user.pk)
        run = Run.objects.create(slug=new_slug(), owner=user, name=name, seed=seed, brokers=brokers, era=era)
        return Branch.objects.create(run=run, name=MAIN)


def enter_class_run(
    participant: Participant, name: str, *, seed: int, brokers: int, era: str, origin: str, slug: str = ""
) -> Branch:
    """Creates a run of a participant in their class, which starts at the instant `origin`, with a new `slug` unless one
    is given. Raises Refusal if there are too many, and for a person without an account or a cookie.
    """
    if participant.user_id is None:
        raise Refusal("refusal.not_allowed", 403)
    with transaction.atomic(savepoint=False):
        ensure_few_runs(participant.user_id, is_guest=participant.is_guest)
        run = Run.objects.create(
            slug=slug or new_slug(),
            owner_id=participant.user_id,
            name=name[:MAX_NAME_LENGTH],
            seed=seed,
            brokers=brokers,
            era=era,
            classroom=participant.classroom,
            participant=participant,
            origin=origin,
        )
        return Branch.objects.create(run=run, name=MAIN)


def ensure_few_runs(owner_id: int, *, is_guest: bool | None = None) -> None:
    """Raises Refusal if a user has too many runs. Call it in the transaction that adds one, to prevent races.
    `is_guest`: None if it is not known.
    """
    if is_guest is None:
        is_guest = Participant.objects.filter(user_id=owner_id, is_guest=True).exists()
    most = MAX_GUEST_RUNS if is_guest else MAX_RUNS
    if Run.objects.filter(owner_id=owner_id).count() >= most:
        raise Refusal("refusal.run_limit", 409, max=most)


def new_slug() -> str:
    """A short name for addresses, without vowels, so that it spells nothing."""
    return "".join(secrets.choice("bcdfghjkmnpqrstvwxz23456789") for _ in range(6))


def config_of(run: Run) -> RunConfig:
    """The configuration of the engine."""
    return RunConfig(
        name=run.name,
        seed=run.seed,
        brokers=tuple(range(1, run.brokers + 1)),
        era=run.era,
        start_wall_ms=wall_ms(),
    )


def _integer(value: str, field: str, least: int, most: int) -> int:
    try:
        number = int(value)
    except ValueError:
        number = least - 1
    if not least <= number <= most:
        missing, invalid = _NUMBERS[field]
        if not value:
            raise Refusal(missing, field=field, min=least, max=most)
        raise Refusal(invalid, field=field, value=value, min=least, max=most)
    return number
