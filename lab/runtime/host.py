"""All labs of this process: opens, wakes, forks and ends them. Others reach the engine through here."""

import asyncio
import logging
import time
from collections import defaultdict
from collections.abc import Callable
from contextvars import Context
from dataclasses import replace
from pathlib import Path

from django.conf import settings

from broker_core.run import RunConfig
from broker_core.texts import Text
from lab.recordings.folder import BranchFolder, branch_folder
from lab.recordings.recording import Recording
from lab.runtime import engine
from lab.runtime.lab import Lab
from lab.runtime.lab_file import note_branches
from lab.runtime.lab_thread import wait_for
from lab.runtime.live_run import LiveRun
from lab.runtime.machine.descriptors import use_all_descriptors
from lab.runtime.machine.memory import collect_survivors, tune_process_memory
from lab.runtime.pacer import Pacer
from lab.runtime.policy import ALONE, AT_ONCE_S, LabPolicy
from lab.runtime.sharing.load import load
from lab.runtime.sharing.turns import Turns

logger = logging.getLogger(__name__)

__all__ = ["Host", "RunConfig", "close_host", "host"]

HOUSEKEEPING_S = 1.0
MAX_ENDED = 20
"""Engines that have ended and whose memory is not freed while others play: to free it takes up to a second."""
REST_S, COLLECT_S = 120.0, 3_600.0
"""The shortest time between two such passes, and the longest: connections leave garbage, too."""


