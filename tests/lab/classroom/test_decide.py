"""What acts lead to: leading, stage, looking, helping, hands, questions, timers, ends."""

from itertools import permutations
from typing import Any, get_args

import msgspec
import pytest

from lab.classroom.acts import AnyAct, At, facts, ops
from lab.classroom.events import help, lead, pace, room, work
from lab.classroom.frames import ActFrame, parse
from lab.classroom.grants import paused_labs
from lab.texts.refusal import Refusal
from tests.support.classroom.memory_class import ADA, ASSISTANT, BOB, SCREEN, TEACHER, US, WATCHER, MemoryClass

LAB = "lead/main"


def own(p: str) -> At:
    return At(f"run-{p}/main", 7, 70)


# Leading


@pytest.mark.parametrize("order", list(permutations([TEACHER, ASSISTANT, "away", "back"])))
def test_one_of_two_concurrent_leads_succeeds(order: tuple[str, ...]) -> None:
    room_ = MemoryClass()
    held = ""
    for one in order:
        if one == "away":
            room_.fact(facts.GoAway(TEACHER, room_.now_us))
        elif one == "back":
            room_.fact(facts.ComeBack(TEACHER))
        elif room_.refused(one, ops.TakeLead(LAB)):
            assert held
        else:
            room_.do(one, ops.TakeLead(LAB))
            held = one
        assert (room_.state.lead.p if room_.state.lead else "") == held
    assert room_.state.term == 1


def test_lead_of_an_offline_participant_can_be_taken_after_15_seconds() -> None:
    room_ = MemoryClass()
    room_.do(TEACHER, ops.TakeLead(LAB))
    room_.after(100)
    room_.fact(facts.GoAway(TEACHER, room_.now_us - 10 * US))
    room_.after(4.9)
    assert room_.refused(ASSISTANT, ops.TakeLead(LAB)) == 409
    room_.after(0.1)
    assert room_.do(ASSISTANT, ops.TakeLead(LAB)) == [
        lead.LeadEnded(term=1, p=TEACHER, why="away"),
        lead.LeadTaken(term=2, p=ASSISTANT, lab=LAB),
    ]
    room_.fact(facts.ComeBack(TEACHER))
    assert room_.refused(TEACHER, ops.TakeLead(LAB)) == 409
    assert room_.fact(facts.ChangeView(1, '{"old":1}')) == [], "a view of the term before is dropped"
    assert room_.fact(facts.ChangeView(2, '{"new":1}'))


def test_lead_goes_on_in_the_run_in_which_the_presenter_starts_over() -> None:
    room_ = MemoryClass()
    room_.fact(facts.SetPerson(TEACHER, "instructor", lab="lead/main"))
    room_.do(TEACHER, ops.TakeLead(LAB))
    room_.do(ADA, ops.Detach())
    assert room_.fact(facts.SetPerson(TEACHER, "instructor", lab="again/main"))[1:] == [
        lead.LeadTaken(term=2, p=TEACHER, lab="again/main")
    ]
    assert not room_.state.people[ADA].follows
    forked = room_.fact(facts.SetPerson(TEACHER, "instructor", lab="again/main-2"))
    assert forked == [room.LabGiven(p=TEACHER, lab="again/main-2")], "of a fork the views tell the branch"
    assert [type(one) for one in room_.fact(facts.SetPerson(ADA, "learner", lab="other/main"))] == [room.LabGiven]


def test_lead_stays_in_another_lab_than_the_presenters_own() -> None:
    room_ = MemoryClass()
    room_.fact(facts.SetPerson(TEACHER, "instructor", lab="own/main"))
    room_.do(TEACHER, ops.TakeLead(LAB))
    for lab in ("own/main-2", "own-again/main"):
        given = room_.fact(facts.SetPerson(TEACHER, "instructor", lab=lab))
        assert given == [room.LabGiven(p=TEACHER, lab=lab)]
    assert room_.state.lead is not None and room_.state.lead.lab == LAB


def test_lead_ends_when_a_leader_becomes_a_learner_with_another_lab() -> None:
    room_ = MemoryClass()
    room_.fact(facts.SetPerson(ASSISTANT, "co-instructor", lab=LAB))
    room_.do(ASSISTANT, ops.TakeLead(LAB))
    changed = room_.fact(facts.SetPerson(ASSISTANT, "learner", lab="first/main"))
    assert changed[-2:] == [room.RoleGiven(p=ASSISTANT, role="learner"), room.LabGiven(p=ASSISTANT, lab="first/main")]
    assert room_.state.lead is None


