"""The thread of a lab: its jobs, one after the other, and their messages to the event loop."""

import asyncio
import contextlib
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any, TypeVar

T = TypeVar("T")


class LabThread:
    """A single thread. The loop is woken once per job, at its end: waking it takes longer than many jobs, and a thread
    pool does it twice.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, name: str) -> None:
        self._loop = loop
        self._jobs: SimpleQueue[tuple[Callable[[], Any], asyncio.Future[Any]] | None] = SimpleQueue()
        self._is_closed = False
        self._is_working = False
        self._reported: list[tuple[Callable[..., None], tuple[Any, ...]]] = []
        self._thread = threading.Thread(target=self._work, name=name, daemon=True)
        self._thread.start()

    @property
    def waiting_jobs(self) -> int:
        """Approximate number of jobs that have not started."""
        return self._jobs.qsize()

    @property
    def is_idle(self) -> bool:
        """Whether no job waits or runs."""
        return not self._is_working and self._jobs.empty()

    async def do(self, job: Callable[[], T]) -> T:
        """Runs a job after those before it. One that is cancelled before its turn does not run."""
        if self._is_closed:
            raise RuntimeError("the lab's thread has ended")
        done: asyncio.Future[T] = self._loop.create_future()
        self._jobs.put((job, done))
        return await done

    def call_in_loop(self, callback: Callable[..., None], *arguments: Any) -> None:
        """From within a job: the loop calls `callback` when the job has ended, before its result is delivered."""
        self._reported.append((callback, arguments))

    def close(self) -> None:
        """Completes all jobs and ends the thread."""
        self._is_closed = True
        self._jobs.put(None)
        self._thread.join()

    def _work(self) -> None:
        while self._work_off(self._jobs.get()):
            pass

    def _work_off(self, given: tuple[Callable[[], T], "asyncio.Future[T]"] | None) -> bool:
        """Does a job; returns whether another one may follow. Nothing of a job is kept until the next one: it may hold
        the engine, which has ended.
        """
        if given is None:
            return False
        job, done = given
        if done.cancelled():
            return True
        result, error = None, None
        self._is_working = True
        try:
            result = job()
        except BaseException as raised:
            error = raised
        self._is_working = False
        reported, self._reported = self._reported, []
        try:
            self._loop.call_soon_threadsafe(self._settle, reported, done, result, error)
        except RuntimeError:
            # the loop is closed, so no caller waits
            return False
        return True

    def _settle(
        self,
        reported: list[tuple[Callable[..., None], tuple[Any, ...]]],
        done: "asyncio.Future[Any]",
        result: Any,
        error: BaseException | None,
    ) -> None:
        for callback, arguments in reported:
            self._loop.call_soon(callback, *arguments)
        if done.cancelled():
            return
        if error is None:
            done.set_result(result)
        else:
            done.set_exception(error)


async def wait_for(event: asyncio.Event, seconds: float) -> None:
    """Returns when it is set, or after this number of seconds. Not with `asyncio.wait_for`: in Python 3.11 that loses a
    cancellation that arrives together with the event, and the canceller waits for ever.
    """
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()
