"""Decides presence, the door, and the start and end of the class."""

from collections.abc import Iterator

from broker_core.events import Event
from lab.classroom.acts import Given, facts
from lab.classroom.decide.deciding import US, events, states
from lab.classroom.decide.endings import end_all_of, end_class, end_looks
from lab.classroom.events import help, lead, room
from lab.classroom.state import MAX_PEOPLE, STAFF, Person, State
from lab.texts.refusal import Refusal

GONE = frozenset({"left", "kicked", "gone"})
SAME_DOOR_US = 2_000_000
"""The database stores the door's end by the wall clock: a smaller difference is ignored."""


@states(facts.OpenClass)
def _(state: State, who: None, given: Given, now_us: int) -> list[Event]:
    act: facts.OpenClass = given.do  # type: ignore[assignment]
    if state.opened_us >= 0:
        return []
    return [room.ClassOpened(chapter=act.chapter, steps=act.steps, minutes=act.minutes, hints=act.hints)]


@states(facts.RefuseLab)
def _(state: State, who: None, given: Given, now_us: int) -> list[Event]:
    act: facts.RefuseLab = given.do  # type: ignore[assignment]
    person = state.people.get(act.p)
    if person is None or person.lab or person.lab_refused == act.why:
        return []
    return [room.LabRefused(p=act.p, why=act.why)]


@states(facts.SetPerson)
def _(state: State, who: None, given: Given, now_us: int) -> list[Event]:
    act: facts.SetPerson = given.do  # type: ignore[assignment]
    known = state.people.get(act.p)
    if act.standing in GONE:
        return list(_gone(state, known, act)) if known is not None else []
    if known is None and len(state.people) >= MAX_PEOPLE:
        raise Refusal("class_act.full", 409, max=MAX_PEOPLE)
    return list(_differences(state, known, act))


def _differences(state: State, known: Person | None, act: facts.SetPerson) -> Iterator[Event]:
    waits = act.standing == "waiting"
    if known is None or known.is_kicked or known.presence == "left" or (waits and not known.waits):
        yield room.Joined(p=act.p, role=act.role, waits=waits, consent=act.consent, claims=act.claims if waits else "")
    else:
        if known.waits and not waits:
            yield room.Admitted(p=act.p)
        if known.role != act.role:
            yield from end_all_of(state, known, "role")
            yield room.RoleGiven(p=act.p, role=act.role)
    # If the database was read before a lesson began, the lab is of the previous lesson.
    is_of_lesson = not act.handout or act.handout >= state.handout
    if act.lab and is_of_lesson and (known is None or known.lab != act.lab):
        yield room.LabGiven(p=act.p, lab=act.lab)
        yield from _lead_moved(state, known, act)


def _lead_moved(state: State, known: Person | None, act: facts.SetPerson) -> Iterator[Event]:
    """The lead continues in the new run of a presenter who starts over in the lab that they show, and in that of a
    lesson that has begun since they lead. Another lab that they show is not affected; for a fork the page reports the
    branch with the view.
    """
    held = state.lead
    if held is None or known is None or held.p != act.p or act.role != known.role or act.role not in STAFF:
        return
    starts_over = _run(held.lab) == _run(known.lab) != _run(act.lab)
    if starts_over or held.handout != state.handout:
        yield lead.LeadTaken(term=state.term + 1, p=act.p, lab=act.lab)


def _run(lab: str) -> str:
    return lab.partition("/")[0]


def _gone(state: State, known: Person, act: facts.SetPerson) -> Iterator[Event]:
    if act.standing == "kicked" and not known.is_kicked:
        yield from end_all_of(state, known, "kicked")
        yield room.Kicked(p=act.p)
    elif act.standing != "kicked" and known.presence != "left":
        yield from end_all_of(state, known, "left")
        yield room.Left(p=act.p)


@states(facts.Rename)
def _(state: State, who: None, given: Given, now_us: int) -> list[Event]:
    act: facts.Rename = given.do  # type: ignore[assignment]
    return [room.Renamed(p=act.p)] if act.p in state.people else []


@states(facts.SetDoor)
def _(state: State, who: None, given: Given, now_us: int) -> list[Event]:
    act: facts.SetDoor = given.do  # type: ignore[assignment]
    door = state.door
    if not act.is_open:
        return [room.DoorClosed()] if door.is_open else []
    if (door.is_open, door.admits) == (True, act.admits) and abs(door.until_us - act.until_us) < SAME_DOOR_US:
        return []
    return [room.DoorOpened(until_us=act.until_us, admits=act.admits)]


@states(facts.EndClass)
def _(state: State, who: None, given: Given, now_us: int) -> list[Event]:
    return events(end_class(state), room.ClassEnded(why="act"))


@states(facts.ComeBack)
def _(state: State, who: None, given: Given, now_us: int) -> list[Event]:
    act: facts.ComeBack = given.do  # type: ignore[assignment]
    person = state.people.get(act.p)
    if person is None or person.is_kicked or person.presence == "here":
        return []
    return [room.CameBack(p=act.p)]


@states(facts.GoAway)
def _(state: State, who: None, given: Given, now_us: int) -> list[Event]:
    act: facts.GoAway = given.do  # type: ignore[assignment]
    person = state.people.get(act.p)
    if person is None or person.presence != "here":
        return []
    left = (
        help.HelperLeft(p=learner, until_us=now_us + 60 * US)
        for learner, one in state.helps.items()
        if one.by == act.p and not one.until_us
    )
    return events(room.WentAway(p=act.p, since_us=min(act.since_us, now_us)), end_looks(state, act.p), left)


@states(facts.Resume)
def _(state: State, who: None, given: Given, now_us: int) -> list[Event]:
    act: facts.Resume = given.do  # type: ignore[assignment]
    return [room.ClassResumed(gap_ms=act.gap_ms, wall_ms=act.wall_ms)]
