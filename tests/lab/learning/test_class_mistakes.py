"""What a class mixes up: counted from its log, for staff, and for everyone once staff show it."""

import json
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from lab.actions.classes.live_labs import facts_of
from lab.actions.classes.mistake_texts import mistake_texts
from lab.actions.classes.settle_poll import completed_poll
from lab.classroom.acts import facts, ops
from lab.classroom.events import work
from lab.classroom.folds import fold
from lab.classroom.state import State
from lab.classroom.views import section
from lab.learning.events import AnswerGiven, AnyEvent, PredictionSettled, StepSkipped, WrongStateShown
from tests.support.classroom.memory_class import ADA, BOB, TEACHER, MemoryClass, NoWords

LESSON = "015-sent-twice-stored-once"
LEARNERS = [ADA, BOB, "p7", "p8", "p9", "p10"]


def wrong(p: str, what: str, step: int = 2, by: str = "choice", lesson: str = "a-lesson") -> facts.MakeMistake:
    return facts.MakeMistake(p, lesson, step, what, by)  # type: ignore[arg-type]


def shown(room_: MemoryClass, audience: str = "staff") -> Any:
    return section(room_.state, NoWords(), audience, "mistakes")  # type: ignore[arg-type]


def counts(room_: MemoryClass, audience: str = "staff") -> dict[str, tuple[int, list[int]]]:
    return {row["what"]: (row["learners"], row["steps"]) for row in shown(room_, audience)["rows"]}


def test_each_learner_counts_once_for_a_mistake_and_the_most_frequent_is_first() -> None:
    room_ = MemoryClass(6)
    room_.fact(wrong(ADA, "acked-is-safe"))
    for p, step in ((ADA, 2), (ADA, 4), (BOB, 4)):
        room_.after(60)
        room_.fact(wrong(p, "ack-message", step))
    room_.fact(wrong(BOB, "killed", 3, "state"))
    assert room_.fact(wrong(BOB, "killed", 3, "state")) == [], "what is known is not written again"
    assert counts(room_) == {"ack-message": (2, [2, 4]), "3/killed": (1, [3]), "acked-is-safe": (1, [2])}
    assert list(counts(room_)) == ["ack-message", "3/killed", "acked-is-safe"]
    assert [row["by"] for row in shown(room_)["rows"]] == ["choice", "state", "choice"]
    room_.kick(BOB)
    assert counts(room_) == {"ack-message": (1, [2, 4]), "acked-is-safe": (1, [2])}


def test_mistakes_of_staff_and_of_other_lessons_do_not_count() -> None:
    room_ = MemoryClass()
    assert room_.fact(wrong(TEACHER, "acked-is-safe")) == []
    assert room_.fact(wrong(ADA, "acked-is-safe", lesson="another-lesson")) == []
    assert room_.fact(wrong(ADA, "acked-is-safe")) == [
        work.MistakeMade(p=ADA, step=2, what="acked-is-safe", by="choice")
    ]


def voted(anonymous: bool, voters: list[str]) -> MemoryClass:
    """A poll of a step's prediction, of which the first two choices are wrong, closed after these chose the first."""
    room_ = MemoryClass(6)
    act = ops.MakePoll(
        "prediction", "which?", "en", ("a", "b", "c"), anonymous, False, step=3, tags=("ack-message", "all-behind", "")
    )
    room_.do(TEACHER, act, texts=(1, 2, 3, 4))
    room_.do(TEACHER, ops.OpenPoll(1))
    for p in voters:
        room_.do(p, ops.CastVote(1, "0"))
    room_.do(TEACHER, ops.ClosePoll(1))
    return room_


def sections(room_: MemoryClass, fact: facts.SetPerson) -> list[str]:
    """The sections that a fact changes."""
    before = msgspec.json.decode(msgspec.json.encode(room_.state), type=State)
    known = len(room_.log)
    room_.fact(fact)
    return [path for envelope in room_.log[known:] for path in fold(before, envelope)]


