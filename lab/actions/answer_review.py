"""Selects a user's next review question, and stores the answer."""

import math
from collections.abc import Mapping
from typing import NamedTuple

from lab.learning.cards import AGAIN_LIMIT, question_seed, rating_of
from lab.learning.events import PredictionSettled, ReviewAnswered, ReviewAsked
from lab.learning.log import append, learner_id, state_of, summary_of, wall_ms
from lab.learning.scoring import brier, is_stop, stops
from lab.learning.summarize import due_cards
from lab.learning.summary import DueCard
from lab.reviews.question import Question
from lab.reviews.queue import todays
from lab.reviews.registry import generators, question_of
from lab.texts.refusal import Refusal

MAX_MS = 180_000
"""A question that was left open counts as no longer than this."""


class AskedReview(NamedTuple):
    """A question to show. `left`: questions of today, this one included."""

    card: DueCard
    question: Question
    stops: tuple[float, ...]
    left: int


class Verdict(NamedTuple):
    """The verdict on the last answer. `decided`: the instant that settled the prediction of its lesson, None if there
    is none.
    """

    answered: ReviewAnswered
    question: Question
    due_at_ms: int
    offers_step: bool
    decided: PredictionSettled | None


def ask_review(user_id: int) -> AskedReview | None:
    """The next question of today; None if there is none left. Records when it was first shown."""
    queue = todays(summary_of(user_id))
    if not queue:
        return None
    card = queue[0]
    seed = question_seed(learner_id(user_id), card.lesson, card.count)
    question = question_of(card.lesson, seed)
    with state_of(user_id) as state:
        asked = state.asked
        if asked is None or (asked.lesson, asked.count) != (card.lesson, card.count):
            append(user_id, ReviewAsked(lesson=card.lesson, count=card.count, question_seed=seed))
    return AskedReview(card, question, stops(len(question.choices)), len(queue))


def answer_review(user_id: int, slug: str, form: Mapping[str, str]) -> ReviewAnswered:
    """Stores an answer: `count`, `choice`, `p`.

    Raises Refusal for a question that was already answered or is not due, for an unknown choice, and for a confidence
    that is not one of the levels.
    """
    if slug not in generators():
        raise Refusal("refusal.no_review", 404, lesson=slug)
    with state_of(user_id) as state:
        card = state.cards.get(slug)
        count = form.get("count", "")
        if card is None or not count.isdecimal() or len(count) > 9:
            raise Refusal("refusal.review_not_due", 409)
        if int(count) != card.count:
            raise Refusal("refusal.review_answered", 409)
        now_ms = max(wall_ms(), state.last_at_ms)
        if slug not in {due.lesson for due in due_cards(state, now_ms)}:
            raise Refusal("refusal.review_not_due", 409)
        seed = question_seed(learner_id(user_id), slug, card.count)
        question = question_of(slug, seed)
        choice = question.choice(form.get("choice", ""))
        if choice is None:
            raise Refusal("refusal.review_choice", field="choice")
        p = _stop(form.get("p", ""), len(question.choices))
        right = choice.id == question.right
        asked = state.asked
        is_timed = asked is not None and (asked.lesson, asked.count) == (slug, card.count)
        event = ReviewAnswered(
            lesson=slug,
            count=card.count,
            question_seed=seed,
            choice=choice.id,
            choices=len(question.choices),
            p=p,
            outcome=question.right,
            right=right,
            brier=brier(p, len(question.choices), right),
            rating=rating_of(right, p, sure_before=card.sure > 0),
            ms=min(MAX_MS, now_ms - asked.at_ms) if asked is not None and is_timed else 0,
            misconception=choice.misconception,
            tags=question.tags,
        )
        append(user_id, event)
    return event


def last_verdict(user_id: int) -> Verdict | None:
    """The verdict on the newest answer; None before the first."""
    with state_of(user_id) as state:
        answered = state.last_review
        card = state.cards.get(answered.lesson) if answered else None
        if answered is None or card is None or answered.lesson not in generators():
            return None
        settled = state.settled.get(answered.lesson, {})
        decided = next((one for one in reversed(settled.values()) if one.run), None)
        due_ms, offers = card.due_ms, card.again >= AGAIN_LIMIT
    return Verdict(answered, question_of(answered.lesson, answered.question_seed), due_ms, offers, decided)


def _stop(given: str, choices: int) -> float:
    """The stop that a form named. Raises Refusal."""
    try:
        p = float(given)
    except ValueError:
        p = math.nan
    for stop in stops(choices):
        if is_stop(p, choices) and abs(stop - p) < 1e-3:
            return stop
    raise Refusal("refusal.review_confidence", field="p")
