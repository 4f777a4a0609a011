"""Splits of polls, and the advice after a round (Crouch and Mazur 2001)."""

from collections import Counter
from typing import Literal, NamedTuple

import msgspec

from lab.classroom.state import Poll, State, Vote

FEWEST_SPLIT = 5
"""Fewer answers are shown as a number only."""
EXPLAIN_BELOW = 35
GO_ON_ABOVE = 70

Advice = Literal["", "explain", "discuss", "go_on"]


class Split(msgspec.Struct):
    """`answers`: number of votes by answer, and their average confidence in percent (-1: not asked). Both are empty
    with fewer than five votes. `right`: number of right votes; -1 if unknown.
    """

    count: int
    answers: dict[str, int]
    sure: dict[str, int]
    right: int


def split_of(votes: dict[str, Vote], right: str) -> Split:
    """The split of one round."""
    count = len(votes)
    if count < FEWEST_SPLIT:
        return Split(count, {}, {}, -1)
    answers = Counter(vote.answer for vote in votes.values())
    sure = {
        answer: round(sum(vote.sure for vote in votes.values() if vote.answer == answer) / number)
        for answer, number in answers.items()
    }
    return Split(count, dict(sorted(answers.items())), dict(sorted(sure.items())), answers[right] if right else -1)


def right_answer(poll: Poll) -> str:
    """The outcome if known, else the answer that staff set; empty without either."""
    return poll.outcome or poll.right


def advice(split: Split) -> Advice:
    """What to do after a round, by the share of right answers; empty if unknown."""
    if split.right < 0:
        return ""
    percent = 100 * split.right / split.count
    if percent < EXPLAIN_BELOW:
        return "explain"
    return "go_on" if percent > GO_ON_ABOVE else "discuss"


class Settling(NamedTuple):
    """A poll that the lab `run/branch` settles, and how: see `events.poll.PollMade`. `seq`: the lab's last event
    before. `chapter` and `step`: of a prediction.
    """

    poll: int
    lab: str
    seq: int
    form: str
    chapter: str
    step: int
    when: str
    holds: tuple[str, ...]
    asks: str
    within_s: int


def settling_of(state: State) -> Settling | None:
    """The poll that a lab is settling."""
    found = state.polls.get(state.poll)
    if found is None or not found.settled_in:
        return None
    return Settling(
        state.poll,
        found.settled_in,
        found.settled_from,
        found.form,
        found.lesson,
        found.step,
        found.when,
        found.holds,
        found.asks,
        found.within_s,
    )
