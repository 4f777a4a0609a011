"""Pauses a run at an awaited event: the engine is advanced to that event and not beyond it."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

from broker_core.events import Envelope
from broker_core.run import Run
from broker_core.view.tree import View

CONDITION = "condition"
"""The name of the stop that the watchers of a run have set."""


def stop_of(user_id: int) -> str:
    """The name of the stop of a user's lesson."""
    return f"lesson of {user_id}"


Stop: TypeAlias = Callable[[View, Envelope], bool]
"""Whether an event is one to pause at; the view is after it."""


class StoppingCore:
    """An engine for the pacer that advances one step at a time and stops at the first event of `stops`."""

    def __init__(self, run: Run, stops: Iterable[Stop], stopped: Callable[[], None]) -> None:
        """`stopped` is called once, after that event."""
        self._run = run
        self._stops = tuple(stops)
        self._stopped = stopped
        self._is_stopped = False

    @property
    def now_us(self) -> int:
        return self._run.now_us

    @property
    def next_due_us(self) -> int | None:
        return self._run.next_due_us

    @property
    def view(self) -> Mapping[str, Any]:
        return self._run.view

    def advance(self, until_us: int, *, max_events: int | None = None) -> int:
        """As `Run.advance`; 0 once it has stopped."""
        run, first = self._run, self._run.seq
        while not self._is_stopped:
            before = run.seq
            if not run.advance(until_us, max_events=1):
                break
            if self._is_awaited(run.events_after(before)):
                self._is_stopped = True
                self._stopped()
                return 0
            if max_events is not None and run.seq - first >= max_events:
                break
        return run.seq - first

    def _is_awaited(self, envelopes: list[Envelope]) -> bool:
        view = self._run.view
        return any(stop(view, envelope) for envelope in envelopes for stop in self._stops)
