"""The captions of one class on disk: DATA/classes/<class>/captions/<language>.vtt.

The author of a caption is not stored: erasing a person does not change the captions.
"""

import threading
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

import msgspec

from lab.classroom.captions.webvtt import (
    MAX_CUE_US,
    MAX_CUES,
    MAX_TEXT,
    Cue,
    Source,
    is_text,
    parse,
    plain,
    whole_ms,
    write,
)
from lab.texts.i18n import LANGUAGES
from lab.texts.refusal import Refusal

CAPTIONS = "captions"
MIN_CUE_US = 500_000
"""Minimum duration of a caption that is written during a class."""
_MS = 1_000
ENDLESS_US = 10**15
"""Longer than any class."""
_lock = threading.Lock()


def read_captions(folder: Path, language: str) -> list[Cue]:
    """The captions of a class in a language, ordered by time."""
    path = _path(folder, language)
    try:
        about = path.stat()
    except FileNotFoundError:
        return []
    return list(_read(path, about.st_mtime_ns, about.st_size))


def keep_captions(folder: Path, language: str, cues: Sequence[Cue]) -> None:
    """Replaces the stored captions; an empty list removes the file."""
    with _lock:
        _write(folder, language, cues)


def add_spoken(folder: Path, language: str, from_us: int, to_us: int, text: str, source: Source) -> Cue:
    """Adds a caption during a live class; the previous caption ends where it begins. Raises Refusal for an invalid
    text, and if there are too many captions.
    """
    text = _checked(text)
    with _lock:
        cues = read_captions(folder, language)
        _ensure_room(cues)
        from_us = whole_ms(max(0, from_us))
        if cues and from_us < cues[-1].to_us:
            from_us = max(from_us, cues[-1].from_us + MIN_CUE_US)
            cues[-1] = msgspec.structs.replace(cues[-1], to_us=min(cues[-1].to_us, from_us))
        to_us = whole_ms(min(max(to_us, from_us + MIN_CUE_US), from_us + MAX_CUE_US))
        added = Cue(_next(cues), from_us, to_us, text, source)
        _write(folder, language, [*cues, added])
        return added


def put_cue(folder: Path, language: str, number: int | None, from_us: int, to_us: int, text: str) -> Cue:
    """Adds a caption, or corrects the one with this `number`. Raises Refusal: 404 for an unknown number, 400 for an
    invalid text, for invalid times, and for an overlap with another caption.
    """
    text, from_us, to_us = _checked(text), whole_ms(from_us), whole_ms(to_us)
    if not 0 <= from_us < to_us <= from_us + MAX_CUE_US:
        raise Refusal("refusal.caption_times", field="to", max=MAX_CUE_US // 1_000_000)
    with _lock:
        cues = read_captions(folder, language)
        before = _found(cues, number) if number is not None else None
        others = [cue for cue in cues if cue is not before]
        _ensure_room(others)
        if any(from_us < cue.to_us and cue.from_us < to_us for cue in others):
            raise Refusal("refusal.caption_beside", 409, field="from")
        source: Source = before.source if before is not None else "typed"
        put = Cue(before.cue if before is not None else _next(cues), from_us, to_us, text, source)
        _write(folder, language, sorted([*others, put], key=lambda cue: cue.from_us))
        return put


def remove_cue(folder: Path, language: str, number: int) -> None:
    """Removes a caption. Raises Refusal (404) for an unknown number."""
    with _lock:
        cues = read_captions(folder, language)
        cues.remove(_found(cues, number))
        _write(folder, language, cues)


def cut_captions(folder: Path, passages: Sequence[tuple[int, int]], length_us: int) -> None:
    """Removes captions from passages off the record and after the end."""
    with _lock:
        for language in LANGUAGES:
            cues = read_captions(folder, language)
            left = outside(cues, passages, length_us)
            if left != cues:
                _write(folder, language, left)


def outside(cues: Sequence[Cue], passages: Sequence[tuple[int, int]], length_us: int) -> list[Cue]:
    """The captions on the record. A caption that extends into a passage off the record ends at its start."""
    kept = []
    for cue in cues:
        # A caption that extends beyond a passage may belong to it.
        is_off = any(since <= cue.from_us < to or cue.from_us < since < to < cue.to_us for since, to in passages)
        if not is_off and cue.from_us < length_us:
            ends_us = min((length_us, *(since for since, _ in passages if since > cue.from_us)))
            kept.append(msgspec.structs.replace(cue, to_us=max(cue.from_us + _MS, min(cue.to_us, whole_ms(ends_us)))))
    return kept


@lru_cache(maxsize=16)
def _read(path: Path, mtime_ns: int, size: int) -> tuple[Cue, ...]:
    """Cached by modification time and size: a page that replays a live class requests it repeatedly."""
    return tuple(parse(path.read_bytes(), ENDLESS_US))


def _checked(text: str) -> str:
    text = plain(text)
    if not is_text(text):
        raise Refusal("refusal.caption_text", field="text", length=len(text), max=MAX_TEXT)
    return text


def _ensure_room(cues: Sequence[Cue]) -> None:
    if len(cues) >= MAX_CUES:
        raise Refusal("refusal.captions_full", 409, max=MAX_CUES)


def _found(cues: Sequence[Cue], number: int) -> Cue:
    found = next((cue for cue in cues if cue.cue == number), None)
    if found is None:
        raise Refusal("refusal.no_caption", 404, number=number)
    return found


def _next(cues: Sequence[Cue]) -> int:
    return max((cue.cue for cue in cues), default=0) + 1


def _write(folder: Path, language: str, cues: Sequence[Cue]) -> None:
    path = _path(folder, language)
    # Modification times may be too coarse to distinguish two writes.
    _read.cache_clear()
    if not cues:
        path.unlink(missing_ok=True)
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f"{path.name}.partial")
    partial.write_bytes(write(cues))
    partial.replace(path)


def _path(folder: Path, language: str) -> Path:
    return folder / CAPTIONS / f"{language}.vtt"
