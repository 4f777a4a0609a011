"""Imports execute recorded inputs: for a limited time, and a file that was made up does not break the lab."""

import errno
import io
import re
import struct
import threading
import time
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import msgspec
import pytest
from django.conf import settings

from broker_core.run import Input
from lab.actions import execution, import_run
from lab.actions.execution import ExecutionEnded
from lab.archives.progress import Stage
from lab.archives.unpack import unpack_run
from lab.runtime import engine
from tests.support.imports.made_up import ENDLESS, file_with
from tests.support.lab_server import PATIENCE_S, Visitor


@pytest.fixture
def untouched() -> Iterator[None]:
    """No folder may be left."""
    before = sorted(settings.RUNS.iterdir())
    yield
    assert sorted(settings.RUNS.iterdir()) == before


def test_inputs_that_take_too_long_are_refused_with_the_limit_and_leave_nothing(
    visitor: Visitor, tmp_path: Path, untouched: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(execution, "MAX_EXECUTION_S", 1)
    monkeypatch.setattr(import_run, "MAX_EVENTS_BEYOND", 10**9)
    answer = visitor.post_file("/runs/import", file_with(tmp_path, ENDLESS))
    assert answer.status == 400, answer.url
    assert "were not executed within 1 seconds" in answer.text and "nothing was imported" in answer.text


def test_an_input_far_beyond_the_recording_is_refused_before_its_events_fill_the_memory(
    visitor: Visitor, tmp_path: Path, untouched: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(execution, "MAX_EXECUTION_S", 30)
    monkeypatch.setattr(import_run, "MAX_EVENTS_BEYOND", 1_000)
    answer = visitor.post_file("/runs/import", file_with(tmp_path, ENDLESS))
    assert answer.status == 400, answer.url
    assert "continue far beyond" in answer.text and "at most 1000 events" in answer.text


@pytest.mark.parametrize(
    ("made_up", "status"),
    [
        (Input(0, 0, 0, "interrupt", "test", "x"), 400),
        (Input(0, 0, 0, "command", "test", "no-such-command"), 400),
        (Input(0, 0, 0, "command", "test", ""), 400),
        (Input(0, 0, 0, "frame", "12345", "", b"\0"), 200),
        (Input(0, 0, 0, "connect", "host", "99"), 400),
        (Input(0, 0, 0, "foreign", "test", "{"), 400),
        (Input(0, 0, 0, "nothing", "test", "nothing"), 400),
        (Input(0, 0, 0, "met", "test", "{"), 200),
        (Input(1, 10**15, 0, "command", "test", "help"), 400),
        (Input(-5, -5, -5, "command", "test", "help"), 200),
    ],
    ids=lambda given: f"{given.kind} {given.text}" if isinstance(given, Input) else str(given),
)
def test_made_up_inputs_are_answered_with_a_sentence(
    made_up: Input, status: int, visitor: Visitor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run is shown as recorded, or refused; the server does not fail."""
    monkeypatch.setattr(execution, "MAX_EXECUTION_S", 30)
    answer = visitor.post_file("/runs/import", file_with(tmp_path, made_up))
    assert answer.status == status, answer.text
    assert not re.search(r"refusal\.\w+\.(what|expected|todo)", answer.text), "an id instead of a sentence"


@pytest.mark.parametrize(
    "error",
    [
        OSError(errno.ENAMETOOLONG, "File name too long", "/a/folder/of/this/machine"),
        OverflowError("too large"),
        RecursionError("too deep"),
        struct.error("too short"),
        msgspec.DecodeError("no JSON"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_what_executing_made_up_inputs_raises_is_a_refusal(
    error: Exception, visitor: Visitor, tmp_path: Path, untouched: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = file_with(tmp_path, None)

    def fails(*_: Any, **__: Any) -> None:
        raise error

    monkeypatch.setattr(engine, "wake", fails)
    answer = visitor.post_file("/runs/import", file)
    assert answer.status == 400, answer.status
    assert "cannot be read" in answer.text and "/a/folder" not in answer.text


def test_a_cancelled_import_is_not_unpacked_to_its_end(tmp_path: Path) -> None:
    file = file_with(tmp_path / "made", None)

    def cancelled_while_unpacked(stage: Stage, done: int, of: int) -> None:
        assert stage == "unpack" and 0 < done < of
        raise ExecutionEnded

    with pytest.raises(ExecutionEnded):
        unpack_run(io.BytesIO(file), tmp_path / "runs", "r2", cancelled_while_unpacked)
    assert not (tmp_path / "runs" / "r2").exists()


def test_a_closed_page_ends_its_import_and_leaves_nothing(
    visitor: Visitor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(execution, "MAX_EXECUTION_S", 10 * PATIENCE_S)
    monkeypatch.setattr(import_run, "MAX_EVENTS_BEYOND", 10**9)
    file, wake = file_with(tmp_path, ENDLESS), engine.wake
    executing, ended, raised = threading.Event(), threading.Event(), []

    def observed(*given: Any, **named: Any) -> Any:
        executing.set()
        try:
            return wake(*given, **named)
        except BaseException as error:
            raised.append(type(error))
            raise
        finally:
            ended.set()

    monkeypatch.setattr(engine, "wake", observed)
    before = sorted(settings.RUNS.iterdir())
    request = visitor.file_request("/runs/import", file)
    visitor.cookies.add_cookie_header(request)
    page = HTTPConnection(request.host, timeout=PATIENCE_S)
    page.request("POST", "/runs/import", request.data, dict(request.header_items()))
    assert executing.wait(PATIENCE_S)
    assert sorted(settings.RUNS.iterdir()) != before
    page.close()
    assert ended.wait(PATIENCE_S) and raised == [ExecutionEnded]
    deadline = time.monotonic() + PATIENCE_S
    while sorted(settings.RUNS.iterdir()) != before:
        assert time.monotonic() < deadline, "the files of the import are left"
        time.sleep(0.01)
