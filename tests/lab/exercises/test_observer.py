"""How the progress of a learner is stored."""

import asyncio
import logging
from types import SimpleNamespace
from typing import Any

import pytest
from asgiref.sync import ThreadSensitiveContext, sync_to_async

from lab.exercises.observer import ExerciseObserver
from tests.support.learner import Learner


class Progress:
    """In place of the table: saves in a thread, as the database does."""

    def __init__(self, failure: Exception | None = None) -> None:
        self.saved: list[dict[str, Any]] = []
        self._failure = failure

    def filter(self, **_: Any) -> "Progress":
        return self

    async def aupdate(self, state: dict[str, Any]) -> None:
        await sync_to_async(self._save)(state)

    def _save(self, state: dict[str, Any]) -> None:
        if self._failure is not None:
            raise self._failure
        self.saved.append(state)


def publish_and_leave(monkeypatch: pytest.MonkeyPatch, progress: Progress) -> None:
    """Publishes a state in the context of a connection that ends at once."""

    async def scene() -> None:
        monkeypatch.setattr("lab.exercises.observer.ExerciseProgress", SimpleNamespace(objects=progress))
        lab: Any = SimpleNamespace(watchers=set())
        branch: Any = "a branch"
        observer = ExerciseObserver(lab, 1, branch, Learner().session, asyncio.get_running_loop())
        async with ThreadSensitiveContext():
            await sync_to_async(len)("the connection has used its thread")
            observer.publish()
        await asyncio.gather(*observer._saving, return_exceptions=True)

    asyncio.run(scene())


def test_progress_is_saved_even_if_the_page_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    progress = Progress()
    publish_and_leave(monkeypatch, progress)
    assert len(progress.saved) == 1


def test_failed_save_is_logged(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.ERROR)
    publish_and_leave(monkeypatch, Progress(OSError("database is locked")))
    (record,) = caplog.records
    assert "was not saved" in record.message and "database is locked" in str(record.exc_info)
