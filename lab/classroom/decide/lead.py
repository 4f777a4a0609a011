"""Decides leading, following and the stage."""

from broker_core.events import Event
from lab.classroom.acts import Given, facts, ops
from lab.classroom.decide.deciding import (
    ASKING,
    LEARNERS,
    STAFF,
    US,
    WORKING,
    decides,
    events,
    not_now,
    person_of,
    states,
)
from lab.classroom.decide.endings import end_lead
from lab.classroom.events import lead
from lab.classroom.state import Person, State
from lab.texts.refusal import Refusal

LEAD_KEPT_US = 15 * US
"""How long the presenter may be without a socket before other staff may take the lead."""
STAGE_ANSWER_US = 30 * US


@decides(ops.TakeLead, STAFF)
def _(state: State, who: Person, given: Given, now_us: int) -> list[Event]:
    act: ops.TakeLead = given.do  # type: ignore[assignment]
    if act.after and act.after != state.handout:
        raise Refusal("class_act.lesson_begun", 409)
    held = state.lead
    if held is None:
        return [lead.LeadTaken(term=state.term + 1, p=who.p, lab=act.lab)]
    if held.p == who.p:
        return [] if held.lab == act.lab else [lead.LeadTaken(term=state.term + 1, p=who.p, lab=act.lab)]
    leader = state.people[held.p]
    if leader.presence == "here" or now_us - leader.since_us < LEAD_KEPT_US:
        raise Refusal("class_act.lead_held", 409, p=held.p)
    return events(end_lead(state, held.p, "away"), lead.LeadTaken(term=state.term + 1, p=who.p, lab=act.lab))


@decides(ops.EndLead, STAFF)
def _(state: State, who: Person, given: Given, now_us: int) -> list[Event]:
    if state.lead is None:
        return []
    if state.lead.p != who.p and who.role != "instructor":
        raise Refusal("class_act.lead_held", 409, p=state.lead.p)
    return events(end_lead(state, state.lead.p, "act"))


def leads(state: State, who: Person) -> None:
    """Raises Refusal unless `who` leads."""
    if state.lead is None or state.lead.p != who.p:
        raise not_now("class_act.problem.not_leading")


@decides(ops.Hold, STAFF)
def _(state: State, who: Person, given: Given, now_us: int) -> list[Event]:
    act: ops.Hold = given.do  # type: ignore[assignment]
    leads(state, who)
    if state.is_held:
        # The current hold keeps its end.
        return []
    return [lead.Held(until_us=now_us + act.seconds * US)]


@decides(ops.Release, STAFF)
def _(state: State, who: Person, given: Given, now_us: int) -> list[Event]:
    return [lead.Released(why="act")] if state.is_held else []


@decides(ops.LeaveHold, LEARNERS)
def _(state: State, who: Person, given: Given, now_us: int) -> list[Event]:
    return [lead.HoldLeft(p=who.p)] if state.is_held and not who.is_out_of_hold else []


@decides(ops.Detach, ASKING)
def _(state: State, who: Person, given: Given, now_us: int) -> list[Event]:
    if state.is_held and not who.is_out_of_hold and who.role == "learner":
        raise not_now("class_act.problem.held")
    return [lead.Detached(p=who.p)] if who.follows else []


@decides(ops.Rejoin, ASKING)
def _(state: State, who: Person, given: Given, now_us: int) -> list[Event]:
    if state.lead is None and (state.stage is None or not state.stage.is_shown):
        raise not_now("class_act.problem.nobody_leads")
    return [] if who.follows else [lead.Rejoined(p=who.p)]


@decides(ops.AskStage, STAFF)
def _(state: State, who: Person, given: Given, now_us: int) -> list[Event]:
    act: ops.AskStage = given.do  # type: ignore[assignment]
    person = person_of(state, act.p, LEARNERS)
    if state.stage is not None:
        raise not_now("class_act.problem.stage_taken")
    if not person.may_be_asked:
        raise not_now("class_act.problem.stage_refused")
    if not person.works_in:
        raise not_now("class_act.problem.no_lab")
    return [lead.StageAsked(p=act.p, until_us=now_us + STAGE_ANSWER_US)]


@decides(ops.AnswerStage, LEARNERS)
def _(state: State, who: Person, given: Given, now_us: int) -> list[Event]:
    act: ops.AnswerStage = given.do  # type: ignore[assignment]
    stage = state.stage
    if stage is None or stage.p != who.p or stage.is_shown:
        raise not_now("class_act.problem.stage_not_asked")
    answered = lead.StageAnswered(
        p=who.p,
        accepted=act.accepted,
        named=act.accepted and act.named,
        recorded=act.accepted and act.recorded,
    )
    if not act.accepted:
        return [answered, lead.StageCleared(why="refused")]
    return [answered, lead.StageShown(p=who.p if act.named else "", lab=who.works_in)]


@decides(ops.ClearStage, WORKING)
def _(state: State, who: Person, given: Given, now_us: int) -> list[Event]:
    stage = state.stage
    if stage is None or not (who.is_staff or stage.p == who.p):
        return []
    return [lead.StageCleared(why="own" if stage.p == who.p else "act")]


@states(facts.MoveLab)
def _(state: State, who: None, given: Given, now_us: int) -> list[Event]:
    act: facts.MoveLab = given.do  # type: ignore[assignment]
    if state.lead is None or state.lead.lab != act.lab:
        return []
    moved = lead.LabMoved(lab=act.lab, seq=act.seq, at_us=act.at_us, mode=act.mode, rate_us=act.rate_us)
    return [] if state.lead_lab == (act.lab, act.seq, act.at_us, act.mode, act.rate_us) else [moved]


@states(facts.SeeLabs)
def _(state: State, who: None, given: Given, now_us: int) -> list[Event]:
    act: facts.SeeLabs = given.do  # type: ignore[assignment]
    moved = tuple(one for one in act.moved if one[0] in state.people)
    return [lead.LabsSeen(moved=moved)] if moved else []
