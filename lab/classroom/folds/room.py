"""Folds of presence, the door, and the start and end of the class."""

from lab.classroom.events import room
from lab.classroom.folds.folding import Sections, folds, of_person
from lab.classroom.state import Door, Person, State


@folds(room.ClassOpened)
def _(state: State, event: room.ClassOpened, at_us: int, who: str) -> Sections:
    state.opened_us = at_us
    state.chapter, state.steps, state.minutes = event.chapter, event.steps, event.minutes
    state.step_hints = event.hints
    return ("class",)


@folds(room.Joined)
def _(state: State, event: room.Joined, at_us: int, who: str) -> Sections:
    known = state.people.get(event.p)
    counted = _counted(state) if known is not None else ()
    if known is None:
        follows = state.lead is not None or (state.stage is not None and state.stage.is_shown)
        known = state.people[event.p] = Person(
            event.p, "observer", "number", at_us, at_us, progress_us=at_us, follows=follows
        )
    known.role, known.consent = event.role, event.consent  # type: ignore[assignment]
    known.waits, known.is_kicked, known.claims = event.waits, False, event.claims
    known.presence, known.since_us = "here", at_us
    return (*of_person(event.p), "staff", *counted)


def _counted(state: State) -> Sections:
    """What counts learners, and not those who were removed or have another role."""
    has_any = bool(state.mistakes) or any(poll.tags for poll in state.polls.values())
    return ("mistakes",) if has_any else ()


@folds(room.Admitted)
def _(state: State, event: room.Admitted, at_us: int, who: str) -> Sections:
    person = state.people[event.p]
    person.waits, person.claims = False, ""
    return of_person(event.p)


@folds(room.LabGiven)
def _(state: State, event: room.LabGiven, at_us: int, who: str) -> Sections:
    person = state.people[event.p]
    person.lab, person.lab_refused, person.front = event.lab, "", ""
    return of_person(event.p)


@folds(room.LabRefused)
def _(state: State, event: room.LabRefused, at_us: int, who: str) -> Sections:
    state.people[event.p].lab_refused = event.why
    return of_person(event.p)


@folds(room.CameBack)
def _(state: State, event: room.CameBack, at_us: int, who: str) -> Sections:
    person = state.people[event.p]
    person.presence, person.since_us = "here", at_us
    return (*of_person(event.p), *_seen_of_staff(state, person))


@folds(room.WentAway)
def _(state: State, event: room.WentAway, at_us: int, who: str) -> Sections:
    person = state.people[event.p]
    person.presence, person.since_us = "away", event.since_us
    return (*of_person(event.p), *_seen_of_staff(state, person))


def _seen_of_staff(state: State, person: Person) -> Sections:
    return ("staff", "lead") if person.is_staff else ()


@folds(room.Left)
def _(state: State, event: room.Left, at_us: int, who: str) -> Sections:
    person = state.people[event.p]
    person.presence, person.since_us = "left", at_us
    return (*of_person(event.p), "staff")


@folds(room.RoleGiven)
def _(state: State, event: room.RoleGiven, at_us: int, who: str) -> Sections:
    person = state.people[event.p]
    person.role, person.lab_refused = event.role, ""  # type: ignore[assignment]
    return (*of_person(event.p), "staff", *_counted(state))


@folds(room.Renamed)
def _(state: State, event: room.Renamed, at_us: int, who: str) -> Sections:
    shown = (f"questions/{number}" for number, one in state.questions.items() if one.p == event.p and one.is_named)
    return (*of_person(event.p), "staff", "lead", "stage", *shown)


@folds(room.Kicked)
def _(state: State, event: room.Kicked, at_us: int, who: str) -> Sections:
    person = state.people[event.p]
    person.is_kicked = True
    person.presence, person.since_us = "left", at_us
    return (*of_person(event.p), "staff", *_counted(state))


@folds(room.DoorOpened)
def _(state: State, event: room.DoorOpened, at_us: int, who: str) -> Sections:
    state.door = Door(True, event.until_us, event.admits)
    return ("door",)


@folds(room.DoorClosed)
def _(state: State, event: room.DoorClosed, at_us: int, who: str) -> Sections:
    state.door = Door(admits=state.door.admits)
    return ("door",)


@folds(room.ClassResumed)
def _(state: State, event: room.ClassResumed, at_us: int, who: str) -> Sections:
    state.clock_seq = state.last_seq
    for person in state.people.values():
        person.stopped_us += event.gap_ms * 1_000
    return ()


@folds(room.ClassEnded)
def _(state: State, event: room.ClassEnded, at_us: int, who: str) -> Sections:
    state.ended = event.why
    state.door = Door()
    # Labs stay with their learners, who go on without the class.
    state.pace = 0
    return ("class", "door", "pace")
