"""A recorded class, or a passage of it, for a page that plays it by itself."""

import asyncio
import time
from pathlib import Path
from typing import Any, NamedTuple

from lab.actions.classes.lessons.start import lesson_of
from lab.actions.classes.live_class import class_folder
from lab.actions.classes.recorded.captions import captions_of
from lab.actions.classes.recorded.chapters import shown_chapters
from lab.actions.classes.recorded.notes import shared_notes
from lab.actions.classes.recordings import look_into, sealed_of
from lab.actions.classes.shown_labs import recording_of
from lab.archives.excerpt import Excerpt
from lab.classroom.audio import store
from lab.classroom.audio.pieces import make_piece
from lab.classroom.recorded.excerpt import ClassExcerpt, LabSpan, Span, clipped, excerpt_of, span_of
from lab.models import Class
from lab.recordings.recording import Recording
from lab.texts.i18n import LANGUAGES
from lab.texts.refusal import Refusal

_ENDLESS_US = 1 << 62
_SAMPLES = 4
"""Number of parts of each kind whose size is sampled."""


class Sound(NamedTuple):
    """The part of a piece of the voice that is in the passage."""

    piece: store.Piece
    data: bytes


class ClassPageContent(NamedTuple):
    """The contents of the page. `about`: its description; `captions`: by language."""

    about: dict[str, Any]
    excerpt: ClassExcerpt
    labs: dict[int, Excerpt]
    captions: dict[str, list[dict[str, Any]]]
    notes: list[dict[str, Any]]
    folder: Path
    heard: store.Heard


async def class_excerpt(classroom: Class, from_us: int | None, to_us: int | None) -> ClassPageContent:
    """A passage of a sealed class, as visible to all its members. Raises Refusal: 409 while the class is live, 400 for
    an empty passage.
    """
    sealed = await sealed_of(classroom)
    if sealed is None:
        raise Refusal("refusal.class_not_ended", 409, title=classroom.title)
    titles = [lab.title for lab in sealed.labs]
    excerpt = await look_into(
        classroom, lambda playback: excerpt_of(playback, titles, span_of(playback, from_us, to_us))
    )
    labs = {}
    for number, lab in excerpt.labs.items():
        try:
            recording = await recording_of(classroom, lab.address, sealed.labs[number].last_seq)
        except Refusal:
            # Its run was deleted before a copy was made.
            continue
        labs[number] = await asyncio.to_thread(_of_lab, recording, lab, sealed.labs[number].last_seq)
    span = excerpt.from_us, excerpt.to_us
    heard = await asyncio.to_thread(store.heard, class_folder(classroom.slug))
    captions = {language: await _captions(classroom, language, span) for language in LANGUAGES}
    notes = [one for one in await shared_notes(classroom.slug) if excerpt.from_us <= one["at_us"] <= excerpt.to_us]
    about = await _about(classroom, excerpt, captions)
    about |= {"wall_ms": sealed.wall_ms, "sealed_ms": sealed.sealed_ms, "whole_us": sealed.length_us}
    about["can"] = {"read_notes": bool(notes)}
    return ClassPageContent(about, excerpt, labs, captions, notes, class_folder(classroom.slug), heard)


async def _about(classroom: Class, excerpt: ClassExcerpt, captions: dict[str, list[dict[str, Any]]]) -> dict[str, Any]:
    span = excerpt.from_us, excerpt.to_us
    return {
        **excerpt.manifest,
        "title": classroom.title,
        "slug": "",
        "live": False,
        "alone": True,
        "saved_ms": time.time_ns() // 1_000_000,
        "you": {"p": "", "role": "observer"},
        "chapters": {language: await _chapters(classroom, language, span) for language in LANGUAGES},
        "steps": steps_of(classroom),
        "captions": [{"language": language, "cues": len(cues)} for language, cues in captions.items() if cues],
        "own_runs": [],
        "can": {},
    }


def _of_lab(recording: Recording, lab: LabSpan, shown_seq: int) -> Excerpt:
    """Time continues after the last event in the map, but not beyond what was shown."""
    last = max(lab.last_seq, recording.seq_at(lab.to_us)) if lab.to_us > 0 else lab.last_seq
    return Excerpt(recording, seqs=(lab.first_seq, min(last, shown_seq)))


def sounds(content: ClassPageContent) -> list[Sound]:
    """The voice of the passage: pieces, cut at its start and end. A piece that cannot be cut is left out."""
    span = content.excerpt.from_us, content.excerpt.to_us
    found = []
    for piece in content.heard.pieces:
        begins_us = piece.at_us + content.heard.shift_us
        if begins_us >= span[1] or begins_us + piece.length_us <= span[0]:
            continue
        _, path = store.file_of(content.folder, piece.piece)
        data, length_us = path.read_bytes(), piece.length_us
        if begins_us < span[0] or begins_us + length_us > span[1]:
            beyond = [(-_ENDLESS_US, span[0]), (span[1], _ENDLESS_US)]
            data, length_us, _ = make_piece(piece.type, begins_us, length_us, [data], beyond)
        if data:
            found.append(Sound(store.Piece(piece.piece, piece.at_us, length_us, piece.type, len(data), ""), data))
    return found


def audio_told(content: ClassPageContent, kept: list[Sound]) -> dict[str, Any]:
    """The description of the voice for the page."""
    span, heard = (content.excerpt.from_us, content.excerpt.to_us), content.heard
    return {
        "pieces": [
            {"piece": one.piece, "at_us": one.at_us, "length_us": one.length_us, "type": one.type, "bytes": one.bytes}
            for one, _ in kept
        ],
        "lost": clipped(heard.lost, span),
        "voice": clipped(heard.voice, span),
        "shift_us": heard.shift_us,
    }


def sampled(content: ClassPageContent) -> list[tuple[list[bytes], int]]:
    """Samples for estimating the size of the page: some parts of each kind, and the number of parts."""
    segments = content.excerpt.segments
    found = [(segments[:: max(1, len(segments) // _SAMPLES)], len(segments))]
    for lab in content.labs.values():
        found.append((lab.sample(_SAMPLES), (lab.last_seq - lab.first_seq) // 1_000 + 1))
    return found


async def _captions(classroom: Class, language: str, span: Span) -> list[dict[str, Any]]:
    from_us, to_us = span
    return [
        {"cue": one.cue, "from_us": one.from_us, "to_us": one.to_us, "text": one.text, "source": one.source}
        for one in await captions_of(classroom, language)
        if one.from_us < to_us and one.to_us > from_us
    ]


async def _chapters(classroom: Class, language: str, span: Span) -> list[dict[str, Any]]:
    """The chapters that begin in the passage, and the one in which it begins."""
    shown = await shown_chapters(classroom, language)
    before = [one for one in shown if one["at_us"] <= span[0]]
    inside = [one for one in shown if span[0] < one["at_us"] < span[1]]
    return [*({**one, "at_us": span[0]} for one in before[-1:]), *inside]


def steps_of(classroom: Class) -> list[dict[str, str]]:
    """The steps of the class's lesson, by language."""
    lesson = lesson_of(classroom.chapter)
    return [{"en": step.text.en, "zh-CN": step.text.zh} for step in lesson.steps] if lesson is not None else []
