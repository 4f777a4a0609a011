"""Decides pace, pause, timers and shared states."""

from broker_core.events import Event
from broker_core.texts import text
from lab.classroom.acts import Given, facts, ops
from lab.classroom.decide.deciding import LEARNERS, STAFF, decides, events, not_now, person_of, states
from lab.classroom.events import pace
from lab.classroom.state import Person, State
from lab.texts.refusal import Refusal

MAX_TIMER_S = 24 * 3600


@decides(ops.SetPace, STAFF)
def _(state: State, who: Person, given: Given, now_us: int) -> list[Event]:
    act: ops.SetPace = given.do  # type: ignore[assignment]
    if act.step > state.steps:
        raise Refusal("class_act.no_thing", 404, thing=text("class_act.thing.step"), number=act.step)
    return [] if state.pace == act.step else [pace.PaceSet(step=act.step)]


@decides(ops.PauseAll, STAFF)
def _(state: State, who: Person, given: Given, now_us: int) -> list[Event]:
    return [] if state.is_paused else [pace.AllPaused()]


@decides(ops.ResumeAll, STAFF)
def _(state: State, who: Person, given: Given, now_us: int) -> list[Event]:
    return [pace.AllResumed()] if state.is_paused else []


@decides(ops.SetTimer, STAFF)
def _(state: State, who: Person, given: Given, now_us: int) -> list[Event]:
    act: ops.SetTimer = given.do  # type: ignore[assignment]
    ends = pace.TimerEnded(why="act") if state.timer is not None else None
    return events(ends, pace.TimerSet(from_us=now_us, seconds=act.seconds))


@decides(ops.ExtendTimer, STAFF)
def _(state: State, who: Person, given: Given, now_us: int) -> list[Event]:
    act: ops.ExtendTimer = given.do  # type: ignore[assignment]
    if state.timer is None:
        raise not_now("class_act.problem.no_timer")
    seconds = min(MAX_TIMER_S, state.timer.seconds + act.seconds)
    return [pace.TimerSet(from_us=state.timer.from_us, seconds=seconds)]


@decides(ops.EndTimer, STAFF)
def _(state: State, who: Person, given: Given, now_us: int) -> list[Event]:
    return [pace.TimerEnded(why="act")] if state.timer is not None else []


@decides(ops.ExtendTime, STAFF)
def _(state: State, who: Person, given: Given, now_us: int) -> list[Event]:
    act: ops.ExtendTime = given.do  # type: ignore[assignment]
    person = person_of(state, act.p, LEARNERS)
    return [] if person.time_percent == act.percent else [pace.TimeExtended(p=act.p, percent=act.percent)]


@decides(ops.GiveState, STAFF)
def _(state: State, who: Person, given: Given, now_us: int) -> list[Event]:
    # What the server has stored arrives as a fact; the act reaches this point without a lab only if no participant
    # leads.
    raise Refusal("class_act.nobody_leads", 409)


@decides(ops.TakeState, LEARNERS)
def _(state: State, who: Person, given: Given, now_us: int) -> list[Event]:
    act: ops.TakeState = given.do  # type: ignore[assignment]
    raise Refusal("class_act.no_handout", 404, number=act.handout)


@states(facts.GiveState)
def _(state: State, who: None, given: Given, now_us: int) -> list[Event]:
    act: facts.GiveState = given.do  # type: ignore[assignment]
    person_of(state, given.who, STAFF)
    if act.handout in state.handouts:
        return []
    return [pace.StateGiven(handout=act.handout, lab=act.lab, seq=act.seq, at_us=act.at_us)]


@states(facts.TakeState)
def _(state: State, who: None, given: Given, now_us: int) -> list[Event]:
    act: facts.TakeState = given.do  # type: ignore[assignment]
    person = person_of(state, act.p)
    if act.handout not in state.handouts:
        raise Refusal("class_act.no_thing", 404, thing=text("class_act.thing.handout"), number=act.handout)
    if person.taken.get(act.handout) == act.lab:
        return []
    return [pace.StateTaken(p=act.p, handout=act.handout, lab=act.lab)]
