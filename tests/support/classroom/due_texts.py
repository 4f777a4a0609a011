"""The texts of a lesson that are not due when it starts, and those of them in answers of the server."""

import html
import json
import re
from collections.abc import Iterator
from typing import NamedTuple

from lab.exercises.bilingual import LANGUAGES as WRITTEN
from lab.exercises.bilingual import Bilingual
from lab.exercises.lesson import Exercise
from lab.exercises.questions import choices_of
from lab.exercises.session import ExerciseSession

SLUG = "001-high-watermark-two-fetches"
LANGUAGES = ("en", "zh-CN")
GIVEN = {"slug": SLUG, "branch": "main", "n": "0", "entry": "1", "id": "1", "hash": "x", "language": "en"}


#: what Markdown, HTML and JSON write in other ways, and what is filled in
_MARKUP = re.compile(r"[`*_{}<>&\"'\\\n]+")
MIN_LETTERS = {"en": 16, "zh": 7}
DEBRIEF = -1


class DueText(NamedTuple):
    """A part of a text without markup. It is due with step `step` (DEBRIEF: after the last); that of hint `hint` when
    the hint was given, not before the first step that it helps with.
    """

    words: str
    step: int = DEBRIEF
    hint: int = -1


def due_texts(exercise: Exercise) -> list[DueText]:
    """All texts of a lesson that are not due when it starts, in both languages."""
    found = [*_of_steps(exercise), *_of_debrief(exercise)]
    for place, hint in enumerate(exercise.hints):
        step = min((at for at, one in enumerate(exercise.steps) if place in exercise.hints_for(one.id)), default=0)
        found += [DueText(words, step=step, hint=place) for words in _parts(hint)]
    known = " ".join([exercise.brief.en, exercise.brief.zh, exercise.title.en, exercise.title.zh])
    return [one for one in found if one.words not in known]


def due_at(exercise: Exercise, session: ExerciseSession) -> list[str]:
    """What may be in an answer now."""
    phases = list(session.phases.values())
    hints = len(session.frame("en")["hints"])
    return [
        text.words
        for text in due_texts(exercise)
        if (
            text.hint < hints
            if text.hint >= 0
            else session.is_finished
            if text.step < 0
            else phases[text.step] != "open"
        )
    ]


def plain(answer: str) -> str:
    """An answer of the server with its escapes undone."""
    return html.unescape(re.sub(r"\\u([0-9a-fA-F]{4})", lambda found: chr(int(found[1], 16)), answer))


def _of_steps(exercise: Exercise) -> Iterator[DueText]:
    for place, step in enumerate(exercise.steps):
        texts = [step.text, *(wrong.text for wrong in step.wrong)]
        texts += [text for choice in choices_of(step) for text in (choice.note, choice.reason) if text is not None]
        texts += [part.title for part in exercise.parts if part.step == step.id]
        texts += [step.freeze.text] if step.freeze else []
        texts += [step.answer.reason] if step.answer and step.answer.reason else []
        yield from (DueText(words, step=place) for text in texts for words in _parts(text))


def _of_debrief(exercise: Exercise) -> Iterator[DueText]:
    texts = [exercise.debrief, exercise.teaches]
    texts += [exercise.against.text] if exercise.against else []
    texts += [exercise.chain.text] if exercise.chain else []
    if exercise.transfer:
        texts.append(exercise.transfer.text)
        texts += [text for choice in exercise.transfer.choices for text in (choice.text, choice.reason)]
    yield from (DueText(words) for text in texts for words in _parts(text))


def _parts(text: Bilingual) -> Iterator[str]:
    for language in WRITTEN:
        for part in _MARKUP.split(getattr(text, language)):
            if len(part.strip()) >= MIN_LETTERS[language]:
                yield part.strip()


def said(frame: object) -> str:
    """A frame as the page gets it."""
    return plain(json.dumps(frame))


def early(session: ExerciseSession, answers: str) -> list[str]:
    """The texts in some answers that are not due yet."""
    exercise = session.exercise
    due = " ".join(due_at(exercise, session))
    return [text.words for text in due_texts(exercise) if text.words not in due and text.words in answers]
