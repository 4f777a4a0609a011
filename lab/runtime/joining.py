"""Moves the tree of an engine to ZooKeeper while the lab works."""

import asyncio
from collections.abc import Callable
from typing import Protocol, TypeVar

from lab.runtime.live_run import LiveRun

T = TypeVar("T")

ATTEMPTS = 3
"""Copies that are made. One is of no use when the engine has used ZooKeeper meanwhile; after them the lab waits."""


class Acting(Protocol):
    """What joining needs of a lab."""

    async def act(self, job: Callable[[LiveRun], T]) -> T: ...


async def join(lab: Acting) -> None:
    """Returns when the tree is on the server. Raises Refusal if it cannot be; then the engine has ended."""
    for _ in range(ATTEMPTS):
        copied = await lab.act(LiveRun.begin_join)
        if copied is None:
            return
        try:
            await _in_background(copied.write)
            if await lab.act(lambda live, copied=copied: live.finish_join(copied)):  # type: ignore[misc]
                return
        finally:
            await _in_background(copied.discard)
    await lab.act(LiveRun.join_server)


async def _in_background(job: Callable[[], None]) -> None:
    """Runs a job in another thread, to its end also if the caller is cancelled: the next engine of the lab uses the
    same chroot.
    """
    running = asyncio.create_task(asyncio.to_thread(job))
    try:
        await asyncio.shield(running)
    except asyncio.CancelledError:
        await asyncio.wait([running])
        raise
