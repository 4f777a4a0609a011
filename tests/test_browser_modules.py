"""The page's modules under Node: the one inside Playwright's wheel, so that nothing but Python is needed."""

import os
import subprocess
from pathlib import Path

import pytest
from browser_recording import write_recording
from django.core.management import CommandError, call_command
from playwright._impl._driver import compute_driver_executable

from lab import event_schema

ROOT = Path(__file__).resolve().parent.parent


def test_the_modules_under_node(tmp_path: Path) -> None:
    write_recording(tmp_path / "recording")
    node, _ = compute_driver_executable()
    tests = sorted(str(path) for path in (ROOT / "tests" / "js").glob("*.test.mjs"))
    done = subprocess.run(
        [node, "--test", *tests],
        cwd=ROOT, env={**os.environ, "HIGHWATER_RECORDING": str(tmp_path / "recording")},
        capture_output=True, text=True, timeout=800,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_generated_vocabulary_is_what_the_events_say() -> None:
    call_command("gen_events", check=True)


def test_a_stale_vocabulary_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    fresh = event_schema.files()
    path = f"{event_schema.FOLDER}/events.gen.js"
    monkeypatch.setattr(event_schema, "files", lambda: {**fresh, path: fresh[path] + "// another\n"})
    with pytest.raises(CommandError, match=r"events\.gen\.js"):
        call_command("gen_events", check=True)
