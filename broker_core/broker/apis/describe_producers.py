"""DescribeProducers (API key 61, KIP-664)."""

from broker_core.broker.apis.services import ReplicationServices
from broker_core.controller.topic_names import validate_topic_name
from broker_core.errors import Errors, KafkaException
from broker_core.partitions import parse_requested
from broker_core.sim.kernel import Message
from broker_core.wire.messages import (
    ActiveProducer,
    DescribedProducers,
    DescribeProducersRequest,
    DescribeProducersResponse,
)

_NOT_HOSTED = "This server does not host this topic-partition."


def handle(services: ReplicationServices, message: Message) -> None:
    """Returns the producer states of replicas; any replica may be asked."""
    body: DescribeProducersRequest = message.body
    rows = tuple(_describe(services, name) for name in body.partitions)
    label = f"label.producers?n={len(rows[0].active_producers)}" if rows else "label.nothing"
    services.kernel.respond(message, DescribeProducersResponse(rows), label=label)


def _describe(services: ReplicationServices, name: str) -> DescribedProducers:
    partition = services.replicas.partitions.get(name)
    if partition is None:
        topic = parse_requested(name).topic
        try:
            validate_topic_name(topic)
        except KafkaException as illegal:
            return DescribedProducers(name, illegal.error, illegal.message)
        if topic not in services.metadata.topic_ids:
            return DescribedProducers(name, Errors.UNKNOWN_TOPIC_OR_PARTITION, _NOT_HOSTED)
        is_known = name in services.metadata.partitions
        error = Errors.NOT_LEADER_OR_FOLLOWER if is_known else Errors.UNKNOWN_TOPIC_OR_PARTITION
        return DescribedProducers(name, error)
    return DescribedProducers(
        name,
        active_producers=tuple(
            ActiveProducer(
                entry.producer_id,
                entry.producer_epoch,
                entry.last_sequence,
                entry.last_timestamp,
                entry.coordinator_epoch,
                -1 if entry.current_transaction_first_offset is None else entry.current_transaction_first_offset,
            )
            for entry in partition.log.producer_state.producers
        ),
    )
