"""Imports that a page follows: begun with a request for JSON, asked how far they are, cancelled, and shown again."""

import errno
import threading
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings

from lab.actions import execution, import_run, imports
from lab.actions.classes import transfer_class
from lab.actions.classes.demonstration import DEMONSTRATION
from lab.recordings.recording import Recording
from lab.recordings.summary import write_summary
from tests.support.imports.made_up import ENDLESS, file_with
from tests.support.lab_server import PATIENCE_S, Answer, Visitor

STAGES = ["waits", "unpack", "check", "execute", "finish"]


@pytest.fixture
def endless(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> bytes:
    """A run whose inputs are executed until the import is cancelled."""
    monkeypatch.setattr(execution, "MAX_EXECUTION_S", 10 * PATIENCE_S)
    monkeypatch.setattr(import_run, "MAX_EVENTS_BEYOND", 10**9)
    return file_with(tmp_path, ENDLESS)


@pytest.fixture
def untouched() -> Iterator[None]:
    """No folder may be left."""
    before = sorted(settings.RUNS.iterdir())
    yield
    assert sorted(settings.RUNS.iterdir()) == before


def begin(visitor: Visitor, path: str, file: bytes) -> Answer:
    request: urllib.request.Request = visitor.file_request(path, file)
    request.add_header("Accept", "application/json")
    return visitor._send(request)


def begun(visitor: Visitor, path: str, file: bytes) -> str:
    answer = begin(visitor, path, file)
    assert answer.status == 202, answer.text
    return str(answer.json["import"])


def progress(visitor: Visitor, id: str) -> dict[str, Any]:
    answer = visitor.get(f"/api/imports/{id}.json")
    assert answer.status == 200, answer.text
    found: dict[str, Any] = answer.json
    return found


def until(visitor: Visitor, id: str, stage: str) -> dict[str, Any]:
    """Asks until the import is in a stage, or over."""
    deadline = time.monotonic() + PATIENCE_S
    while (now := progress(visitor, id))["state"] == "running" and now["stage"] != stage:
        assert time.monotonic() < deadline, now
    return now


def test_a_run_is_followed_to_its_page(visitor: Visitor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[str, int, int]] = []
    report = execution.ImportProgress.report

    def noted(self: execution.ImportProgress, *now: Any) -> None:
        report(self, *now)
        seen.append(self.now)

    monkeypatch.setattr(execution.ImportProgress, "report", noted)
    now = until(visitor, begun(visitor, "/runs/import", file_with(tmp_path, None)), "")
    assert now["state"] == "done", now
    assert visitor.get(now["address"]).status == 200 and now["address"].startswith("/r/")
    assert list(dict.fromkeys(stage for stage, _, _ in seen)) == STAGES[1:]
    for stage in STAGES[1:]:
        parts = [(done, of) for name, done, of in seen if name == stage]
        assert parts == sorted(parts) and all(0 <= done <= of and of > 0 for done, of in parts), (stage, parts)
    assert all(done == of for done, of in (max(part[1:] for part in seen if part[0] == s) for s in ("unpack", "check")))


def test_a_class_is_followed_to_its_replay(visitor: Visitor) -> None:
    now = until(visitor, begun(visitor, "/classes/import", DEMONSTRATION.read_bytes()), "")
    assert now["state"] == "done", now
    assert "/replay/" in now["address"] and visitor.get(now["address"]).status == 200


def test_an_import_is_shown_again_by_the_next_page_and_cancelled(
    visitor: Visitor, endless: bytes, untouched: None
) -> None:
    id = begun(visitor, "/runs/import", endless)
    now = until(visitor, id, "execute")
    assert (now["state"], now["stage"]) == ("running", "execute") and now["of"] > 0
    assert f'data-import="{id}"' in visitor.get("/runs/").text
    assert "data-import" not in visitor.get("/classes/").text
    second = begin(visitor, "/runs/import", endless)
    assert second.status == 409 and second.json["what"] == "Another of your files is being imported."
    assert visitor.post_json(f"/api/imports/{id}/cancel", {}).json["state"] == "cancelled"
    assert progress(visitor, id)["state"] == "cancelled"
    assert "data-import" not in visitor.get("/runs/").text


def test_an_import_that_waits_for_a_thread_is_cancelled_at_once(
    visitor: Visitor, tmp_path: Path, untouched: None
) -> None:
    goes_on = threading.Event()
    for _ in range(execution.THREADS):
        execution._threads.submit(goes_on.wait, PATIENCE_S)
    try:
        id = begun(visitor, "/runs/import", file_with(tmp_path, None))
        assert progress(visitor, id)["stage"] == "waits"
        assert visitor.post_json(f"/api/imports/{id}/cancel", {}).json["state"] == "cancelled"
    finally:
        goes_on.set()


def test_an_import_that_is_cancelled_at_its_end_is_not_entered(
    visitor: Visitor, tmp_path: Path, untouched: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    cancelled, cancel = threading.Event(), execution.ImportProgress.cancel

    def cancels(self: execution.ImportProgress) -> None:
        cancel(self)
        cancelled.set()

    def waits(recording: Recording) -> None:
        assert cancelled.wait(PATIENCE_S)
        write_summary(recording)

    monkeypatch.setattr(execution.ImportProgress, "cancel", cancels)
    monkeypatch.setattr(import_run, "write_summary", waits)
    id = begun(visitor, "/runs/import", file_with(tmp_path, None))
    assert until(visitor, id, "finish")["stage"] == "finish"
    now = visitor.post_json(f"/api/imports/{id}/cancel", {}).json
    assert (now["state"], now["address"]) == ("cancelled", "")


def test_a_refusal_is_an_answer_to_the_page_that_follows_and_not_shown_by_another(
    visitor: Visitor, untouched: None
) -> None:
    id = begun(visitor, "/runs/import", b"no zip")
    now = until(visitor, id, "")
    assert now["state"] == "failed" and now["error"]["what"] and now["error"]["todo"]
    shown = visitor.get("/runs/")
    assert shown.status == 200 and 'id="import-error"' not in shown.text
    assert progress(visitor, id) == now, "a second page that follows"
    assert until(visitor, begun(visitor, "/runs/import", b""), "")["state"] == "failed"


def until_it_ends(id: str) -> None:
    """Waits for an import that no page follows."""
    [found] = [one for one in imports._newest.values() if one.id == id]
    deadline = time.monotonic() + PATIENCE_S
    while found.state == "running":
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_refusal_that_no_page_followed_is_shown_once_by_the_list(visitor: Visitor, untouched: None) -> None:
    id = begun(visitor, "/runs/import", b"no zip")
    until_it_ends(id)
    assert 'id="import-error"' not in visitor.get("/classes/").text
    shown = visitor.get("/runs/")
    assert shown.status == 200 and 'id="import-error"' in shown.text
    assert 'id="import-error"' not in visitor.get("/runs/").text
    now = progress(visitor, id)
    assert now["state"] == "failed" and now["error"]["what"] in shown.text, "a page that follows it nevertheless"


def test_a_refusal_that_is_not_about_the_file_is_shown_in_the_form_of_imports(
    visitor: Visitor, tmp_path: Path, untouched: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(import_run, "write_summary", fails)
    until_it_ends(begun(visitor, "/runs/import", file_with(tmp_path, None)))
    assert 'id="import-error"' in visitor.get("/runs/").text
    monkeypatch.setattr(transfer_class, "MAX_CLASSES", 0)
    until_it_ends(begun(visitor, "/classes/import", DEMONSTRATION.read_bytes()))
    assert 'id="import-error"' in visitor.get("/classes/").text
    # Without a script.
    answer = visitor.post_file("/classes/import", DEMONSTRATION.read_bytes())
    assert answer.status == 409 and 'id="import-error"' in answer.text


def test_an_error_of_the_lab_is_an_answer(
    visitor: Visitor, tmp_path: Path, untouched: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: Any) -> None:
        raise AssertionError("an error of the lab")

    file = file_with(tmp_path, None)
    monkeypatch.setattr(import_run, "write_summary", fails)
    now = until(visitor, begun(visitor, "/runs/import", file), "")
    assert now["state"] == "failed" and "error in the lab" in now["error"]["what"]


def test_an_import_of_another_user_is_not_found(visitor: Visitor, endless: bytes, untouched: None) -> None:
    id = begun(visitor, "/runs/import", endless)
    other = Visitor(visitor.server).sign_in_as("import-stranger")
    assert other.get(f"/api/imports/{id}.json").status == 404
    assert other.post_json(f"/api/imports/{id}/cancel", {}).status == 404
    assert progress(visitor, id)["state"] == "running"
    visitor.post_json(f"/api/imports/{id}/cancel", {})
    imports._newest.clear()
    assert visitor.get(f"/api/imports/{id}.json").status == 404


def test_an_uploaded_file_has_no_name_while_it_is_imported(visitor: Visitor, endless: bytes, tmp_path: Path) -> None:
    """A process that is killed leaves none then."""
    uploads = tmp_path / "uploads"
    uploads.mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(settings, "FILE_UPLOAD_TEMP_DIR", str(uploads))
        patch.setattr(settings, "FILE_UPLOAD_MAX_MEMORY_SIZE", 1)
        id = begun(visitor, "/runs/import", endless)
        assert until(visitor, id, "execute")["state"] == "running"
        assert not list(uploads.iterdir())
    visitor.post_json(f"/api/imports/{id}/cancel", {})