def test_all_follow_the_presenter_until_they_detach() -> None:
    room_ = MemoryClass()
    room_.do(TEACHER, ops.TakeLead(LAB))
    assert room_.state.people[ADA].follows
    assert room_.do(ADA, ops.Detach()) == [lead.Detached(p=ADA)]
    assert room_.do(ADA, ops.Detach()) == []
    assert room_.do(ADA, ops.Rejoin()) == [lead.Rejoined(p=ADA)]
    room_.do(TEACHER, ops.EndLead())
    assert not room_.state.people[ADA].follows
    assert room_.refused(ADA, ops.Rejoin()) == 409


def test_hold_ends_by_itself_and_can_be_left() -> None:
    room_ = MemoryClass()
    assert room_.refused(TEACHER, ops.Hold()) == 409
    room_.do(TEACHER, ops.TakeLead(LAB))
    room_.do(TEACHER, ops.Hold(300))
    assert room_.refused(ADA, ops.Detach()) == 409
    assert room_.do(ADA, ops.LeaveHold()) == [lead.HoldLeft(p=ADA)]
    assert room_.do(ADA, ops.Detach()) == [lead.Detached(p=ADA)]
    room_.after(200)
    assert room_.do(TEACHER, ops.Hold(300)) == [], "a hold cannot be made longer than five minutes"
    room_.after(100)
    assert room_.fact(facts.Tick()) == [lead.Released(why="time")]


# Stage


def test_stage_needs_consent_and_shows_the_name_only_if_wanted() -> None:
    room_ = MemoryClass()
    room_.do(TEACHER, ops.AskStage(ADA))
    assert room_.refused(BOB, ops.AnswerStage(True)) == 409
    answered = room_.do(ADA, ops.AnswerStage(accepted=True, named=False, recorded=True))
    assert answered[-1] == lead.StageShown(p="", lab=f"run-{ADA}/main")
    assert room_.do(ADA, ops.ClearStage()) == [lead.StageCleared(why="own")]


def follow(room_: MemoryClass) -> set[str]:
    return {p for p, person in room_.state.people.items() if person.follows}


def test_stage_is_followed_before_a_presenter() -> None:
    room_ = MemoryClass()
    room_.do(TEACHER, ops.AskStage(ADA))
    room_.do(ADA, ops.AnswerStage(accepted=True))
    assert BOB in follow(room_) and not {ADA, TEACHER} & follow(room_)
    room_.do(TEACHER, ops.ClearStage())
    assert follow(room_) == set(), "there is nobody else to follow"
    room_.do(TEACHER, ops.TakeLead(LAB))
    room_.do(BOB, ops.Detach())
    room_.do(TEACHER, ops.AskStage(ADA))
    room_.do(ADA, ops.AnswerStage(accepted=True), id="again")
    assert not {ADA, BOB} & follow(room_), "who works alone goes on so"
    room_.do(TEACHER, ops.Hold())
    assert paused_labs(room_.state) == {f"run-{BOB}/main"}, "a hold is for what is on stage"
    room_.do(ADA, ops.ClearStage())
    assert ADA in follow(room_), "she followed before"


def test_learner_who_declines_the_stage_twice_is_not_asked_again() -> None:
    room_ = MemoryClass()
    for _ in range(2):
        room_.do(TEACHER, ops.AskStage(ADA))
        assert room_.do(ADA, ops.AnswerStage(accepted=False))[-1] == lead.StageCleared(why="refused")
    assert room_.refused(TEACHER, ops.AskStage(ADA)) == 409
    room_.do(TEACHER, ops.AskStage(BOB))
    room_.after(30)
    assert room_.fact(facts.Tick()) == [lead.StageCleared(why="no_answer")]
    assert room_.state.people[BOB].stage_refusals == 0, "no answer is no refusal"


# Hands, questions, notes


def test_hand_is_lowered_when_its_owner_reaches_a_step() -> None:
    room_ = MemoryClass()
    room_.do(ADA, ops.RaiseHand(own(ADA)))
    assert room_.do(ADA, ops.RaiseHand(own(ADA))) == []
    reached = room_.fact(facts.ReachStep(ADA, "a-lesson", 1, f"run-{ADA}/main", 9, 90))
    assert reached[-1] == help.HandLowered(p=ADA, why="moved_on")
    assert room_.state.people[ADA].hand is None
    room_.do(BOB, ops.RaiseHand(own(BOB)))
    assert room_.refused(ADA, ops.LowerHand(BOB)) == 403
    assert room_.do(TEACHER, ops.LowerHand(BOB)) == [help.HandLowered(p=BOB, why="staff")]


