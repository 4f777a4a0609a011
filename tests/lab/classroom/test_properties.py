"""Whatever people do in a class, in whatever order, its rules hold."""

from collections.abc import Sequence

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from lab.classroom.acts import At, facts, ops
from lab.classroom.acts import Given as Act
from lab.classroom.audience import Viewer, sees_section
from lab.classroom.events import CLASS, poll, room
from lab.classroom.events.lead import LeadEnded, LeadTaken
from lab.classroom.folds import fold
from lab.classroom.state import STAFF, State
from lab.classroom.views import paths, section
from lab.texts.refusal import Refusal
from tests.support.classroom.memory_class import ROLES, MemoryClass, NoWords

PEOPLE = [*ROLES, "p7", "p8"]
people = st.sampled_from(PEOPLE)
learners = st.sampled_from(["p3", "p4", "p7", "p8"])
polls = questions = st.integers(1, 3)
labs = st.sampled_from([f"run-{p}/main" for p in PEOPLE])
places = st.builds(At, labs, seq=st.integers(0, 9))

PAGE_ACTS = st.one_of(
    st.builds(ops.TakeLead, labs),
    st.builds(ops.EndLead),
    st.builds(ops.Hold, st.integers(1, 300)),
    st.builds(ops.Release),
    st.builds(ops.LeaveHold),
    st.builds(ops.Detach),
    st.builds(ops.Rejoin),
    st.builds(ops.AskStage, learners),
    st.builds(ops.AnswerStage, st.booleans(), st.booleans(), st.booleans()),
    st.builds(ops.ClearStage),
    st.builds(ops.Draw, st.just("record orders-0 4"), st.just(((1, 2), (3, 4)))),
    st.builds(ops.ClearInk, st.tuples() | st.tuples(st.integers(1, 3))),
    st.builds(ops.RaiseHand, places),
    st.builds(ops.LowerHand, people | st.just("")),
    st.builds(ops.Ask, st.just("why?"), st.just("en"), places, st.booleans()),
    st.builds(ops.BackQuestion, questions),
    st.builds(ops.Answer, questions, st.sampled_from(["aloud", "note", "stage"])),
    st.builds(ops.HideQuestion, questions, st.booleans()),
    st.builds(ops.Look, learners),
    st.builds(ops.EndLook, learners),
    st.builds(ops.EndHelp, learners),
    st.builds(ops.ChooseHelp, st.booleans()),
    st.builds(ops.TakeWheel, learners),
    st.builds(ops.SendNote, people, st.just("look"), st.just("en")),
    st.builds(ops.SetPace, st.integers(0, 5)),
    st.builds(ops.PauseAll),
    st.builds(ops.ResumeAll),
    st.builds(ops.SetTimer, st.integers(1, 99)),
    st.builds(ops.ExtendTimer, st.integers(1, 99)),
    st.builds(ops.ExtendTime, learners, st.sampled_from([100, 150, 200])),
    st.builds(ops.MarkNow),
)
POLL_ACTS = st.one_of(
    st.builds(
        ops.MakePoll, st.just("choice"), st.just("which?"), st.just("en"), st.just(("a", "b", "c")),
        st.booleans(), st.just(True), st.sampled_from(["", "1"]),
    ),
    st.builds(ops.OpenPoll, polls, st.integers(0, 30)),
    st.builds(ops.CastVote, polls, st.sampled_from("0123"), st.integers(0, 100)),
    st.builds(ops.CastVote, polls, st.sampled_from("0123"), st.integers(0, 100)),
    st.builds(ops.CastVote, polls, st.sampled_from("0123"), st.integers(0, 100)),
    st.builds(ops.ClosePoll, polls),
    st.builds(ops.Discuss, polls, st.integers(0, 30)),
    st.builds(ops.OpenSplit, polls),
    st.builds(ops.ShowSplit, polls),
    st.builds(ops.Reveal, polls, st.sampled_from("012")),
    st.builds(ops.EndPoll, polls),
)  # fmt: skip
FACTS = st.one_of(
    st.builds(
        facts.SetPerson,
        people,
        st.sampled_from(["instructor", "co-instructor", "learner", "observer"]),
        st.sampled_from(["in", "in", "waiting", "left", "kicked", "gone"]),
        lab=labs,
    ),
    st.builds(facts.SetDoor, st.booleans(), st.integers(0, 3), st.booleans()),
    st.builds(facts.ComeBack, people),
    st.builds(facts.GoAway, people, st.just(0)),
    st.builds(facts.Tick),
    st.builds(facts.ReachStep, learners, st.integers(1, 4), st.just("a/b"), st.just(1), st.just(1)),
    st.builds(facts.LoseStep, learners, st.integers(1, 4), st.just("a/b"), st.just(1), st.just(1)),
    st.builds(facts.TakeHint, learners, st.integers(1, 4), st.integers(1, 2)),
    st.builds(facts.RefuseCommand, learners),
    st.builds(facts.ResetWork, learners),
    st.builds(facts.NoteStuck, learners, st.sampled_from(["", "idle", "late"])),
    st.builds(facts.ChangeView, st.integers(1, 3), st.sampled_from(["{}", '{"a":1}'])),
    st.builds(facts.MoveLab, labs, st.integers(0, 9), st.just(5), st.just("play"), st.just(1_000_000)),
    st.builds(facts.TakeState, learners, st.just(1), labs),
)
HELP = st.builds(lambda who, p: Act(who, facts.BeginHelpAt(p, f"run-{p}/main", 7)), people, learners)
GIVE = st.builds(lambda who: Act(who, facts.GiveState(1, "run-p1/main", 5, 50)), people)
STEPS = st.lists(
    st.tuples(
        st.sampled_from([0, 1, 20, 400]),
        st.builds(lambda who, act: Act(who, act, "", tuple(range(1, 8))), people, PAGE_ACTS | POLL_ACTS)
        | st.builds(lambda fact: Act("room", fact), FACTS)
        | HELP
        | GIVE,
    ),
    max_size=60,
)


class Page:
    """What one viewer's page holds: sections, each as of when it was last told."""

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
        told = len(room_.log)
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
        changed = [path for envelope in room_.log[told:] for path in fold(again, envelope)]
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
