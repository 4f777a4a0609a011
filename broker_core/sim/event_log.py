"""How a run emits events, and the only code that may change state because of one.

`emit` numbers an event and applies it: the functions registered with `applies` are the only code that changes
replicated or protocol state.
"""

from collections.abc import Callable
from typing import Any, TypeVar

from broker_core.events import Envelope, Event
from broker_core.sim.scheduler import Scheduler

Subjects = dict[str, Any]
Survives = Callable[[Exception], bool]
"""Called after an unexpected exception; returns whether the run continues."""
_APPLY: dict[type[Event], Callable[[Subjects, Any, int], None]] = {}

F = TypeVar("F", bound=Callable[[Subjects, Any, int], None])


def applies(*kinds: type[Event]) -> Callable[[F], F]:
    """Registers the one function that changes state for these kinds of event: `apply(subjects, event, at_us)`.

    `subjects` maps names (`orders-0@b1`, `b1`) to the objects that carry state.
    """

    def register(function: F) -> F:
        for event_kind in kinds:
            if event_kind in _APPLY:
                raise ValueError(f"{event_kind.__name__} has two apply functions")
            _APPLY[event_kind] = function
        return function

    return register


class EventLog:
    """Numbers the events of a run, applies them and passes them on.

    Attributes:
        subjects: the objects that carry state, by name (`orders-0@b1`, `b1`).
        seq: the number of the last event; `cause_seq` that of the event that caused the current work.
        current_node: the node that emits events, unless `emit` is given another.
        survives: if set, decides whether the run continues when the handler of a request fails.
        on_event: if set, receives every envelope right after it was applied (journal, fold, invariants).
    """

    def __init__(self) -> None:
        self.scheduler = Scheduler()
        self.subjects: Subjects = {}
        self.seq = 0
        self.cause_seq = 0
        self.current_node = "lab"
        self.on_event: Callable[[Envelope], None] | None = None
        self.survives: Survives | None = None

    def emit(self, event: Event, node: str | None = None) -> int:
        """Emits an event: numbers it, applies it, passes it to `on_event`. Returns its sequence number."""
        self.seq = seq = self.seq + 1
        now_us = self.scheduler.now_us
        apply = _APPLY.get(type(event))
        if apply is not None:
            apply(self.subjects, event, now_us)
        on_event = self.on_event
        if on_event is not None:
            on_event((seq, now_us, node or self.current_node, self.cause_seq, event))
        return seq

    @property
    def now_us(self) -> int:
        """Simulated time in microseconds since the run began."""
        return self.scheduler.now_us
