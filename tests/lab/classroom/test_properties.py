"""Whatever people do in a class, in whatever order, its rules hold."""

from collections.abc import Sequence

import msgspec
from hypothesis import given, settings

from lab.classroom.acts import Given as Act
from lab.classroom.acts import ops
from lab.classroom.audience import Viewer, sees_section
from lab.classroom.events import CLASS, poll, room
from lab.classroom.events.lead import LeadEnded, LeadTaken
from lab.classroom.folds import fold
from lab.classroom.state import STAFF, State
from lab.classroom.views import paths, section
from lab.texts.refusal import Refusal
from tests.support.classroom.any_acts import STEPS
from tests.support.classroom.memory_class import MemoryClass, NoWords


class Page:
    """The state of one viewer's page: each section as last received."""

    def __init__(self, viewer: Viewer, state: State) -> None:
        self.viewer = viewer
        self.held: dict[str, bytes] = {}
        self.tell(state, paths(state))

    def tell(self, state: State, changed: list[str]) -> None:
        for path in changed:
            if sees_section(self.viewer, path):
                self.held[path] = msgspec.json.encode(section(state, NoWords(), self.viewer.audience, path))


@settings(max_examples=150, deadline=None)
@given(STEPS)
def test_rules_hold_after_every_act(steps: list[tuple[int, Act]]) -> None:
    room_ = MemoryClass(4)
    pages = [Page(Viewer("p1", "instructor"), room_.state), Page(Viewer("p3", "learner"), room_.state)]
    for seconds, act in steps:
        room_.after(seconds)
        before = msgspec.json.decode(msgspec.json.encode(room_.state), type=State)
        published = len(room_.log)
        try:
            found = room_.give(act)
        except Refusal:
            assert msgspec.json.encode(before) == msgspec.json.encode(room_.state), "a refusal changes nothing"
            continue
        actor = before.people.get(act.who)
        if isinstance(act.do, ops.Op):
            assert actor is not None
            assert actor.is_in, "nobody acts who is kicked, has left or waits"
        _check(room_.state, before, found)
        again = before
        changed = [path for envelope in room_.log[published:] for path in fold(again, envelope)]
        for page in pages:
            page.tell(room_.state, changed)
    for page in pages:
        fresh = Page(page.viewer, room_.state).held
        assert {path: value for path, value in page.held.items() if value != b"null"} == {
            path: value for path, value in fresh.items() if value != b"null"
        }
    folded = State()
    for envelope in room_.log:
        fold(folded, CLASS.decode(envelope[0], CLASS.encode(envelope)))
    assert msgspec.json.encode(folded) == msgspec.json.encode(room_.state)
    assert msgspec.json.decode(msgspec.json.encode(folded), type=State) == room_.state


def _check(state: State, before: State, found: Sequence[object]) -> None:
    if state.lead is not None:
        leader = state.people[state.lead.p]
        assert leader.role in STAFF
        assert leader.is_in
        assert state.lead.term == state.term
    assert state.term == before.term + sum(isinstance(event, LeadTaken) for event in found)
    if before.lead is not None and state.lead is not None and before.lead.p != state.lead.p:
        assert any(isinstance(event, LeadEnded) for event in found), "the lead before ends first"
    if state.is_held:
        assert state.lead is not None
    if state.stage is not None:
        assert state.people[state.stage.p].is_in
    for learner, given_help in state.helps.items():
        assert state.people[learner].is_in
        assert state.people[given_help.by].role in STAFF
    for number, one in state.polls.items():
        for votes in one.rounds:
            assert len(votes) <= len(state.people)
        public = section(state, NoWords(), "public", f"polls/{number}") or {}
        assert ("splits" in public) == one.is_shown
        assert "right" not in public
        assert ("outcome" in public) == one.is_revealed
    for event in found:
        if isinstance(event, poll.Voted):
            assert before.polls[event.poll].phase == "open"
            assert before.people[event.voter].role == "learner"
        if isinstance(event, room.Kicked):
            person = state.people[event.p]
            assert person.hand is None
            assert person.looked_by == []
            assert all(event.p not in one.looked_by for one in state.people.values())
