"""Pace, pause, timers, states that are given."""

from broker_core.events import Event
from lab.classroom.events.kinds import kind


@kind("pace", "all")
class PaceSet(Event):
    """Nobody past `step`; 0: everybody at their own pace."""

    step: int


@kind("pace", "all")
class AllPaused(Event):
    pass


@kind("pace", "all")
class AllResumed(Event):
    pass


@kind("pace", "all")
class TimerSet(Event):
    """Ends `seconds` after `from_us`. A timer that is extended is set again."""

    from_us: int
    seconds: int


@kind("pace", "all")
class TimerEnded(Event):
    """`why`: time, act."""

    why: str


@kind("pace", "self")
class TimeExtended(Event):
    """A participant's timers take `percent` of the time."""

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
    """As the run of a participant, `run/branch`."""

    p: str
    handout: int
    lab: str
