"""Decides what follows from time alone: deadlines."""

from collections.abc import Iterator

from broker_core.events import Event
from lab.classroom.acts import Given, facts
from lab.classroom.decide.deciding import US, states
from lab.classroom.decide.endings import end_class
from lab.classroom.events import help, lead, pace, poll, room
from lab.classroom.state import State

WITHOUT_STAFF_US = 30 * 60 * US
"""A class that no staff is in ends by itself after this time."""


@states(facts.Tick)
def _(state: State, who: None, given: Given, now_us: int) -> list[Event]:
    if not state.is_open:
        return []
    if _is_abandoned(state, now_us):
        return [*end_class(state), room.ClassEnded(why="no_staff")]
    return list(_due(state, now_us))


def _due(state: State, now_us: int) -> Iterator[Event]:
    if state.door.is_open and 0 < state.door.until_us <= now_us:
        yield room.DoorClosed()
    if 0 < state.hold_until_us <= now_us:
        yield lead.Released(why="time")
    if state.stage is not None and not state.stage.is_shown and state.stage.until_us <= now_us:
        yield lead.StageCleared(why="no_answer")
    if state.timer is not None and state.timer.ends_us(_slowest(state)) <= now_us:
        yield pace.TimerEnded(why="time")
    for p, given in state.helps.items():
        if 0 < given.until_us <= now_us:
            yield help.HelpEnded(p=p, kept=True)
    if state.poll:
        found = state.polls[state.poll]
        if found.phase == "open" and 0 < found.until_us <= now_us:
            yield poll.PollClosed(poll=state.poll, round=len(found.rounds))


def _slowest(state: State) -> int:
    """The largest factor of those present: a timer stays until it has ended for everyone."""
    return max((person.time_percent for person in state.learners()), default=100)


def _is_abandoned(state: State, now_us: int) -> bool:
    staff = [person for person in state.people.values() if person.is_staff]
    if any(person.presence == "here" and person.is_in for person in staff):
        return False
    last_us = max((person.since_us for person in staff), default=state.opened_us)
    return now_us - last_us >= WITHOUT_STAFF_US