class Host:
    """Use it from one event loop."""

    def __init__(self, runs: Path, zookeeper: str) -> None:
        """`zookeeper`: "host:port" of the server that clusters register in; empty for a model in memory."""
        self._runs = runs
        self._zookeeper = zookeeper
        self._labs: dict[tuple[str, str], Lab] = {}
        self._policies: dict[str, LabPolicy] = {}
        self._stops: dict[str, Text] = {}
        """Runs that are stopped from outside, and why."""
        self._turns = Turns()
        self._ended = self._freed = 0
        """Engines of closed labs that have ended, and of all engines, those whose memory is free."""
        self._freed_s = time.monotonic()
        # Opening and closing of a branch are mutually exclusive: a recording has one writer.
        self._locks: defaultdict[tuple[str, str], asyncio.Lock] = defaultdict(asyncio.Lock)
        self._ends = asyncio.Event()
        self._housekeeper = asyncio.create_task(self._run_maintenance(), context=Context())

    def folder(self, run: str, branch: str) -> BranchFolder:
        return branch_folder(run, branch, runs=self._runs)

    def set_policy(self, run: str, policy: LabPolicy) -> None:
        """Sets the policy for the open and future labs of a run."""
        self._policies[run] = policy
        for (slug, _), lab in self._labs.items():
            if slug == run:
                lab.policy = policy

    def note_stop(self, run: str, why: Text | None) -> None:
        """Labs of a run that are opened from now on are stopped, such as for a class; None: no longer. The caller has
        to change those that are open.
        """
        if why is None:
            self._stops.pop(run, None)
        else:
            self._stops[run] = why

    def labs(self) -> list[Lab]:
        """The labs that are open now."""
        return list(self._labs.values())

    def open_lab(self, run: str, branch: str) -> Lab | None:
        """The lab if it is open already."""
        return self._labs.get((run, branch))

    async def lab(self, run: str, branch: str) -> Lab:
        """The lab of a branch, opened from its recording if it is not open. Raises Refusal when that cannot be read."""
        folder = self.folder(run, branch)
        return await self._open(folder, lambda: Recording(folder))

    async def start(self, run: str, branch: str, config: RunConfig) -> Lab:
        """Begins a new run: its recording, its engine, its brokers. Returns when they are registered."""
        lab = await self.begin(run, branch, config)
        await lab.act(engine.start)
        return lab

    async def begin(self, run: str, branch: str, config: RunConfig) -> Lab:
        """The lab of a new run, of which nothing has happened: the first act has to boot it."""
        folder = self.folder(run, branch)
        return await self._open(folder, lambda: engine.begin_recording(folder, config))

    async def fork(self, run: str, branch: str, seq: int, new_branch: str) -> Lab:
        """A new branch that shares the events up to `seq` with `branch`; its engine is right after them."""
        parent = await self.lab(run, branch)
        folder = self.folder(run, new_branch)

        def forked() -> Recording:
            recording = engine.fork_recording(parent.recording, seq, folder)
            try:
                recording.sync()
            except BaseException:
                recording.logs.abandon()
                raise
            return recording

        lab = await self._open(folder, forked)
        await lab.wake()
        return lab

    async def close_run(self, run: str) -> None:
        """Ends all labs of a run that is deleted next: what they cannot save, such as on a full disk, is not needed."""
        for key in [key for key in self._labs if key[0] == run]:
            try:
                await self._close(key)
            except Exception:
                logger.exception("%s/%s was not closed in order", *key)

    async def close_branch(self, run: str, branch: str) -> None:
        """Ends the lab of a branch."""
        await self._close((run, branch))

    async def close(self) -> None:
        """Stops everything; each engine can resume later from its position."""
        # Not in the middle of ending a lab.
        self._ends.set()
        await self._housekeeper
        for key in list(self._labs):
            try:
                await self._close(key)
            except Exception:
                logger.exception("%s/%s was not closed in order; it is recovered when it is opened", *key)

    async def _open(self, folder: BranchFolder, make: Callable[[], Recording]) -> Lab:
        key = (folder.run, folder.branch)
        async with self._locks[key]:
            lab = self._labs.get(key)
            if lab is None:
                recording = await asyncio.to_thread(make)
                policy = self._policies.get(folder.run, ALONE)
                lab = self._labs[key] = Lab(
                    recording, self._wake, self._note_branches, policy=policy, turns=self._turns
                )
                if (why := self._stops.get(folder.run)) is not None:
                    lab.pacer.stop(why)
            lab.touch()
            return lab

    def _wake(self, recording: Recording, pacer: Pacer) -> LiveRun:
        policy = self._policies.get(recording.folder.run, ALONE)
        return engine.wake(recording, pacer, self._zookeeper, joins_later=policy.is_shared)

    def _note_branches(self) -> None:
        """Records the branches for `manage.py zk`."""
        note_branches(
            {
                f"{run}/{branch}": "/" + lab.zookeeper.partition("/")[2]
                for (run, branch), lab in self._labs.items()
                if lab.zookeeper
            }
        )

    async def _close(self, key: tuple[str, str]) -> None:
        async with self._locks[key]:
            lab = self._labs.pop(key, None)
            if lab is not None:
                try:
                    await lab.close()
                finally:
                    self._ended += lab.ended

    async def _run_maintenance(self) -> None:
        while True:
            await wait_for(self._ends, HOUSEKEEPING_S)
            if self._ends.is_set():
                return
            for key, lab in list(self._labs.items()):
                if self._labs.get(key) is not lab:
                    # closed while we looked after another one
                    continue
                try:
                    await self._maintain(key, lab)
                except Exception:
                    logger.exception("looking after %s/%s failed", *key)
            self.free_memory()

    def free_memory(self) -> None:
        """Frees the memory of engines that have ended, when nothing plays or there are many, and now and then that of
        connections.
        """
        labs, since_s = self._labs.values(), time.monotonic() - self._freed_s
        ended = self._ended + sum(lab.ended for lab in labs)
        is_due = ended >= self._freed + (MAX_ENDED if any(lab.is_playing for lab in labs) else 1)
        if since_s >= COLLECT_S or (is_due and since_s >= REST_S):
            collect_survivors()
            self._freed, self._freed_s = ended, time.monotonic()

    async def _maintain(self, key: tuple[str, str], lab: Lab) -> None:
        await lab.summarise_now_and_then()
        unwatched_s, policy = lab.unwatched_s(), lab.policy
        if policy.is_shared and load.sleeps_at_once:
            policy = replace(policy, pause_s=AT_ONCE_S, sleep_s=AT_ONCE_S)
        if lab.is_playing and unwatched_s >= policy.pause_s:
            await lab.rest()
        elif unwatched_s >= policy.sleep_s:
            await (lab.sleep() if lab.watchers else self._close(key))


_host: Host | None = None


def host() -> Host:
    """The host of this process, created by the first call, which must come from the serving event loop."""
    global _host
    if _host is None:
        tune_process_memory()
        use_all_descriptors()
        _host = Host(settings.RUNS, settings.ZOOKEEPER)
    return _host


async def close_host() -> None:
    """Ends all labs. The next call of `host` makes another one."""
    global _host
    if _host is not None:
        closing, _host = _host, None
        await closing.close()
