"""No text of a lesson reaches the learner before it is due: a step's before it opens, a hint before it is asked for."""

import re

import pytest

from lab.exercises.loader import exercises
from lab.exercises.solution import Rehearsal, lesson_run, sections_of
from lab.protocol.frames import ExerciseFrame
from lab.urls import urlpatterns
from tests.support.classroom.due_texts import GIVEN, LANGUAGES, SLUG, due_texts, early, plain, said
from tests.support.lab_server import LabServer, LabSocketClient, Visitor


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
