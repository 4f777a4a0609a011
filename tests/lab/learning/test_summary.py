"""What follows from the events: progress, cards, mastery, calibration, misconceptions."""

import time

import pytest

from lab.learning.cards import DAILY_LIMIT, answer_card, birth_rating, new_card, question_seed, rating_of
from lab.learning.events import (
    AnyEvent,
    LessonFinished,
    LessonReset,
    LessonStarted,
    PredictionSettled,
    ReviewAnswered,
    StepChecked,
    decode,
    encode,
)
from lab.learning.fold import LearnerState
from lab.learning.scoring import brier
from lab.learning.summarize import summarize
from lab.learning.summary import Summary

ACKS, HW = "011-acks", "022-leo-and-hw"
DAY_MS = 24 * 3_600_000
NOON_MS = 1_780_056_000_000


class Learner:
    """Folds events at given days."""

    def __init__(self) -> None:
        self.state = LearnerState()

    def at(self, day: float, *events) -> "Learner":
        for event in events:
            self.state.fold(self.state.last_seq + 1, NOON_MS + round(day * DAY_MS), event)
        return self

    def on(self, day: float) -> Summary:
        return summarize(self.state, "ab", NOON_MS + round(day * DAY_MS))


def settled(right: bool = True, p: float = 0.7, lesson: str = ACKS, **more) -> PredictionSettled:
    score = brier(p, 4, right)
    outcome = "a" if right else "b"
    return PredictionSettled(
        lesson=lesson, step="how-many", choice="a", choices=4, p=p, outcome=outcome, right=right, brier=score, **more
    )


def reviewed(right: bool = True, p: float = 0.7, lesson: str = ACKS, count: int = 0, **more) -> ReviewAnswered:
    outcome = "a" if right else "b"
    return ReviewAnswered(
        lesson=lesson, count=count, question_seed=1, choice="a", choices=4, p=p, outcome=outcome, right=right,
        brier=brier(p, 4, right), rating=rating_of(right, p), **{"ms": 20_000, **more},
    )  # fmt: skip


@pytest.mark.parametrize(
    ("ratings", "days"),
    [
        ((3, 3, 3, 3, 3), [2, 11, 46, 163, 180]),
        ((2, 3, 3, 3), [1, 5, 17, 50]),
        ((1, 3, 3, 3), [1, 2, 6, 17]),
        ((3, 3, 1, 3, 3), [2, 11, 2, 5, 12]),
    ],
)
def test_intervals_are_those_of_the_course(ratings, days) -> None:
    card = new_card(NOON_MS, ratings[0])
    found = [card.interval_days]
    for rating in ratings[1:]:
        answer_card(card, rating, 0.7, rating > 1, card.due_ms)
        found.append(card.interval_days)
    assert found == days


def test_ratings() -> None:
    assert [rating_of(False, 0.99), rating_of(True, 0.25), rating_of(True, 0.5), rating_of(True, 0.7)] == [1, 2, 2, 3]
    assert rating_of(True, 0.9) == 3
    assert rating_of(True, 0.9, sure_before=True) == 4
    assert rating_of(True, 0.99, sure_before=True, helped=True) == 2
    assert birth_rating([settled(), settled(hints=1)]) == 2
    assert birth_rating([settled(attempt=2)]) == 2
    assert birth_rating([settled(), settled(right=False)]) == 1
    assert birth_rating([]) == 3


def test_card_is_born_with_the_last_part_and_asked_on_a_later_day() -> None:
    learner = Learner().at(0, LessonStarted(lesson=ACKS), settled(), LessonFinished(lesson=ACKS, part=1, parts=2))
    assert learner.on(0).cards == 0
    learner.at(0, LessonFinished(lesson=ACKS, part=2, parts=2))
    assert (learner.on(0).cards, learner.on(0).due, learner.on(1).due) == (1, [], [])
    assert [card.lesson for card in learner.on(2).due] == [ACKS]
    assert learner.on(2).lessons[ACKS].parts_done == (1, 2)


def test_repeated_lesson_is_not_asked_today_and_keeps_its_card() -> None:
    learner = Learner().at(0, settled(), LessonFinished(lesson=ACKS))
    learner.at(3, LessonReset(lesson=ACKS), LessonFinished(lesson=ACKS))
    assert learner.on(3).due == []
    assert [card.days_overdue for card in learner.on(4).due] == [2]


def test_reset_clears_steps_and_keeps_answers() -> None:
    learner = Learner().at(0, LessonStarted(lesson=ACKS), StepChecked(lesson=ACKS, step="three", seconds=4))
    learner.at(0, settled(right=False), LessonReset(lesson=ACKS))
    lesson = learner.on(0).lessons[ACKS]
    assert (lesson.steps, lesson.predictions, lesson.predictions_right) == ({}, 1, 0)
    assert learner.on(0).current == ACKS


