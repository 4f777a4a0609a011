"""A class goes on with another lesson: what was done before counts for that one, and everyone is reset."""

import msgspec
import pytest

from lab.classroom.acts import At, facts, ops
from lab.classroom.events import help, lead, pace, poll, room, work
from lab.classroom.folds import fold
from lab.classroom.results.mistakes import mistakes_of
from lab.classroom.results.summary import own_work, summary
from lab.classroom.state import State
from lab.classroom.views import section
from tests.support.classroom.memory_class import ADA, ASSISTANT, BOB, TEACHER, MemoryClass, NoWords

OLD, NEW = "a-lesson", "b-lesson"
NEXT = facts.BeginLesson(NEW, 3, 12, (1, 1, 1), 2)


def lab_of(p: str, lesson: int = 1) -> str:
    return f"run-{p}{'' if lesson == 1 else lesson}/main"


def reach(p: str, step: int, lesson: str = OLD, lab: str = "") -> facts.ReachStep:
    return facts.ReachStep(p, lesson, step, lab or lab_of(p, 1 if lesson == OLD else 2), 9, 90)


def give_labs(room_: MemoryClass, *people: str) -> None:
    for p in people:
        room_.fact(facts.SetPerson(p, room_.state.people[p].role, lab=lab_of(p, 2)))


def gone_on() -> MemoryClass:
    """Ada has reached a step, with a hint and a mistake, when the next lesson begins; only she has her lab of it."""
    room_ = MemoryClass(hints=(2, 2, 2, 2))
    room_.fact(facts.TakeHint(ADA, OLD, 1, 1))
    room_.fact(reach(ADA, 1))
    room_.fact(facts.Predict(ADA, OLD, 2, "a", 70))
    room_.fact(facts.Settle(ADA, OLD, 2, True))
    room_.fact(facts.MakeMistake(ADA, OLD, 2, "ack-message", "choice"))
    room_.after(60)
    room_.fact(NEXT, TEACHER)
    give_labs(room_, ADA)
    return room_


def test_people_are_reset_and_what_they_did_is_kept_with_its_lesson() -> None:
    room_ = gone_on()
    state, ada = room_.state, room_.state.people[ADA]
    assert (state.chapter, state.steps, state.minutes, state.step_hints) == (NEW, 3, 12, (1, 1, 1))
    assert (ada.step, ada.signs, ada.hints, ada.right, ada.progress_us) == (1, {}, {}, 0, room_.now_us)
    assert (ada.lab, room_.state.people[BOB].lab) == (lab_of(ADA, 2), "")
    found = summary(state, room_.log)
    assert [(one.chapter, one.steps) for one in found.lessons] == [(OLD, 4), (NEW, 3)]
    first, second = [next(row.work for row in one.learners if row.work.p == ADA) for one in found.lessons]
    assert (first.signs, first.done, first.hints, first.right, first.lab) == (["h", "·", "", ""], 1, 1, 1, lab_of(ADA))
    assert (second.signs, second.done, second.right, second.lab) == (["·", "", ""], 0, 0, lab_of(ADA, 2))
    assert [[row.what for row in one.mistakes] for one in found.lessons] == [["ack-message"], []]
    assert own_work(state, ADA) == [(OLD, first), (NEW, second)]
    assert mistakes_of(state) == []
    assert section(state, NoWords(), "public", "class")["chapter"] == NEW


@pytest.mark.parametrize(
    "fact",
    [
        reach(ADA, 2),
        facts.LoseStep(ADA, OLD, 1, lab_of(ADA), 9, 90),
        facts.TakeHint(ADA, OLD, 1, 2),
        facts.Predict(ADA, OLD, 2, "a", 70),
        facts.Settle(ADA, OLD, 2, True),
        facts.MakeMistake(ADA, OLD, 2, "acked-is-safe", "choice"),
        facts.ResetWork(ADA, OLD),
        facts.RefuseCommand(ADA, lab_of(ADA)),
        reach(ADA, 1, NEW, lab_of(ADA)),
    ],
    ids=lambda fact: type(fact).__name__,
)
def test_what_comes_late_from_an_earlier_lab_does_not_count(fact: facts.Fact) -> None:
    assert gone_on().fact(fact) == []  # type: ignore[arg-type]


