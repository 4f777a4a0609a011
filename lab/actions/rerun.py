"""The same script in another era: a new run with the same seed and the same commands at the same instants."""

import msgspec
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User

from broker_core.eras import ERAS
from broker_core.refusals import ShellError
from lab.actions.delete_run import delete_run
from lab.actions.start_run import enter_run, start_entered_run
from lab.models import MAX_NAME_LENGTH, Branch
from lab.runtime.engine import Input
from lab.runtime.host import Host, RunConfig
from lab.runtime.lab import Lab
from lab.runtime.live_run import LiveRun
from lab.selectors import OWNER_SOURCE
from lab.texts.refusal import Refusal

MAX_EVENTS = 300_000
"""Events of the longest run that is replayed while a request waits for it."""
EVENTS_AT_ONCE = 2_000


def commands_of(inputs: list[bytes]) -> list[tuple[int, int, str]]:
    """(last event before it, instant in microseconds, line) of each command of a recording, in order."""
    found = map(Input.decode, inputs)
    return [(each.seq, each.at_us, each.text) for each in found if each.kind == "command"]


async def rerun(host: Host, user: User, branch: Branch, era: str) -> Branch:
    """Replays a branch's commands in a new cluster of another era, up to the end of the branch.

    Raises Refusal for an unknown era, and for a run that is too long to wait for.
    """
    if era not in ERAS:
        raise Refusal("refusal.unknown_era", era=era, eras=", ".join(ERAS))
    lab = await host.lab(branch.run.slug, branch.name)
    recording = lab.recording
    if recording.last_seq > MAX_EVENTS:
        raise Refusal("refusal.run_too_long", events=recording.last_seq, max=MAX_EVENTS)
    run = branch.run
    name = f"{run.name[: MAX_NAME_LENGTH - 10]} · {era}"
    config = msgspec.structs.replace(RunConfig.of(recording.config), name=name, era=era)
    made = await sync_to_async(enter_run)(user, name, run.seed, run.brokers, era)
    await start_entered_run(host, made, config)
    try:
        again = await host.lab(made.run.slug, made.name)
        given = [(at_us, line) for _, at_us, line in commands_of(recording.inputs())]
        await repeat_commands(again, given, recording.last_at_us, OWNER_SOURCE)
    except BaseException:
        await delete_run(host, made.run, confirmed=True)
        raise
    return made


async def repeat_commands(lab: Lab, commands: list[tuple[int, str]], until_us: int, source: str) -> None:
    """Executes commands, each at its instant, and advances simulated time to `until_us`; then the lab is paused."""
    for at_us, line in commands:
        await _advance(lab, at_us)
        await _submit(lab, source, line)
    await _advance(lab, until_us)


async def _submit(lab: Lab, source: str, line: str) -> None:
    """A line that the cluster refuses immediately, for example because it is of another era, is left out."""
    try:
        await lab.act(lambda live: live.run.submit(line, source))
    except ShellError:
        return


async def _advance(lab: Lab, until_us: int) -> None:
    """Advances simulated time to an instant in slices, so that other requests are served in between."""

    def slice_of(live: LiveRun) -> bool:
        live.pacer.set_mode("pause")
        return live.run.now_us >= until_us or live.run.advance(until_us, max_events=EVENTS_AT_ONCE) < EVENTS_AT_ONCE

    while not await lab.act(slice_of):
        pass
