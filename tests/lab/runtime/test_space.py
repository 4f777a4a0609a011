"""What is said when a disk is full."""

import errno
import logging
import shutil
from pathlib import Path

import pytest

from lab.runtime.machine.space import disk_full


def _free(monkeypatch: pytest.MonkeyPatch, free: int) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(10**12, 10**12 - free, free))


def test_full_data_disk_is_reported_with_its_free_space(monkeypatch: pytest.MonkeyPatch, settings) -> None:
    _free(monkeypatch, 5_000_000)
    refusal = disk_full(OSError(errno.ENOSPC, "No space left on device"))
    assert refusal.status == 507
    assert "5 MB" in str(refusal)
    assert str(settings.DATA) not in str(refusal), "guests of a class do not learn where the server keeps its files"


def test_full_disk_elsewhere_is_not_blamed_on_the_data_folder(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    _free(monkeypatch, 10**11)
    error = OSError(errno.ENOSPC, "No space left on device", str(tmp_path / "upload"))
    with caplog.at_level(logging.ERROR):
        refusal = disk_full(error)
    assert refusal.status == 507
    assert "MB are free" not in str(refusal)
    assert str(tmp_path) not in str(refusal)
    assert str(tmp_path / "upload") in caplog.text, "the operator learns which file it was"
