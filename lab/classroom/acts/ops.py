"""Acts of pages by their `op`. Fields are validated here as far as that does not require state."""

from typing import Annotated, Literal, TypeAlias

import msgspec
from msgspec import Meta

from lab.classroom.anchors import MAX_ANCHOR_LENGTH

Person: TypeAlias = Annotated[str, Meta(pattern=r"^p[0-9]{1,7}\Z")]
Number: TypeAlias = Annotated[int, Meta(ge=1, le=1_000_000)]
Lab: TypeAlias = Annotated[str, Meta(pattern=r"^[a-z0-9-]{1,32}/[a-z0-9-]{1,32}\Z")]
AnyPerson: TypeAlias = Annotated[str, Meta(pattern=r"^(p[0-9]{1,7})?\Z")]
AnyLab: TypeAlias = Annotated[str, Meta(pattern=r"^([a-z0-9-]{1,32}/[a-z0-9-]{1,32})?\Z")]
"""May be empty. A union with `Literal[""]` is not: msgspec holds the pattern against both."""
Anchor: TypeAlias = Annotated[str, Meta(min_length=1, max_length=MAX_ANCHOR_LENGTH)]
AnyAnchor: TypeAlias = Annotated[str, Meta(max_length=MAX_ANCHOR_LENGTH)]
Seconds: TypeAlias = Annotated[int, Meta(ge=1, le=4 * 3600)]
Language: TypeAlias = Literal["en", "zh-CN"]
Thousandth: TypeAlias = Annotated[int, Meta(ge=0, le=1000)]
StrokePart: TypeAlias = Annotated[int, Meta(ge=-200_000, le=200_000)]
"""Thousandths of the box of an element: a cell may be 10 px of a drawing that is 2,000 px wide."""
Position: TypeAlias = Annotated[int, Meta(ge=0, le=2**53)]
Slug: TypeAlias = Annotated[str, Meta(pattern=r"^[a-z0-9-]{1,80}\Z")]
Short: TypeAlias = Annotated[str, Meta(max_length=120)]
Question: TypeAlias = Annotated[str, Meta(min_length=1, max_length=500)]
NoteText: TypeAlias = Annotated[str, Meta(min_length=1, max_length=2000)]
Title: TypeAlias = Annotated[str, Meta(min_length=1, max_length=80)]
Choice: TypeAlias = Annotated[str, Meta(min_length=1, max_length=200)]
Condition: TypeAlias = Annotated[str, Meta(max_length=200)]
"""See lab/exercises/pause_conditions.py."""

MAX_HOLD_S = 300
MAX_STROKE_POINTS = 200


class Op(msgspec.Struct, tag_field="op", forbid_unknown_fields=True):
    """Base of all acts."""


class At(msgspec.Struct, forbid_unknown_fields=True):
    """An instant of a lab, and what is selected on which screen."""

    lab: Lab
    seq: Position = 0
    at_us: Position = 0
    selection: AnyAnchor = ""
    screen: Short = ""


class Admit(Op, tag="admit"):
    """An empty `p` means every waiting participant."""

    p: AnyPerson = ""


class AcceptClaim(Op, tag="accept_claim"):
    """The waiting person `p` is the participant whom they claim to be, and gets that participant's place and lab."""

    p: Person


class Rename(Op, tag="rename"):
    p: Person
    name: Annotated[str, Meta(min_length=1, max_length=80)]


class Kick(Op, tag="kick"):
    p: Person


class LetBack(Op, tag="let_back"):
    p: Person


class GiveRole(Op, tag="give_role"):
    p: Person
    role: Literal["co-instructor", "learner", "observer", "projector"]


class OpenDoor(Op, tag="open_door"):
    """Opens the door for fifteen minutes, or until it is closed. `admits`: people wait until staff admit them."""

    stays: bool = False
    admits: bool = False


class CloseDoor(Op, tag="close_door"):
    pass


class Leave(Op, tag="leave"):
    pass


class EndClass(Op, tag="end_class"):
    pass


class TakeLead(Op, tag="take_lead"):
    """`after`: the handout with which the lesson began that the page shows, so that a lab of the lesson before does not
    lead if another one begins meanwhile; 0: the lab leads whatever the lesson.
    """

    lab: Lab
    after: Annotated[int, Meta(ge=0, le=1_000_000)] = 0


