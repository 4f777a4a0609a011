"""Leading, following, the stage, and where the labs are."""

from broker_core.events import Event
from lab.classroom.events.kinds import kind


@kind("lead", "all")
class LeadTaken(Event):
    """`term` increases with each. `lab`: the `run/branch` that is followed."""

    term: int
    p: str
    lab: str


@kind("lead", "all")
class LeadEnded(Event):
    """`why`: act, kicked, role, class."""

    term: int
    p: str
    why: str


@kind("lead", "all")
class Held(Event):
    until_us: int


@kind("lead", "all")
class Released(Event):
    """`why`: act, time, lead."""

    why: str


@kind("lead", "self")
class HoldLeft(Event):
    """A learner left the hold."""

    p: str


@kind("lead", "self")
class Detached(Event):
    p: str


@kind("lead", "self")
class Rejoined(Event):
    p: str


@kind("lead", "self")
class StageAsked(Event):
    p: str
    until_us: int


@kind("lead", "self")
class StageAnswered(Event):
    """`named`: with their name; `recorded`: the recording may show it."""

    p: str
    accepted: bool
    named: bool
    recorded: bool


@kind("lead", "all")
class StageShown(Event):
    """`p` is empty where the learner did not want to be named."""

    p: str
    lab: str


@kind("lead", "all")
class StageCleared(Event):
    """`why`: act, own, no_answer, refused, kicked, role, left, lesson, class."""

    why: str


@kind("map", "tape")
class LabMoved(Event):
    """The leading lab: its last published event, its time mode, and its rate in simulated microseconds per second."""

    lab: str
    seq: int
    at_us: int
    mode: str
    rate_us: int


@kind("map", "tape")
class LabsSeen(Event):
    """All learners' labs that moved in the last second: participant, last published event, its simulated time."""

    moved: tuple[tuple[str, int, int], ...]
