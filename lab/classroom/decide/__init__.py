"""Decides acts: `decide(state, given, now_us)` returns events or raises Refusal. Pure, without a clock."""

from broker_core.events import Event
from lab.classroom.acts import Given
from lab.classroom.decide import help, lead, pace, poll, room, seen, tape, tick, work
from lab.classroom.decide.deciding import DECIDERS, actor
from lab.classroom.state import State

__all__ = ["decide"]

_FAMILIES = (help, lead, pace, poll, room, seen, tape, tick, work)


def decide(state: State, given: Given, now_us: int) -> list[Event]:
    """The events of an act, in order; none if the state is already as requested. Raises Refusal: 403 if not allowed,
    404 if something does not exist, 409 if it is not possible now.
    """
    decider = DECIDERS[type(given.do)]
    who = actor(state, given, decider.roles)
    return decider.decide(state, who, given, now_us)
