"""What a class mixes up: misconceptions behind wrong choices and votes, and wrong states, by the number of learners."""

from collections import defaultdict
from collections.abc import Iterator
from math import inf

import msgspec

from lab.classroom.polls import FEWEST_SPLIT
from lab.classroom.state import PastLesson, Poll, State

MAX_ROWS = 20
FEWEST_SHOWN = 2
"""Fewer learners are not shown to the class."""


class MistakeRow(msgspec.Struct):
    """`what`: `mistake_key`. `learners`: how many showed it; where voters are unknown, at least so many."""

    what: str
    by: str
    steps: list[int]
    learners: int
    last_us: int


def mistake_key(what: str, by: str, step: int) -> str:
    """The tag of a misconception, or `step/id` for a wrong state: ids are those of their step."""
    return what if by == "choice" else f"{step}/{what}"


def mistakes_of(state: State, fewest: int = 1, past: PastLesson | None = None) -> list[MistakeRow]:
    """The mistakes of at least `fewest` learners in the lesson of the class, or in one before: the most frequent first,
    then the newest.
    """
    made = past.mistakes if past is not None else state.mistakes
    first_poll, last_poll = (past.first_poll, past.last_poll) if past is not None else (state.first_poll, inf)
    people: defaultdict[str, set[str]] = defaultdict(set)
    unknown: defaultdict[str, int] = defaultdict(int)
    steps: defaultdict[str, set[int]] = defaultdict(set)
    for what, mistake in made.items():
        people[what].update(mistake.people)
        steps[what].update(mistake.steps)
    polls = [poll for number, poll in state.polls.items() if first_poll <= number <= last_poll]
    for poll in polls:
        for tag, voters in _votes_of(poll):
            steps[tag].add(poll.step)
            if poll.is_anonymous:
                unknown[tag] = max(unknown[tag], len(voters))
            else:
                people[tag] |= voters
    rows = []
    for what, at in steps.items():
        known = made.get(what)
        learners = max(sum(_counts(state, p) for p in people[what]), unknown[what])
        if learners >= fewest:
            by, last_us = (known.by, known.last_us) if known is not None else ("choice", 0)
            rows.append(MistakeRow(what, by, sorted(at), learners, last_us))
    return sorted(rows, key=lambda row: (-row.learners, -row.last_us, row.what))[:MAX_ROWS]


def _counts(state: State, p: str) -> bool:
    person = state.people.get(p)
    return person is not None and person.role == "learner" and not person.is_kicked


def _votes_of(poll: Poll) -> Iterator[tuple[str, set[str]]]:
    """The voters of the last round by the misconception behind their wrong answer, once the outcome is known. A few
    anonymous votes could reveal a voter.
    """
    votes = poll.rounds[-1] if poll.is_revealed and poll.rounds else {}
    if poll.is_anonymous and len(votes) < FEWEST_SPLIT:
        return
    for choice, tag in enumerate(poll.tags):
        voters = {voter for voter, vote in votes.items() if vote.answer == str(choice)}
        if tag and voters and str(choice) != poll.outcome:
            yield tag, voters
