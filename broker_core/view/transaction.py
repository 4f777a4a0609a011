"""Producers with ids, and transactions, each under `TRANSACTIONAL_ID@BROKER`: until a replaced coordinator is aware of
that, there are two.
"""

from broker_core.events import transaction
from broker_core.view.folding import NODES, REPLICAS, TRANSACTIONS, folds, unchanged
from broker_core.view.patch import Patch
from broker_core.view.tree import Transaction, View

MARKERS_SHOWN = 20

unchanged(
    transaction.ProducerIdsAllocated,
    transaction.TransactionsLoadStarted,
    transaction.TransactionsLoaded,
    transaction.ProducerBatchAppended,
    transaction.ProducersExpired,
)


@folds
def _marker(view: View, event: transaction.TransactionMarkerAppended, at_us: int, seq: int) -> Patch:
    markers = view["replicas"][event.replica]["markers"]
    marker = [event.offset, event.result, event.producer_id, event.producer_epoch, event.first_offset]
    return REPLICAS.set(view, event.replica, {"markers": [*markers, marker][-MARKERS_SHOWN:]})


@folds
def _first_unstable_offset(view: View, event: transaction.FirstUnstableOffsetChanged, at_us: int, seq: int) -> Patch:
    return REPLICAS.set(view, event.replica, {"first_unstable_offset": event.to_offset})


@folds
def _producer_state(view: View, event: transaction.ProducerStateChanged, at_us: int, seq: int) -> Patch:
    return NODES.set(
        view,
        event.client,
        {
            "transaction": {
                "state": event.state,
                "transactional_id": event.transactional_id,
                "producer_id": event.producer_id,
                "producer_epoch": event.producer_epoch,
                "why": event.why,
            }
        },
    )


@folds
def _unloaded(view: View, event: transaction.TransactionsUnloaded, at_us: int, seq: int) -> Patch:
    patch: Patch = []
    for transactional_id in event.transactional_ids:
        patch += TRANSACTIONS.remove(view, f"{transactional_id}@{event.broker}")
    return patch


@folds
def _transitioned(view: View, event: transaction.TransactionTransitioned, at_us: int, seq: int) -> Patch:
    key = f"{event.transactional_id}@{event.broker}"
    if event.to_state == "Dead":
        return TRANSACTIONS.remove(view, key)
    shown: Transaction = {
        "transactional_id": event.transactional_id,
        "coordinator": event.broker,
        "partition": event.log_partition,
        "state": event.to_state,
        "since_us": at_us,
        "producer_id": event.producer_id,
        "producer_epoch": event.producer_epoch,
        "timeout_ms": event.timeout_ms,
        "start_ms": event.start_ms,
        "partitions": list(event.partitions),
        "why": event.why,
    }
    return TRANSACTIONS.put(view, key, shown)