def test_hand_and_question_carry_an_instant_of_the_learners_lab() -> None:
    room_ = MemoryClass()
    assert room_.refused(ADA, ops.RaiseHand(own(BOB))) == 403
    assert room_.refused(ADA, ops.Ask("why?", "en", own(BOB))) == 403
    assert room_.refused(ADA, ops.Ask("why?", "en", own(ADA))) == 0
    room_.do(TEACHER, ops.TakeLead(LAB))
    assert room_.refused(ADA, ops.Ask("why?", "en", At(LAB))) == 0, "what all see can be asked about"
    assert room_.refused(ADA, ops.RaiseHand(At(LAB))) == 0, "and so does a hand"


def test_question_is_backed_once_by_others() -> None:
    room_ = MemoryClass()
    room_.do(ADA, ops.Ask("why?", "en", own(ADA)), texts=(5,))
    assert room_.do(ADA, ops.BackQuestion(1)) == []
    assert room_.do(BOB, ops.BackQuestion(1)) == [help.QuestionBacked(question=1, p=BOB)]
    assert room_.do(BOB, ops.BackQuestion(1)) == []
    assert room_.refused(BOB, ops.BackQuestion(2)) == 404
    room_.do(TEACHER, ops.HideQuestion(1))
    assert room_.refused(WATCHER, ops.BackQuestion(1)) == 404


def test_learners_write_notes_to_staff_alone() -> None:
    room_ = MemoryClass()
    assert room_.refused(ADA, ops.SendNote(BOB, "hi", "en")) == 404
    assert room_.refused(ADA, ops.SendNote(TEACHER, "hi", "en")) == 0
    assert room_.refused(TEACHER, ops.SendNote(SCREEN, "hi", "en")) == 404
    assert room_.do(TEACHER, ops.SendNote(ADA, "hi", "en"), texts=(3,)) == [help.NoteSent(note=1, p=ADA, text=3)]


# Looking and helping


def test_help_begins_with_its_seq_and_is_kept_without_a_choice() -> None:
    room_ = MemoryClass()
    began = room_.fact(facts.BeginHelpAt(ADA, f"run-{ADA}/main", 41), who=TEACHER)
    assert began == [
        help.LookBegan(p=ADA, by=TEACHER),
        help.HelpBegan(p=ADA, by=TEACHER, lab=f"run-{ADA}/main", seq=41),
    ]
    with pytest.raises(Refusal, match="another instructor"):
        room_.fact(facts.BeginHelpAt(ADA, f"run-{ADA}/main", 41), who=ASSISTANT)
    assert room_.do(TEACHER, ops.TakeWheel(ADA)) == [help.WheelTaken(p=ADA, by=TEACHER)]
    assert room_.do(ADA, ops.TakeWheel(ADA)) == [help.WheelTaken(p=ADA, by=ADA)], "the learner takes it back"
    assert room_.refused(ASSISTANT, ops.EndHelp(ADA)) == 403
    room_.do(TEACHER, ops.EndHelp(ADA))
    assert room_.refused(TEACHER, ops.TakeWheel(ADA)) == 409
    room_.after(60)
    assert room_.fact(facts.Tick()) == [help.HelpEnded(p=ADA, kept=True)]


def test_learner_undoes_help() -> None:
    room_ = MemoryClass()
    assert room_.refused(ADA, ops.ChooseHelp(False)) == 409
    room_.fact(facts.BeginHelpAt(ADA, f"run-{ADA}/main", 41), who=TEACHER)
    room_.do(TEACHER, ops.EndHelp(ADA))
    assert room_.do(ADA, ops.ChooseHelp(kept=False)) == [help.HelpEnded(p=ADA, kept=False)]


def test_looks_end_when_the_observer_leaves() -> None:
    room_ = MemoryClass()
    room_.do(TEACHER, ops.Look(ADA))
    room_.after(10)
    gone = room_.fact(facts.GoAway(TEACHER, 0))
    assert help.LookEnded(p=ADA, by=TEACHER) in gone


# People


def test_kick_ends_everything_that_the_participant_takes_part_in() -> None:
    room_ = MemoryClass()
    room_.do(TEACHER, ops.AskStage(ADA))
    room_.do(ADA, ops.AnswerStage(True))
    room_.do(ADA, ops.RaiseHand(own(ADA)))
    room_.fact(facts.BeginHelpAt(ADA, f"run-{ADA}/main", 3), who=ASSISTANT)
    kinds = {type(event) for event in room_.kick(ADA)}
    assert kinds == {help.HandLowered, lead.StageCleared, help.LookEnded, help.HelpEnded, room.Kicked}
    assert room_.refused(ADA, ops.RaiseHand(own(ADA))) == 403
    assert room_.kick(ADA) == []
    assert isinstance(room_.fact(facts.SetPerson(ADA, "learner"))[0], room.Joined)
    assert room_.refused(ADA, ops.RaiseHand(own(ADA))) == 0


