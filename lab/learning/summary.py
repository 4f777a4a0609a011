"""Everything that the pages show about a learner, as plain values. Texts are ids: a slug, a tag, a stop.

`Summary` is made by `lab.learning.log.summary_of(user_id)`; its lists are sorted as they are shown.
"""

from typing import Literal

import msgspec

from lab.learning.events import Skipped

Mastery = Literal["unseen", "seen", "shaky", "solid"]


class StepSummary(msgspec.Struct):
    """One step since the lesson was last started over.

    Attributes:
        checked_at_ms: when it was done; None while it is open.
        kind: `goal`, `prediction` or `answer`.
        attempts: the number of tries.
        right: outcome of the last prediction or answer; None for a goal and while it is open.
        p, choice, outcome, brier: of the last prediction.
        seconds: wall time spent on it.
    """

    step: str
    kind: Literal["goal", "prediction", "answer"] = "goal"
    checked_at_ms: int | None = None
    attempts: int = 0
    right: bool | None = None
    p: float | None = None
    choice: str = ""
    outcome: str = ""
    brier: float | None = None
    hints: int = 0
    wrong_states: int = 0
    skipped: bool = False
    seconds: float = 0.0


class LessonSummary(msgspec.Struct):
    """One lesson that was started at least once.

    Attributes:
        attempts: how often it was started.
        parts_done: numbers of the parts that are finished; `parts` is 0 until one is.
        finished_at_ms: when its last part was first finished; None before.
        steps: by id, in the order in which they were first met.
        predictions, predictions_right: settled predictions of all attempts.
        run, branch: where it was last worked on, to continue there.
        mastery: of its concept. `seen`: done; `shaky`: last answer wrong or fading; `solid`: the last two answers right
            on different days, the later one with p >= 0.7, and not fading.
        retrievability: of its card, 0 to 1; None without a card.
    """

    slug: str
    started_at_ms: int = 0
    last_at_ms: int = 0
    finished_at_ms: int | None = None
    attempts: int = 0
    parts_done: tuple[int, ...] = ()
    parts: int = 0
    steps: dict[str, StepSummary] = {}
    predictions: int = 0
    predictions_right: int = 0
    transfer_right: bool | None = None
    hints: int = 0
    seconds: float = 0.0
    run: str = ""
    branch: str = ""
    mastery: Mastery = "unseen"
    retrievability: float | None = None

    @property
    def is_done(self) -> bool:
        return self.finished_at_ms is not None


class CalibrationPoint(msgspec.Struct):
    """A stop, and how often answers with it were right.

    Attributes:
        stop: `guess`, `0.5`, `0.7`, `0.9` or `0.99`.
        p: mean of the probabilities given (a guess is 1/k, so it varies).
        share: right / count, 0 without answers.
        is_shown: at least three answers: fewer say nothing.
    """

    stop: str
    p: float
    count: int = 0
    right: int = 0
    share: float = 0.0
    is_shown: bool = False


class CalibrationGap(msgspec.Struct):
    """The sentence under the curve: the stop with the largest gap, and the lesson with most of its errors.

    "When you say {p} you are right {share} of the time, most of all about {lesson}": `lesson` is empty without errors.
    """

    stop: str
    p: float
    share: float
    count: int
    lesson: str


class DueCard(msgspec.Struct):
    """A card whose question is due.

    Attributes:
        lesson: slug; the card is named by it.
        count: number of its answers so far, which names the next question.
        days_overdue: whole days since it was due, 0 on the day itself.
        interval_days: the interval that has passed.
        again: how often it was answered wrong in a row; from 2 on the page offers the deciding step of the lesson.
        why: `due`, or `misconception`: an error made with confidence is asked about once more within two days.
    """

    lesson: str
    count: int
    due_at_ms: int
    days_overdue: int
    interval_days: int
    retrievability: float
    again: int = 0
    why: Literal["due", "misconception"] = "due"


class MisconceptionSummary(msgspec.Struct):
    """A misconception of the inventory, by its tag.

    Attributes:
        wrong: wrong answers with it; `confident` of them at p >= 0.9.
        right_since: right answers to questions that offered it, since the last wrong one: whether the refutation holds.
    """

    tag: str
    wrong: int = 0
    confident: int = 0
    right_since: int = 0
    last_wrong_ms: int = 0
    lessons: tuple[str, ...] = ()


class ChallengeSummary(msgspec.Struct):
    """Entries to one challenge. `best`: score of the best entry that passed, by the challenge's own order (`last`)."""

    slug: str
    entries: int = 0
    passed: int = 0
    last_score: float = 0.0
    last_passed: bool = False
    last_at_ms: int = 0


class Summary(msgspec.Struct):
    """A learner at one instant.

    Attributes:
        learner: the opaque id of this installation.
        events: number of events in the log; 0 for a newcomer.
        lessons: by slug, in the order in which they were first started.
        current: slug of the lesson that was worked on last and is not done; empty when there is none.
        predictions, predictions_right: settled ones of lessons, all attempts.
        calibration: one point a stop, lowest first, all five, from predictions, transfer questions and reviews.
        gap: None until a stop has three answers.
        due: every card that is due, in the order in which the questions are asked.
        due_today: how many of them are asked today, at most five a day, less those answered already.
        answered_today: reviews answered today.
        next_due_at_ms: when the next card becomes due; None when there is none.
        cards: number of cards.
        misconceptions: tags met with a wrong answer, newest first.
        challenges: by slug.
        skill: mean skill of all scored answers, 1 at best, 0 as a guess; None without one.
        skipped: records of another version, which were left out.
    """

    learner: str
    at_ms: int = 0
    events: int = 0
    lessons: dict[str, LessonSummary] = {}
    current: str = ""
    predictions: int = 0
    predictions_right: int = 0
    calibration: list[CalibrationPoint] = []
    gap: CalibrationGap | None = None
    due: list[DueCard] = []
    due_today: int = 0
    answered_today: int = 0
    next_due_at_ms: int | None = None
    cards: int = 0
    misconceptions: list[MisconceptionSummary] = []
    challenges: dict[str, ChallengeSummary] = {}
    skill: float | None = None
    skipped: list[Skipped] = []

    @property
    def done(self) -> int:
        """Lessons that are done."""
        return sum(lesson.is_done for lesson in self.lessons.values())
