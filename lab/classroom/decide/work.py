"""Decides what labs report of their learners."""

from broker_core.events import Event
from lab.classroom.acts import Given, facts, ops
from lab.classroom.decide.deciding import LEARNERS, STAFF, US, decides, person_of, states
from lab.classroom.events import help, work
from lab.classroom.folds.work import DONE, HINTED
from lab.classroom.state import Person, State

STUCK_QUIET_US = 300 * US


def _learner(state: State, p: str) -> Person | None:
    """A learner whose work counts, including one who is away, since their lab may continue."""
    person = state.people.get(p)
    return person if person is not None and person.is_in and person.role == "learner" else None


@states(facts.ReachStep)
def _(state: State, who: None, given: Given, now_us: int) -> list[Event]:
    act: facts.ReachStep = given.do  # type: ignore[assignment]
    person = _learner(state, act.p)
    if person is None or person.signs.get(act.step) in (DONE, HINTED) or (state.pace and act.step > state.pace):
        return []
    reached: list[Event] = [work.StepReached(p=act.p, step=act.step, lab=act.lab, seq=act.seq, at_us=act.at_us)]
    if person.hand is not None:
        reached.append(help.HandLowered(p=act.p, why="moved_on"))
    return reached


@states(facts.LoseStep)
def _(state: State, who: None, given: Given, now_us: int) -> list[Event]:
    act: facts.LoseStep = given.do  # type: ignore[assignment]
    person = _learner(state, act.p)
    if person is None or person.signs.get(act.step) not in (DONE, HINTED):
        return []
    return [work.StepLost(p=act.p, step=act.step, lab=act.lab, seq=act.seq, at_us=act.at_us)]


@states(facts.ResetWork)
def _(state: State, who: None, given: Given, now_us: int) -> list[Event]:
    act: facts.ResetWork = given.do  # type: ignore[assignment]
    return [work.WorkReset(p=act.p)] if _learner(state, act.p) else []


@states(facts.TakeHint)
def _(state: State, who: None, given: Given, now_us: int) -> list[Event]:
    act: facts.TakeHint = given.do  # type: ignore[assignment]
    person = _learner(state, act.p)
    if person is None or person.hints.get(act.step, 0) >= act.hint:
        return []
    return [work.HintTaken(p=act.p, step=act.step, hint=act.hint)]


@states(facts.Predict)
def _(state: State, who: None, given: Given, now_us: int) -> list[Event]:
    act: facts.Predict = given.do  # type: ignore[assignment]
    if _learner(state, act.p) is None:
        return []
    return [work.Predicted(p=act.p, step=act.step, choice=act.choice, sure=act.sure)]


@states(facts.Settle)
def _(state: State, who: None, given: Given, now_us: int) -> list[Event]:
    act: facts.Settle = given.do  # type: ignore[assignment]
    return [work.Settled(p=act.p, step=act.step, right=act.right)] if _learner(state, act.p) else []


@states(facts.RefuseCommand)
def _(state: State, who: None, given: Given, now_us: int) -> list[Event]:
    act: facts.RefuseCommand = given.do  # type: ignore[assignment]
    person = _learner(state, act.p)
    return [work.Refused(p=act.p, step=person.step)] if person else []


@states(facts.NoteStuck)
def _(state: State, who: None, given: Given, now_us: int) -> list[Event]:
    act: facts.NoteStuck = given.do  # type: ignore[assignment]
    person = state.people.get(act.p)
    if person is None or (person.stuck, person.stuck_why, person.stuck_count) == (act.state, act.why, act.count):
        return []
    if not act.state:
        return [work.StuckEnded(p=act.p)] if person.stuck else []
    return [
        work.StuckBegan(
            p=act.p, state=act.state, step=person.step, why=act.why, count=act.count, working_s=act.working_s
        )
    ]


@decides(ops.SeeStuck, STAFF)
def _(state: State, who: Person, given: Given, now_us: int) -> list[Event]:
    act: ops.SeeStuck = given.do  # type: ignore[assignment]
    return [work.StuckSeen(p=person_of(state, act.p, LEARNERS).p, until_us=now_us + STUCK_QUIET_US)]
