"""`kill -9` of an import: what it has left is removed, and nothing else is."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.test import override_settings

from lab.actions.execution import finish_imports
from lab.archives.unfinished import UnfinishedFolder, abandoned
from lab.models import Class, Run
from tests.support.imports.made_up import ENDLESS, file_with
from tests.support.lab_server import LabServer, Visitor
from tests.support.paths import ROOT

SLUG = "k111ed"


@contextmanager
def importing(data: Path, file: Path, stage: str) -> Iterator[subprocess.Popen[str]]:
    """A process that imports, once it has reached a stage; it is killed at the end."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.support.imports.killed_import", str(file), SLUG],
        cwd=ROOT,
        env={**os.environ, "HIGHWATER_DATA": str(data), "DJANGO_SETTINGS_MODULE": "lab.settings"},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    try:
        assert any(line.strip() == stage for line in process.stdout), "it ended before it reached the stage"
        yield process
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.close()


@pytest.fixture
def data(tmp_path: Path) -> Iterator[Path]:
    (tmp_path / "data" / "runs").mkdir(parents=True)
    with override_settings(DATA=tmp_path / "data", RUNS=tmp_path / "data" / "runs"):
        yield tmp_path / "data"


def files_below(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*"))


@pytest.mark.django_db
@pytest.mark.parametrize("stage", ["unpack", "execute", "enter"])
def test_what_a_killed_import_has_left_is_removed(stage: str, data: Path, tmp_path: Path) -> None:
    file = tmp_path / "a.hwrun"
    file.write_bytes(file_with(tmp_path / "made", ENDLESS if stage == "execute" else None))
    finished = data / "runs" / "finished" / "main" / "recording"
    finished.mkdir(parents=True)
    with importing(data, file, stage):
        assert (data / "runs" / SLUG).is_dir()
        finish_imports()
        assert (data / "runs" / SLUG).is_dir(), "an import in progress must not be touched"
    assert (data / "runs" / SLUG).is_dir(), "otherwise this tests nothing"
    finish_imports()
    assert files_below(data / "runs") == ["finished", "finished/main", "finished/main/recording"]


@pytest.mark.django_db
def test_an_import_that_was_entered_before_the_process_was_killed_is_kept(data: Path, tmp_path: Path) -> None:
    file = tmp_path / "a.hwrun"
    file.write_bytes(file_with(tmp_path / "made", None))
    with importing(data, file, "enter"):
        pass
    Run.objects.create(slug=SLUG, owner=User.objects.create(username="k"), name="kept", seed=1, brokers=3, era="3.9")
    before = files_below(data / "runs" / SLUG)
    assert before
    finish_imports()
    assert files_below(data / "runs" / SLUG) == before
    assert sorted(path.name for path in (data / "runs").iterdir()) == [SLUG]


@pytest.mark.django_db
def test_classes_are_cleared_too(data: Path) -> None:
    owner = User.objects.create(username="k")
    Class.objects.create(slug="known", owner=owner, title="known", link_key="k")
    for slug in ("known", "never"):
        folder = UnfinishedFolder(data / "classes" / slug)
        folder.begin()
        folder.path.mkdir()
        assert folder._lock is not None
        # As the end of its process does.
        os.close(folder._lock)
    finish_imports()
    assert [path.name for path in (data / "classes").iterdir()] == ["known"]


@pytest.mark.django_db
def test_what_could_not_be_removed_is_removed_before_the_next_import(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = UnfinishedFolder(data / "runs" / SLUG)
    folder.begin()
    folder.path.mkdir()
    with monkeypatch.context() as patch:
        patch.setattr(shutil, "rmtree", lambda *_, **__: None)
        folder.discard()
        finish_imports()
    assert files_below(data / "runs") == [f".importing-{SLUG}", SLUG]
    finish_imports()
    assert files_below(data / "runs") == []


def test_the_next_import_clears_what_a_killed_one_left(visitor: Visitor, lab_server: LabServer, tmp_path: Path) -> None:
    left = UnfinishedFolder(settings.RUNS / SLUG)
    left.begin()
    left.path.mkdir()
    assert left._lock is not None
    os.close(left._lock)
    assert visitor.post_file("/runs/import", file_with(tmp_path, None)).status == 200
    assert not left.path.exists()
    assert not list(abandoned(settings.RUNS))
    assert not list(settings.RUNS.glob(".importing-*"))