def test_kicked_leader_leads_no_more() -> None:
    room_ = MemoryClass()
    room_.do(ASSISTANT, ops.TakeLead(LAB))
    room_.do(ASSISTANT, ops.Hold())
    kicked = room_.kick(ASSISTANT)
    assert kicked[:2] == [lead.Released(why="lead"), lead.LeadEnded(term=1, p=ASSISTANT, why="kicked")]


def test_waiting_participant_can_do_nothing_until_admitted() -> None:
    room_ = MemoryClass()
    room_.join("p9", "learner", waits=True)
    at = At("run-p9/main")
    assert room_.refused("p9", ops.RaiseHand(at)) == 403
    assert room_.fact(facts.SetPerson("p9", "learner", lab="run-p9/main")) == [
        room.Admitted(p="p9"),
        room.LabGiven(p="p9", lab="run-p9/main"),
    ]
    assert room_.fact(facts.SetPerson("p9", "learner", lab="run-p9/main")) == []
    assert room_.refused("p9", ops.RaiseHand(at)) == 0


def test_class_ends_half_an_hour_after_the_last_staff_left() -> None:
    room_ = MemoryClass()
    room_.fact(facts.GoAway(ASSISTANT, 0))
    room_.after(60)
    room_.fact(facts.GoAway(TEACHER, room_.now_us))
    room_.after(30 * 60 - 1)
    assert room_.fact(facts.Tick()) == []
    room_.after(1)
    assert room_.fact(facts.Tick())[-1] == room.ClassEnded(why="no_staff")
    assert room_.refused(TEACHER, ops.PauseAll()) == 409


# Pace, pause, timer


def test_steps_past_the_pace_are_not_ticked_off() -> None:
    room_ = MemoryClass()
    room_.do(TEACHER, ops.SetPace(2))
    reach = facts.ReachStep(ADA, "a-lesson", 3, f"run-{ADA}/main", 9, 90)
    assert room_.fact(reach) == []
    room_.do(TEACHER, ops.SetPace(3))
    assert room_.fact(reach) == [work.StepReached(p=ADA, step=3, lab=f"run-{ADA}/main", seq=9, at_us=90)]
    assert room_.refused(TEACHER, ops.SetPace(5)) == 404


def test_timer_runs_in_class_time_until_it_has_ended_for_everyone() -> None:
    room_ = MemoryClass()
    room_.do(TEACHER, ops.ExtendTime(ADA, 150))
    room_.do(TEACHER, ops.SetTimer(60))
    room_.do(TEACHER, ops.ExtendTimer(60))
    room_.after(179)
    assert room_.fact(facts.Tick()) == []
    room_.after(1)
    assert room_.fact(facts.Tick()) == [pace.TimerEnded(why="time")]


def test_door_closes_at_its_time() -> None:
    room_ = MemoryClass()
    room_.fact(facts.SetDoor(True, 60 * US))
    assert room_.fact(facts.SetDoor(True, 61 * US)) == [], "clocks differ a little"
    room_.after(60)
    assert room_.fact(facts.Tick()) == [room.DoorClosed()]


@pytest.mark.parametrize(
    "act",
    [ops.PauseAll(), ops.SetPace(1), ops.TakeLead(LAB), ops.Look(BOB), ops.SetTimer(9), ops.SetRecording(True)],
)
def test_acts_of_staff_are_refused_to_others(act: AnyAct) -> None:
    room_ = MemoryClass()
    assert [room_.refused(p, act) for p in (ADA, WATCHER, SCREEN, "p99")] == [403] * 4
    assert room_.refused(ASSISTANT, act) == 0


def test_every_act_can_be_sent_by_a_page() -> None:
    defined = {one for one in vars(ops).values() if isinstance(one, type) and issubclass(one, ops.Op)} - {ops.Op}
    assert defined == {*get_args(ops.AnyAct), *get_args(ops.DoorAct)}


@pytest.mark.parametrize(
    "act",
    [ops.Admit(""), ops.LowerHand(""), ops.Reveal(1, "0", ""), ops.CastVote(1, "1", -1), ops.CastVote(1, "1", 100)],
)
def test_optional_values_may_be_empty(act: Any) -> None:
    sent = msgspec.json.encode({"k": "act", "id": "a", "do": msgspec.to_builtins(act)}).decode()
    assert parse(sent) == ActFrame("a", act)
