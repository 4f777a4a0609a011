"""Producers with ids, and transactions, each under `TRANSACTIONAL_ID@BROKER`: while a replaced coordinator does not
know that it is, there are two.
"""

from broker_core.events import transaction
from broker_core.view.patch import Patch, View, escape
from broker_core.view.rules import folds, rule

MARKERS_SHOWN = 20

rule(transaction.ProducerIdsAllocated)
rule(transaction.TransactionsLoadStarted)
rule(transaction.TransactionsLoaded)
rule(transaction.ProducerBatchAppended)
rule(
    transaction.TransactionMarkerAppended,
    (
        "/replicas/{replica}/markers",
        "[*old, [event.offset, event.result, event.producer_id, event.producer_epoch, event.first_offset]]"
        f"[-{MARKERS_SHOWN}:]",
    ),
)
rule(transaction.ProducersExpired)
rule(transaction.FirstUnstableOffsetChanged, ("/replicas/{replica}/first_unstable_offset", "event.to_offset"))
rule(
    transaction.ProducerStateChanged,
    (
        "/nodes/{client}/transaction",
        "{'state': event.state, 'transactional_id': event.transactional_id, 'producer_id': event.producer_id, "
        "'producer_epoch': event.producer_epoch, 'why': event.why}",
    ),
)


@folds(transaction.TransactionsUnloaded)
def _unloaded(view: View, event: transaction.TransactionsUnloaded, seq: int, at_us: int, node: str) -> Patch:
    patch: Patch = []
    for transactional_id in event.transactional_ids:
        key = f"{transactional_id}@{event.broker}"
        if view["transactions"].pop(key, None) is not None:
            patch.append([f"/transactions/{escape(key)}"])
    return patch


@folds(transaction.TransactionTransitioned)
def _transitioned(view: View, event: transaction.TransactionTransitioned, seq: int, at_us: int, node: str) -> Patch:
    key = f"{event.transactional_id}@{event.broker}"
    if event.to_state == "Dead":
        view["transactions"].pop(key, None)
        return [[f"/transactions/{escape(key)}"]]
    shown = {
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
    view["transactions"][key] = shown
    return [[f"/transactions/{escape(key)}", {**shown, "partitions": list(event.partitions)}]]
