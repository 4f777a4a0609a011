"""The recording of a class for a viewer: segments of 1,000 events, each with the state before them.

A segment is folded for one viewer by the code of the live class: the sections as in a `snap`, then each event with the
sections that it changed.
"""

import zlib
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec

from lab.classroom.audience import Viewer, is_about, sees_event, sees_section
from lab.classroom.events import CLASS, ROOM, ClassEnvelope
from lab.classroom.events.lead import LabsSeen
from lab.classroom.events.room import CameBack, Joined, Left, WentAway
from lab.classroom.events.seen import Pointed
from lab.classroom.folds import fold
from lab.classroom.frames import patch_bytes
from lab.classroom.recorded.chapters import Landmarks, StoredChapter
from lab.classroom.recorded.class_map import ClassMap
from lab.classroom.recorded.filtering import RecordFilter
from lab.classroom.state import State
from lab.classroom.views import PARTS, Words, paths, section

SEGMENT_EVENTS = 1_000
BUCKET_US = 1_000_000
MAX_BUCKETS = 20_000
"""Buckets of a longer class are doubled."""
QUIET_US = 2_000_000
"""Minimum duration without events of an idle passage."""
_PRESENCE = Joined | CameBack | WentAway | Left | LabsSeen


class RecordedWords:
    """Names and texts as the recording may contain them: the number only, unless the participant chose otherwise."""

    def __init__(self, words: Words, named: set[str]) -> None:
        self._words = words
        self._named = named

    def name(self, p: str) -> str:
        return self._words.name(p) if p in self._named else ""

    def text(self, number: int) -> tuple[str, str]:
        return self._words.text(number)


class Segment(msgspec.Struct):
    """What a page requests: `patch` sets up the state before `first_seq`, like a `snap` frame."""

    first_seq: int
    last_seq: int
    patch: list[msgspec.Raw]
    events: list[msgspec.Raw]


