"""The current leader: newer versions of Produce and Fetch return it to a client that sent to the wrong broker
(KIP-951).
"""

from collections.abc import Iterable
from typing import Any

from broker_core.broker.translation.common import RequestContext
from broker_core.wire.codec import Schema


def current_leader(partition: str, context: RequestContext) -> tuple[int, int]:
    """Leader and leader epoch in the broker's metadata; -1 if unknown."""
    state = context.broker.metadata.partitions.get(partition)
    return (state.leader, state.leader_epoch) if state is not None else (-1, -1)


def endpoints(schema: Schema, broker_ids: Iterable[int], context: RequestContext) -> list[Any]:
    """The endpoints of these brokers, of those that are alive."""
    found = []
    for broker_id in sorted(broker_ids):
        metadata = context.broker.metadata
        if metadata.is_alive(broker_id):
            host, port = context.cluster.endpoint(broker_id)
            rack = metadata.racks.get(broker_id)
            found.append(schema.NodeEndpoint(node_id=broker_id, host=host, port=port, rack=rack))
    return found
