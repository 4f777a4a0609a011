"""What was published of a class: the newest events and the sections of its views, encoded, and the frames made from
both.

The writer's thread creates `Published`; the event loop adds it to its `Board`, which makes the frames. A page that is
behind gets all events since, but only the newest value of each changed section.
"""

from collections import deque
from itertools import islice
from typing import NamedTuple

from lab.classroom.audience import Audience, Viewer, is_about, sees, sees_section
from lab.classroom.events import ROOM, SEES, ClassEnvelope, Sees
from lab.classroom.frames import encode_events, encode_snap, event_bytes, patch_bytes
from lab.classroom.grants import LabGrant, grants_of, paused_labs
from lab.classroom.polls import Settling, settling_of
from lab.classroom.state import State
from lab.classroom.views import PARTS, Words, section

KEPT_EVENTS = 5_000
MAX_UNSEEN = 1_000
"""Number of events invisible to a page after which it is notified of the class's position: otherwise it would fall out
of what is kept.
"""


class Entry(NamedTuple):
    """An event by `who` about `p`: its bytes, its bytes without the actor, and the paths of the changed sections."""

    seq: int
    sees: Sees
    who: str
    p: str
    whole: bytes
    nameless: bytes
    paths: tuple[str, ...]


class Now(NamedTuple):
    """What the server itself needs to know about the class after a batch.

    Attributes:
        roles: of all members.
        grants: rights to labs granted by the class.
        paused: labs that are paused for the class.
        lesson: the slug of the lesson; empty for none.
        handout: with which the labs of the lesson began.
        pace: the last step that learners may reach; 0 for none.
        lead: the presenter and the term.
        stage: the participant on stage, whether they are named, and their lab.
        looks: viewers of labs, by learner.
        labs: of learners, by participant.
        fronts: the labs that learners have in front, theirs or from a given state, by participant.
        lead_lab: the lab that is followed; empty for none.
        is_paused: whether all labs of learners are paused, also those that are not shown.
        settling: the poll that a lab is settling, if any.
    """

    roles: dict[str, str]
    grants: frozenset[LabGrant]
    paused: frozenset[str]
    lesson: str
    handout: int
    pace: int
    lead: tuple[str, int] | None
    stage: tuple[str, bool, str] | None
    looks: dict[str, tuple[str, ...]]
    labs: dict[str, str]
    fronts: dict[str, str]
    lead_lab: str
    is_paused: bool
    ended: str
    settling: Settling | None


class Published(NamedTuple):
    """Events that were written, and the newest values of the changed sections: by path for staff and for everyone, by
    person for personal sections. A value is a whole patch, `["/lead", ...]`. `starts_again`: something was erased, so
    pages must not keep what they have.
    """

    entries: list[Entry]
    staff: dict[str, bytes]
    public: dict[str, bytes]
    mine: dict[str, bytes]
    now: Now
    starts_again: bool = False


def now_of(state: State) -> Now:
    """What the server needs to know about a state."""
    stage = state.stage
    return Now(
        roles={p: person.role for p, person in state.people.items() if person.is_in},
        grants=grants_of(state),
        paused=paused_labs(state),
        lesson=state.chapter,
        handout=state.handout,
        pace=state.pace,
        lead=(state.lead.p, state.lead.term) if state.lead else None,
        stage=(stage.p, stage.is_named, stage.lab) if stage is not None and stage.is_shown else None,
        looks={p: tuple(person.looked_by) for p, person in state.people.items() if person.looked_by},
        labs={person.p: person.lab for person in state.learners() if person.lab},
        fronts={person.p: person.works_in for person in state.learners() if person.works_in},
        lead_lab=state.lead.lab if state.lead else "",
        is_paused=state.is_paused,
        ended=state.ended,
        settling=settling_of(state),
    )


def entry_of(state: State, envelope: ClassEnvelope, record: bytes, changed: tuple[str, ...]) -> Entry:
    """An event for the board. Pages of learners and observers get its actor only if that is a member of staff."""
    seq, at_us, who, _, event = envelope
    person = state.people.get(who)
    is_named = who == ROOM or (person is not None and person.is_staff)
    whole = event_bytes(seq, record)
    nameless = whole if is_named else event_bytes(seq, _without_who(record, at_us))
    return Entry(seq, SEES[type(event)], who, getattr(event, "p", ""), whole, nameless, changed)


def _without_who(record: bytes, at_us: int) -> bytes:
    """`[at_us,"p7","act",[...` as `[at_us,"","",[...`."""
    return b'[%d,"","",%b' % (at_us, record[record.index(b",[") + 1 :])


def sections_of(
    state: State, words: Words, changed: set[str]
) -> tuple[dict[str, bytes], dict[str, bytes], dict[str, bytes]]:
    """The values of sections for staff, for everyone, and for single persons."""
    staff, public, mine = {}, {}, {}
    for path in changed:
        name, _, rest = path.partition("/")
        if name == "mine":
            mine[rest] = patch_bytes("mine", section(state, words, "public", path))
            continue
        staff[path] = patch_bytes(path, section(state, words, "staff", path))
        if sees_section(_ANYBODY, path):
            public[path] = patch_bytes(path, section(state, words, "public", path))
    return staff, public, mine


_MINE = "mine/"
_ANYBODY = Viewer("", "observer")
_EMPTY: dict[Audience, list[bytes]] = {
    "staff": [patch_bytes(name, {}) for name in PARTS],
    "public": [patch_bytes(name, {}) for name in PARTS if sees_section(_ANYBODY, name)],
}


class _Happened(NamedTuple):
    """Events, and the participants who receive their own frame of them."""

    entries: list[Entry]
    concerned: frozenset[str]


