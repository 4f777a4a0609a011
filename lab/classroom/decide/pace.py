"""Decides lessons, pace, pause, timers and shared states."""

from collections.abc import Iterator

from broker_core.events import Event
from broker_core.texts import text
from lab.classroom.acts import Given, facts, ops
from lab.classroom.decide.deciding import LEARNERS, STAFF, decides, events, not_now, person_of, states
from lab.classroom.decide.endings import end_settling
from lab.classroom.events import help, lead, pace, work
from lab.classroom.state import Person, State
from lab.texts.refusal import Refusal

MAX_TIMER_S = 24 * 3600


@decides(ops.BeginLesson, STAFF)
def _(state: State, who: Person, given: Given, now_us: int) -> list[Event]:
    # The server makes the lab of the lesson, and then states it as a fact.
    raise not_now("class_act.problem.no_lab")


@states(facts.BeginLesson)
def _(state: State, who: None, given: Given, now_us: int) -> list[Event]:
    act: facts.BeginLesson = given.do  # type: ignore[assignment]
    if not state.is_open or act.handout <= state.handout:
        return []
    began = pace.LessonBegan(
        lesson=act.lesson, steps=act.steps, minutes=act.minutes, hints=act.hints, handout=act.handout
    )
    return events(_end_lesson(state), began)


def _end_lesson(state: State) -> Iterator[Event]:
    """Ends what is about the labs of the lesson. Polls and questions stay."""
    if state.poll:
        yield from end_settling(state, state.poll)
    if state.stage is not None:
        yield lead.StageCleared(why="lesson")
    for learner in state.helps:
        yield help.HelpEnded(p=learner, kept=True)
    for person in state.people.values():
        for by in person.looked_by:
            yield help.LookEnded(p=person.p, by=by)
        if person.stuck:
            yield work.StuckEnded(p=person.p)
        if person.hand is not None:
            yield help.HandLowered(p=person.p, why="moved_on")
    if state.timer is not None:
        yield pace.TimerEnded(why="lesson")


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


@states(facts.ShowLab)
def _(state: State, who: None, given: Given, now_us: int) -> list[Event]:
    act: facts.ShowLab = given.do  # type: ignore[assignment]
    person = state.people.get(act.p)
    if person is None or person.role != "learner" or not person.is_in:
        return []
    run = _run_of(act.lab)
    if run == _run_of(person.lab):
        return [pace.LabShown(p=act.p, lab="")] if person.front else []
    # A page of another lab, such as the presenter's, is nothing that they work in.
    is_theirs = any(run == _run_of(taken) for taken in person.taken.values())
    return [pace.LabShown(p=act.p, lab=act.lab)] if is_theirs and person.front != act.lab else []


def _run_of(lab: str) -> str:
    """The run of a lab, `run/branch`."""
    return lab.partition("/")[0]
