"""The state of a class: the fold of its events.

Plain structs, so that a keyframe is their JSON. All times are class time in microseconds.
"""

from typing import Literal

import msgspec

from lab.class_rights import roles_with

Role = Literal["instructor", "co-instructor", "learner", "observer", "projector"]
Presence = Literal["here", "away", "left"]
Consent = Literal["number", "nickname", "not_recorded"]

STAFF = roles_with("staff")
MAX_PEOPLE = 2_000
"""Number of participants of a class, with those who have left."""
STAGE_REFUSALS = 2
"""Number of times that a learner may decline the stage before they are not asked again."""


class Instant(msgspec.Struct):
    """What a person looked at in a lab."""

    lab: str = ""
    seq: int = 0
    at_us: int = 0
    selection: str = ""
    screen: str = ""


class Hand(msgspec.Struct):
    raised_us: int
    at: Instant


class Person(msgspec.Struct):
    """A participant.

    Attributes:
        since_us: of `presence`.
        claims: the participant whom they claim to be, while they wait; empty for none.
        lab: their own lab, `run/branch`, in the lesson that the class is at; empty for none.
        lab_refused: why it could not be made, as in `events.room.LabRefused`; else empty.
        front: the lab from a given state that they have in front, `run/branch`; empty for their own lab.
        step: the active step, from 1; one past the last when all are completed.
        signs: of each step with progress: `done`, `hinted` (done with hints), `skipped`, `lost`.
        hints: number of opened hints, by step.
        refused, resets, lost: since the last progress.
        progress_us: when a step was last reached, or the class opened for them.
        stopped_us: how long the server did not run since then.
    """

    p: str
    role: Role
    consent: Consent
    joined_us: int
    since_us: int
    presence: Presence = "here"
    waits: bool = False
    claims: str = ""
    is_kicked: bool = False
    lab: str = ""
    lab_refused: str = ""
    front: str = ""
    step: int = 1
    signs: dict[int, str] = {}
    hints: dict[int, int] = {}
    refused: int = 0
    resets: int = 0
    lost: int = 0
    progress_us: int = 0
    stopped_us: int = 0
    predictions: int = 0
    right: int = 0
    settled: int = 0
    stuck: str = ""
    stuck_why: str = ""
    stuck_count: int = 0
    stuck_us: int = 0
    stuck_seen_until_us: int = 0
    hand: Hand | None = None
    follows: bool = False
    is_out_of_hold: bool = False
    stage_refusals: int = 0
    looked_by: list[str] = []
    time_percent: int = 100
    taken: dict[int, str] = {}
    notes: list[int] = []

    @property
    def is_in(self) -> bool:
        """Whether they take part: admitted, not barred, not left."""
        return not self.waits and not self.is_kicked and self.presence != "left"

    @property
    def works_in(self) -> str:
        """The lab that they have in front, of those that are theirs in this class."""
        return self.front or self.lab

    @property
    def may_be_asked(self) -> bool:
        """Whether they may be asked for the stage again."""
        return self.stage_refusals < STAGE_REFUSALS

    @property
    def is_staff(self) -> bool:
        return self.role in STAFF


class Door(msgspec.Struct):
    is_open: bool = False
    until_us: int = 0
    admits: bool = False


class Lead(msgspec.Struct):
    """`handout`: that of the lesson in which it was taken."""

    term: int
    p: str
    lab: str
    handout: int = 1


class Stage(msgspec.Struct):
    """Invited until `until_us`, or shown. `was_following`: whether they followed the presenter before."""

    p: str
    lab: str
    until_us: int = 0
    is_shown: bool = False
    is_named: bool = False
    was_following: bool = False


class Help(msgspec.Struct):
    """`by` may act in the learner's lab since event `seq`; with `until_us` the helper has left, and the learner
    chooses.
    """

    by: str
    lab: str
    seq: int
    wheel: str
    until_us: int = 0


class Question(msgspec.Struct):
    p: str
    text: int
    is_named: bool
    asked_us: int
    at: Instant
    backers: list[str] = []
    answered: str = ""
    is_hidden: bool = False


class Note(msgspec.Struct):
    sender: str
    p: str
    text: int
    sent_us: int


class Timer(msgspec.Struct):
    from_us: int
    seconds: int

    def ends_us(self, percent: int = 100) -> int:
        """When it ends for a participant whose timers take `percent` of the normal time."""
        return self.from_us + self.seconds * percent * 10_000


class Handout(msgspec.Struct):
    lab: str
    seq: int
    at_us: int


class Vote(msgspec.Struct):
    answer: str
    sure: int


PollPhase = Literal["made", "open", "closed", "discussed", "ended"]


