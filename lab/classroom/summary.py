"""The summary of a class, from its state and events: complete for staff, for learners only their own part."""

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from lab.classroom.events import ClassEnvelope
from lab.classroom.events.room import CameBack, WentAway
from lab.classroom.state import Instant, Person, Poll, State, Vote

FEW = 5
"""With fewer anonymous votes the split could reveal voters: only their number is shown."""
_SIGNS = {"done": "✓", "hinted": "h", "lost": "↺"}
NOT_YET, NOW = "", "·"


class Away(NamedTuple):
    """An absence between two instants of class time; `until_us` is the end of the class for those who did not come
    back.
    """

    p: str
    since_us: int
    until_us: int


class LearnerRow(NamedTuple):
    """What a learner did. `signs`: one for each step; `done`: completed steps."""

    p: str
    lab: str
    signs: list[str]
    done: int
    hints: int
    predictions: int
    settled: int
    right: int
    stuck_count: int
    away_us: int


class Round(NamedTuple):
    """A round of a poll: counts by answer (None: too few to show), and the share of right answers."""

    votes: int
    answers: dict[str, int] | None
    right_percent: int | None


class PollRow(NamedTuple):
    """A poll. `outcome` is what came true, or the answer set by staff; empty if neither is known."""

    number: int
    text: int
    choices: tuple[int, ...]
    rounds: list[Round]
    outcome: str


class OpenQuestion(NamedTuple):
    """An unanswered question, with the instant that it refers to."""

    p: str
    is_named: bool
    text: int
    backers: int
    at: Instant


class Summary(NamedTuple):
    """The whole class. Learners in the order of their numbers."""

    lasted_us: int
    steps: int
    learners: list[LearnerRow]
    polls: list[PollRow]
    questions: list[OpenQuestion]
    away: list[Away]


class OwnVote(NamedTuple):
    """A learner's answer in a round, the confidence (-1: not asked), and whether it was right (None: unknown)."""

    poll: int
    round: int
    answer: str
    sure: int
    is_right: bool | None


def summary(state: State, events: Iterable[ClassEnvelope]) -> Summary:
    """The summary of a class that is live or has ended. `events`: its whole log."""
    away = absences(state, events)
    away_us: Counter[str] = Counter()
    for one in away:
        away_us[one.p] += one.until_us - one.since_us
    learners = [person for person in state.people.values() if person.role == "learner" and not person.waits]
    return Summary(
        max(0, state.last_us - max(0, state.opened_us)),
        state.steps,
        [_learner(person, state.steps, away_us[person.p]) for person in sorted(learners, key=_number)],
        [_poll(number, poll) for number, poll in state.polls.items() if poll.rounds],
        [
            OpenQuestion(one.p, one.is_named, one.text, len(one.backers), one.at)
            for one in state.questions.values()
            if not one.answered and not one.is_hidden
        ],
        away,
    )


def absences(state: State, events: Iterable[ClassEnvelope]) -> list[Away]:
    """Absences of learners, in order."""
    found: list[Away] = []
    since: dict[str, int] = {}
    for _, at_us, _, _, event in events:
        if isinstance(event, WentAway):
            since.setdefault(event.p, event.since_us)
        elif isinstance(event, CameBack) and event.p in since:
            found.append(Away(event.p, since.pop(event.p), at_us))
    found += (Away(p, began_us, state.last_us) for p, began_us in since.items())
    learners = {person.p for person in state.people.values() if person.role == "learner"}
    return sorted((one for one in found if one.p in learners), key=lambda one: one.since_us)


def own_votes(state: State, p: str) -> list[OwnVote]:
    """A learner's answers in polls that are not anonymous."""
    return [
        OwnVote(number, round, vote.answer, vote.sure, None if not known else vote.answer == known)
        for number, poll in state.polls.items()
        if not poll.is_anonymous
        for known in [_known(poll)]
        for round, votes in enumerate(poll.rounds, 1)
        for vote in [votes.get(p)]
        if vote is not None
    ]


def learner_row(state: State, p: str) -> LearnerRow | None:
    """What one learner did; None if the participant is not a learner."""
    person = state.people.get(p)
    return _learner(person, state.steps, 0) if person is not None and person.role == "learner" else None


def _number(person: Person) -> int:
    return int(person.p[1:])


def _learner(person: Person, steps: int, away_us: int) -> LearnerRow:
    signs = [
        _SIGNS.get(person.signs.get(step, ""), NOW if step == person.step else NOT_YET) for step in range(1, steps + 1)
    ]
    return LearnerRow(
        person.p,
        person.lab,
        signs,
        min(steps, person.step - 1),
        sum(person.hints.values()),
        person.predictions,
        person.settled,
        person.right,
        person.stuck_count,
        away_us,
    )


def _known(poll: Poll) -> str:
    """The right answer may be shown once it was revealed or the poll has ended."""
    return poll.outcome or (poll.right if poll.phase == "ended" else "")


def _poll(number: int, poll: Poll) -> PollRow:
    return PollRow(number, poll.text, poll.choices, [_round(poll, votes) for votes in poll.rounds], _known(poll))


def _round(poll: Poll, votes: dict[str, Vote]) -> Round:
    answers = Counter(vote.answer for vote in votes.values())
    if poll.is_anonymous and len(votes) < FEW:
        return Round(len(votes), None, None)
    known = _known(poll)
    share = round(100 * answers[known] / len(votes)) if known and votes else None
    return Round(len(votes), dict(answers.most_common()), share)
