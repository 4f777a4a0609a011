"""Anything that people may do in a class, in any order, for tests of properties."""

from hypothesis import strategies as st

from lab.classroom.acts import At, facts, ops
from lab.classroom.acts import Given as Act
from tests.support.classroom.memory_class import ROLES

PEOPLE = [*ROLES, "p7", "p8"]
people = st.sampled_from(PEOPLE)
learners = st.sampled_from(["p3", "p4", "p7", "p8"])
polls = questions = st.integers(1, 3)
lessons = st.sampled_from(["a-lesson", "a-lesson", "b-lesson"])
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
    st.builds(ops.ShowMistakes, st.booleans()),
)
POLL_ACTS = st.one_of(
    st.builds(
        ops.MakePoll, st.just("choice"), st.just("which?"), st.just("en"), st.just(("a", "b", "c")),
        st.booleans(), st.just(True), st.sampled_from(["", "1"]), st.just(0), st.just(""),
        st.sampled_from([(), ("leader elected", "isr shrinks", "")]),
        tags=st.sampled_from([(), ("ack-message", "", "late")]),
    ),
    st.builds(ops.EndSettling, polls),
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
    st.builds(facts.ReachStep, learners, lessons, st.integers(1, 4), labs, st.just(1), st.just(1)),
    st.builds(facts.LoseStep, learners, lessons, st.integers(1, 4), labs, st.just(1), st.just(1)),
    st.builds(facts.TakeHint, learners, lessons, st.integers(1, 4), st.integers(1, 2)),
    st.builds(facts.RefuseCommand, learners, labs),
    st.builds(facts.ResetWork, learners, lessons),
    st.builds(facts.BeginLesson, st.just("b-lesson"), st.just(4), st.just(8), st.just(()), st.integers(1, 4)),
    st.builds(facts.RefuseLab, learners, st.sampled_from(["runs", "disk"])),
    st.builds(
        facts.MakeMistake, learners, lessons, st.integers(1, 4), st.sampled_from(["ack-message", "killed"]),
        st.sampled_from(["choice", "state"]),
    ),
    st.builds(facts.NoteStuck, learners, st.sampled_from(["", "idle", "late"])),
    st.builds(facts.ChangeView, st.integers(1, 3), st.sampled_from(["{}", '{"a":1}'])),
    st.builds(facts.MoveLab, labs, st.integers(0, 9), st.just(5), st.just("play"), st.just(1_000_000)),
    st.builds(facts.SettlePoll, polls, labs, st.sampled_from(["", "1"]), st.integers(0, 9)),
    st.builds(facts.GiveUpSettling, polls, labs),
    st.builds(facts.TakeState, learners, st.just(1), labs),
)  # fmt: skip
HELP = st.builds(lambda who, p: Act(who, facts.BeginHelpAt(p, f"run-{p}/main", 7)), people, learners)
SETTLE = st.builds(lambda who, poll, lab: Act(who, facts.BeginSettling(poll, lab, 7)), people, polls, labs)
GIVE = st.builds(lambda who: Act(who, facts.GiveState(1, "run-p1/main", 5, 50)), people)
STEPS = st.lists(
    st.tuples(
        st.sampled_from([0, 1, 20, 400]),
        st.builds(lambda who, act: Act(who, act, "", tuple(range(1, 8))), people, PAGE_ACTS | POLL_ACTS)
        | st.builds(lambda fact: Act("room", fact), FACTS)
        | HELP
        | SETTLE
        | GIVE,
    ),
    max_size=60,
)
