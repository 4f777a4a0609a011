"""The summary of a class, from its state and events: complete for staff, for learners only their own part."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from lab.classroom.events import ClassEnvelope
from lab.classroom.events.pace import LessonBegan
from lab.classroom.events.room import CameBack, ClassResumed, WentAway
from lab.classroom.events.work import StuckBegan, StuckEnded
from lab.classroom.results.mistakes import MistakeRow, mistakes_of
from lab.classroom.state import Instant, LessonWork, Person, Poll, State, Vote

FEW = 5
"""With fewer anonymous votes the split could reveal voters: only their number is shown."""
_SIGNS = {"done": "✓", "hinted": "h", "skipped": "–", "lost": "↺"}
NOT_YET, NOW = "", "·"


class Away(NamedTuple):
    """An absence between two instants of class time; `until_us` is the end of the class for those who did not come
    back.
    """

    p: str
    since_us: int
    until_us: int


class Work(NamedTuple):
    """What a learner did in a lesson. `signs`: one for each step; `done`: completed steps, without those that
    were skipped.
    """

    p: str
    lab: str
    signs: list[str]
    done: int
    hints: int
    predictions: int
    settled: int
    right: int


class LearnerRow(NamedTuple):
    """What staff see of a learner. `stuck_count`: how often they were stuck."""

    work: Work
    stuck_count: int
    away_us: int


class LessonRows(NamedTuple):
    """A lesson of the class, by its slug, empty for none. Learners in the order of their numbers."""

    chapter: str
    steps: int
    learners: list[LearnerRow]
    mistakes: list[MistakeRow]


class OwnWork(NamedTuple):
    """What one learner did in a lesson, by its slug."""

    chapter: str
    work: Work


class Round(NamedTuple):
    """A round of a poll: counts by answer (None: too few to show), and the share of right answers."""

    votes: int
    answers: dict[str, int] | None
    right_percent: int | None


class PollRow(NamedTuple):
    """A poll. `outcome` is what came true, or the answer set by staff; empty if neither is known. `other_text` and
    `other_choices`: in the other language, 0 and empty for none.
    """

    number: int
    text: int
    choices: tuple[int, ...]
    rounds: list[Round]
    outcome: str
    other_text: int = 0
    other_choices: tuple[int, ...] = ()


class OpenQuestion(NamedTuple):
    """An unanswered question, with the instant that it refers to."""

    p: str
    is_named: bool
    text: int
    backers: int
    at: Instant


class Summary(NamedTuple):
    """The whole class, its lessons in order. `learners`: how many there are."""

    lasted_us: int
    learners: int
    lessons: list[LessonRows]
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
    events = list(events)
    away = absences(state, events)
    begins_us = [0, *(at_us for _, at_us, _, _, event in events if isinstance(event, LessonBegan)), state.last_us]
    stuck = _stuck_counts(events)
    lessons = []
    for place, past in enumerate([*state.lessons, None]):
        away_us = _away_in(away, begins_us[place], begins_us[place + 1])
        works = sorted(past.works if past is not None else _current(state), key=_number)
        chapter, steps = (past.chapter, past.steps) if past is not None else (state.chapter, state.steps)
        rows = [LearnerRow(_work(one, steps), stuck[place][one.p], away_us[one.p]) for one in works]
        lessons.append(LessonRows(chapter, steps, rows, mistakes_of(state, past=past)))
    return Summary(
        max(0, state.last_us - max(0, state.opened_us)),
        sum(person.role == "learner" and not person.waits for person in state.people.values()),
        # What was before the first lesson has no steps.
        [one for one in lessons if one.chapter or len(lessons) == 1],
        [_poll(number, poll) for number, poll in state.polls.items() if poll.rounds],
        [
            OpenQuestion(one.p, one.is_named, one.text, len(one.backers), one.at)
            for one in state.questions.values()
            if not one.answered and not one.is_hidden
        ],
        away,
    )


def _current(state: State) -> list[Person]:
    """The learners of the lesson that the class works on. Who left before it began has no part in it."""
    learners = [person for person in state.people.values() if person.role == "learner" and not person.waits]
    return [person for person in learners if person.is_in or person.lab or not state.lessons]


def _away_in(away: Sequence[Away], from_us: int, to_us: int) -> Counter[str]:
    """How long each learner was away between two instants."""
    found: Counter[str] = Counter()
    for one in away:
        found[one.p] += max(0, min(one.until_us, to_us) - max(one.since_us, from_us))
    return found


def absences(state: State, events: Iterable[ClassEnvelope]) -> list[Away]:
    """Absences of learners, in order, without the time in which the server did not run."""
    found: list[Away] = []
    since: dict[str, int] = {}
    for _, at_us, _, _, event in events:
        if isinstance(event, WentAway):
            since.setdefault(event.p, event.since_us)
        elif isinstance(event, CameBack) and event.p in since:
            found.append(Away(event.p, since.pop(event.p), at_us))
        elif isinstance(event, ClassResumed) and event.gap_ms:
            stopped_us = at_us - event.gap_ms * 1_000
            found += (Away(p, began_us, max(began_us, stopped_us)) for p, began_us in since.items())
            since = dict.fromkeys(since, at_us)
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


def own_work(state: State, p: str) -> list[OwnWork]:
    """What one learner did in each lesson; empty if the participant is not a learner."""
    person = state.people.get(p)
    if person is None or person.role != "learner":
        return []
    past = ((one, work) for one in state.lessons for work in one.works if work.p == p and one.chapter)
    now = [OwnWork(state.chapter, _work(person, state.steps))] if person in _current(state) else []
    return [*(OwnWork(one.chapter, _work(work, one.steps)) for one, work in past), *now]


def _number(one: Person | LessonWork) -> int:
    return int(one.p[1:])


def _stuck_counts(events: Iterable[ClassEnvelope]) -> list[Counter[str]]:
    """For each lesson, how often each learner came to be stuck; another reason is the same time."""
    counts: list[Counter[str]] = [Counter()]
    stuck: set[str] = set()
    for _, _, _, _, event in events:
        if isinstance(event, LessonBegan):
            counts.append(Counter())
        elif isinstance(event, StuckBegan):
            counts[-1][event.p] += event.p not in stuck
            stuck.add(event.p)
        elif isinstance(event, StuckEnded):
            stuck.discard(event.p)
    return counts


def _work(person: Person | LessonWork, steps: int) -> Work:
    signs = [
        _SIGNS.get(person.signs.get(step, ""), NOW if step == person.step else NOT_YET) for step in range(1, steps + 1)
    ]
    return Work(
        person.p,
        person.lab,
        signs,
        sum(person.signs.get(step) != "skipped" for step in range(1, min(steps, person.step - 1) + 1)),
        sum(person.hints.values()),
        person.predictions,
        person.settled,
        person.right,
    )


def _known(poll: Poll) -> str:
    """The right answer may be shown once it was revealed or the poll has ended."""
    return poll.outcome or (poll.right if poll.phase == "ended" else "")


def _poll(number: int, poll: Poll) -> PollRow:
    rounds = [_round(poll, votes) for votes in poll.rounds]
    return PollRow(number, poll.text, poll.choices, rounds, _known(poll), poll.other_text, poll.other_choices)


def _round(poll: Poll, votes: dict[str, Vote]) -> Round:
    answers = Counter(vote.answer for vote in votes.values())
    if poll.is_anonymous and len(votes) < FEW:
        return Round(len(votes), None, None)
    known = _known(poll)
    share = round(100 * answers[known] / len(votes)) if known and votes else None
    return Round(len(votes), dict(answers.most_common()), share)