def test_the_same_lesson_begins_again_in_other_labs() -> None:
    room_ = MemoryClass()
    room_.fact(reach(ADA, 1))
    room_.fact(facts.BeginLesson(OLD, 4, 8, (), 2), TEACHER)
    assert room_.fact(reach(ADA, 1)) == [], "of the lab of before"
    room_.fact(facts.SetPerson(ADA, "learner", lab=lab_of(ADA, 2)))
    assert len(room_.fact(reach(ADA, 1, OLD, lab_of(ADA, 2)))) == 1


def test_a_lesson_begins_once() -> None:
    room_ = gone_on()
    assert room_.fact(NEXT, ASSISTANT) == []
    assert room_.fact(facts.BeginLesson(OLD, 4, 8, (), 1)) == [], "what was read before it began"
    assert len(room_.state.lessons) == 1


def test_a_lab_read_from_the_database_before_the_lesson_began_is_not_given_again() -> None:
    room_ = gone_on()
    assert room_.fact(facts.SetPerson(BOB, "learner", lab=lab_of(BOB), handout=1)) == []
    assert room_.fact(facts.SetPerson(BOB, "learner", lab=lab_of(BOB, 2), handout=2)) == [
        room.LabGiven(p=BOB, lab=lab_of(BOB, 2))
    ]


def test_what_is_about_the_earlier_labs_ends() -> None:
    room_ = MemoryClass()
    room_.do(TEACHER, ops.SetPace(2))
    room_.do(TEACHER, ops.SetTimer(60))
    room_.do(TEACHER, ops.AskStage(ADA))
    room_.do(ADA, ops.AnswerStage(True))
    room_.do(BOB, ops.RaiseHand(At(lab_of(BOB))))
    room_.fact(facts.NoteStuck(BOB, "asks", "hand"))
    room_.fact(facts.BeginHelpAt(ADA, lab_of(ADA), 3), ASSISTANT)
    ended = room_.fact(NEXT, TEACHER)
    assert ended == [
        lead.StageCleared(why="lesson"),
        help.HelpEnded(p=ADA, kept=True),
        help.LookEnded(p=ADA, by=ASSISTANT),
        work.StuckEnded(p=BOB),
        help.HandLowered(p=BOB, why="moved_on"),
        pace.TimerEnded(why="lesson"),
        pace.LessonBegan(lesson=NEW, steps=3, minutes=12, hints=(1, 1, 1), handout=2),
    ]
    assert (room_.state.pace, room_.state.timer) == (0, None)


def test_the_lead_goes_on_in_the_presenters_new_lab_unless_they_have_chosen_another_since() -> None:
    room_ = MemoryClass()
    room_.fact(facts.SetPerson(TEACHER, "instructor", lab=lab_of(TEACHER)))
    room_.do(TEACHER, ops.TakeLead("another-run/main"))
    room_.fact(NEXT, TEACHER)
    given = room_.fact(facts.SetPerson(TEACHER, "instructor", lab=lab_of(TEACHER, 2)))
    assert given == [
        room.LabGiven(p=TEACHER, lab=lab_of(TEACHER, 2)),
        lead.LeadTaken(term=2, p=TEACHER, lab=lab_of(TEACHER, 2)),
    ]
    room_.do(TEACHER, ops.TakeLead("another-run/main"))
    assert room_.fact(facts.SetPerson(TEACHER, "instructor", lab=lab_of(TEACHER, 3))) == [
        room.LabGiven(p=TEACHER, lab=lab_of(TEACHER, 3))
    ]


