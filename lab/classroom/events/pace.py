"""Lessons, pace, pause, timers, shared states."""

from broker_core.events import Event
from lab.classroom.events.kinds import kind


@kind("pace", "all")
class LessonBegan(Event):
    """The class goes on with another lesson, or repeats one. `lesson`: its slug; its `steps`, which take `minutes`
    together and have `hints`. What was reached before counts for the lesson before, and everyone gets a new lab, which
    begins as handout number `handout`.
    """

    lesson: str
    steps: int
    minutes: int
    hints: tuple[int, ...]
    handout: int


@kind("pace", "all")
class PaceSet(Event):
    """Learners may not go beyond `step`; 0: everyone at their own pace."""

    step: int


@kind("pace", "all")
class AllPaused(Event):
    pass


@kind("pace", "all")
class AllResumed(Event):
    pass


@kind("pace", "all")
class TimerSet(Event):
    """Ends `seconds` after `from_us`. Extending a timer sets it again."""

    from_us: int
    seconds: int


@kind("pace", "all")
class TimerEnded(Event):
    """`why`: time, act, lesson."""

    why: str


@kind("pace", "self")
class TimeExtended(Event):
    """The timers of a participant run for `percent` of the normal time."""

    p: str
    percent: int


@kind("pace", "all")
class StateGiven(Event):
    """An instant of a lab, forked once as handout number `handout`."""

    handout: int
    lab: str
    seq: int
    at_us: int


@kind("pace", "self")
class StateTaken(Event):
    """A participant continues the state in their own run, `run/branch`."""

    p: str
    handout: int
    lab: str


@kind("pace", "self")
class LabShown(Event):
    """A learner has a lab from a given state in front, `run/branch`; empty: their own lab again."""

    p: str
    lab: str
