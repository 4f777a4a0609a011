"""Appends of a broker's coordinators to their logs, and the callbacks after they are committed."""

from typing import Any, Protocol, TypeAlias

from broker_core.broker.coordinators.marker_appends import MarkerAppend, MarkerAppendsHost, marker_decided
from broker_core.broker.coordinators.transactions import TransactionParts
from broker_core.errors import Errors
from broker_core.groups.host import Store
from broker_core.sim.handlers import TimerHandler
from broker_core.transactions.host import TransactionStore

CoordinatorAppend: TypeAlias = Store | TransactionStore | MarkerAppend
"""The operation that waits for a coordinator's write."""
EXPIRED_TIMER = "coordinator_append_expired"


class AppendsHost(MarkerAppendsHost, Protocol):
    """What the coordinators' appends need of their broker."""

    transactions: TransactionParts

    def timer(self, delay_us: int, name: str, data: object = None) -> int: ...


class CoordinatorAppends:
    """Appends with acks=all from within the broker (`ReplicaManager.appendRecords` without a request)."""

    def __init__(self, host: AppendsHost) -> None:
        self._host = host
        self._produces = host.replicas.produces
        self._produces.on_coordinator_append = self.done

    @property
    def timers(self) -> dict[str, TimerHandler]:
        """The handlers of its timers, by name."""
        return {EXPIRED_TIMER: self._expired}

    def append(self, partition: str, data: bytes, waiting: CoordinatorAppend | None, timeout_ms: int) -> Errors:
        """Appends records of a coordinator; `waiting` is called when they are committed or the timeout passes. An
        append that fails at once is only reported in the result.
        """
        error = self._produces.append_for_coordinator(partition, data, waiting)
        for wait in self._produces.coordinator_appends.get(partition, ()):
            if waiting is not None and wait.waiting is waiting:
                wait.timer_id = self._host.timer(timeout_ms * 1_000, EXPIRED_TIMER, (partition, waiting))
        return error

    def _expired(self, append: tuple[str, Any]) -> None:
        """An append, (partition, callback), has timed out."""
        partition, waiting = append
        if self._produces.expire_coordinator_append(partition, waiting):
            self.done(waiting, Errors.REQUEST_TIMED_OUT)

    def done(self, waiting: CoordinatorAppend, error: Errors) -> None:
        """A coordinator's write is committed, or cannot be committed any more."""
        if isinstance(waiting, TransactionStore):
            self._host.transactions.coordinator.stored(waiting, error)
        elif isinstance(waiting, MarkerAppend):
            marker_decided(self._host, waiting, error)
        else:
            self._host.groups.stored(waiting, error)
