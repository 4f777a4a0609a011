"""The vocabulary of a class, and the audience of each kind."""

from collections.abc import Callable
from typing import Literal, TypeAlias, TypeVar

from broker_core.events import Event, Vocabulary

CLASS: Vocabulary[str] = Vocabulary("Highwater class events", str)
ROOM = "room"
"""`who` of an event without an actor: a deadline, or a goal that is met in a lab."""

#: `all`; `staff`; `self`: staff, and those whom the event names in `p` or as `who`; `tape`: no page while the class is
#: live
Sees: TypeAlias = Literal["all", "staff", "self", "tape"]
ClassEnvelope: TypeAlias = tuple[int, int, str, str, Event]

SEES: dict[type[Event], Sees] = {}

E = TypeVar("E", bound=type[Event])


def kind(family: str, sees: Sees) -> Callable[[E], E]:
    """Registers a kind under its family, with its audience."""

    def register(cls: E) -> E:
        SEES[cls] = sees
        return CLASS.kind(family)(cls)

    return register
