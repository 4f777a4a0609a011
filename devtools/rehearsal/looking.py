"""Staff who open the analytics during the class, as the page does: what it costs and shows."""

import asyncio
import contextlib
import json
import time
from bisect import bisect_left
from pathlib import Path

from devtools.processes import process_tree
from devtools.rehearsal.visitor import Refused, Visitor

POLL_S = 0.3
"""As the page asks how far a round is."""


def wall_ms() -> float:
    """The clock that the server and this process share."""
    return time.time() * 1_000


class Looking:
    """The page of the analytics of a class, without a screen."""

    def __init__(self, visitor: Visitor, slug: str, server_pid: int) -> None:
        self._visitor, self._api = visitor, f"/api/classes/{slug}/analytics/tables"
        self._page = f"/classes/{slug}/analytics/"
        self._server_pid = server_pid
        self.shown: list[tuple[float, float]] = []
        """Up to which instant the charts held what was done, and when they were shown; in order."""
        self._began: tuple[float, float] | None = None
        self._ended: tuple[float, float] | None = None

    async def stay(self) -> None:
        """Looks until it is cancelled."""
        await self._visitor.get(self._page)
        while True:
            found = json.loads((await self._visitor.ask(f"{self._api}/start", {})).text)
            if found["job"] is None:
                await asyncio.sleep(found["wait_s"] or 1.0)
            elif await self._is_done(found["job"]):
                await self._look()

    async def _is_done(self, job: str) -> bool:
        while True:
            state = json.loads((await self._visitor.get(f"{self._api}/{job}.json")).text)["state"]
            if state == "failed":
                raise Refused("a round of the analytics failed: see spark.log of the lab")
            if state == "done":
                return True
            await asyncio.sleep(POLL_S)

    async def _look(self) -> None:
        as_of_ms = json.loads((await self._visitor.get(f"{self._api}.json")).text)["as_of_ms"]
        if not self.shown or as_of_ms > self.shown[-1][0]:
            self.shown.append((as_of_ms, wall_ms()))
        self._ended = (time.monotonic(), _workers_cpu_s(self._server_pid))
        # The first rounds are those of a JVM that has compiled nothing.
        if len(self.shown) == 1:
            self._began = self._ended

    def delays(self, acts_ms: list[float]) -> list[float]:
        """From each act after the first round to the charts that hold it, in milliseconds."""
        until = [as_of_ms for as_of_ms, _ in self.shown]
        places = [(act_ms, bisect_left(until, act_ms)) for act_ms in acts_ms if until and act_ms > until[0]]
        return [self.shown[place][1] - act_ms for act_ms, place in places if place < len(until)]

    def core_share(self) -> float:
        """What the rounds took of one core, from the end of the first to that of the last."""
        if self._began is None or self._ended is None or self._ended == self._began:
            return float("nan")
        wall_s, cpu_s = (end - start for start, end in zip(self._began, self._ended, strict=True))
        return cpu_s / wall_s


def _workers_cpu_s(server_pid: int) -> float:
    """CPU seconds of the process that the server has started for Spark, and of its JVM."""
    started = [each.pid for each in process_tree(server_pid) if each.parent == server_pid]
    return sum(each.cpu_s for pid in started if _is_worker(pid) for each in process_tree(pid))


def _is_worker(pid: int) -> bool:
    with contextlib.suppress(OSError):
        return b"lab.analytics.worker" in Path(f"/proc/{pid}/cmdline").read_bytes()
    return False
