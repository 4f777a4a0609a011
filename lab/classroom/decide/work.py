"""Decides what labs report of their learners."""

from typing import Protocol

from broker_core.events import Event
from lab.classroom.acts import Given, facts, ops
from lab.classroom.decide.deciding import LEARNERS, STAFF, US, decides, person_of, states
from lab.classroom.events import help, work
from lab.classroom.folds.work import PASSED
from lab.classroom.results.mistakes import mistake_key
from lab.classroom.state import Person, State

STUCK_QUIET_US = 300 * US


class OfLesson(Protocol):
    """A fact about the work of a learner in a lesson."""

    p: str
    lesson: str


def _learner(state: State, p: str) -> Person | None:
    """A learner whose work counts, including one who is away, since their lab may continue."""
    person = state.people.get(p)
    return person if person is not None and person.is_in and person.role == "learner" else None


def _at_work(state: State, act: OfLesson) -> Person | None:
    """The learner of a fact, if it is about the lesson that the class works on: steps of another lesson have other
    numbers.
    """
    return _learner(state, act.p) if act.lesson == state.chapter else None


def _is_theirs(person: Person, lab: str) -> bool:
    """Whether a lab is one that the learner has now, not one of a lesson before."""
    return _run_of(lab) in {_run_of(person.lab), _run_of(person.works_in)}


def _run_of(lab: str) -> str:
    """The run of a lab, `run/branch`."""
    return lab.partition("/")[0]


@states(facts.ReachStep)
def _(state: State, who: None, given: Given, now_us: int) -> list[Event]:
    act: facts.ReachStep = given.do  # type: ignore[assignment]
    person = _at_work(state, act)
    if person is None or not _is_theirs(person, act.lab):
        return []
    if person.signs.get(act.step) in PASSED or (state.pace and act.step > state.pace):
        return []
    reached: list[Event] = [
        work.StepReached(p=act.p, step=act.step, lab=act.lab, seq=act.seq, at_us=act.at_us, skipped=act.skipped)
    ]
    if person.hand is not None:
        reached.append(help.HandLowered(p=act.p, why="moved_on"))
    return reached


@states(facts.LoseStep)
def _(state: State, who: None, given: Given, now_us: int) -> list[Event]:
    act: facts.LoseStep = given.do  # type: ignore[assignment]
    person = _at_work(state, act)
    if person is None or not _is_theirs(person, act.lab) or person.signs.get(act.step) not in PASSED:
        return []
    return [work.StepLost(p=act.p, step=act.step, lab=act.lab, seq=act.seq, at_us=act.at_us)]


@states(facts.ResetWork)
def _(state: State, who: None, given: Given, now_us: int) -> list[Event]:
    act: facts.ResetWork = given.do  # type: ignore[assignment]
    return [work.WorkReset(p=act.p)] if _at_work(state, act) else []


@states(facts.TakeHint)
def _(state: State, who: None, given: Given, now_us: int) -> list[Event]:
    act: facts.TakeHint = given.do  # type: ignore[assignment]
    person = _at_work(state, act)
    if person is None or person.hints.get(act.step, 0) >= act.hint:
        return []
    return [work.HintTaken(p=act.p, step=act.step, hint=act.hint)]


@states(facts.Predict)
def _(state: State, who: None, given: Given, now_us: int) -> list[Event]:
    act: facts.Predict = given.do  # type: ignore[assignment]
    if _at_work(state, act) is None:
        return []
    return [work.Predicted(p=act.p, step=act.step, choice=act.choice, sure=act.sure)]


@states(facts.Settle)
def _(state: State, who: None, given: Given, now_us: int) -> list[Event]:
    act: facts.Settle = given.do  # type: ignore[assignment]
    return [work.Settled(p=act.p, step=act.step, right=act.right)] if _at_work(state, act) else []


@states(facts.MakeMistake)
def _(state: State, who: None, given: Given, now_us: int) -> list[Event]:
    act: facts.MakeMistake = given.do  # type: ignore[assignment]
    if _at_work(state, act) is None:
        return []
    known = state.mistakes.get(mistake_key(act.what, act.by, act.step))
    if known is not None and act.p in known.people and act.step in known.steps:
        return []
    return [work.MistakeMade(p=act.p, step=act.step, what=act.what, by=act.by)]


@decides(ops.ShowMistakes, STAFF)
def _(state: State, who: Person, given: Given, now_us: int) -> list[Event]:
    act: ops.ShowMistakes = given.do  # type: ignore[assignment]
    return [] if state.are_mistakes_shown == act.on else [work.MistakesShown(on=act.on)]


@states(facts.RefuseCommand)
def _(state: State, who: None, given: Given, now_us: int) -> list[Event]:
    act: facts.RefuseCommand = given.do  # type: ignore[assignment]
    person = _learner(state, act.p)
    if person is None or not _is_theirs(person, act.lab):
        return []
    return [work.Refused(p=act.p, step=person.step)]


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
