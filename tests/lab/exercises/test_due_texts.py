"""No text of a lesson reaches the learner before it is due: a step's before it opens, a hint before it is asked for."""

import html
import json
import re
from collections.abc import Iterator
from typing import NamedTuple

import pytest

from lab.exercises.bilingual import LANGUAGES as WRITTEN
from lab.exercises.bilingual import Bilingual
from lab.exercises.lesson import Exercise
from lab.exercises.loader import exercises
from lab.exercises.questions import choices_of
from lab.exercises.session import ExerciseSession
from lab.exercises.solution import Rehearsal, lesson_run, sections_of
from lab.protocol.frames import ExerciseFrame
from lab.urls import urlpatterns
from tests.support.lab_server import LabServer, LabSocketClient, Visitor

SLUG = "001-high-watermark-two-fetches"
LANGUAGES = ("en", "zh-CN")
GIVEN = {"slug": SLUG, "branch": "main", "n": "0", "entry": "1", "id": "1", "hash": "x", "language": "en"}


#: what Markdown, HTML and JSON write in other ways, and what is filled in
_MARKUP = re.compile(r"[`*_{}<>&\"'\\\n]+")
MIN_LETTERS = {"en": 16, "zh": 7}
DEBRIEF = -1


class DueText(NamedTuple):
    """A part of a text without markup. It is due with step `step` (DEBRIEF: after the last), or when hint `hint` was
    given.
    """

    words: str
    step: int = DEBRIEF
    hint: int = -1


def due_texts(exercise: Exercise) -> list[DueText]:
    """All texts of a lesson that are not due when it starts, in both languages."""
    found = [*_of_steps(exercise), *_of_debrief(exercise)]
    for place, hint in enumerate(exercise.hints):
        found += [DueText(words, hint=place) for words in _parts(hint)]
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


@pytest.mark.parametrize("slug", [SLUG, "006-the-lost-record", "017-segments-roll"])
def test_frames_hold_no_text_that_is_not_due_and_all_that_are(slug) -> None:
    rehearsal = Rehearsal(exercises()[slug], lesson_run(exercises()[slug], 1))
    session = rehearsal.session
    for section in sections_of(rehearsal.exercise):
        assert early(session, said([session.frame(language) for language in LANGUAGES])) == []
        rehearsal.do(section)
    frames = said([session.frame(language) for language in LANGUAGES])
    assert early(session, frames) == []
    texts = [rehearsal.exercise.debrief, *(step.text for step in rehearsal.exercise.steps)]
    whole = " ".join([text.en + text.zh for text in texts])
    missing = [text.words for text in due_texts(rehearsal.exercise) if text.words in whole and text.words not in frames]
    assert missing == []


def test_hint_is_sent_when_it_is_asked_for() -> None:
    rehearsal = Rehearsal(exercises()[SLUG], lesson_run(exercises()[SLUG], 1))
    session, hints = rehearsal.session, rehearsal.exercise.hints
    assert session.frame("en")["hints"] == []
    session.handle(ExerciseFrame(id="u1", op="hint"), rehearsal._moment())
    assert session.frame("en")["hints"] == [hints[0].en]
    assert session.frame("zh-CN")["hints"] == [hints[0].zh]


def test_no_response_of_the_server_has_a_text_that_is_not_due(lab_server: LabServer) -> None:
    """What acceptance statement 17 builds on, without a class."""
    # No step was reached in an earlier test: the page of a lesson shows what an attempt has reached.
    visitor = Visitor(lab_server).sign_in_as("due-texts")
    answer = visitor.post(f"/course/{SLUG}/start")
    run = re.findall(r"/r/([a-z0-9]+)/main", answer.url)[0]
    rehearsal = Rehearsal(exercises()[SLUG], lesson_run(exercises()[SLUG], 1))
    answers = [answer.text]
    with visitor.socket(run) as client:
        client.until(lambda frame: frame["k"] == "exercise")
        for line in ("producer open p1 --acks all", "producer send p1 orders-0 greeting:hello"):
            assert client.ask({"k": "do", "line": line})["k"] == "done"
        _step_until(client, 1)
        answers += _walk(visitor, run)
        answers += [said(frame) for frame in client.frames]
        (opened,) = [frame for frame in client.frames if frame["k"] == "exercise"][-1:]
        assert [step["state"] for step in opened["steps"]] == ["done", "active", "open", "open", "open"]
    rehearsal.do(next(iter(sections_of(rehearsal.exercise))))
    assert early(rehearsal.session, plain(" ".join(answers))) == []
    # They are looked for in a way that finds the texts which are due.
    assert all(words in plain(" ".join(answers)) for words in _english_of_step(1))


def _english_of_step(place: int) -> list[str]:
    step = exercises()[SLUG].steps[place]
    return [text.words for text in due_texts(exercises()[SLUG]) if text.step == place and text.words in step.text.en]


def _step_until(client: LabSocketClient, place: int) -> None:
    """Delivers messages one by one until a step is active."""
    for _ in range(100):
        shown = [frame for frame in client.frames if frame["k"] == "exercise"][-1]
        if shown["steps"][place]["state"] == "active":
            return
        client.ask({"k": "time", "op": "step_rpc"})
    raise AssertionError("100 messages were not enough")


def _walk(visitor: Visitor, run: str) -> list[str]:
    """What the server answers at each of its addresses, in both languages."""
    answers = []
    for pattern in urlpatterns:
        address = re.sub(r"<\w+:(\w+)>", lambda found: {**GIVEN, "run": run}.get(found[1], "x"), str(pattern.pattern))
        for language in LANGUAGES:
            joined = f"/{address}{'&' if '?' in address else '?'}language={language}&seq=1"
            answers.append(visitor.get(joined).body.decode("utf-8", "replace"))
    return answers
