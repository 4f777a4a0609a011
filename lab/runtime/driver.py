"""Drives the engine of a lab: runs its slices while time moves, and polls for external changes while it does not."""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from contextlib import AbstractAsyncContextManager
from contextvars import Context
from typing import Any, Protocol, TypeVar

from lab.recordings.recording import Recording
from lab.runtime.lab_thread import wait_for
from lab.runtime.live_run import LiveRun
from lab.runtime.pacer import SLOW_TICK_S, TICK_S, Pacer
from lab.runtime.policy import LabPolicy
from lab.runtime.sharing.load import load
from lab.texts.refusal import Refusal

T = TypeVar("T")
logger = logging.getLogger(__name__)

REST_S = 0.25
"""Interval between polls of external ZooKeeper changes while the simulation is paused."""
SLOW_REST_S = 1.0
"""The same while no page of its owner shows the lab."""


class Driven(Protocol):
    """What the driver needs of its lab."""

    recording: Recording
    pacer: Pacer
    policy: LabPolicy

    @property
    def engine(self) -> LiveRun | None: ...

    @property
    def is_looked_at_closely(self) -> bool: ...

    async def act(self, job: Callable[[LiveRun], T]) -> T: ...

    def slice_turn(self) -> AbstractAsyncContextManager[None]:
        """The turn of a slice, beside those of other labs."""

    def slice_done(self) -> None:
        """A slice was executed."""

    def slice_refused(self, refusal: Refusal) -> None:
        """A slice was refused, and the engine still runs."""


class Driver:
    """Use it from the lab's event loop."""

    def __init__(self, lab: Driven) -> None:
        self._lab = lab
        self._tasks: list[asyncio.Task[None]] = []
        self._moved = asyncio.Event()
        self._due = asyncio.Event()
        self._alarm_clock: asyncio.TimerHandle | None = None

    def start(self, *others: Coroutine[Any, Any, None]) -> None:
        """Starts to drive the engine. `others` run beside it, and are cancelled with it."""
        self._tasks = [asyncio.create_task(task, context=Context()) for task in (self._drive(), *others)]

    async def stop(self) -> None:
        """Stops, and waits until the tasks have ended."""
        tasks = self._cancelled()
        if tasks:
            await asyncio.wait(tasks)

    def abandon(self) -> None:
        """Stops at once. May be called from one of the tasks, which then has to end by itself."""
        self._cancelled()

    def _cancelled(self) -> list[asyncio.Task[None]]:
        tasks = [task for task in self._tasks if task is not asyncio.current_task()]
        self._tasks = []
        for task in tasks:
            task.cancel()
        return tasks

    def time_changed(self) -> None:
        """Must be called after the pacer was changed."""
        self._moved.set()

    def look_when_due(self, due_s: float | None) -> None:
        """Runs the next slice in `due_s` seconds if that is before the next tick. None: at the next tick."""
        if self._alarm_clock is not None:
            self._alarm_clock.cancel()
            self._alarm_clock = None
        if due_s is not None and due_s < TICK_S:
            self._alarm_clock = asyncio.get_running_loop().call_later(due_s, self._due.set)

    async def _drive(self) -> None:
        lab, pacer = self._lab, self._lab.pacer
        while True:
            began_s = pacer.now_s()
            was_playing = pacer.running
            try:
                async with lab.slice_turn():
                    await lab.act(LiveRun.slice)
                lab.slice_done()
                if lab.engine is not None and lab.engine.is_checkpoint_due:
                    await lab.act(LiveRun.checkpoint_aside)
                if lab.engine is not None:
                    lab.engine.forget_when_due()
            except Refusal as refusal:
                if lab.engine is None:
                    return
                lab.slice_refused(refusal)
            except Exception:
                # beside the engine, such as a checkpoint that cannot be started: without slices no timer would be due
                logger.exception("the engine of %s continues without what failed", lab.recording.folder.path)
                await asyncio.sleep(REST_S)
            if was_playing:
                # a tick later, or when something is due that a client waits for
                pacer.max_rate = load.max_rate if lab.policy.is_shared else float("inf")
                pacer.tick_s = TICK_S if lab.is_looked_at_closely else SLOW_TICK_S
                await wait_for(self._due, pacer.pause_before_next_slice_s(began_s))
                self._due.clear()
            else:
                self._moved.clear()
                await wait_for(self._moved, REST_S if lab.is_looked_at_closely else SLOW_REST_S)
