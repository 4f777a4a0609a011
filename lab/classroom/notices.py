"""Notices of the door for the code that writes the class's log: people joined, left, and got roles."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

NoticeKind = Literal[
    "class_opened", "class_ended", "door_opened", "door_closed", "door_changed", "code_renewed",
    "under_attack",
    "waiting", "joined", "lab_given", "came_back", "left", "renamed", "role_given", "kicked", "let_back", "erased",
]  # fmt: skip


@dataclass(frozen=True)
class Notice:
    """A change in the database. `number` is the participant concerned, `by` the participant who made it; 0 for none."""

    kind: NoticeKind
    class_id: int
    number: int = 0
    by: int = 0
    value: str = ""


Listener = Callable[[Notice], None]
_listeners: list[Listener] = []


def on_notice(listener: Listener) -> None:
    """Registers a listener, which is called after each change in the thread that made it. It must return at once."""
    _listeners.append(listener)


def forget_listener(listener: Listener) -> None:
    """Removes a listener of `on_notice`."""
    _listeners.remove(listener)


def tell(notice: Notice) -> None:
    """Calls all listeners."""
    for listener in list(_listeners):
        listener(notice)
