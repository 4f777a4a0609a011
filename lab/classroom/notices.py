"""What the door has done, for the code that writes the class's log: people came, went, and were given roles."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

NoticeKind = Literal[
    "class_opened", "class_ended", "door_opened", "door_closed", "under_attack",
    "waiting", "joined", "lab_given", "came_back", "left", "renamed", "role_given", "kicked", "let_back", "erased",
]  # fmt: skip


@dataclass(frozen=True)
class Notice:
    """Something has changed in the database. `number` is that of the participant whom it is about, `by` that of the
    participant who did it; 0 where there is none.
    """

    kind: NoticeKind
    class_id: int
    number: int = 0
    by: int = 0
    value: str = ""


Listener = Callable[[Notice], None]
_listeners: list[Listener] = []


def on_notice(listener: Listener) -> None:
    """Has it called after each change, in the thread that made it. It must return at once."""
    _listeners.append(listener)


def forget_listener(listener: Listener) -> None:
    """Ends what `on_notice` began."""
    _listeners.remove(listener)


def tell(notice: Notice) -> None:
    """Calls all listeners."""
    for listener in list(_listeners):
        listener(notice)
