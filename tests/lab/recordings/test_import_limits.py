"""Imports execute recorded inputs: for a limited time, and a file that was made up does not break the lab."""

import asyncio
import io
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from django.conf import settings
from msgspec.structs import replace

from broker_core.run import Input
from lab.actions import execution
from lab.actions.execution import ExecutionLimit, TakesTooLong, in_thread
from lab.archives.manifest import CarriedBranch
from lab.archives.pack import RunFacts, pack_run
from tests.support.lab_server import Visitor
from tests.support.recorded_runs import begin

ENDLESS_STEPS = 1_000_000
"""More than are executed in the shortened limit; few enough for this test to end without one."""


@pytest.fixture
def untouched() -> Iterator[None]:
    """No folder may be left."""
    before = sorted(settings.RUNS.iterdir())
    yield
    assert sorted(settings.RUNS.iterdir()) == before


def file_with(folder: Path, made_up: Input) -> bytes:
    """An exported run to whose inputs one was added. Where it names no place, it is at the end."""
    recording, live = begin(folder)
    if not made_up.step:
        end = {"step": live.run._kernel.steps, "seq": live.run.seq, "at_us": live.run.now_us}
        made_up = replace(made_up, **end)
    live.close()
    recording.append_inputs([(made_up.at_us, made_up.encode())])
    target = io.BytesIO()
    facts = RunFacts("Made up", "3.9", 5, 3)
    pack_run(facts, [(recording, CarriedBranch("main", 0))], target)
    recording.close()
    return target.getvalue()


def test_inputs_that_take_too_long_are_refused_with_the_limit_and_leave_nothing(
    visitor: Visitor, tmp_path: Path, untouched: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(execution, "MAX_EXECUTION_S", 1)
    file = file_with(tmp_path, Input(ENDLESS_STEPS, 10**6, 10**9, "command", "test", "wait 1s"))
    answer = visitor.post_file("/runs/import", file)
    assert answer.status == 400, answer.url
    assert "were not executed within 1 seconds" in answer.text and "nothing was imported" in answer.text


@pytest.mark.parametrize(
    "made_up",
    [
        Input(0, 0, 0, "interrupt", "test", "x"),
        Input(0, 0, 0, "command", "test", "no-such-command"),
        Input(0, 0, 0, "command", "test", ""),
        Input(0, 0, 0, "frame", "12345", "", b"\0"),
        Input(0, 0, 0, "connect", "host", "99"),
        Input(0, 0, 0, "foreign", "test", "{"),
        Input(0, 0, 0, "nothing", "test", "nothing"),
        Input(0, 0, 0, "met", "test", "{"),
        Input(1, 10**15, 0, "command", "test", "help"),
        Input(-5, -5, -5, "command", "test", "help"),
    ],
    ids=lambda given: f"{given.kind} {given.text}",
)
def test_made_up_inputs_are_answered_with_a_sentence(
    made_up: Input, visitor: Visitor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run is shown as recorded, or refused; the server does not fail."""
    monkeypatch.setattr(execution, "MAX_EXECUTION_S", 1)
    answer = visitor.post_file("/runs/import", file_with(tmp_path, made_up))
    assert answer.status in (200, 400), answer.text
    assert "refusal." not in answer.text


def test_a_cancelled_import_ends_its_execution_before_its_files_are_removed() -> None:
    working, ended = threading.Event(), threading.Event()

    def work(limit: ExecutionLimit) -> None:
        working.set()
        with suppress(TakesTooLong):
            while True:
                limit.check()
        ended.set()

    async def cancelled() -> bool:
        importing = asyncio.create_task(in_thread(work))
        await asyncio.to_thread(working.wait)
        importing.cancel()
        with suppress(asyncio.CancelledError):
            await importing
        return ended.is_set()

    assert asyncio.run(asyncio.wait_for(cancelled(), 60))
