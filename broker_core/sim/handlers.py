"""Handlers of timers and responses, which the parts of a node register.

A timer and a pending request are data, so that a run can be pickled: a name and arguments. Each part has a table from
the names that it sets to its methods, and the node looks them up.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Protocol, TypeAlias

TimerHandler: TypeAlias = Callable[[Any], None]
"""Called with the data of a timer that is due."""


class ResponseHandler(NamedTuple):
    """What happens to a request whose context is `(name, data)`: `answered(data, body)`, or `disconnected(data)` when
    no response will come.
    """

    answered: Callable[[Any, Any], None]
    disconnected: Callable[[Any], None]


class Unpacked:
    """A timer handler whose data are the arguments of a method."""

    def __init__(self, method: Callable[..., None]) -> None:
        self._method = method

    def __call__(self, data: Any) -> None:
        """A timer is due."""
        self._method(*data)


class TimerPart(Protocol):
    """A part of a node that sets timers."""

    @property
    def timers(self) -> Mapping[str, TimerHandler]:
        """What it does when each of its timers is due, by name."""


class RequestPart(Protocol):
    """A part of a node that sends requests."""

    @property
    def responses(self) -> Mapping[str, ResponseHandler]:
        """What it does with the response to each kind of its requests, by the name in the request's context."""