class News(NamedTuple):
    """Who sees something of what was written last: all who are not staff, and `people` who see what others do not.
    Staff see something of nearly everything.
    """

    is_public: bool
    people: set[str]


class Board:
    """The published class. Used in the event loop's thread."""

    def __init__(self, state: State) -> None:
        """`sections`: those published first, before any event."""
        self.last_seq = state.last_seq
        self.now = now_of(state)
        self._entries: deque[Entry] = deque(maxlen=KEPT_EVENTS)
        self._sections: dict[Audience, dict[str, bytes]] = {"staff": {}, "public": {}}
        self._mine: dict[str, bytes] = {}
        self._seen: dict[Audience, int] = {"staff": 0, "public": 0}
        """The last event of which an audience sees anything."""
        self._seen_by: dict[str, int] = {}
        """The last event of which a person sees what others do not."""
        self._happened: dict[int, _Happened] = {}
        self._frames: dict[tuple[Audience, int], bytes] = {}
        self._snaps: dict[Audience, list[bytes]] = {}

    def take(self, published: Published) -> News:
        """Adds what was written last; returns who sees something of it."""
        seen = self._seen["public"]
        self._entries += published.entries
        if published.entries:
            self.last_seq = published.entries[-1].seq
        changed = self._changed(published)
        self._sections["staff"] |= published.staff
        self._sections["public"] |= published.public
        self._mine |= published.mine
        self.now = published.now
        people: set[str] = set()
        for entry in published.entries:
            people |= self._note_seen(entry, published, changed)
        self._happened.clear()
        self._frames.clear()
        self._snaps.clear()
        return News(self._seen["public"] > seen, people)

    def _changed(self, published: Published) -> set[str]:
        """The sections for everyone that have another value than before: a vote changes that of staff alone, and
        hundreds of pages need not be told.
        """
        before = self._sections["public"]
        return {path for path, value in published.public.items() if before.get(path) != value}

    def _note_seen(self, entry: Entry, published: Published, changed: set[str]) -> set[str]:
        """Notes who sees something of an event; returns those who see what others do not."""
        if entry.sees == "all" or not changed.isdisjoint(entry.paths):
            self._seen["public"] = entry.seq
        if entry.sees != "tape" or not published.staff.keys().isdisjoint(entry.paths):
            self._seen["staff"] = entry.seq
        people = _concerned(entry)
        for p in people:
            self._seen_by[p] = entry.seq
        return people

    def has_since(self, seq: int) -> bool:
        """Whether all events after `seq` are kept."""
        first = self._entries[0].seq if self._entries else self.last_seq + 1
        return first - 1 <= seq <= self.last_seq

    def viewer(self, p: str) -> Viewer | None:
        """A participant and their role; None if the log does not contain them."""
        role = self.now.roles.get(p)
        return Viewer(p, role) if role else None

    def has_news(self, viewer: Viewer, after: int) -> bool:
        """Whether this person is to get a frame: something that they may see happened after `after`."""
        seen = max(self._seen[viewer.audience], self._seen_by.get(viewer.p, 0))
        return after < seen or self.last_seq - after >= MAX_UNSEEN or not self.has_since(after)

    def frame(self, viewer: Viewer, after: int) -> bytes:
        """The `e` frame with everything after `after` that this person may see."""
        happened = self._after(after)
        if viewer.p in happened.concerned:
            return self._encode(viewer, after, happened.entries)
        key = (viewer.audience, after)
        frame = self._frames.get(key)
        if frame is None:
            frame = self._frames[key] = self._encode(Viewer("", viewer.role), after, happened.entries)
        return frame

    def snap(self, viewer: Viewer) -> bytes:
        """The `snap` frame: everything that this person may see."""
        audience = viewer.audience
        shared = self._snaps.get(audience)
        if shared is None:
            # A removed section has no value: `["/polls/3"]`.
            found = (value for value in self._sections[audience].values() if b"," in value)
            shared = self._snaps[audience] = [*_EMPTY[audience], *found]
        return encode_snap(self.last_seq, [*shared, *self._own(viewer)])

    def _after(self, after: int) -> _Happened:
        """What happened after an event. That is the newest, so it is looked for from the end."""
        found = self._happened.get(after)
        if found is None:
            entries = list(islice(reversed(self._entries), self.last_seq - after))
            entries.reverse()
            concerned = frozenset(p for entry in entries for p in _concerned(entry))
            found = self._happened[after] = _Happened(entries, concerned)
        return found

    def _encode(self, viewer: Viewer, after: int, entries: list[Entry]) -> bytes:
        sections = self._sections[viewer.audience]
        changed = dict.fromkeys(path for entry in entries for path in entry.paths)
        patch = [sections[path] for path in changed if path in sections]
        if f"mine/{viewer.p}" in changed:
            patch += self._own(viewer)
        events = [
            entry.whole if viewer.audience == "staff" or is_about(viewer, entry.who, entry.p) else entry.nameless
            for entry in entries
            if sees(viewer, entry.sees, entry.who, entry.p)
        ]
        return encode_events(after, self.last_seq, events, patch)

    def _own(self, viewer: Viewer) -> list[bytes]:
        own = self._mine.get(viewer.p)
        return [own] if own is not None and sees_section(viewer, f"mine/{viewer.p}") else []


def _concerned(entry: Entry) -> set[str]:
    """Whom an event is about, and whose own section it changed."""
    own = {path.removeprefix(_MINE) for path in entry.paths if path.startswith(_MINE)}
    return own | {p for p in (entry.who, entry.p) if p}
