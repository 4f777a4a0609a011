"""Facts from the server: connected and disconnected sockets, reports of labs. Pages cannot send them."""

from typing import Literal, TypeAlias

import msgspec

from lab.classroom.state import Consent, Role


class Fact(msgspec.Struct):
    """Base of all facts."""


class OpenClass(Fact):
    chapter: str = ""
    steps: int = 0
    minutes: int = 0
    hints: tuple[int, ...] = ()


class BeginLesson(Fact):
    """The lesson that the class works on, as stored in the database: see `events.pace.LessonBegan`."""

    lesson: str
    steps: int
    minutes: int
    hints: tuple[int, ...]
    handout: int


class SetPerson(Fact):
    """A participant as stored in the database; differences from the class's state become events.

    Attributes:
        standing: `gone`: erased, or merged into another participant.
        lab: their own lab, `run/branch`; empty for none.
        claims: the participant whom they claim to be while they wait; empty for none.
        handout: with which the lesson began that `lab` is of; 0 for that of the class.
    """

    p: str
    role: Role
    standing: Literal["in", "waiting", "left", "kicked", "gone"] = "in"
    consent: Consent = "number"
    lab: str = ""
    claims: str = ""
    handout: int = 0


class Rename(Fact):
    """The name of a participant has changed in the database."""

    p: str


class RefuseLab(Fact):
    """The own lab of a participant could not be made: see `events.room.LabRefused`."""

    p: str
    why: str


class SetDoor(Fact):
    """The door as stored in the database."""

    is_open: bool
    until_us: int = 0
    admits: bool = False


class EndClass(Fact):
    """The instructor ended the class."""


class ComeBack(Fact):
    p: str


class GoAway(Fact):
    """The last socket of a participant was closed at `since_us`."""

    p: str
    since_us: int


class Resume(Fact):
    gap_ms: int
    wall_ms: int


class Tick(Fact):
    """Time has passed: checks deadlines."""


class BeginHelpAt(Fact):
    """Staff start to help in the lab of `p`, whose last published event is `seq`."""

    p: str
    lab: str
    seq: int


class BeginSettling(Fact):
    """Staff let a lab, whose last published event is `seq`, settle a poll."""

    poll: int
    lab: str
    seq: int


class SettlePoll(Fact):
    """A lab has settled a poll, after its event `seq`. `outcome`: the answer that came true, empty for none. `why_not`:
    why there is none.
    """

    poll: int
    lab: str
    outcome: str
    seq: int
    why_not: str = "none"


class GiveUpSettling(Fact):
    """The lab cannot continue."""

    poll: int
    lab: str


class ReachStep(Fact):
    """Steps, hints and predictions are those of a `lesson`, by its slug: the class may have gone on with another.
    `skipped`: the learner went on without doing it.
    """

    p: str
    lesson: str
    step: int
    lab: str
    seq: int
    at_us: int
    skipped: bool = False


class LoseStep(Fact):
    p: str
    lesson: str
    step: int
    lab: str
    seq: int
    at_us: int


class ResetWork(Fact):
    p: str
    lesson: str


class TakeHint(Fact):
    p: str
    lesson: str
    step: int
    hint: int


class Predict(Fact):
    p: str
    lesson: str
    step: int
    choice: str
    sure: int


class Settle(Fact):
    p: str
    lesson: str
    step: int
    right: bool


class MakeMistake(Fact):
    """A wrong choice, or a wrong state: see `events.work.MistakeMade`. `lesson`: in which it happened."""

    p: str
    lesson: str
    step: int
    what: str
    by: Literal["choice", "state"]


class RefuseCommand(Fact):
    """A command was refused or failed in a lab, `run/branch`."""

    p: str
    lab: str


class NoteStuck(Fact):
    """`state` is empty when the learner is no longer stuck."""

    p: str
    state: str
    why: str = ""
    count: int = 0
    working_s: int = 0


class MoveLab(Fact):
    lab: str
    seq: int
    at_us: int
    mode: str
    rate_us: int


class SeeLabs(Fact):
    moved: tuple[tuple[str, int, int], ...]


class ChangeView(Fact):
    """The view of the presenter of `term`."""

    term: int
    view: str


class Point(Fact):
    term: int
    anchor: str
    u: int
    v: int
    down: bool = True


class GiveState(Fact):
    """Staff has forked an instant of a lab as handout number `handout`."""

    handout: int
    lab: str
    seq: int
    at_us: int


class TakeState(Fact):
    p: str
    handout: int
    lab: str


class ShowLab(Fact):
    """A learner's page of the lab `run/branch` has come to the front."""

    p: str
    lab: str


class KeepAudio(Fact):
    """A piece of the sound is complete."""

    piece: int
    began_us: int
    length_us: int
    bytes: int
    digest: str


class LoseAudio(Fact):
    from_us: int
    to_us: int


class HearVoice(Fact):
    spans: tuple[tuple[int, int], ...]


AnyFact: TypeAlias = (
    OpenClass
    | BeginLesson
    | SetPerson
    | RefuseLab
    | Rename
    | SetDoor
    | EndClass
    | ComeBack
    | GoAway
    | Resume
    | Tick
    | BeginHelpAt
    | BeginSettling
    | SettlePoll
    | GiveUpSettling
    | ReachStep
    | LoseStep
    | ResetWork
    | TakeHint
    | Predict
    | Settle
    | MakeMistake
    | RefuseCommand
    | NoteStuck
    | MoveLab
    | SeeLabs
    | ChangeView
    | Point
    | GiveState
    | TakeState
    | ShowLab
    | KeepAudio
    | LoseAudio
    | HearVoice
)
