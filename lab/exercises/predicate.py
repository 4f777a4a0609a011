"""What a goal of an exercise is: a predicate over the view that answers with a sentence, whether it holds or not."""

from typing import NamedTuple

import msgspec

from broker_core.view.tree import View
from lab.exercises.places import Offset, UnresolvedReference, check_offset, offset_of
from lab.exercises.texts import Text


class Moment(NamedTuple):
    """What a learner sees: the newest view, its instant, and whether the simulation is paused."""

    view: View
    at_us: int
    paused: bool


class Answer(NamedTuple):
    """`says`: what is there when the goal is met, and what is missing when it is not."""

    met: bool
    says: Text


class Predicate(msgspec.Struct, frozen=True, kw_only=True, tag_field="is", forbid_unknown_fields=True):
    """A goal with its arguments."""

    def answer(self, moment: Moment) -> Answer:
        """Whether it holds now, in a sentence."""
        try:
            return self._look(moment)
        except UnresolvedReference as unresolved:
            return Answer(False, unresolved.why)

    def _look(self, moment: Moment) -> Answer:
        raise NotImplementedError


class Compared(Predicate, frozen=True, kw_only=True):
    """A goal that compares an offset."""

    equals: Offset | None = None
    at_least: Offset | None = None
    below: Offset | None = None

    def __post_init__(self) -> None:
        given = [bound for bound in (self.equals, self.at_least, self.below) if bound is not None]
        if len(given) != 1:
            raise ValueError("exactly one of equals, at_least, below is needed")
        check_offset(given[0])

    def _complies(self, view: View, value: int) -> tuple[bool, Text]:
        """Whether a value complies, and what it should be."""
        if self.equals is not None:
            bound = offset_of(view, self.equals)
            return value == bound, Text(f"{bound} is wanted", f"应为 {bound}")
        if self.at_least is not None:
            bound = offset_of(view, self.at_least)
            return value >= bound, Text(f"at least {bound} is wanted", f"至少应为 {bound}")
        assert self.below is not None
        bound = offset_of(view, self.below)
        return value < bound, Text(f"less than {bound} is wanted", f"应小于 {bound}")
