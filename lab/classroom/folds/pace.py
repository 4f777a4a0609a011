"""Folds of pace, pause, timers and shared states."""

from lab.classroom.events import pace
from lab.classroom.folds.folding import Sections, folds, of_person
from lab.classroom.state import Handout, State, Timer


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