def with_a_mistake() -> MemoryClass:
    room_ = MemoryClass()
    room_.fact(wrong(BOB, "ack-message"))
    return room_


def with_a_revealed_poll() -> MemoryClass:
    room_ = voted(False, [ADA, BOB])
    room_.do(TEACHER, ops.Reveal(1, "2"))
    return room_


@pytest.mark.parametrize("made", [with_a_mistake, with_a_revealed_poll])
@pytest.mark.parametrize(
    "change",
    [
        [facts.SetPerson(BOB, "learner", "kicked"), facts.SetPerson(BOB, "learner")],
        [facts.SetPerson(BOB, "observer"), facts.SetPerson(BOB, "learner")],
    ],
)
def test_pages_get_the_count_without_learners_who_were_removed_or_have_another_role(
    made: Callable[[], MemoryClass], change: list[facts.SetPerson]
) -> None:
    room_ = made()
    (before,) = counts(room_).values()
    for fact in change:
        assert "mistakes" in sections(room_, fact)
    assert list(counts(room_).values()) == [before]


def test_change_of_a_role_does_not_send_mistakes_that_nobody_made() -> None:
    room_ = MemoryClass()
    for role in ("observer", "learner"):
        assert "mistakes" not in sections(room_, facts.SetPerson(BOB, role))
    room_.fact(wrong(BOB, "ack-message"))
    assert "mistakes" not in sections(room_, facts.SetPerson("p90", "learner")), "a new learner has made none"


def test_wrong_votes_count_once_the_outcome_is_known() -> None:
    room_ = voted(False, [ADA, BOB])
    room_.fact(wrong(ADA, "ack-message", 1))
    assert counts(room_) == {"ack-message": (1, [1])}
    room_.do(TEACHER, ops.Reveal(1, "2"))
    assert counts(room_) == {"ack-message": (2, [1, 3])}
    room_.do(TEACHER, ops.Reveal(1, "0"))
    assert counts(room_) == {"ack-message": (1, [1])}, "they were right"


@pytest.mark.parametrize(("votes", "expected"), [(4, {}), (5, {"ack-message": (5, [3])})])
def test_a_few_anonymous_votes_do_not_count(votes: int, expected: dict[str, Any]) -> None:
    room_ = voted(True, LEARNERS[:votes])
    room_.do(TEACHER, ops.Reveal(1, "2"))
    assert counts(room_) == expected


def test_the_class_sees_mistakes_of_two_or_more_without_names_and_only_while_staff_show_them() -> None:
    room_ = MemoryClass()
    for p in (ADA, BOB):
        room_.fact(wrong(p, "ack-message"))
    room_.fact(wrong(ADA, "acked-is-safe"))
    assert shown(room_, "public") is None
    assert room_.refused(ADA, ops.ShowMistakes(True)) == 403
    assert room_.do(TEACHER, ops.ShowMistakes(True)) == [work.MistakesShown(on=True)]
    assert room_.do(TEACHER, ops.ShowMistakes(True)) == []
    assert counts(room_, "public") == {"ack-message": (2, [2])}
    assert not any(p in json.dumps(shown(room_, "public")) for p in (f'"{ADA}"', f'"{BOB}"', "name of"))
    room_.do(TEACHER, ops.ShowMistakes(False))
    assert shown(room_, "public") is None


