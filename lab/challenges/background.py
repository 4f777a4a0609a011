"""Judgements in the background: one process each, at most two at a time and one per user."""

import asyncio
import contextlib
import logging
from asyncio.subprocess import PIPE
from collections.abc import Awaitable, Callable
from contextvars import Context

import msgspec

from lab.challenges.worker import Order, Report
from lab.runtime.processes.module_process import module_process
from lab.texts.refusal import Refusal

MAX_JUDGES = 2
MAX_WALL_S = 1_800.0
logger = logging.getLogger(__name__)

Finished = Callable[[bytes | None], Awaitable[None]]
"""Called with the verdict as JSON, or None if the process ended without a verdict."""


class Judgement:
    """An entry being judged. `done` and `passes` count seeds."""

    def __init__(self, user_id: int, order: Order) -> None:
        self.user_id = user_id
        self.order = order
        self.done = 0
        self.passes = 0
        self.is_cancelled = False
        self._process: asyncio.subprocess.Process | None = None

    async def run(self) -> bytes | None:
        """The verdict as JSON; None if the process ended without a verdict."""
        async with module_process("lab.challenges.worker", stdin=PIPE, stdout=PIPE, limit=8 << 20) as process:
            self._process = process
            assert process.stdin is not None and process.stdout is not None
            if self.is_cancelled:
                return None
            # The process ends when its input is closed, so it stays open.
            process.stdin.write(msgspec.json.encode(self.order) + b"\n")
            try:
                async with asyncio.timeout(MAX_WALL_S):
                    async for line in process.stdout:
                        report = msgspec.json.decode(line, type=Report)
                        if report.verdict:
                            return bytes(report.verdict)
                        self.done, self.passes = report.done, report.passes
            except TimeoutError:
                logger.warning("the judgement of an entry for %s took too long", self.order.challenge)
        return None

    def cancel(self) -> None:
        """Terminates the process."""
        self.is_cancelled = True
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()


class Judges:
    """The running judgements by id of the entry."""

    def __init__(self) -> None:
        self._running: dict[int, Judgement] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def ensure_free(self, user_id: int) -> None:
        """Raises Refusal when the limit per user or per machine is reached."""
        if any(judgement.user_id == user_id for judgement in self._running.values()):
            raise Refusal("refusal.judge_busy", 409)
        if len(self._running) >= MAX_JUDGES:
            raise Refusal("refusal.judges_busy", 409, n=len(self._running), max=MAX_JUDGES)

    def start(self, entry_id: int, user_id: int, order: Order, finished: Finished) -> None:
        """Judges an entry in the background. Raises Refusal."""
        self.ensure_free(user_id)
        judgement = self._running[entry_id] = Judgement(user_id, order)
        # Runs outside the context of the request, whose threads end with it.
        run = self._run(entry_id, judgement, finished)
        task = asyncio.get_running_loop().create_task(run, context=Context())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _run(self, entry_id: int, judgement: Judgement, finished: Finished) -> None:
        verdict = None
        try:
            verdict = await judgement.run()
        except Exception:
            logger.exception("the judgement of entry %s failed", entry_id)
        try:
            # The verdict is stored before the slot is released.
            await finished(verdict)
        except Exception:
            logger.exception("the verdict of entry %s was not stored", entry_id)
        finally:
            self._running.pop(entry_id, None)

    def of(self, entry_id: int) -> Judgement | None:
        """The judgement of an entry, while it runs."""
        return self._running.get(entry_id)

    def cancel(self, entry_id: int) -> None:
        """Ends the judgement of an entry, if it runs."""
        judgement = self._running.get(entry_id)
        if judgement is not None:
            judgement.cancel()


JUDGES = Judges()
