"""Decides which events of a class are in its recording.

Left out are: everything about participants who chose to be left out of the recording; notes; strokes, pointers and
texts off the record; the stage if the learner did not allow it to be recorded. The remaining events are renumbered.
Filtering is idempotent, and depends only on earlier events, so a class can be filtered while it is live.
"""

from collections.abc import Iterator

from broker_core.events import Event
from lab.classroom.events import ROOM, ClassEnvelope
from lab.classroom.events.help import Answered, Asked, NoteSent, QuestionBacked, QuestionHidden
from lab.classroom.events.lead import (
    LabsSeen,
    LeadEnded,
    LeadTaken,
    StageAnswered,
    StageAsked,
    StageCleared,
    StageShown,
)
from lab.classroom.events.poll import (
    DiscussionBegan,
    PollClosed,
    PollEnded,
    PollMade,
    PollOpened,
    Revealed,
    SettlingBegan,
    SettlingEnded,
    SplitOpened,
    SplitShown,
    Voted,
)
from lab.classroom.events.room import Joined, RoleGiven
from lab.classroom.events.seen import InkDrawn, Pointed, ViewChanged
from lab.classroom.events.tape import ChapterAdded, ChapterMoved, Marked, RecordingSet
from lab.classroom.state import STAFF

_OF_QUESTION = Answered | QuestionBacked | QuestionHidden
_OF_POLL = (
    PollClosed
    | DiscussionBegan
    | SplitOpened
    | SplitShown
    | SettlingBegan
    | SettlingEnded
    | Revealed
    | PollEnded
    | Voted
)
_OFF_RECORD = Asked | Marked | ChapterAdded | InkDrawn | Pointed
"""What is not kept of a passage off the record, beside what was looked at."""


class RecordFilter:
    """Takes the events of a class in order."""

    def __init__(self, erased: frozenset[str] = frozenset()) -> None:
        """`erased`: people who have been erased; their labs are no longer shown."""
        self.last_seq = 0
        self._erased = erased
        self.named: set[str] = set()
        """Participants whom the recording names: staff, and those who chose their nickname."""
        self.off_record: list[tuple[int, int]] = []
        """Passages off the record that are over, from one instant of class time to another."""
        self.off_since_us: int | None = None
        self._people: set[str] = set()
        self._left_out: set[str] = set()
        self._questions: set[int] = set()
        self._chapters: set[int] = set()
        self._made: dict[int, PollMade] = {}
        self._polls: set[int] = set()
        self._asked: StageAsked | None = None
        self._is_stage_kept = self._is_stage_shown = False
        self._view: ViewChanged | None = None

    def take(self, envelope: ClassEnvelope) -> list[ClassEnvelope]:
        """The recorded events for the next event of the log: usually the event itself, or none."""
        _, at_us, who, _, event = envelope
        if who != ROOM and who not in self._people and not isinstance(event, Joined):
            who = ROOM if who else ""
        found = []
        for kept in self._kept(event, at_us):
            self.last_seq += 1
            found.append((self.last_seq, at_us, who, "", kept))
        return found

    def _kept(self, event: Event, at_us: int) -> Iterator[Event]:
        match event:
            case Joined():
                yield from self._joined(event)
            case RoleGiven():
                yield from self._role_given(event)
            case RecordingSet():
                yield from self._recording_set(event, at_us)
            case StageAsked():
                self._asked = event
            case StageAnswered() | StageShown() | StageCleared():
                yield from self._stage(event)
            case PollMade():
                self._made[event.poll] = event
            case PollOpened():
                yield from self._poll_opened(event)
            case LabsSeen():
                moved = tuple(one for one in event.moved if one[0] in self._people)
                if moved:
                    yield LabsSeen(moved=moved)
            case _ if self._is_kept(event):
                yield event

    def _is_kept(self, event: Event) -> bool:
        if isinstance(event, NoteSent) or getattr(event, "p", "") not in self._people | {""}:
            return False
        if self.off_since_us is not None and isinstance(event, _OFF_RECORD):
            return False
        match event:
            case ViewChanged():
                self._view = event
                return self.off_since_us is None
            case LeadTaken() | LeadEnded():
                self._view = None
            case Asked():
                self._questions.add(event.question)
            case ChapterAdded():
                self._chapters.add(event.chapter)
            case ChapterMoved():
                return event.chapter in self._chapters
        if isinstance(event, _OF_QUESTION):
            return event.question in self._questions
        if isinstance(event, _OF_POLL):
            # The voter of an anonymous vote is a code.
            is_left_out = isinstance(event, Voted) and event.voter in self._left_out
            return event.poll in self._polls and not is_left_out
        return True

    def _joined(self, event: Joined) -> Iterator[Event]:
        is_staff = event.role in STAFF
        if event.consent == "not_recorded" and not is_staff and event.p not in self._people:
            self._left_out.add(event.p)
            return
        if is_staff or event.consent == "nickname":
            self.named.add(event.p)
        self._people.add(event.p)
        # A claim matters at the door only.
        yield Joined(p=event.p, role=event.role, waits=event.waits, consent=event.consent)

    def _role_given(self, event: RoleGiven) -> Iterator[Event]:
        if event.p in self._people:
            yield event
        elif event.role in STAFF:
            # The instructor is always in the recording.
            self._people.add(event.p)
            self._left_out.discard(event.p)
            yield Joined(p=event.p, role=event.role, waits=False, consent="number")
        if event.role in STAFF:
            self.named.add(event.p)

    def _recording_set(self, event: RecordingSet, at_us: int) -> Iterator[Event]:
        yield event
        if not event.on:
            self.off_since_us = at_us if self.off_since_us is None else self.off_since_us
        elif self.off_since_us is not None:
            self.off_record.append((self.off_since_us, at_us))
            self.off_since_us = None
            if self._view is not None:
                yield self._view

    def _stage(self, event: StageAnswered | StageShown | StageCleared) -> Iterator[Event]:
        if isinstance(event, StageAnswered):
            asked, self._asked = self._asked, None
            may_be_shown = event.accepted and event.recorded and event.p in self._people - self._erased
            self._is_stage_kept = may_be_shown and asked is not None
            if self._is_stage_kept and asked is not None:
                yield asked
                yield event
        elif isinstance(event, StageShown):
            self._is_stage_shown = True
            # Without permission the recording only contains that a lab was shown, not which one.
            yield event if self._is_stage_kept else StageShown(p="", lab="")
        else:
            self._is_stage_kept, was_shown = False, self._is_stage_shown
            self._is_stage_shown = False
            if was_shown:
                yield event

    def _poll_opened(self, event: PollOpened) -> Iterator[Event]:
        made = self._made.pop(event.poll, None)
        if made is not None and self.off_since_us is None:
            self._polls.add(event.poll)
            yield made
        if event.poll in self._polls:
            yield event
