"""Takes over the recording of the front page: a new run with the same commands up to an instant."""

import msgspec
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User

from lab.actions.delete_run import delete_run
from lab.actions.rerun import repeat_commands
from lab.actions.start_run import enter_run, start_entered_run
from lab.course.hero import HeroRun
from lab.exercises.lesson import MESSAGES_RATE
from lab.models import Branch
from lab.runtime.host import Host, RunConfig
from lab.runtime.pacer import wall_ms
from lab.selectors import OWNER_SOURCE


async def take_over(host: Host, user: User, hero: HeroRun, name: str, at_us: int) -> Branch:
    """The run is paused at `at_us`, or at the closest instant of the recording, at the speed of single messages."""
    until_us = min(max(at_us, hero.at_us), hero.end_us)
    config = msgspec.structs.replace(msgspec.convert(hero.config, RunConfig), name=name, start_wall_ms=wall_ms())
    branch = await sync_to_async(enter_run)(user, name, config.seed, len(config.brokers), config.era)
    await start_entered_run(host, branch, config)
    try:
        lab = await host.lab(branch.run.slug, branch.name)
        given = [(at_us, line) for at_us, line in hero.commands if at_us <= until_us]
        await repeat_commands(lab, given, until_us, OWNER_SOURCE)
        await lab.act(lambda live: live.pacer.set_rate(MESSAGES_RATE))
    except BaseException:
        await delete_run(host, branch.run, confirmed=True)
        raise
    return branch
