"""How long the files of a class are kept after its end."""

import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path

from lab.classroom.events import ClassEnvelope
from lab.classroom.events.seen import InkDrawn, Pointed, ViewChanged
from lab.classroom.events.tape import RecordingSet
from lab.classroom.journal import KEYFRAMES, TOPIC, ClassJournal
from lab.classroom.recorded.chapters import CHAPTERS
from lab.classroom.recorded.notes import NOTES
from lab.classroom.recorded.sealed import SEALED

_LOG = f"{TOPIC}-0"
_NEW, _OLD = f"{_LOG}.new", f"{_LOG}.old"
_OF_LOG = (KEYFRAMES, "recovery-point-offset-checkpoint", ".kafka_cleanshutdown")
_DERIVED = (*_OF_LOG, "polls")
_OF_RECORDING = (SEALED, "labs", "audio", "captions", NOTES)


def keep_sealed_log(folder: Path) -> None:
    """Replaces the class's own log, which contains more than people allowed, with the log of the sealed recording."""
    finish_keeping(folder)
    shutil.rmtree(folder / _NEW, ignore_errors=True)
    shutil.copytree(folder / SEALED / _LOG, folder / _NEW)
    for name in _DERIVED:
        _remove(folder / name)
    if (folder / _LOG).exists():
        (folder / _LOG).rename(folder / _OLD)
    finish_keeping(folder)


def forget_off_record(folder: Path) -> None:
    """Removes strokes, pointers and views off the record from the class's own log. The events stay, emptied, because
    sequence numbers count them.
    """
    finish_keeping(folder)
    shutil.rmtree(folder / _NEW, ignore_errors=True)
    partial = folder / f"{_LOG}.partial"
    shutil.rmtree(partial, ignore_errors=True)
    own = ClassJournal(folder)
    kept = ClassJournal(partial, own.header)
    try:
        kept.append_all(_silenced(own.after(0)))
    finally:
        own.close()
        kept.close()
    (partial / _LOG).rename(folder / _NEW)
    shutil.rmtree(partial)
    for name in _OF_LOG:
        _remove(folder / name)
    (folder / _LOG).rename(folder / _OLD)
    finish_keeping(folder)


def _silenced(envelopes: Iterable[ClassEnvelope]) -> Iterator[ClassEnvelope]:
    """The view at the end of a passage stays: the recording continues with it."""
    is_on, shown, held = True, "", list[ClassEnvelope]()
    for envelope in envelopes:
        seq, at_us, who, act, event = envelope
        if isinstance(event, RecordingSet):
            is_on = event.on
            if is_on:
                yield from _with_last_view(held, shown)
                held = []
        if isinstance(event, ViewChanged) and is_on:
            shown = event.view
        if is_on:
            yield envelope
        elif isinstance(event, InkDrawn):
            held.append((seq, at_us, who, act, InkDrawn(ink=event.ink, anchor="", points=())))
        elif isinstance(event, Pointed):
            held.append((seq, at_us, who, act, Pointed(anchor="", u=0, v=0, down=False)))
        else:
            held.append(envelope)
    yield from _with_last_view(held, shown, is_over=True)


def _with_last_view(held: list[ClassEnvelope], shown: str, *, is_over: bool = False) -> Iterator[ClassEnvelope]:
    """A passage off the record in which all views but the last are replaced with the one before the passage."""
    last = max((seq for seq, *_, event in held if isinstance(event, ViewChanged)), default=0)
    for seq, at_us, who, act, event in held:
        is_told = not isinstance(event, ViewChanged) or (seq == last and not is_over)
        yield seq, at_us, who, act, event if is_told else ViewChanged(view=shown)


def finish_keeping(folder: Path) -> None:
    """Completes a replacement that a crash has interrupted."""
    if not (folder / _LOG).exists() and (folder / _NEW).exists():
        (folder / _NEW).rename(folder / _LOG)
    shutil.rmtree(folder / _OLD, ignore_errors=True)


def remove_recording(folder: Path) -> None:
    """Deletes everything that can be replayed. The class's log is kept for its summary."""
    for name in (*_OF_RECORDING, CHAPTERS):
        _remove(folder / name)


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
