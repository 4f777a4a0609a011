"""A lab in one click: three brokers, a topic, and a producer that sends."""

from asgiref.sync import sync_to_async
from django.contrib.auth.models import User

from broker_core.eras import DEFAULT_ERA
from lab.actions.delete_run import delete_run
from lab.actions.start_run import config_of, enter_run, proposed_seed, start_entered_run
from lab.exercises.lesson import MESSAGES_RATE
from lab.exercises.setup import run_setup
from lab.models import Branch
from lab.runtime.host import Host
from lab.runtime.live_run import LiveRun

BROKERS = 3
LINES = (
    "kafka-topics.sh --create --topic orders --replica-assignment 1:2:3,2:3:1,3:1:2",
    'wait "isr orders-0 == [1,2,3]" 30s',
    "producer open p1 --acks all",
    "producer stream p1 orders 2",
)
"""Two records a second: something moves at once."""


async def open_lab(host: Host, user: User, name: str) -> Branch:
    """Starts it, playing at the pace of its events; returns the run's main branch. Raises Refusal."""
    branch = await sync_to_async(enter_run)(user, name, proposed_seed(), BROKERS, DEFAULT_ERA)
    await start_entered_run(host, branch, config_of(branch.run))

    def job(live: LiveRun) -> None:
        live.pacer.set_mode("pause")
        run_setup(live.run, LINES)
        live.pacer.set_rate(MESSAGES_RATE)
        live.pacer.set_mode("event_paced")

    try:
        lab = await host.lab(branch.run.slug, branch.name)
        await lab.act(job)
        lab.time_changed()
    except BaseException:
        await delete_run(host, branch.run, confirmed=True)
        raise
    return branch