class EndLead(Op, tag="end_lead"):
    pass


class Hold(Op, tag="hold"):
    seconds: Annotated[int, Meta(ge=1, le=MAX_HOLD_S)] = MAX_HOLD_S


class Release(Op, tag="release"):
    pass


class LeaveHold(Op, tag="leave_hold"):
    pass


class Detach(Op, tag="detach"):
    pass


class Rejoin(Op, tag="rejoin"):
    pass


class AskStage(Op, tag="ask_stage"):
    p: Person


class AnswerStage(Op, tag="answer_stage"):
    accepted: bool
    named: bool = False
    recorded: bool = False


class ClearStage(Op, tag="clear_stage"):
    pass


class Draw(Op, tag="draw"):
    """A stroke anchored to an element of the picture; it may extend far beyond the element's box."""

    anchor: Anchor
    points: Annotated[tuple[tuple[StrokePart, StrokePart], ...], Meta(min_length=1, max_length=MAX_STROKE_POINTS)]


class ClearInk(Op, tag="clear_ink"):
    """Without `strokes`, clears all."""

    inks: Annotated[tuple[Number, ...], Meta(max_length=1000)] = ()


class SeeStuck(Op, tag="see_stuck"):
    p: Person


class ShowMistakes(Op, tag="show_mistakes"):
    """Whether the projector shows what the class mixes up."""

    on: bool


class RaiseHand(Op, tag="raise_hand"):
    at: At


class LowerHand(Op, tag="lower_hand"):
    """Without `p`, the sender's own hand."""

    p: AnyPerson = ""


class Ask(Op, tag="ask"):
    text: Question
    lang: Language
    at: At
    named: bool = False


class BackQuestion(Op, tag="back"):
    question: Number


class Answer(Op, tag="answer"):
    question: Number
    how: Literal["aloud", "note", "stage"]


class HideQuestion(Op, tag="hide_question"):
    question: Number
    hidden: bool = True


class Look(Op, tag="look"):
    p: Person


class EndLook(Op, tag="end_look"):
    p: Person


class BeginHelp(Op, tag="begin_help"):
    """The server adds the position of the lab: `facts.BeginHelpAt`."""

    p: Person


class EndHelp(Op, tag="end_help"):
    p: Person


class ChooseHelp(Op, tag="choose_help"):
    kept: bool


class TakeWheel(Op, tag="take_wheel"):
    p: Person


class GiveState(Op, tag="give_state"):
    """Shares the state of the leading lab with everyone. The server stores it: `facts.GiveState`."""


class TakeState(Op, tag="take_state"):
    """The server makes the run: `facts.TakeState`."""

    handout: Number


class SendNote(Op, tag="send_note"):
    p: Person
    text: NoteText
    lang: Language


class BeginLesson(Op, tag="begin_lesson"):
    """Goes on with a lesson of the course, by its slug, in new labs. `after`: the handout with which the lesson began
    that the page shows, so that a lesson begins once even if two press at once. The server makes the lab:
    `facts.BeginLesson`.
    """

    lesson: Slug
    after: Number


class SetPace(Op, tag="set_pace"):
    step: Annotated[int, Meta(ge=0, le=1000)]


class PauseAll(Op, tag="pause_all"):
    pass


class ResumeAll(Op, tag="resume_all"):
    pass


class SetTimer(Op, tag="set_timer"):
    seconds: Seconds


class ExtendTimer(Op, tag="extend_timer"):
    seconds: Seconds = 60


class EndTimer(Op, tag="end_timer"):
    pass


class ExtendTime(Op, tag="extend_time"):
    p: Person
    percent: Literal[100, 150, 200]


class MakePoll(Op, tag="make_poll"):
    """How a lab settles it, from `when` to `within_s`: see `events.poll.PollMade`. Text, choices and tags of a
    prediction are those of the lesson's step; the server adds them, in the other language, too, and the `lesson`.
    """

    form: Literal["choice", "number", "point", "prediction"]
    text: Annotated[str, Meta(max_length=500)]
    lang: Language
    choices: Annotated[tuple[Choice, ...], Meta(max_length=6)] = ()
    anonymous: bool = True
    asks_sure: bool = True
    right: AnyAnchor = ""
    step: Annotated[int, Meta(ge=0, le=1000)] = 0
    when: Condition = ""
    holds: Annotated[tuple[Condition, ...], Meta(max_length=6)] = ()
    asks: Condition = ""
    within_s: Annotated[int, Meta(ge=0, le=3600)] = 0
    tags: Annotated[tuple[Short, ...], Meta(max_length=6)] = ()
    other_text: Annotated[str, Meta(max_length=500)] = ""
    other_choices: Annotated[tuple[Choice, ...], Meta(max_length=6)] = ()
    lesson: Short = ""


