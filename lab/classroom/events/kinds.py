"""The vocabulary of a class, and who may see which kind."""

from collections.abc import Callable
from typing import Literal, TypeAlias, TypeVar

from broker_core.events import Event, Vocabulary

CLASS: Vocabulary[str] = Vocabulary("Highwater class events", str)
ROOM = "room"
"""`who` of what nobody did: a deadline, a goal of a lab that holds."""

#: `all`; `staff`; `self`: staff, and those whom the event names in `p` or as `who`; `tape`: nobody while the class is
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
