"""The run behind the gallery: made once for each user, by the same seed and script, then only read.

A second branch, which was forked from it, is what its page of comparisons shows beside it.
"""

from asgiref.sync import sync_to_async
from django.contrib.auth.models import User

from devtools.gallery.scenes import OTHER, SCENES, Scene
from lab.actions.bookmark import bookmark
from lab.actions.delete_run import delete_run
from lab.actions.fork_run import fork_run
from lab.actions.start_run import enter_run, start_entered_run
from lab.models import Branch
from lab.runtime.host import Host, RunConfig
from lab.runtime.lab import Lab
from lab.runtime.live_run import LiveRun

NAME = "Gallery"
SEED = 7
BROKERS = 3
START_WALL_MS = 1_767_225_600_000
"""2026-01-01 00:00 UTC: a fixed calendar, so that timestamps are the same in each gallery."""
LINE_LIMIT_US = 120_000_000


async def gallery_branch(host: Host, user: User) -> Branch:
    """The branch with a bookmark for each scene. Raises Refusal where the run cannot be made."""
    async for branch in Branch.objects.filter(run__owner=user, run__name=NAME, run__seed=SEED).select_related("run"):
        marks = [one.name async for one in branch.bookmarks.order_by("seq")]
        if marks == [scene.name for scene in SCENES] and await other_branch(branch):
            return branch
    return await _make(host, user)


async def other_branch(branch: Branch) -> Branch | None:
    """The branch that was forked from that of the gallery; None while there is none."""
    return await Branch.objects.filter(run_id=branch.run_id, name=OTHER.name).afirst()


async def _make(host: Host, user: User) -> Branch:
    branch = await sync_to_async(enter_run)(user, NAME, SEED, BROKERS, "3.9")
    brokers = tuple(range(1, BROKERS + 1))
    config = RunConfig(name=NAME, seed=SEED, brokers=brokers, era="3.9", start_wall_ms=START_WALL_MS)
    await start_entered_run(host, branch, config)
    try:
        lab = await host.lab(branch.run.slug, branch.name)
        await lab.act(lambda live: live.pacer.set_mode("pause"))
        for scene in SCENES:
            seq, at_us = await _play(lab, scene)
            await sync_to_async(bookmark)(user, branch, seq, at_us, scene.name)
        await _fork(host, user, branch)
        await lab.sleep()
    except BaseException:
        await delete_run(host, branch.run, confirmed=True)
        raise
    return branch


async def _fork(host: Host, user: User, branch: Branch) -> None:
    mark = await branch.bookmarks.aget(name="transaction")
    forked = await fork_run(host, user, branch, mark.seq, at_us=mark.at_us, name=OTHER.name)
    lab = await host.lab(branch.run.slug, forked.name)
    await _play(lab, OTHER)
    await lab.sleep()


async def _play(lab: Lab, scene: Scene) -> tuple[int, int]:
    def job(live: LiveRun) -> tuple[int, int]:
        live.pacer.set_mode("pause")
        for line in scene.lines:
            command = live.run.submit(line.removesuffix(" &"), "gallery")
            deadline_us = live.run.now_us + LINE_LIMIT_US
            while not line.endswith("&") and command in live.run.running_commands:
                if live.run.now_us > deadline_us or not live.run.step_event():
                    raise RuntimeError(f"the gallery's line {line!r} does not end")
        live.run.advance(live.run.now_us + scene.then_ms * 1_000)
        return live.run.seq, live.run.now_us

    return await lab.act(job)
