"""Folds learning events into the state of a learner: each event once, when it is written or first read."""

from collections import Counter
from collections.abc import Callable
from datetime import date
from functools import cache
from typing import Any

import msgspec

from lab.learning.cards import CardState, answer_card, birth_rating, new_card
from lab.learning.days import day_of
from lab.learning.events import (
    AnswerGiven,
    AnyEvent,
    ChallengeJudged,
    HintShown,
    LearningEvent,
    LessonFinished,
    LessonReset,
    LessonStarted,
    PredictionGiven,
    PredictionSettled,
    ReviewAnswered,
    ReviewAsked,
    Skipped,
    StepChecked,
    StepSkipped,
    TransferAnswered,
    WrongStateShown,
)
from lab.learning.misconceptions import inventory
from lab.learning.scoring import CONFIDENT_P, GUESS, STOPS, skill
from lab.learning.summary import ChallengeSummary, LessonSummary, MisconceptionSummary, StepSummary


class Answered(msgspec.Struct):
    """One answer about a concept; `p` is 0 if no confidence was asked for."""

    day: date
    right: bool
    p: float


class StopCount(msgspec.Struct):
    """The answers at one stop. `errors`: wrong ones by lesson."""

    count: int = 0
    right: int = 0
    p_sum: float = 0.0
    errors: Counter[str] = msgspec.field(default_factory=Counter)


class Asked(msgspec.Struct):
    """The review question that was shown last."""

    lesson: str
    count: int
    at_ms: int


class Pending(msgspec.Struct):
    """An error made with confidence whose misconception has not been asked about since."""

    lesson: str
    at_ms: int


