"""Makes a `Summary` of a learner's state at an instant: calibration, what is due, mastery."""

from collections.abc import Iterable

from msgspec.structs import replace

from lab.learning.cards import DAILY_LIMIT, DAILY_MS, CardState
from lab.learning.days import DAY_MS, day_of
from lab.learning.fold import LearnerState
from lab.learning.misconceptions import inventory
from lab.learning.scoring import GUESS
from lab.learning.summary import (
    CalibrationGap,
    CalibrationPoint,
    DueCard,
    LessonSummary,
    Mastery,
    Summary,
)

MIN_SHOWN = 3
"""The number of answers that a stop needs before its point is shown."""
SHAKY_BELOW = 0.7
SOLID_FROM = 0.8
SOLID_P = 0.7
_GUESS_P = 0.25
"""Where the calibration chart shows a guess before the first answer: one of four choices."""


def summarize(state: LearnerState, learner: str, now_ms: int) -> Summary:
    """The summary at `now_ms`; an instant before the newest event counts as that event's."""
    now_ms = max(now_ms, state.last_at_ms)
    lessons = {slug: _lesson(state, slug, now_ms) for slug in state.lessons}
    calibration = [_point(state, name) for name in state.stops]
    due = list(due_cards(state, now_ms))
    is_today = state.answered_day == day_of(now_ms)
    answered_today = state.answered_today if is_today else 0
    spent_ms = state.answered_ms if is_today else 0
    left = 0 if spent_ms >= DAILY_MS else max(0, DAILY_LIMIT - answered_today)
    open_lessons = [lesson for lesson in lessons.values() if not lesson.is_done]
    return Summary(
        learner=learner,
        at_ms=now_ms,
        events=state.last_seq,
        lessons=lessons,
        current=max(open_lessons, key=lambda lesson: lesson.last_at_ms).slug if open_lessons else "",
        predictions=sum(lesson.predictions for lesson in lessons.values()),
        predictions_right=sum(lesson.predictions_right for lesson in lessons.values()),
        calibration=calibration,
        gap=_gap(state, calibration),
        due=due,
        due_today=min(left, len(due)),
        answered_today=answered_today,
        next_due_at_ms=min((card.due_ms for card in state.cards.values()), default=None),
        cards=len(state.cards),
        misconceptions=[
            replace(one) for one in sorted(state.misconceptions.values(), key=lambda one: (-one.last_wrong_ms, one.tag))
        ],
        challenges={slug: replace(one) for slug, one in state.challenges.items()},
        skill=state.skill_sum / state.skill_count if state.skill_count else None,
        skipped=list(state.skipped),
    )


def due_cards(state: LearnerState, now_ms: int) -> Iterable[DueCard]:
    """The due cards, most urgent first: misconceptions held with confidence, then the lowest retrievability.

    No card is asked on the day on which its lesson was done.
    """
    today = day_of(now_ms)
    due: dict[str, DueCard] = {}
    for tag, pending in state.pending.items():
        slug = _asks_about(state, tag, pending.lesson)
        if slug and day_of(pending.at_ms) < today and state.finished_day.get(slug) != today:
            due.setdefault(slug, _due(slug, state.cards[slug], now_ms, is_misconception=True))
    forgotten = [
        _due(slug, card, now_ms)
        for slug, card in state.cards.items()
        if slug not in due and day_of(card.due_ms) <= today and state.finished_day.get(slug) != today
    ]
    return [*due.values(), *sorted(forgotten, key=lambda card: (card.retrievability, card.due_at_ms, card.lesson))]


def _asks_about(state: LearnerState, tag: str, lesson: str) -> str:
    """A lesson with a card whose questions offer this misconception: another one than that of the error if possible."""
    known = inventory().get(tag)
    lessons = known.lessons if known else ()
    with_card = [slug for slug in lessons if slug in state.cards and slug != lesson]
    if with_card:
        return with_card[0]
    return lesson if lesson in state.cards else ""


def _due(slug: str, card: CardState, now_ms: int, is_misconception: bool = False) -> DueCard:
    return DueCard(
        lesson=slug,
        count=card.count,
        due_at_ms=card.due_ms,
        days_overdue=max(0, (now_ms - card.due_ms) // DAY_MS),
        interval_days=card.interval_days,
        retrievability=card.retrievability(now_ms),
        again=card.again,
        why="misconception" if is_misconception else "due",
    )


def _lesson(state: LearnerState, slug: str, now_ms: int) -> LessonSummary:
    lesson = state.lessons[slug]
    card = state.cards.get(slug)
    retrievability = card.retrievability(now_ms) if card else None
    steps = {step: replace(one) for step, one in lesson.steps.items()}
    mastery = _mastery(state, slug, retrievability)
    return replace(lesson, steps=steps, retrievability=retrievability, mastery=mastery)


def _mastery(state: LearnerState, slug: str, retrievability: float | None) -> Mastery:
    if retrievability is None:
        return "unseen"
    answers = state.answers.get(slug, [])
    if (answers and not answers[-1].right) or retrievability < SHAKY_BELOW:
        return "shaky"
    if len(answers) < 2 or retrievability < SOLID_FROM:
        return "seen"
    before, last = answers
    return "solid" if before.right and before.day != last.day and last.p >= SOLID_P else "seen"


def _point(state: LearnerState, name: str) -> CalibrationPoint:
    stop = state.stops[name]
    if not stop.count:
        return CalibrationPoint(name, _GUESS_P if name == GUESS else float(name))
    p = stop.p_sum / stop.count
    return CalibrationPoint(name, p, stop.count, stop.right, stop.right / stop.count, stop.count >= MIN_SHOWN)


def _gap(state: LearnerState, calibration: list[CalibrationPoint]) -> CalibrationGap | None:
    shown = [point for point in calibration if point.is_shown]
    if not shown:
        return None
    widest = max(shown, key=lambda point: abs(point.share - point.p))
    errors = state.stops[widest.stop].errors
    lesson = max(errors, key=lambda slug: (errors[slug], slug)) if errors else ""
    return CalibrationGap(widest.stop, widest.p, widest.share, widest.count, lesson)
