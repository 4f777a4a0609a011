"""Handling of unexpected exceptions in a broker's work: a request, a response, a timer, a watch.

Kafka logs the exception and continues (`KafkaApis.handle`, `KafkaScheduler`, `ControllerEventManager`); a request gets
UNKNOWN_SERVER_ERROR. A run whose owner allows it (`Kernel.survives`) does the same, with an alarm instead of the log
entry: it is a bug of the lab and must be visible. Other runs end with the exception.
"""

import traceback
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any, Literal, Protocol, TypeVar

from broker_core.events.world import InvariantViolated
from broker_core.sim.kernel import Kernel, Message
from broker_core.texts import Text, text

RULE = "UNKNOWN_SERVER_ERROR"
"""The name of the alarm."""
Occasion = Literal["request", "answer", "silence", "timer", "watch"]
_FAILED_ON: dict[Occasion, str] = {
    "request": "failure.request",
    "answer": "failure.response",
    "silence": "failure.no_response",
    "timer": "failure.timer",
    "watch": "failure.change",
}


class Guarded(Protocol):
    """A broker whose work may fail."""

    kernel: Kernel
    name: str


Node = TypeVar("Node", bound=Guarded)


def report_failure(kernel: Kernel, failure: Exception, subject: str, api: str, occasion: Occasion = "request") -> None:
    """Raises the alarm that `subject` failed; raises `failure` if the run must not survive it."""
    if kernel.survives is None or not kernel.survives(failure):
        raise failure
    where = traceback.extract_tb(failure.__traceback__)[-1]
    # Not the exception's text: it may contain what differs between processes, such as an address.
    error = text("failure.place", kind=type(failure).__name__, file=Path(where.filename).name, line=where.lineno or 0)
    kernel.emit(
        InvariantViolated(
            invariant=RULE,
            subject=subject,
            detail=Text(_FAILED_ON[occasion], {"subject": api, "error": error}).code,
            explained_by="",
            cause=kernel.cause_seq,
        ),
        subject,
    )


def close_after_failure(node: Guarded, failure: Exception, message: Message) -> None:
    """Reports that the handling of a request failed, and closes its connection."""
    report_failure(node.kernel, failure, node.name, message.api)
    node.kernel.close_connection(message)


def guarded(occasion: Occasion, named: int = 0) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Decorates a method of a node that continues after a failure; its argument number `named` is the subject of the
    alarm.
    """

    def of(method: Callable[..., None]) -> Callable[..., None]:
        @wraps(method)
        def guarded_method(node: Node, *arguments: Any) -> None:
            try:
                method(node, *arguments)
            except Exception as failure:
                report_failure(node.kernel, failure, node.name, str(arguments[named]), occasion)

        return guarded_method

    return of