def test_five_questions_a_day_and_no_more_than_three_minutes() -> None:
    learner = Learner()
    slugs = [f"lesson-{number}" for number in range(8)]
    learner.at(0, *(LessonFinished(lesson=slug) for slug in slugs))
    assert (learner.on(2).due_today, len(learner.on(2).due)) == (DAILY_LIMIT, 8)
    learner.at(2, *(reviewed(lesson=slug) for slug in slugs[:3]))
    assert (learner.on(2).due_today, learner.on(2).answered_today) == (2, 3)
    learner.at(2, reviewed(lesson=slugs[3], ms=130_000))
    assert learner.on(2).due_today == 0
    assert learner.on(3).due_today == 4


def test_mastery_needs_two_right_answers_on_different_days_and_fades() -> None:
    learner = Learner().at(0, settled(), LessonFinished(lesson=ACKS))
    assert learner.on(0).lessons[ACKS].mastery == "seen"
    assert (
        Learner().at(0, settled(), LessonFinished(lesson=ACKS)).at(0, reviewed()).on(0).lessons[ACKS].mastery == "seen"
    )
    learner.at(2, reviewed(p=0.7))
    assert learner.on(2).lessons[ACKS].mastery == "solid"
    assert learner.on(200).lessons[ACKS].mastery == "shaky"
    learner.at(13, reviewed(right=False))
    assert learner.on(13).lessons[ACKS].mastery == "shaky"


def test_right_answer_without_confidence_is_not_solid() -> None:
    learner = Learner().at(0, settled(), LessonFinished(lesson=ACKS)).at(2, reviewed(p=0.5))
    assert learner.on(2).lessons[ACKS].mastery == "seen"


def test_calibration_shows_stops_with_three_answers_and_names_the_widest_gap() -> None:
    learner = Learner().at(0, *(settled(right=number < 2, p=0.9, lesson=HW) for number in range(4)))
    learner.at(0, settled(p=0.25), settled(p=0.7), settled(p=0.7), settled(p=0.7, right=False))
    points = {point.stop: point for point in learner.on(0).calibration}
    assert {stop: point.count for stop, point in points.items()} == {
        "guess": 1, "0.5": 0, "0.7": 3, "0.9": 4, "0.99": 0,
    }  # fmt: skip
    assert [stop for stop, point in points.items() if point.is_shown] == ["0.7", "0.9"]
    gap = learner.on(0).gap
    assert gap is not None
    assert (gap.stop, gap.share, gap.lesson) == ("0.9", 0.5, HW)


def test_confident_error_is_asked_about_in_another_lesson_within_two_days() -> None:
    learner = Learner().at(0, settled(), LessonFinished(lesson=ACKS))
    learner.at(0, settled(lesson="031-two-who-lead"), LessonFinished(lesson="031-two-who-lead"))
    # `acked-is-safe` is in both lessons; their cards are due in two days and more.
    learner.at(2, reviewed(), reviewed(lesson="031-two-who-lead"))
    assert learner.on(4).due == []
    learner.at(4, settled(right=False, p=0.99, misconception="acked-is-safe", tags=("acked-is-safe",)))
    assert [(card.lesson, card.why) for card in learner.on(5).due] == [("031-two-who-lead", "misconception")]
    learner.at(5, reviewed(lesson="031-two-who-lead", count=1, tags=("acked-is-safe",)))
    assert learner.on(6).due == []
    one = learner.on(6).misconceptions[0]
    assert (one.tag, one.wrong, one.confident, one.right_since) == ("acked-is-safe", 1, 1, 1)


def test_two_wrong_answers_in_a_row_offer_the_deciding_step() -> None:
    learner = Learner().at(0, settled(), LessonFinished(lesson=ACKS))
    learner.at(2, reviewed(right=False)).at(3, reviewed(right=False, count=1))
    assert [card.again for card in learner.on(5).due] == [2]


def test_question_seed_depends_on_learner_card_and_count() -> None:
    seeds = {
        question_seed("ab", ACKS, 0),
        question_seed("ab", ACKS, 1),
        question_seed("ab", HW, 0),
        question_seed("cd", ACKS, 0),
    }
    assert len(seeds) == 4
    assert question_seed("ab", ACKS, 0) == question_seed("ab", ACKS, 0)


def test_ten_thousand_answers_add_up_and_stay_cheap_to_ask_for() -> None:
    events: list[AnyEvent] = [LessonFinished(lesson=f"l{number}") for number in range(40)]
    for number in range(5_000):
        events += [settled(lesson=f"l{number % 40}"), reviewed(lesson=f"l{number % 40}", count=number)]
    learner = Learner().at(0, *(decode(encode(event)) for event in events))
    began_s = time.process_time()
    first = learner.on(1)
    asked_s = time.process_time() - began_s
    began_s = time.process_time()
    replayed = Learner().at(0, *events)
    folded_s = time.process_time() - began_s
    assert (first.predictions, first.cards) == (5_000, 40)
    assert replayed.on(1) == first
    # The state is kept: asking does not fold once more.
    assert asked_s < folded_s / 10
