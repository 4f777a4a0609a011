"""What becomes of a broker's work that fails as nobody expected: a request, an answer, a timer's job, a watch.

Kafka logs it and goes on (`KafkaApis.handle`, `KafkaScheduler`, `ControllerEventManager`); a request is answered
UNKNOWN_SERVER_ERROR. So does a run whose owner lets it (`Kernel.survives`), with an alarm instead of the log: the
mistake is the lab's, and must not hide. Other runs end with the exception.
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
"""Under which the alarm goes."""
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
    """A method of a node after whose failure the node goes on; its argument number `named` says what it was about."""

    def of(method: Callable[..., None]) -> Callable[..., None]:
        @wraps(method)
        def guarded_method(node: Node, *arguments: Any) -> None:
            try:
                method(node, *arguments)
            except Exception as failure:
                report_failure(node.kernel, failure, node.name, str(arguments[named]), occasion)

        return guarded_method

    return of
