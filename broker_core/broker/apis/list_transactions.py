"""ListTransactions (API key 66, KIP-664 and KIP-994)."""

from broker_core.broker.apis.services import TransactionServices
from broker_core.config_defs.java_text import scala_set_order
from broker_core.errors import Errors
from broker_core.sim.kernel import Message
from broker_core.transactions.metadata import TransactionMetadata
from broker_core.transactions.states import TransactionState
from broker_core.wire.messages import ListTransactionsRequest, ListTransactionsResponse


def handle(services: TransactionServices, message: Message) -> None:
    """Returns the transactional ids that this broker coordinates and that match the filters."""
    body: ListTransactionsRequest = message.body
    coordinator = services.transactions.coordinator
    if coordinator.partitions.is_loading:
        loading = Errors.COORDINATOR_LOAD_IN_PROGRESS
        services.kernel.respond(message, ListTransactionsResponse(error=loading), label=loading.name)
        return
    states = {state.value for state in TransactionState}
    rows = tuple(
        (each.transactional_id, each.current.producer_id, each.state.value)
        for each in coordinator.transactions.values()
        if _passes(body, each, services.wall_ms)
    )
    response = ListTransactionsResponse(
        unknown_state_filters=tuple(name for name in scala_set_order(body.state_filters) if name not in states),
        transaction_states=rows,
    )
    services.kernel.respond(message, response, label=f"label.transactional_ids?n={len(response.transaction_states)}")


def _passes(body: ListTransactionsRequest, metadata: TransactionMetadata, now_ms: int) -> bool:
    now = metadata.current
    if body.producer_id_filters and now.producer_id not in body.producer_id_filters:
        return False
    if body.state_filters and now.state.value not in body.state_filters:
        return False
    return body.duration_filter_ms < 0 or now_ms - now.start_ms > body.duration_filter_ms
