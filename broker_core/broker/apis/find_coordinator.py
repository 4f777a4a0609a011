"""FindCoordinator (API key 10): which broker coordinates a group, or a transactional id."""

from typing import TYPE_CHECKING

from broker_core.errors import Errors
from broker_core.groups.offsets import OFFSETS_TOPIC
from broker_core.sim.kernel import Message
from broker_core.transactions.log import TRANSACTION_TOPIC
from broker_core.wire.messages import CreateTopicSpec, FindCoordinatorRequest, FindCoordinatorResponse

if TYPE_CHECKING:
    from broker_core.broker.process.broker import Broker

GROUP, TRANSACTION = 0, 1
"""The kinds of keys."""


def handle(broker: "Broker", message: Message) -> None:
    """The leader of the key's partition of `__consumer_offsets` or `__transaction_state`. The first question creates
    that topic.
    """
    body: FindCoordinatorRequest = message.body
    if body.keys:
        each = (_find(broker, FindCoordinatorRequest(key, body.key_type)) for key in body.keys)
        response = FindCoordinatorResponse(coordinators=tuple(each))
        broker.kernel.respond(message, response, label=f"{len(body.keys)} coordinators")
        return
    response = _find(broker, body)
    found = response.error is Errors.NONE
    label = f"coordinator b{response.node_id}" if found else response.error.name
    broker.kernel.respond(message, response, label=label)


def _find(broker: "Broker", request: FindCoordinatorRequest) -> FindCoordinatorResponse:
    if request.key_type not in (GROUP, TRANSACTION):
        return FindCoordinatorResponse(Errors.INVALID_REQUEST)
    is_group = request.key_type == GROUP
    topic = OFFSETS_TOPIC if is_group else TRANSACTION_TOPIC
    if topic not in broker.metadata.topic_ids:
        # As `AutoTopicCreationManager` does; what stands in its way (too few brokers) may be gone at the next question.
        if broker.reaches_zookeeper:
            spec = _offsets_topic(broker) if is_group else _transaction_topic(broker)
            broker.controller.admin.create_topic(spec, validate_only=False)
        return FindCoordinatorResponse(Errors.COORDINATOR_NOT_AVAILABLE)
    coordinator = broker.groups if is_group else broker.transactions.coordinator
    state = broker.metadata.partitions.get(coordinator.partition_of(request.key))
    if state is None or not broker.metadata.is_alive(state.leader):
        return FindCoordinatorResponse(Errors.COORDINATOR_NOT_AVAILABLE)
    return FindCoordinatorResponse(Errors.NONE, state.leader)


def _offsets_topic(broker: "Broker") -> CreateTopicSpec:
    config = broker.config
    return CreateTopicSpec(
        OFFSETS_TOPIC,
        partitions=config.offsets_topic_num_partitions,
        replication_factor=config.offsets_topic_replication_factor,
        configs=(
            ("compression.type", "producer"),
            ("cleanup.policy", "compact"),
            ("segment.bytes", str(config.offsets_topic_segment_bytes)),
        ),
    )


def _transaction_topic(broker: "Broker") -> CreateTopicSpec:
    settings = broker.config.transactions
    return CreateTopicSpec(
        TRANSACTION_TOPIC,
        partitions=settings.transaction_state_log_num_partitions,
        replication_factor=settings.transaction_state_log_replication_factor,
        configs=(
            ("unclean.leader.election.enable", "false"),
            ("compression.type", "uncompressed"),
            ("cleanup.policy", "compact"),
            ("min.insync.replicas", str(settings.transaction_state_log_min_isr)),
            ("segment.bytes", str(settings.transaction_state_log_segment_bytes)),
        ),
    )
