"""Notes at instants of a recorded class: private ones, and those that staff share with the class.

DATA/classes/<class>/notes/<participant>.json and notes/shared.json. They are not part of the recording.
"""

import threading
from pathlib import Path

import msgspec

NOTES = "notes"
SHARED = "shared"
OWN = "own"
MAX_TEXT = 2_000
MAX_NOTES = 500
"""The most notes of one person, and the most shared notes."""
_lock = threading.Lock()


class StoredNote(msgspec.Struct):
    """`by`: the participant who wrote it."""

    note: int
    at_us: int
    text: str
    by: str


def read_notes(folder: Path, whose: str) -> list[StoredNote]:
    """The notes of a participant, or the shared ones, by time."""
    try:
        data = (folder / NOTES / f"{whose}.json").read_bytes()
    except FileNotFoundError:
        return []
    return sorted(msgspec.json.decode(data, type=list[StoredNote]), key=lambda one: (one.at_us, one.note))


def add_note(folder: Path, whose: str, at_us: int, text: str, by: str) -> StoredNote | None:
    """Adds a note; None if there are too many."""
    with _lock:
        notes = read_notes(folder, whose)
        if len(notes) >= MAX_NOTES:
            return None
        added = StoredNote(max((one.note for one in notes), default=0) + 1, at_us, text, by)
        _write(folder, whose, [*notes, added])
        return added


def remove_note(folder: Path, whose: str, note: int) -> bool:
    """Removes a note; returns whether it existed."""
    with _lock:
        notes = read_notes(folder, whose)
        left = [one for one in notes if one.note != note]
        if len(left) < len(notes):
            _write(folder, whose, left)
        return len(left) < len(notes)


def forget_notes(folder: Path, p: str) -> None:
    """Removes all notes of a participant."""
    with _lock:
        (folder / NOTES / f"{p}.json").unlink(missing_ok=True)
        shared = read_notes(folder, SHARED)
        if any(one.by == p for one in shared):
            _write(folder, SHARED, [one for one in shared if one.by != p])


def _write(folder: Path, whose: str, notes: list[StoredNote]) -> None:
    path = folder / NOTES / f"{whose}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(".partial")
    partial.write_bytes(msgspec.json.encode(notes))
    partial.replace(path)
