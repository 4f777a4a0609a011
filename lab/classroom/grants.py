"""Rights to labs that a class grants and that end with one of its events: the lead, the stage, looks, help."""

from collections.abc import Iterator
from typing import Literal, NamedTuple, TypeAlias

from lab.classroom.state import Person, State

LabRight: TypeAlias = Literal["see", "act", "time"]


class LabGrant(NamedTuple):
    """Rights to a lab, `run/branch`. `to`: `all` members of the class, or one participant."""

    lab: str
    to: str
    rights: tuple[LabRight, ...]


def grants_of(state: State) -> frozenset[LabGrant]:
    """All grants in force."""
    return frozenset(_grants(state)) if state.is_open else frozenset()


def _grants(state: State) -> Iterator[LabGrant]:
    if state.lead is not None:
        yield LabGrant(state.lead.lab, "all", ("see",))
    if state.stage is not None and state.stage.is_shown:
        yield LabGrant(state.stage.lab, "all", ("see",))
    for person in state.people.values():
        for by in person.looked_by:
            yield LabGrant(person.works_in, by, ("see",))
    for learner, given in state.helps.items():
        if not given.until_us:
            yield LabGrant(given.lab, given.by, ("see", "act", "time") if given.wheel != learner else ("see", "act"))


def paused_labs(state: State) -> frozenset[str]:
    """Labs that are paused for the class: all, or those whose learners are held. A hold is for what is shown, so the
    learner on stage is not held.
    """
    learners = state.learners()
    if state.is_paused:
        return frozenset(lab for person in learners for lab in _labs_of(person))
    if state.is_held:
        on_stage = state.stage.p if state.stage is not None and state.stage.is_shown else ""
        held = (person for person in learners if not person.is_out_of_hold and person.p != on_stage)
        return frozenset(lab for person in held for lab in _labs_of(person))
    return frozenset()


def _labs_of(person: Person) -> set[str]:
    """Their own lab, and the one that they have in front."""
    return {person.lab, person.works_in} - {""}
