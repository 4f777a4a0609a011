"""Decides who is there, the door, beginning and end."""

from broker_core.events import Event
from lab.classroom.acts import Given, facts, ops
from lab.classroom.decide.deciding import (
    EVERYONE,
    INSTRUCTOR,
    STAFF,
    US,
    decides,
    events,
    not_now,
    person_of,
    states,
)
from lab.classroom.decide.endings import end_all_of, end_class, end_looks
from lab.classroom.events import help, room
from lab.classroom.state import Person, State
from lab.texts.refusal import Refusal

MAX_PEOPLE = 2_000


@states(facts.OpenClass)
def _(state: State, who: None, given: Given, now_us: int) -> list[Event]:
    act: facts.OpenClass = given.do  # type: ignore[assignment]
    if state.opened_us >= 0:
        return []
    return [room.ClassOpened(chapter=act.chapter, steps=act.steps, minutes=act.minutes, hints=act.hints)]


@states(facts.Join)
def _(state: State, who: None, given: Given, now_us: int) -> list[Event]:
    act: facts.Join = given.do  # type: ignore[assignment]
    known = state.people.get(act.p)
    if known is not None and known.is_kicked and not known.may_return:
        raise Refusal("class_act.kicked", 403)
    if known is not None and known.is_in:
        return []
    if known is None and len(state.people) >= MAX_PEOPLE:
        raise Refusal("class_act.full", 409, max=MAX_PEOPLE)
    waits = act.waits and act.role not in STAFF
    return [room.Joined(p=act.p, role=act.role, waits=waits, consent=act.consent)]


@states(facts.GiveLab)
def _(state: State, who: None, given: Given, now_us: int) -> list[Event]:
    act: facts.GiveLab = given.do  # type: ignore[assignment]
    person = person_of(state, act.p)
    return [] if person.lab == act.lab else [room.LabGiven(p=act.p, lab=act.lab)]


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


@decides(ops.Admit, STAFF)
def _(state: State, who: Person, given: Given, now_us: int) -> list[Event]:
    act: ops.Admit = given.do  # type: ignore[assignment]
    if act.p and act.p not in state.people:
        raise Refusal("class_act.no_person", 404, p=act.p)
    waiting = [one for one in state.people.values() if one.waits and act.p in ("", one.p)]
    return [room.Admitted(p=one.p) for one in waiting]


@decides(ops.Rename, STAFF)
def _(state: State, who: Person, given: Given, now_us: int) -> list[Event]:
    act: ops.Rename = given.do  # type: ignore[assignment]
    return [room.Renamed(p=person_of(state, act.p).p)]


@decides(ops.Kick, STAFF)
def _(state: State, who: Person, given: Given, now_us: int) -> list[Event]:
    act: ops.Kick = given.do  # type: ignore[assignment]
    person = state.people.get(act.p)
    if person is None:
        raise Refusal("class_act.no_person", 404, p=act.p)
    if person.p == who.p or (person.is_staff and who.role != "instructor"):
        raise Refusal("class_act.not_them", 403, p=act.p)
    if person.is_kicked and person.may_return == act.may_return:
        return []
    return events(end_all_of(state, person, "kicked"), room.Kicked(p=act.p, may_return=act.may_return))


@decides(ops.GiveRole, INSTRUCTOR)
def _(state: State, who: Person, given: Given, now_us: int) -> list[Event]:
    act: ops.GiveRole = given.do  # type: ignore[assignment]
    person = person_of(state, act.p)
    if person.role == act.role:
        return []
    if person.p == who.p:
        raise Refusal("class_act.not_them", 403, p=act.p)
    return events(end_all_of(state, person, "role"), room.RoleGiven(p=act.p, role=act.role))


@decides(ops.OpenDoor, STAFF)
def _(state: State, who: Person, given: Given, now_us: int) -> list[Event]:
    act: ops.OpenDoor = given.do  # type: ignore[assignment]
    until_us = now_us + act.minutes * 60 * US if act.minutes else 0
    return [room.DoorOpened(until_us=until_us, admits=act.admits)]


@decides(ops.CloseDoor, STAFF)
def _(state: State, who: Person, given: Given, now_us: int) -> list[Event]:
    return [room.DoorClosed()] if state.door.is_open else []


@decides(ops.Leave, EVERYONE)
def _(state: State, who: Person, given: Given, now_us: int) -> list[Event]:
    if who.role == "instructor" and sum(one.role == "instructor" for one in state.staff()) == 1:
        raise not_now("class_act.problem.last_instructor")
    return events(end_all_of(state, who, "left"), room.Left(p=who.p))


@decides(ops.EndClass, INSTRUCTOR)
def _(state: State, who: Person, given: Given, now_us: int) -> list[Event]:
    return events(end_class(state), room.ClassEnded(why="act"))
