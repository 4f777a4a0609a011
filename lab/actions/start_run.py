"""A new run: a cluster of its own from its first instant on."""

import secrets
from collections.abc import Mapping

from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.db import transaction

from broker_core.eras import DEFAULT_ERA, ERAS
from lab.models import MAX_NAME_LENGTH, Branch, Run
from lab.recordings.removal import remove_run_folder
from lab.runtime.host import Host, RunConfig
from lab.runtime.pacer import wall_ms
from lab.selectors import MAIN
from lab.texts.refusal import Refusal

MAX_BROKERS = 7
MAX_SEED = 2**32 - 1
MAX_RUNS = 200
"""Of one user: the data folder is not endless."""


async def start_run(host: Host, user: User, form: Mapping[str, str]) -> Branch:
    """Starts what the form asks for; returns its main branch when the brokers are registered. Raises Refusal."""
    name = checked_name(form.get("name", ""))
    brokers = _whole_number(form.get("brokers", "3"), "brokers", "number of brokers", 1, MAX_BROKERS)
    seed = _whole_number(form.get("seed", ""), "seed", "seed", 0, MAX_SEED)
    era = form.get("era") or DEFAULT_ERA
    if era not in ERAS:
        raise Refusal(
            f"There is no era {era!r}.", f"One of {', '.join(ERAS)} was expected.", "Choose one of these.", field="era"
        )
    branch = await sync_to_async(enter_run)(user, name, seed, brokers, era)
    await start_entered_run(host, branch, config_of(branch.run))
    return branch


async def start_entered_run(host: Host, branch: Branch, config: RunConfig) -> None:
    """Starts the engine of a run that has just been entered; of one that does not start nothing is left."""
    try:
        await host.start(branch.run.slug, branch.name, config)
    except BaseException:
        await host.close_run(branch.run.slug)
        await sync_to_async(branch.run.delete)()
        remove_run_folder(branch.run.slug)
        raise


def checked_name(name: str) -> str:
    """A run's name without surrounding space. Raises Refusal for an empty or long one."""
    name = " ".join(name.split())
    if not name or len(name) > MAX_NAME_LENGTH:
        raise Refusal(
            f"The name {name[:20]!r} has {len(name)} characters." if name else "The run has no name.",
            f"1 to {MAX_NAME_LENGTH} characters were expected.",
            "Give it a name that you will find again.",
            field="name",
        )
    return name


def proposed_seed() -> int:
    """A seed for the form."""
    return secrets.randbelow(10_000)


def enter_run(user: User, name: str, seed: int, brokers: int, era: str) -> Branch:
    """Notes a run and its main branch. Raises Refusal when there are too many."""
    with transaction.atomic():
        ensure_few_runs(user.pk)
        run = Run.objects.create(slug=new_slug(), owner=user, name=name, seed=seed, brokers=brokers, era=era)
        return Branch.objects.create(run=run, name=MAIN)


def ensure_few_runs(owner_id: int) -> None:
    """Raises Refusal when a user may have no more runs. In the transaction that adds one it keeps two from racing."""
    if Run.objects.filter(owner_id=owner_id).count() >= MAX_RUNS:
        raise Refusal(
            f"You have {MAX_RUNS} runs already.", "Fewer were expected.", "Delete one that you no longer need.", 409
        )


def new_slug() -> str:
    """A short name for addresses, without vowels, so that it spells nothing."""
    return "".join(secrets.choice("bcdfghjkmnpqrstvwxz23456789") for _ in range(6))


def config_of(run: Run) -> RunConfig:
    """What the engine is made from."""
    return RunConfig(
        name=run.name,
        seed=run.seed,
        brokers=tuple(range(1, run.brokers + 1)),
        era=run.era,
        start_wall_ms=wall_ms(),
    )


def _whole_number(text: str, field: str, what: str, least: int, most: int) -> int:
    try:
        number = int(text)
    except ValueError:
        number = least - 1
    if not least <= number <= most:
        raise Refusal(
            f"{text!r} is no {what}." if text else f"The {what} is missing.",
            f"A whole number from {least} to {most} was expected.",
            "Correct it and start the run again.",
            field=field,
        )
    return number
