"""Handling of unexpected exceptions in a broker's work: a request, a response, a timer, a watch.

Kafka logs the exception and continues (`KafkaApis.handle`, `KafkaScheduler`, `ControllerEventManager`); a request gets
UNKNOWN_SERVER_ERROR. So does a run whose owner allows it (`Kernel.survives`), with an alarm instead of the log: it is
an error of the lab and must be visible. Other runs end with the exception.
"""

import traceback
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any, Literal, Protocol, TypeVar

from broker_core.events.world import InvariantViolated
from broker_core.sim.kernel import Kernel
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
    """Whose work may fail: a broker."""

    kernel: Kernel
    name: str


Node = TypeVar("Node", bound=Guarded)


def report_failure(kernel: Kernel, failure: Exception, subject: str, api: str, occasion: Occasion = "request") -> None:
    """Raises the alarm that `subject` failed; raises `failure` when the run is not to survive it."""
    if kernel.survives is None or not kernel.survives(failure):
        raise failure
    where = traceback.extract_tb(failure.__traceback__)[-1]
    # not the exception's text: it may hold what differs from process to process, such as an address
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


def guarded(occasion: Occasion, named: int = 0) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """A method of a node that continues after the method failed; its argument number `named` says what it was about."""

    def of(method: Callable[..., None]) -> Callable[..., None]:
        @wraps(method)
        def guarded_method(node: Node, *arguments: Any) -> None:
            try:
                method(node, *arguments)
            except Exception as failure:
                report_failure(node.kernel, failure, node.name, str(arguments[named]), occasion)

        return guarded_method

    return of