class LearnerState:
    """The state of a learner. Not thread-safe."""

    def __init__(self) -> None:
        self.last_seq = 0
        #: Wall time of the newest event; it never goes back, even if the clock was set back.
        self.last_at_ms = 0
        self.lessons: dict[str, LessonSummary] = {}
        self.finished_day: dict[str, date] = {}
        self.settled: dict[str, dict[str, PredictionSettled]] = {}
        self.answers: dict[str, list[Answered]] = {}
        """The last two answers about each lesson's concept."""
        self.cards: dict[str, CardState] = {}
        self.stops: dict[str, StopCount] = {name: StopCount() for name in (GUESS, *(f"{stop:g}" for stop in STOPS))}
        self.skill_sum = 0.0
        self.skill_count = 0
        self.misconceptions: dict[str, MisconceptionSummary] = {}
        self.pending: dict[str, Pending] = {}
        self.challenges: dict[str, ChallengeSummary] = {}
        self.asked: Asked | None = None
        self.last_review: ReviewAnswered | None = None
        self.answered_day: date | None = None
        self.answered_today = 0
        self.answered_ms = 0
        self.skipped: list[Skipped] = []

    def skip(self, skipped: Skipped) -> None:
        """Records an unreadable record."""
        self.skipped.append(skipped)
        self.last_seq = skipped.seq

    def fold(self, seq: int, at_ms: int, event: AnyEvent) -> None:
        """Adds the next event. An event stamped before the last one, since the clock was set back, counts as at the
        time of the last one.
        """
        self.last_seq = seq
        if at_ms > self.last_at_ms:
            self.last_at_ms = at_ms
        _FOLDS[type(event)](self, self.last_at_ms, event)

    # lessons

    def _lesson(self, at_ms: int, event: LearningEvent) -> LessonSummary:
        lesson = self.lessons.get(event.lesson)
        if lesson is None:
            lesson = self.lessons[event.lesson] = LessonSummary(event.lesson, started_at_ms=at_ms)
        lesson.last_at_ms = at_ms
        if event.run:
            lesson.run, lesson.branch = event.run, event.branch
        return lesson

    def _started(self, at_ms: int, event: LessonStarted) -> None:
        lesson = self._lesson(at_ms, event)
        if event.part == 1:
            lesson.attempts += 1

    def _reset(self, at_ms: int, event: LessonReset) -> None:
        lesson = self._lesson(at_ms, event)
        lesson.steps = {}
        lesson.parts_done = ()
        self.settled.pop(event.lesson, None)

    def _step(self, at_ms: int, event: StepChecked | PredictionGiven | PredictionSettled | AnswerGiven) -> StepSummary:
        steps = self._lesson(at_ms, event).steps
        step = steps.get(event.step)
        if step is None:
            step = steps[event.step] = StepSummary(event.step)
        step.attempts = max(step.attempts, event.attempt)
        return step

    def _checked(self, at_ms: int, event: StepChecked) -> None:
        step = self._step(at_ms, event)
        if step.checked_at_ms is None:
            step.checked_at_ms = at_ms
            step.seconds += event.seconds
            self.lessons[event.lesson].seconds += event.seconds

    def _given(self, at_ms: int, event: PredictionGiven) -> None:
        step = self._step(at_ms, event)
        step.kind = "prediction"
        step.choice, step.p = event.choice, event.p
        step.right = step.brier = None
        step.outcome = ""

    def _settled(self, at_ms: int, event: PredictionSettled) -> None:
        step = self._step(at_ms, event)
        step.kind = "prediction"
        step.checked_at_ms = at_ms
        step.choice, step.p, step.outcome = event.choice, event.p, event.outcome
        step.right, step.brier = event.right, event.brier
        step.seconds += event.seconds
        lesson = self.lessons[event.lesson]
        lesson.predictions += 1
        lesson.predictions_right += event.right
        self.settled.setdefault(event.lesson, {})[event.step] = event
        self._score(at_ms, event)

    def _answer(self, at_ms: int, event: AnswerGiven) -> None:
        step = self._step(at_ms, event)
        step.kind = "answer"
        step.choice, step.outcome, step.right = event.answer, event.outcome, event.right
        step.seconds += event.seconds
        if event.right and step.checked_at_ms is None:
            step.checked_at_ms = at_ms
        if event.misconception and not event.right:
            self._wrong(at_ms, event.lesson, event.misconception, 0.0)

    def _step_skipped(self, at_ms: int, event: StepSkipped) -> None:
        # Neither right nor wrong: no evidence of the learner's knowledge.
        self._lesson(at_ms, event).steps.setdefault(event.step, StepSummary(event.step)).skipped = True

    def _hint(self, at_ms: int, event: HintShown) -> None:
        lesson = self._lesson(at_ms, event)
        lesson.hints = max(lesson.hints, event.hint)
        step = lesson.steps.setdefault(event.step, StepSummary(event.step))
        step.hints += 1

    def _wrong_state(self, at_ms: int, event: WrongStateShown) -> None:
        step = self._lesson(at_ms, event).steps.setdefault(event.step, StepSummary(event.step))
        step.wrong_states += 1

    def _finished(self, at_ms: int, event: LessonFinished) -> None:
        lesson = self._lesson(at_ms, event)
        lesson.parts = event.parts
        lesson.parts_done = tuple(sorted({*lesson.parts_done, event.part}))
        if len(lesson.parts_done) < event.parts:
            return
        self.finished_day[event.lesson] = day_of(at_ms)
        if lesson.finished_at_ms is None:
            lesson.finished_at_ms = at_ms
        if event.lesson not in self.cards:
            settled = list(self.settled.get(event.lesson, {}).values())
            is_skipped = not settled and any(step.skipped for step in lesson.steps.values())
            rating = birth_rating(settled, is_skipped=is_skipped)
            self.cards[event.lesson] = new_card(at_ms, rating)

    def _transfer(self, at_ms: int, event: TransferAnswered) -> None:
        self._lesson(at_ms, event).transfer_right = event.right
        self._score(at_ms, event)

    # reviews

    def _asked(self, at_ms: int, event: ReviewAsked) -> None:
        self.asked = Asked(event.lesson, event.count, at_ms)

    def _reviewed(self, at_ms: int, event: ReviewAnswered) -> None:
        self.last_review = event
        for tag, pending in list(self.pending.items()):
            known = inventory().get(tag)
            if event.lesson == pending.lesson or (known is not None and event.lesson in known.lessons):
                # Asked again, whether the question offered that choice or not.
                del self.pending[tag]
        card = self.cards.get(event.lesson)
        if card is not None:
            answer_card(card, event.rating, event.p, event.right, at_ms)
        day = day_of(at_ms)
        if day != self.answered_day:
            self.answered_day, self.answered_today, self.answered_ms = day, 0, 0
        self.answered_today += 1
        self.answered_ms += event.ms
        self._score(at_ms, event)

    # scores

    def _score(self, at_ms: int, event: PredictionSettled | TransferAnswered | ReviewAnswered) -> None:
        """One answer with a choice: concept, calibration and misconceptions."""
        answers = self.answers.setdefault(event.lesson, [])
        answers.append(Answered(day_of(at_ms), event.right, event.p))
        del answers[:-2]
        if event.p > 0:
            stop = self.stops[_nearest_stop(event.p, event.choices)]
            stop.count += 1
            stop.right += event.right
            stop.p_sum += event.p
            if not event.right:
                stop.errors[event.lesson] += 1
            self.skill_sum += skill(event.brier, event.choices)
            self.skill_count += 1
        for tag in event.tags:
            self.pending.pop(tag, None)
            if event.right and tag in self.misconceptions:
                self.misconceptions[tag].right_since += 1
        if event.misconception and not event.right:
            self._wrong(at_ms, event.lesson, event.misconception, event.p)

    def _wrong(self, at_ms: int, lesson: str, tag: str, p: float) -> None:
        found = self.misconceptions.get(tag)
        if found is None:
            found = self.misconceptions[tag] = MisconceptionSummary(tag)
        found.wrong += 1
        found.right_since = 0
        found.last_wrong_ms = at_ms
        if lesson not in found.lessons:
            found.lessons = (*found.lessons, lesson)
        if p >= CONFIDENT_P:
            found.confident += 1
            self.pending[tag] = Pending(lesson, at_ms)

    def _judged(self, at_ms: int, event: ChallengeJudged) -> None:
        found = self.challenges.setdefault(event.lesson, ChallengeSummary(event.lesson))
        found.entries += 1
        found.passed += event.passed
        found.last_score, found.last_passed, found.last_at_ms = event.score, event.passed, at_ms


@cache
def _nearest_stop(p: float, choices: int) -> str:
    """The name of the stop for a stored probability. Another version may have stored one between the stops."""
    guess = 1 / choices
    if p < (guess + STOPS[0]) / 2 or abs(p - guess) < 1e-6:
        return GUESS
    return f"{min(STOPS, key=lambda stop: abs(stop - p)):g}"


_FOLDS: dict[type[LearningEvent], Callable[[LearnerState, int, Any], None]] = {
    LessonStarted: LearnerState._started,
    LessonReset: LearnerState._reset,
    StepChecked: LearnerState._checked,
    PredictionGiven: LearnerState._given,
    PredictionSettled: LearnerState._settled,
    AnswerGiven: LearnerState._answer,
    HintShown: LearnerState._hint,
    StepSkipped: LearnerState._step_skipped,
    WrongStateShown: LearnerState._wrong_state,
    LessonFinished: LearnerState._finished,
    TransferAnswered: LearnerState._transfer,
    ReviewAsked: LearnerState._asked,
    ReviewAnswered: LearnerState._reviewed,
    ChallengeJudged: LearnerState._judged,
}
