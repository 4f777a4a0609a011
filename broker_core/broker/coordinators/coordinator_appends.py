"""What the coordinators of a broker write to their logs, and who hears when it is committed."""

from typing import TYPE_CHECKING, Any, TypeAlias

from broker_core.broker.coordinators.marker_appends import MarkerAppend, marker_decided
from broker_core.errors import Errors
from broker_core.groups.host import Store
from broker_core.transactions.host import TransactionStore

if TYPE_CHECKING:
    from broker_core.broker.process.broker import Broker

CoordinatorAppend: TypeAlias = Store | TransactionStore | MarkerAppend
"""What waits for a coordinator's write."""
EXPIRED_TIMER = "coordinator_append_expired"


class CoordinatorAppends:
    """Appends with acks=all that come from within the broker (`ReplicaManager.appendRecords` without a request)."""

    def __init__(self, broker: "Broker") -> None:
        self._broker = broker

    def append(self, partition: str, data: bytes, waiting: CoordinatorAppend | None, timeout_ms: int) -> Errors:
        """Appends what a coordinator writes; `waiting` waits until that is committed, for a while. An append that
        fails at once is told in the answer alone.
        """
        produces = self._broker.replicas.produces
        error = produces.append_for_coordinator(partition, data, waiting)
        waits = produces.coordinator_appends.get(partition, ())
        if waiting is not None and any(row[0] is waiting for row in waits):
            self._broker.timer(timeout_ms * 1_000, EXPIRED_TIMER, (partition, waiting))
        return error

    def expired(self, append: tuple[str, Any]) -> None:
        """The time of an append, (partition, what waits), is over."""
        partition, waiting = append
        if self._broker.replicas.produces.expire_coordinator_append(partition, waiting):
            self.done(waiting, Errors.REQUEST_TIMED_OUT)

    def done(self, waiting: CoordinatorAppend, error: Errors) -> None:
        """What a coordinator wrote is committed, or will not be."""
        if isinstance(waiting, TransactionStore):
            self._broker.transactions.coordinator.stored(waiting, error)
        elif isinstance(waiting, MarkerAppend):
            marker_decided(self._broker, waiting, error)
        else:
            self._broker.groups.stored(waiting, error)
