"""The threads in which imports are executed: their own, one import of each user, and what a cancelled one leaves."""

import asyncio
import threading
from collections.abc import Callable, Coroutine
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from asgiref.sync import sync_to_async

from lab.actions import execution
from lab.actions.execution import THREADS, ExecutionEnded, ImportProgress, imported, in_thread
from lab.archives.unfinished import UnfinishedFolder
from lab.texts.refusal import Refusal
from tests.support.lab_server import PATIENCE_S

USER = 1
DEFAULT_THREADS = 32
"""The most that a loop's own executor has."""


def run(scene: Callable[[], Coroutine[Any, Any, None]]) -> None:
    asyncio.run(asyncio.wait_for(scene(), PATIENCE_S))


async def happened(event: threading.Event) -> None:
    assert await asyncio.to_thread(event.wait, PATIENCE_S)


async def laps() -> None:
    """Lets the tasks do what they can do now."""
    for _ in range(10):
        await asyncio.sleep(0)


class NoFolder(UnfinishedFolder):
    """Of a work that makes none: calls `undo` in place of removing it."""

    def __init__(self, undo: Callable[[], None]) -> None:
        super().__init__(Path("none"))
        self._undo = undo

    def begin(self) -> None:
        pass

    def discard(self) -> None:
        self._undo()


class Work:
    """Begins, then waits for `goes_on`, or with `checks` for its cancellation."""

    def __init__(self, *, checks: bool = False) -> None:
        self.checks = checks
        self.folder = NoFolder(self.undo)
        self.begun, self.goes_on, self.ended, self.undone = (threading.Event() for _ in range(4))

    def __call__(self, progress: ImportProgress) -> str:
        self.begun.set()
        try:
            while self.checks:
                progress.check()
            assert self.goes_on.wait(PATIENCE_S)
        finally:
            self.ended.set()
        return "made"

    def undo(self) -> None:
        assert self.ended.is_set() or not self.begun.is_set(), "files are removed while they are written"
        self.undone.set()


def test_a_cancelled_import_ends_its_execution_before_its_files_are_removed() -> None:
    async def scene() -> None:
        work = Work(checks=True)
        importing = asyncio.create_task(in_thread(work, work.undo))
        await happened(work.begun)
        importing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await importing
        assert work.ended.is_set() and work.undone.is_set()

    run(scene)


def test_an_import_that_is_cancelled_twice_waits_for_its_thread() -> None:
    async def scene() -> None:
        work = Work()
        importing = asyncio.create_task(in_thread(work, work.undo))
        await happened(work.begun)
        for _ in range(3):
            importing.cancel()
            await laps()
            assert not importing.done(), "the thread still writes"
        work.goes_on.set()
        with pytest.raises(asyncio.CancelledError):
            await importing
        assert work.ended.is_set() and work.undone.is_set(), "nobody takes the result"

    run(scene)


def test_imports_leave_the_other_threads_of_the_lab_alone() -> None:
    async def scene() -> None:
        works = [Work() for _ in range(DEFAULT_THREADS + 1)]
        importing = [asyncio.create_task(in_thread(work, work.undo)) for work in works]
        await laps()
        try:
            assert await asyncio.wait_for(asyncio.to_thread(lambda: "opened"), PATIENCE_S / 4) == "opened"
            await asyncio.gather(*(happened(work.begun) for work in works[:THREADS]))
            importing[-1].cancel()
            with pytest.raises(asyncio.CancelledError):
                await asyncio.wait_for(importing[-1], PATIENCE_S / 4)
            assert not works[-1].begun.is_set() and not works[0].ended.is_set(), "it waits for none"
        finally:
            for work in works:
                work.goes_on.set()
            done = await asyncio.gather(*importing, return_exceptions=True)
        assert done[:-1] == ["made"] * DEFAULT_THREADS

    run(scene)


def test_what_is_left_of_killed_imports_is_removed_in_a_thread_of_imports(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene() -> None:
        work = Work()
        work.goes_on.set()
        removing, goes_on = threading.Event(), threading.Event()

        def removes() -> None:
            removing.set()
            assert goes_on.wait(PATIENCE_S)

        monkeypatch.setattr(execution, "finish_imports", removes)
        importing = asyncio.create_task(imported(USER, work.folder, work, str))
        await happened(removing)
        try:
            assert await asyncio.wait_for(sync_to_async(lambda: "read")(), PATIENCE_S / 4) == "read"
        finally:
            goes_on.set()
            assert await importing == "made"

    run(scene)


def test_a_user_has_one_import_at_a_time() -> None:
    async def scene() -> None:
        work, other = Work(), Work()
        importing = asyncio.create_task(imported(USER, work.folder, work, str))
        await happened(work.begun)
        with pytest.raises(Refusal, match="Another of your files is being imported") as refused:
            await imported(USER, other.folder, other, str)
        assert refused.value.status == 409 and not other.begun.is_set()
        other.goes_on.set()
        assert await imported(USER + 1, other.folder, other, str) == "made"
        work.goes_on.set()
        assert await importing == "made"
        assert await imported(USER, work.folder, work, str) == "made"
        assert not work.undone.is_set()

    run(scene)


@pytest.mark.parametrize("is_refused", [True, False], ids=["refused", "committed"])
def test_files_are_left_after_a_cancellation_if_they_were_committed_only(is_refused: bool) -> None:
    async def scene() -> None:
        work = Work()
        work.goes_on.set()
        entering, goes_on, entered = (threading.Event() for _ in range(3))

        def enter(made: str) -> str:
            entering.set()
            assert goes_on.wait(PATIENCE_S)
            if is_refused:
                raise Refusal("refusal.run_limit", 409, max=1)
            entered.set()
            return made

        importing = asyncio.create_task(imported(USER, work.folder, work, enter))
        await happened(entering)
        importing.cancel()
        with suppress(asyncio.CancelledError):
            await importing
        goes_on.set()
        await happened(work.undone if is_refused else entered)
        assert work.undone.is_set() == is_refused

    run(scene)


def test_an_import_ends_its_work_when_cancelled_or_over() -> None:
    limit = ImportProgress(PATIENCE_S)
    limit.check()
    limit.check_cancelled()
    limit.cancel()
    for check in (limit.check, limit.check_cancelled):
        with pytest.raises(ExecutionEnded):
            check()
    with pytest.raises(ExecutionEnded):
        ImportProgress(0).check()
    ImportProgress(0).check_cancelled()
