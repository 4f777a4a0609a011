"""Review cards: when the question of a lesson is due, by FSRS.

There are no steps within a day, because the lesson was the first look, and no fuzzing, because the same answers must
give the same day. Ids and times are always given: left out, the library would read the clock.
"""

from hashlib import sha256

import msgspec
from fsrs import Card, Rating, Scheduler

from lab.learning.days import utc, wall_ms_of
from lab.learning.events import PredictionSettled
from lab.learning.scoring import CONFIDENT_P

DAILY_LIMIT = 5
"""Questions per day."""
DAILY_MS = 180_000
"""Time per day: after three minutes no further question is asked."""
AGAIN_LIMIT = 2
"""After this number of wrong answers in a row the page offers the deciding step of the lesson."""
HARD_P = 0.5
SCHEDULER = Scheduler(
    desired_retention=0.9, learning_steps=(), relearning_steps=(), maximum_interval=180, enable_fuzzing=False
)
_CARD_ID = 1


class CardState(msgspec.Struct):
    """One card. `count`: its answers so far; `again`: wrong ones in a row; `sure`: right ones at p >= 0.9 in a row."""

    card: Card
    count: int = 0
    again: int = 0
    sure: int = 0

    @property
    def due_ms(self) -> int:
        return wall_ms_of(self.card.due)

    @property
    def interval_days(self) -> int:
        """Days from the last review to the due day."""
        last = self.card.last_review
        return 0 if last is None else (self.card.due - last).days

    def retrievability(self, now_ms: int) -> float:
        """The probability of a right answer now."""
        return float(SCHEDULER.get_card_retrievability(self.card, utc(now_ms)))


def new_card(at_ms: int, rating: int) -> CardState:
    """The card of a lesson that was just finished."""
    return CardState(_reviewed(Card(card_id=_CARD_ID, due=utc(at_ms)), rating, at_ms))


def answer_card(state: CardState, rating: int, p: float, right: bool, at_ms: int) -> None:
    """Moves the card on by one answer."""
    state.card = _reviewed(state.card, rating, at_ms)
    state.count += 1
    state.again = 0 if right else state.again + 1
    state.sure = state.sure + 1 if right and p >= CONFIDENT_P else 0


def rating_of(right: bool, p: float, *, sure_before: bool = False, helped: bool = False) -> int:
    """FSRS's rating of an answer.

    Wrong is 1 (again); right at 0.5 or less, with a hint or at a second try 2 (hard); right at 0.9 or more for the
    second time running 4 (easy); any other right answer 3 (good).
    """
    if not right:
        return int(Rating.Again)
    if helped or p <= HARD_P:
        return int(Rating.Hard)
    return int(Rating.Easy if sure_before and p >= CONFIDENT_P else Rating.Good)


def birth_rating(settled: list[PredictionSettled], *, is_skipped: bool = False) -> int:
    """FSRS's rating for a new card: the lowest of the lesson's predictions, each as last settled.

    A lesson without a prediction starts as good, one whose questions were skipped as again.
    """
    if is_skipped:
        return int(Rating.Again)
    ratings = [rating_of(one.right, one.p, helped=one.hints > 0 or one.attempt > 1) for one in settled]
    return min(ratings, default=int(Rating.Good))


def question_seed(learner: str, card: str, count: int) -> int:
    """The seed of a card's question: the same for the same learner, card and count."""
    return int.from_bytes(sha256(f"{learner}/{card}/{count}".encode()).digest()[:4])


def _reviewed(card: Card, rating: int, at_ms: int) -> Card:
    return SCHEDULER.review_card(card, Rating(rating), utc(at_ms))[0]