def test_wrong_answers_and_wrong_states_of_a_lab_are_told_to_the_class() -> None:
    known = {"run": "r", "branch": "main", "lesson": LESSON}
    happened: list[AnyEvent] = [
        WrongStateShown(step="on-its-way-back", wrong="request-dropped", **known),  # type: ignore[arg-type]
        AnswerGiven(step="told", answer="2", right=False, misconception="leader-knows-it", **known),  # type: ignore[arg-type]
        PredictionSettled(
            step="predict", choice="2", choices=3, p=0.9, outcome="3", right=False, brier=1.0,
            misconception="lost-means-failed", **known,  # type: ignore[arg-type]
        ),
        AnswerGiven(step="told", answer="3", right=True, **known),  # type: ignore[arg-type]
    ]  # fmt: skip
    told = [fact for event in happened for fact in facts_of(ADA, "r/main", event)]
    assert [fact for fact in told if isinstance(fact, facts.MakeMistake)] == [
        wrong(ADA, "request-dropped", 1, "state", LESSON),
        wrong(ADA, "leader-knows-it", 3, "choice", LESSON),
        wrong(ADA, "lost-means-failed", 2, "choice", LESSON),
    ]


def test_prediction_that_was_skipped_is_a_skipped_step_and_no_wrong_answer() -> None:
    def told(choice: str) -> list[facts.AnyFact]:
        return list(
            facts_of(
                ADA,
                "r/main",
                PredictionSettled(
                    step="predict", choice=choice, choices=3, p=0.3, outcome="3", right=False, brier=1.0, run="r",
                    branch="main", lesson=LESSON, seq=9, at_us=90,
                ),
            )
        )  # fmt: skip

    assert told("") == [facts.ReachStep(ADA, LESSON, 2, "r/main", 9, 90, skipped=True)]
    assert told("2") == [facts.Settle(ADA, LESSON, 2, False), facts.ReachStep(ADA, LESSON, 2, "r/main", 9, 90)]


def test_skipped_step_is_reached_at_once_unless_its_outcome_is_awaited() -> None:
    def told(step: str) -> list[facts.AnyFact]:
        skipped = StepSkipped(step=step, run="r", branch="main", lesson=LESSON, seq=9, at_us=90)
        return list(facts_of(ADA, "r/main", skipped))

    assert told("on-its-way-back") == [facts.ReachStep(ADA, LESSON, 1, "r/main", 9, 90, skipped=True)]
    assert told("predict") == []
    assert told("told") == [facts.ReachStep(ADA, LESSON, 3, "r/main", 9, 90, skipped=True)]


def test_a_poll_of_a_prediction_has_the_tags_of_the_lesson_and_no_others() -> None:
    act = ops.MakePoll("prediction", "", "en", step=2, tags=("made-up",))
    made = completed_poll(act, LESSON)
    assert len(made.tags) == len(made.choices) and any(made.tags) and "made-up" not in made.tags
    assert completed_poll(ops.MakePoll("choice", "?", "en", ("a", "b"), tags=("made-up",)), LESSON).tags == ()


def test_a_poll_of_a_prediction_is_asked_in_both_languages() -> None:
    chinese = completed_poll(ops.MakePoll("prediction", "", "zh-CN", step=2), LESSON)
    english = completed_poll(ops.MakePoll("prediction", "", "en", step=2), LESSON)
    assert (english.other_text, english.other_choices) == (chinese.text, chinese.choices)
    assert (chinese.other_text, chinese.other_choices) == (english.text, english.choices)
    own = completed_poll(ops.MakePoll("prediction", "What next?", "en", step=2), LESSON)
    assert (own.text, own.other_text, own.other_choices) == ("What next?", "", chinese.choices)
    made = completed_poll(ops.MakePoll("choice", "?", "en", ("a", "b"), other_text="made up"), LESSON)
    assert made.other_text == ""


@pytest.mark.parametrize(
    ("language", "state"), [("en", "The request was lost, not the response"), ("zh-CN", "丢的是请求，不是响应")]
)
def test_texts_are_those_of_the_lesson(language: str, state: str) -> None:
    texts = mistake_texts(LESSON, language)
    assert state in texts.values()
    made = completed_poll(ops.MakePoll("prediction", "", "en", step=2), LESSON)
    assert {tag for tag in made.tags if tag} <= texts.keys()
    assert mistake_texts("", language) == {}
