"""Hands, questions, looking at labs, helping in labs, notes. Texts are in the database by id."""

from broker_core.events import Event
from lab.classroom.events.kinds import kind


@kind("help", "self")
class HandRaised(Event):
    p: str
    lab: str
    seq: int
    at_us: int
    selection: str
    screen: str


@kind("help", "self")
class HandLowered(Event):
    """`why`: own, staff, moved_on, left, kicked."""

    p: str
    why: str


@kind("help", "self")
class Asked(Event):
    """`text`: id of the question's text; `named`: everyone may see the author."""

    question: int
    p: str
    text: int
    named: bool
    lab: str
    seq: int
    at_us: int
    selection: str
    screen: str


@kind("help", "self")
class QuestionBacked(Event):
    question: int
    p: str


@kind("help", "all")
class Answered(Event):
    """`how`: aloud, note, stage."""

    question: int
    how: str


@kind("help", "staff")
class QuestionHidden(Event):
    question: int
    hidden: bool


@kind("help", "self")
class LookBegan(Event):
    """Staff `by` looks at the lab of `p`."""

    p: str
    by: str


@kind("help", "self")
class LookEnded(Event):
    p: str
    by: str


@kind("help", "self")
class HelpBegan(Event):
    """From event `seq` of the lab on, `by` may act there."""

    p: str
    by: str
    lab: str
    seq: int


@kind("help", "self")
class HelperLeft(Event):
    """The learner chooses until `until_us`; without a choice the changes are kept."""

    p: str
    until_us: int


@kind("help", "self")
class HelpEnded(Event):
    """`kept`: false if a fork at the `seq` of `HelpBegan` continues as it was."""

    p: str
    kept: bool


@kind("help", "self")
class WheelTaken(Event):
    """Changes who controls time in the lab of `p`."""

    p: str
    by: str


@kind("help", "self")
class NoteSent(Event):
    """From `who` to `p`; `text` is the id of its text."""

    note: int
    p: str
    text: int