def test_a_lab_of_the_lesson_before_does_not_lead_from_a_page_that_does_not_know_the_next_one_yet() -> None:
    room_ = MemoryClass()
    room_.fact(facts.SetPerson(TEACHER, "instructor", lab=lab_of(TEACHER)))
    lead_on = ops.TakeLead(lab_of(TEACHER), after=room_.state.handout)
    room_.fact(NEXT, TEACHER)
    assert room_.refused(TEACHER, lead_on) == 409
    room_.fact(facts.SetPerson(TEACHER, "instructor", lab=lab_of(TEACHER, 2)))
    assert room_.refused(TEACHER, lead_on) == 409 and room_.state.lead is None
    (taken,) = room_.do(TEACHER, ops.TakeLead(lab_of(TEACHER), after=NEXT.handout))
    assert taken == lead.LeadTaken(term=1, p=TEACHER, lab=lab_of(TEACHER)), "an earlier lab, chosen on purpose"


def test_who_gets_no_lab_is_told_once_until_they_get_one() -> None:
    room_ = gone_on()
    assert room_.fact(facts.RefuseLab(BOB, "runs")) == [room.LabRefused(p=BOB, why="runs")]
    assert room_.fact(facts.RefuseLab(BOB, "runs")) == []
    assert section(room_.state, NoWords(), "public", f"mine/{BOB}")["lab_refused"] == "runs"
    give_labs(room_, BOB)
    assert section(room_.state, NoWords(), "public", f"mine/{BOB}")["lab_refused"] == ""
    assert room_.fact(facts.RefuseLab(BOB, "runs")) == [], "they have one"


def test_an_observer_wants_no_lab() -> None:
    room_ = gone_on()
    room_.fact(facts.RefuseLab(BOB, "runs"))
    room_.fact(facts.SetPerson(BOB, "observer"))
    assert section(room_.state, NoWords(), "public", f"mine/{BOB}")["lab_refused"] == ""


def test_a_prediction_stays_that_of_its_lesson() -> None:
    room_ = MemoryClass()
    act = ops.MakePoll("prediction", "which?", "en", ("a", "b"), False, step=2, tags=("ack-message", ""), lesson=OLD)
    (made,) = room_.do(TEACHER, act, texts=(1, 2, 3))
    assert isinstance(made, poll.PollMade) and made.lesson == OLD
    room_.do(TEACHER, ops.OpenPoll(1))
    for p in (ADA, BOB):
        room_.do(p, ops.CastVote(1, "0", 50))
    room_.fact(NEXT, TEACHER)
    room_.do(TEACHER, ops.ClosePoll(1))
    room_.do(TEACHER, ops.TakeLead("run-p1/main"))
    with pytest.raises(Exception, match="another lesson"):
        room_.fact(facts.BeginSettling(1, "run-p1/main", 7), TEACHER)
    room_.do(TEACHER, ops.Reveal(1, "1"))
    found = summary(room_.state, room_.log)
    assert [[row.what for row in one.mistakes] for one in found.lessons] == [["ack-message"], []]
    assert section(room_.state, NoWords(), "staff", "polls/1")["lesson"] == OLD
    room_.do(TEACHER, ops.EndPoll(1))
    assert room_.refused(TEACHER, act) == 409, "made from the lesson before"


def test_logs_of_before_have_one_lesson() -> None:
    """Events of polls that do not name their lesson."""
    state = State()
    opened = room.ClassOpened(chapter=OLD, steps=2, minutes=10, hints=())
    made = poll.PollMade(
        poll=1, form="prediction", text=1, choices=(2, 3), anonymous=True, asks_sure=True, right="", step=2
    )
    for seq, event in enumerate((opened, made), 1):
        fold(state, (seq, seq, "room", "", event))
    assert state.polls[1].lesson == OLD
    assert msgspec.json.decode(msgspec.json.encode(state), type=State) == state
