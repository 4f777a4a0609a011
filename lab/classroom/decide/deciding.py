"""The table of deciders, and the checks that most of them use."""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, TypeAlias, TypeVar

from broker_core.events import Event
from broker_core.texts import Text, text
from lab.class_rights import roles_with
from lab.classroom.acts import Given
from lab.classroom.acts.facts import Fact
from lab.classroom.acts.ops import Op
from lab.classroom.events import ROOM
from lab.classroom.state import STAFF, Person, State
from lab.texts.refusal import Refusal

Roles: TypeAlias = frozenset[str]
WORKING: Roles = roles_with("act")
LEARNERS: Roles = WORKING - STAFF
ASKING: Roles = roles_with("ask")
EVERYONE: Roles = roles_with("see")

US = 1_000_000
_ROLES = {
    "instructor": text("class_act.role_name.instructor"),
    "co-instructor": text("class_act.role_name.co_instructor"),
    "learner": text("class_act.role_name.learner"),
    "observer": text("class_act.role_name.observer"),
    "projector": text("class_act.role_name.projector"),
}


class Decider(NamedTuple):
    roles: Roles | None
    decide: Callable[[State, Any, Any, int], list[Event]]


DECIDERS: dict[type[Op | Fact], Decider] = {}
"""By the kind of act: the roles that may do it, and its effects."""

D = TypeVar("D", bound=Callable[[State, Any, Any, int], list[Event]])


def decides(kind: type[Op], roles: Roles) -> Callable[[D], D]:
    """Registers the decider of an act: of the state, the person, the act as given, and the time."""

    def register(decide: D) -> D:
        DECIDERS[kind] = Decider(roles, decide)
        return decide

    return register


def states(kind: type[Fact]) -> Callable[[D], D]:
    """Registers the decider of a fact from the server. The person is None."""

    def register(decide: D) -> D:
        DECIDERS[kind] = Decider(None, decide)
        return decide

    return register


def actor(state: State, given: Given, roles: Roles | None) -> Person | None:
    """The actor, if allowed. Raises Refusal."""
    if state.ended:
        raise Refusal("class_act.ended", 409)
    if roles is None:
        return None
    if not state.is_open:
        raise Refusal("class_act.not_open", 409)
    person = state.people.get(given.who)
    if person is None or person.is_kicked or person.presence == "left":
        raise Refusal("class_act.not_in", 403)
    if person.waits:
        raise Refusal("class_act.waits", 403)
    if person.role not in roles:
        raise Refusal("class_act.role", 403, role=_ROLES[person.role])
    return person


def person_of(state: State, p: str, roles: Roles = EVERYONE) -> Person:
    """A present participant with one of these roles. Raises Refusal (404)."""
    person = state.people.get(p)
    if person is None or not person.is_in or person.role not in roles:
        raise Refusal("class_act.no_person", 404, p=p)
    return person


def not_now(what: str) -> Refusal:
    """An act that does not fit the state of the class; `what` is the code of a text that says why."""
    return Refusal("class_act.not_now", 409, problem=Text(what))


def events(*found: Event | Iterable[Event] | None) -> list[Event]:
    """All given events, in order."""
    flat: list[Event] = []
    for one in found:
        if isinstance(one, Event):
            flat.append(one)
        elif one is not None:
            flat += one
    return flat


__all__ = ["ASKING", "EVERYONE", "LEARNERS", "ROOM", "STAFF", "US", "WORKING"]
__all__ += ["DECIDERS", "Decider", "actor", "decides", "events", "not_now", "person_of", "states"]
