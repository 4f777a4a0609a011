"""How long the files of a class are kept after its end."""

import shutil
from pathlib import Path

from lab.classroom.journal import KEYFRAMES, TOPIC
from lab.classroom.recorded.chapters import CHAPTERS
from lab.classroom.recorded.notes import NOTES
from lab.classroom.recorded.sealed import SEALED

_LOG = f"{TOPIC}-0"
_NEW, _OLD = f"{_LOG}.new", f"{_LOG}.old"
_DERIVED = (KEYFRAMES, "polls", "recovery-point-offset-checkpoint", ".kafka_cleanshutdown")
_OF_RECORDING = (SEALED, "labs", "audio", "captions", NOTES)


def keep_sealed_log(folder: Path) -> None:
    """Puts the log of the sealed recording in the place of the class's own, which holds more than people allowed."""
    finish_keeping(folder)
    shutil.rmtree(folder / _NEW, ignore_errors=True)
    shutil.copytree(folder / SEALED / _LOG, folder / _NEW)
    for name in _DERIVED:
        _remove(folder / name)
    if (folder / _LOG).exists():
        (folder / _LOG).rename(folder / _OLD)
    finish_keeping(folder)


def finish_keeping(folder: Path) -> None:
    """Completes what a crash has interrupted."""
    if not (folder / _LOG).exists() and (folder / _NEW).exists():
        (folder / _NEW).rename(folder / _LOG)
    shutil.rmtree(folder / _OLD, ignore_errors=True)


def remove_recording(folder: Path) -> None:
    """Deletes everything that can be replayed. The class's log stays, for its summary."""
    for name in (*_OF_RECORDING, CHAPTERS):
        _remove(folder / name)


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
