"""Folds of lessons, pace, pause, timers and shared states."""

from lab.classroom.events import pace
from lab.classroom.folds.folding import Sections, folds, of_person
from lab.classroom.state import Handout, LessonWork, PastLesson, Person, State, Timer


@folds(pace.LessonBegan)
def _(state: State, event: pace.LessonBegan, at_us: int, who: str) -> Sections:
    state.lessons.append(_past(state))
    state.chapter, state.steps, state.minutes = event.lesson, event.steps, event.minutes
    state.step_hints, state.handout = event.hints, event.handout
    state.pace, state.mistakes, state.are_mistakes_shown = 0, {}, False
    for person in state.people.values():
        _reset_work(person, at_us)
    polls = (f"polls/{poll}" for poll, found in state.polls.items() if found.phase != "ended")
    return ("class", "pace", "mistakes", *polls, *(path for p in state.people for path in of_person(p)))


def _past(state: State) -> PastLesson:
    works = [
        LessonWork(
            person.p,
            person.lab,
            person.step,
            dict(person.signs),
            dict(person.hints),
            person.predictions,
            person.settled,
            person.right,
        )
        for person in state.people.values()
        if person.role == "learner" and not person.waits
    ]
    last_poll = max(state.polls, default=0)
    return PastLesson(state.chapter, state.steps, works, state.mistakes, state.first_poll, last_poll)


def _reset_work(person: Person, at_us: int) -> None:
    """They get a lab of the new lesson a moment later."""
    person.lab = person.lab_refused = person.front = ""
    person.step, person.progress_us, person.stopped_us = 1, at_us, 0
    person.signs, person.hints = {}, {}
    person.refused = person.resets = person.lost = 0
    person.predictions = person.settled = person.right = 0
    person.stuck, person.stuck_why, person.stuck_count = "", "", 0
    person.stuck_us = person.stuck_seen_until_us = 0


@folds(pace.PaceSet)
def _(state: State, event: pace.PaceSet, at_us: int, who: str) -> Sections:
    state.pace = event.step
    return ("pace",)


@folds(pace.AllPaused)
def _(state: State, event: pace.AllPaused, at_us: int, who: str) -> Sections:
    state.is_paused = True
    return ("paused",)


@folds(pace.AllResumed)
def _(state: State, event: pace.AllResumed, at_us: int, who: str) -> Sections:
    state.is_paused = False
    return ("paused",)


@folds(pace.TimerSet)
def _(state: State, event: pace.TimerSet, at_us: int, who: str) -> Sections:
    state.timer = Timer(event.from_us, event.seconds)
    return ("timer",)


@folds(pace.TimerEnded)
def _(state: State, event: pace.TimerEnded, at_us: int, who: str) -> Sections:
    state.timer = None
    return ("timer",)


@folds(pace.TimeExtended)
def _(state: State, event: pace.TimeExtended, at_us: int, who: str) -> Sections:
    state.people[event.p].time_percent = event.percent
    return of_person(event.p)


@folds(pace.StateGiven)
def _(state: State, event: pace.StateGiven, at_us: int, who: str) -> Sections:
    state.handouts[event.handout] = Handout(event.lab, event.seq, event.at_us)
    return (f"handouts/{event.handout}",)


@folds(pace.StateTaken)
def _(state: State, event: pace.StateTaken, at_us: int, who: str) -> Sections:
    state.people[event.p].taken[event.handout] = event.lab
    return of_person(event.p)


@folds(pace.LabShown)
def _(state: State, event: pace.LabShown, at_us: int, who: str) -> Sections:
    state.people[event.p].front = event.lab
    return of_person(event.p)