class Poll(msgspec.Struct):
    """`rounds`: for each round, the votes by voter. `when`, `holds`, `asks`, `within_s`: how a lab settles it, as in
    `events.poll.PollMade`. `settled_in`: the lab that is settling it, from event `settled_from` on; empty for none.
    `why_not`: why the lab did not settle it. `by`: who set the outcome. `tags`: of each choice the misconception behind
    it, empty for none. `lesson`: the slug of the lesson that `step` belongs to.
    """

    form: Literal["choice", "number", "point", "prediction"]
    text: int
    choices: tuple[int, ...]
    is_anonymous: bool
    asks_sure: bool
    right: str
    step: int
    phase: PollPhase = "made"
    until_us: int = 0
    rounds: list[dict[str, Vote]] = []
    is_split_open: bool = False
    is_shown: bool = False
    is_revealed: bool = False
    outcome: str = ""
    lab: str = ""
    seq: int = 0
    when: str = ""
    holds: tuple[str, ...] = ()
    asks: str = ""
    within_s: int = 0
    settled_in: str = ""
    settled_from: int = 0
    why_not: str = ""
    by: str = ""
    tags: tuple[str, ...] = ()
    other_text: int = 0
    other_choices: tuple[int, ...] = ()
    lesson: str = ""

    @property
    def is_settled_by_lab(self) -> bool:
        """Whether a lab can determine the outcome."""
        return bool(self.holds or self.asks) or (self.form == "prediction" and self.step > 0)


class Mistake(msgspec.Struct):
    """A misconception, or a wrong state of a step, and the learners who showed it. `steps`: at which; `last_us`: when
    last.
    """

    by: Literal["choice", "state"]
    people: list[str] = []
    steps: list[int] = []
    last_us: int = 0


class LessonWork(msgspec.Struct):
    """What a learner did in a lesson that the class has left: fields of `Person`."""

    p: str
    lab: str
    step: int
    signs: dict[int, str]
    hints: dict[int, int]
    predictions: int
    settled: int
    right: int


class PastLesson(msgspec.Struct):
    """A lesson that the class has left, by the slug `chapter`. `first_poll` and `last_poll`: of those made in it."""

    chapter: str
    steps: int
    works: list[LessonWork]
    mistakes: dict[str, Mistake]
    first_poll: int
    last_poll: int


class Stroke(msgspec.Struct):
    anchor: str
    points: tuple[tuple[int, int], ...]


class Chapter(msgspec.Struct):
    begins_us: int
    text: int


class Mark(msgspec.Struct):
    p: str
    marked_us: int
    text: int


class ActDone(msgspec.Struct, array_like=True):
    """The last event of an act, and when it was done."""

    seq: int
    done_us: int


class State(msgspec.Struct):
    """`chapter`: the slug of the lesson that the class works on, in labs that began as the handout `handout`;
    `lessons`: those before it. What people have reached, `pace`, `timer` and `mistakes` are of this lesson alone.
    `poll`: the number of the current poll, 0 for none. `term`: of the last lead. `is_recording`: on the record, which
    is the default. `microphone`: the participant whose sound is recorded. `mistakes`: by `mistakes.mistake_key`;
    `are_mistakes_shown`: on the projector. `acts`: those of the last ten minutes, by `who/id`, oldest first.
    """

    last_seq: int = 0
    last_us: int = 0
    clock_seq: int = 0
    chapter: str = ""
    steps: int = 0
    minutes: int = 0
    step_hints: tuple[int, ...] = ()
    handout: int = 1
    lessons: list[PastLesson] = []
    opened_us: int = -1
    ended: str = ""
    door: Door = msgspec.field(default_factory=Door)
    people: dict[str, Person] = {}
    term: int = 0
    lead: Lead | None = None
    hold_until_us: int = 0
    stage: Stage | None = None
    helps: dict[str, Help] = {}
    questions: dict[int, Question] = {}
    notes: dict[int, Note] = {}
    pace: int = 0
    is_paused: bool = False
    timer: Timer | None = None
    handouts: dict[int, Handout] = {}
    polls: dict[int, Poll] = {}
    poll: int = 0
    mistakes: dict[str, Mistake] = {}
    are_mistakes_shown: bool = False
    is_recording: bool = True
    microphone: str = ""
    audio_us: int = 0
    audio_lost_us: int = 0
    chapters: dict[int, Chapter] = {}
    marks: list[Mark] = []
    view: str = ""
    lead_lab: tuple[str, int, int, str, int] | None = None
    ink: dict[int, Stroke] = {}
    last_ink: int = 0
    acts: dict[str, ActDone] = {}

    @property
    def first_poll(self) -> int:
        """The lowest number that a poll of this lesson can have."""
        return self.lessons[-1].last_poll + 1 if self.lessons else 1

    @property
    def is_open(self) -> bool:
        return self.opened_us >= 0 and not self.ended

    def staff(self) -> list[Person]:
        return [person for person in self.people.values() if person.is_staff and person.is_in]

    def learners(self) -> list[Person]:
        return [person for person in self.people.values() if person.role == "learner" and person.is_in]

    @property
    def is_held(self) -> bool:
        return self.hold_until_us > 0
