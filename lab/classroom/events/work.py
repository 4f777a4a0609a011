"""What learners reach in their labs. `lab`, `seq`, `at_us`: the last event published there when it was written."""

from broker_core.events import Event
from lab.classroom.events.kinds import kind


@kind("work", "self")
class StepReached(Event):
    """Steps count from 1."""

    p: str
    step: int
    lab: str
    seq: int
    at_us: int
    skipped: bool = False


@kind("work", "self")
class StepLost(Event):
    """A goal that was met no longer is."""

    p: str
    step: int
    lab: str
    seq: int
    at_us: int


@kind("work", "self")
class WorkReset(Event):
    """The learner started the lesson over."""

    p: str


@kind("work", "self")
class HintTaken(Event):
    p: str
    step: int
    hint: int


@kind("work", "self")
class Predicted(Event):
    """`sure`: percent."""

    p: str
    step: int
    choice: str
    sure: int


@kind("work", "self")
class Settled(Event):
    p: str
    step: int
    right: bool


@kind("work", "self")
class Refused(Event):
    """A command that was refused or failed."""

    p: str
    step: int


@kind("work", "self")
class MistakeMade(Event):
    """A learner shows a misconception. `by`: `choice`, a wrong choice, and `what` is its tag; or `state`, and `what` is
    the id of a wrong state of the step.
    """

    p: str
    step: int
    what: str
    by: str


@kind("work", "all")
class MistakesShown(Event):
    """Staff show what the class mixes up on the projector, or, without `on`, no longer."""

    on: bool


@kind("work", "staff")
class StuckBegan(Event):
    """`state`: asks, struggles, idle, late. `why`: hand, refused, hints, resets, lost, nothing, long; `count` of it:
    commands, hints or resets, else seconds. `working_s`: working time on the step.
    """

    p: str
    state: str
    step: int
    why: str
    count: int
    working_s: int


@kind("work", "staff")
class StuckEnded(Event):
    p: str


@kind("work", "staff")
class StuckSeen(Event):
    """Staff have seen it; no alert until then."""

    p: str
    until_us: int
