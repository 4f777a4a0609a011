"""FindCoordinator (API key 10): which broker coordinates a group."""

from typing import TYPE_CHECKING

from broker_core.errors import KafkaError
from broker_core.groups.offsets import OFFSETS_TOPIC
from broker_core.sim.kernel import Message
from broker_core.wire.messages import CreateTopicSpec, FindCoordinatorRequest, FindCoordinatorResponse

if TYPE_CHECKING:
    from broker_core.broker.broker import Broker


def handle(broker: "Broker", message: Message) -> None:
    """The leader of the group's partition of `__consumer_offsets`. The first question creates that topic."""
    body: FindCoordinatorRequest = message.body
    if body.keys:
        each = (_find(broker, FindCoordinatorRequest(key, body.key_type)) for key in body.keys)
        response = FindCoordinatorResponse(coordinators=tuple(each))
        broker.kernel.respond(message, response, label=f"{len(body.keys)} coordinators")
        return
    response = _find(broker, body)
    found = response.error is KafkaError.NONE
    label = f"coordinator b{response.node_id}" if found else response.error.name
    broker.kernel.respond(message, response, label=label)


def _find(broker: "Broker", request: FindCoordinatorRequest) -> FindCoordinatorResponse:
    if request.key_type != 0:
        return FindCoordinatorResponse(KafkaError.INVALID_REQUEST)
    if OFFSETS_TOPIC not in broker.metadata.topic_ids:
        _create_topic(broker)
        return FindCoordinatorResponse(KafkaError.COORDINATOR_NOT_AVAILABLE)
    state = broker.metadata.partitions.get(broker.groups.partition_of(request.key))
    if state is None or not broker.metadata.is_alive(state.leader):
        return FindCoordinatorResponse(KafkaError.COORDINATOR_NOT_AVAILABLE)
    return FindCoordinatorResponse(KafkaError.NONE, state.leader)


def _create_topic(broker: "Broker") -> None:
    """As `AutoTopicCreationManager` does; what stands in its way (too few brokers) may be gone at the next question."""
    if not broker.reaches_zookeeper:
        return
    config = broker.config
    spec = CreateTopicSpec(
        OFFSETS_TOPIC,
        partitions=config.offsets_topic_num_partitions,
        replication_factor=config.offsets_topic_replication_factor,
        configs=(
            ("compression.type", "producer"),
            ("cleanup.policy", "compact"),
            ("segment.bytes", str(config.offsets_topic_segment_bytes)),
        ),
    )
    broker.controller.admin.create_topic(spec, validate_only=False)
