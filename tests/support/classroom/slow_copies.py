"""Copies of handouts that wait for a test."""

import threading

import pytest

from lab.actions import give_state
from lab.recordings.folder import BranchFolder
from lab.runtime.classes.handouts import copy_handout
from tests.support.lab_server import PATIENCE_S


def copied_on_signal(monkeypatch: pytest.MonkeyPatch) -> tuple[threading.Event, threading.Event]:
    """Copies of handouts begin, which sets the first event, and wait for the second one."""
    begun, goes_on = threading.Event(), threading.Event()

    def copy(handout: BranchFolder, target: BranchFolder) -> None:
        begun.set()
        assert goes_on.wait(PATIENCE_S)
        copy_handout(handout, target)

    monkeypatch.setattr(give_state, "copy_handout", copy)
    return begun, goes_on
