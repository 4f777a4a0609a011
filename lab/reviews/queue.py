"""The questions of a day: cards that are due and have a generator, chapters mixed."""

from collections import defaultdict
from collections.abc import Iterable
from itertools import chain, zip_longest

from lab.learning.summary import DueCard, Summary
from lab.reviews.registry import generators


def todays(summary: Summary) -> list[DueCard]:
    """The cards to ask now: the most urgent first, alternating between chapters as long as possible."""
    known = [card for card in summary.due if card.lesson in generators()]
    return mixed(known)[: summary.due_today]


def mixed(cards: Iterable[DueCard]) -> list[DueCard]:
    """Takes one card of each chapter in turn; within a chapter the order stays."""
    chapters: dict[int, list[DueCard]] = defaultdict(list)
    for card in cards:
        chapters[generators()[card.lesson].chapter].append(card)
    rounds = zip_longest(*chapters.values())
    return [card for card in chain.from_iterable(rounds) if card is not None]