class OpenPoll(Op, tag="open_poll"):
    poll: Number
    seconds: Annotated[int, Meta(ge=0, le=3600)] = 0


class CastVote(Op, tag="vote"):
    """`sure`: percent; -1 where it is not asked."""

    poll: Number
    answer: Anchor
    sure: Annotated[int, Meta(ge=-1, le=100)] = -1


class ClosePoll(Op, tag="close_poll"):
    poll: Number


class Discuss(Op, tag="discuss"):
    poll: Number
    seconds: Annotated[int, Meta(ge=0, le=3600)] = 0


class OpenSplit(Op, tag="open_split"):
    poll: Number


class ShowSplit(Op, tag="show_split"):
    poll: Number


class SettlePoll(Op, tag="settle_poll"):
    """Lets the leading lab settle the poll; it continues to play. The server adds its position:
    `facts.BeginSettling`.
    """

    poll: Number


class EndSettling(Op, tag="end_settling"):
    poll: Number


class Reveal(Op, tag="reveal"):
    poll: Number
    outcome: Anchor
    lab: AnyLab = ""
    seq: Position = 0


class EndPoll(Op, tag="end_poll"):
    poll: Number


class SetRecording(Op, tag="set_recording"):
    on: bool


class SetMicrophone(Op, tag="set_microphone"):
    """Whether the sender's sound is recorded."""

    on: bool


class AddChapter(Op, tag="add_chapter"):
    """Now, or at an earlier instant of class time."""

    text: Title
    lang: Language
    begins_us: Position | None = None


class MoveChapter(Op, tag="move_chapter"):
    chapter: Number
    begins_us: Position


class MarkNow(Op, tag="mark"):
    text: Annotated[str, Meta(max_length=80)] = ""
    lang: Language = "en"


DoorAct: TypeAlias = Admit | AcceptClaim | Rename | Kick | LetBack | GiveRole | OpenDoor | CloseDoor | Leave | EndClass
"""Acts that change the database first: the class is notified as by `facts`."""

AnyAct: TypeAlias = (
    TakeLead
    | EndLead
    | Hold
    | Release
    | LeaveHold
    | Detach
    | Rejoin
    | AskStage
    | AnswerStage
    | ClearStage
    | Draw
    | ClearInk
    | SeeStuck
    | ShowMistakes
    | RaiseHand
    | LowerHand
    | Ask
    | BackQuestion
    | Answer
    | HideQuestion
    | Look
    | EndLook
    | BeginHelp
    | EndHelp
    | ChooseHelp
    | TakeWheel
    | GiveState
    | TakeState
    | BeginLesson
    | SendNote
    | SetPace
    | PauseAll
    | ResumeAll
    | SetTimer
    | ExtendTimer
    | EndTimer
    | ExtendTime
    | MakePoll
    | OpenPoll
    | CastVote
    | ClosePoll
    | Discuss
    | OpenSplit
    | ShowSplit
    | SettlePoll
    | EndSettling
    | Reveal
    | EndPoll
    | SetRecording
    | SetMicrophone
    | AddChapter
    | MoveChapter
    | MarkNow
)


def texts_of(act: object) -> tuple[str, ...]:
    """The free texts of an act, which are stored in the database before it is decided; facts have none."""
    match act:
        case Ask() | SendNote() | AddChapter():
            return (act.text,)
        case MarkNow(text=text) if text:
            return (text,)
        case MakePoll():
            return (act.text, *act.choices)
    return ()


def other_texts_of(act: object) -> tuple[str, ...]:
    """The texts that an act has in the other language, in the order in which they are stored after the former."""
    if not isinstance(act, MakePoll):
        return ()
    return ((act.other_text,) if act.other_text else ()) + act.other_choices


def other_language(language: str) -> Language:
    return "en" if language == "zh-CN" else "zh-CN"