class Playback:
    """A recording in memory, made from a class's log. It grows while the class is live. Used by one thread at a
    time.
    """

    def __init__(self, words: Words, erased: frozenset[str] = frozenset()) -> None:
        """`erased`: participants who have been erased."""
        self._filter = RecordFilter(erased)
        self.words = RecordedWords(words, self._filter.named)
        self.map = ClassMap()
        self.landmarks = Landmarks()
        self.state = State()
        """After the last event."""
        self.log_seq = 0
        """The last event of the log that was taken."""
        self.begins_us: list[int] = []
        """The class time of the first event of each segment."""
        self.density: list[int] = []
        """Events in each `bucket_us` of class time."""
        self.bucket_us = BUCKET_US
        self.quiet: list[tuple[int, int]] = []
        """Passages in which nothing happened and the lab that was shown stood, but for presence."""
        self._full: list[bytes] = []
        self._tail: list[bytes] = []
        self._states: list[bytes] = [msgspec.json.encode(State())]
        self._busy_us = 0

    @property
    def last_seq(self) -> int:
        """The last event; 0 when there is none."""
        return self._filter.last_seq

    @property
    def length_us(self) -> int:
        """The class time of the last event."""
        return self.state.last_us

    @property
    def off_record(self) -> list[tuple[int, int]]:
        """Passages off the record, as pairs of instants of class time."""
        return self.off_record_until(self.length_us)

    def off_record_until(self, now_us: int) -> list[tuple[int, int]]:
        """The passages of a live class: one that has not ended lasts until now."""
        since = self._filter.off_since_us
        return [*self._filter.off_record, *([(since, now_us)] if since is not None else [])]

    def quiet_until(self, now_us: int) -> list[tuple[int, int]]:
        """The quiet passages of a class that goes on, the current one included. While a microphone is on there is none:
        what it records arrives later.
        """
        rows = self.map.rows
        is_moving = bool(rows) and rows[-1].mode != "pause" and rows[-1].rate_us > 0
        if is_moving or self.state.microphone or now_us - self._busy_us <= QUIET_US:
            return self.quiet
        return [*self.quiet, (self._busy_us, now_us)]

    def take(self, envelopes: Iterable[ClassEnvelope]) -> None:
        """Adds the next events of the log, in order and without gaps."""
        for envelope in envelopes:
            self.log_seq = envelope[0]
            for kept in self._filter.take(envelope):
                self._take(kept)

    def events(self) -> Iterable[ClassEnvelope]:
        """All events of the recording."""
        for number in range(len(self.begins_us)):
            yield from self._events(number)

    def segment(self, number: int, viewer: Viewer) -> Segment | None:
        """A segment for a viewer; None if it does not exist."""
        if not 0 <= number < max(1, len(self.begins_us)):
            return None
        state = msgspec.json.decode(self._states[number], type=State)
        return self._segment(state, number * SEGMENT_EVENTS + 1, self._events(number), viewer)

    def excerpt(self, viewer: Viewer, from_us: int, to_us: int) -> Iterator[tuple[int, Segment]]:
        """The events after one instant and up to another, for a viewer: segments, each with the class time of its first
        event. The first one has the state at `from_us`, even if no event follows.
        """
        number = max(0, bisect_right(self.begins_us, from_us) - 1)
        state = msgspec.json.decode(self._states[number], type=State)
        first_seq, waiting, begins_us = number * SEGMENT_EVENTS + 1, list[ClassEnvelope](), from_us
        for envelope in (one for n in range(number, len(self.begins_us)) for one in self._events(n)):
            if envelope[1] > to_us:
                break
            if envelope[1] <= from_us:
                fold(state, envelope)
                first_seq = envelope[0] + 1
                continue
            if len(waiting) == SEGMENT_EVENTS:
                yield begins_us, self._segment(state, first_seq, waiting, viewer)
                first_seq, waiting, begins_us = envelope[0], [], envelope[1]
            waiting.append(envelope)
        yield begins_us, self._segment(state, first_seq, waiting, viewer)

    def _segment(self, state: State, first_seq: int, events: Sequence[ClassEnvelope], viewer: Viewer) -> Segment:
        """Folds events, starting with `first_seq`, into the state before it."""
        there = (self._patch(state, viewer, path) for path in paths(state) if sees_section(viewer, path))
        tables = (patch_bytes(name, {}) for name in PARTS if sees_section(viewer, name))
        # A removed section has no value: `["/stage"]`.
        patch = [msgspec.Raw(one) for one in (*tables, *there) if b"," in one]
        shown = [self._shown(state, viewer, envelope) for envelope in events]
        return Segment(first_seq, state.last_seq, patch, [one for one in shown if one is not None])

    @property
    def named(self) -> frozenset[str]:
        """Participants whom the recording names."""
        return frozenset(self._filter.named)

    def chapters(self) -> list[StoredChapter]:
        """The chapters that staff added in class, by time."""
        found = [StoredChapter(number, one.begins_us, one.text) for number, one in self.state.chapters.items()]
        return sorted(found, key=lambda one: (one.at_us, one.chapter))

    def questions(self, viewer: Viewer) -> list[dict[str, Any]]:
        """Questions for a viewer, by time. Hidden ones are for staff."""
        found = []
        for number, asked in self.state.questions.items():
            if not asked.is_hidden or viewer.audience == "staff":
                is_shown = asked.is_named or viewer.audience == "staff" or asked.p == viewer.p
                text = self.words.text(asked.text)[0]
                found.append(
                    {"question": number, "at_us": asked.asked_us, "text": text, "p": asked.p if is_shown else ""}
                )
        return found

    def asked_polls(self) -> list[dict[str, Any]]:
        """Polls, each with the instant at which it was first opened."""
        return [
            {"poll": number, "at_us": at_us, "title": self.words.text(text)[0]}
            for number, (at_us, text) in self.landmarks.polls.items()
        ]

    def people(self, viewer: Viewer) -> list[dict[str, str]]:
        """Participants of the class: all for staff, otherwise staff and oneself."""
        return [
            {"p": person.p, "name": self.words.name(person.p), "role": person.role}
            for person in self.state.people.values()
            if viewer.audience == "staff" or person.is_staff or person.p == viewer.p
        ]

    def _take(self, envelope: ClassEnvelope) -> None:
        at_us, event = envelope[1], envelope[4]
        if not self._tail:
            self.begins_us.append(at_us)
        self._tail.append(CLASS.encode(envelope))
        rows = self.map.rows
        was_moving, count = bool(rows) and rows[-1].mode != "pause" and rows[-1].rate_us > 0, len(rows)
        self.map.take(envelope)
        # A change of the shown lab is more than presence.
        self._note_time(at_us, was_moving, is_presence=isinstance(event, _PRESENCE) and len(rows) == count)
        self.landmarks.take(envelope)
        fold(self.state, envelope)
        if len(self._tail) == SEGMENT_EVENTS:
            self._full.append(zlib.compress(b"\n".join(self._tail), 1))
            self._tail = []
            self._states.append(msgspec.json.encode(self.state))

    def _note_time(self, at_us: int, was_moving: bool, *, is_presence: bool) -> None:
        while at_us // self.bucket_us >= MAX_BUCKETS:
            self.density = [sum(self.density[n : n + 2]) for n in range(0, len(self.density), 2)]
            self.bucket_us *= 2
        bucket = max(0, at_us) // self.bucket_us
        self.density += [0] * (bucket + 1 - len(self.density))
        self.density[bucket] += not is_presence
        if is_presence:
            return
        if at_us - self._busy_us > QUIET_US and not was_moving:
            self.quiet.append((self._busy_us, at_us))
        self._busy_us = at_us

    def _events(self, number: int) -> Sequence[ClassEnvelope]:
        is_full = number < len(self._full)
        records = zlib.decompress(self._full[number]).split(b"\n") if is_full else list(self._tail)
        first_seq = number * SEGMENT_EVENTS + 1
        return [CLASS.decode(seq, record) for seq, record in enumerate(records, first_seq)]

    def _patch(self, state: State, viewer: Viewer, path: str) -> bytes:
        value = section(state, self.words, viewer.audience, path)
        return patch_bytes("mine" if path.startswith("mine/") else path, value)

    def _shown(self, state: State, viewer: Viewer, envelope: ClassEnvelope) -> msgspec.Raw | None:
        seq, at_us, who, act, event = envelope
        changed = [path for path in dict.fromkeys(fold(state, envelope)) if sees_section(viewer, path)]
        patches = [msgspec.Raw(self._patch(state, viewer, path)) for path in changed]
        is_seen = sees_recorded(viewer, envelope)
        if not is_seen and not patches:
            return None
        person = state.people.get(who)
        is_named = who == ROOM or (person is not None and person.is_staff)
        if not (is_named or viewer.audience == "staff" or is_about(viewer, who, getattr(event, "p", ""))):
            who = ""
        # A page may see the effect of an event without getting the event.
        shown = (seq, at_us, who, act, event, patches) if is_seen else (seq, at_us, "", "", [], patches)
        return msgspec.Raw(_encoder.encode(shown))


def sees_recorded(viewer: Viewer, envelope: ClassEnvelope) -> bool:
    """Whether a viewer may see an event in a recording: the same as in the class, plus the presenter's pointer, which
    everyone saw. The positions of learners' labs are for staff, as in the class.
    """
    event = envelope[4]
    if isinstance(event, Pointed):
        return True
    if isinstance(event, LabsSeen):
        return viewer.audience == "staff"
    return sees_event(viewer, envelope)


_encoder = msgspec.json.Encoder()
