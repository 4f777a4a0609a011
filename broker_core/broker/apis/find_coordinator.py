"""FindCoordinator (API key 10): the coordinator of a group or a transactional id."""

from broker_core.broker.apis.services import CoordinatorServices
from broker_core.errors import Errors
from broker_core.partitions import broker_node
from broker_core.sim.kernel import Message
from broker_core.topics import OFFSETS_TOPIC, TRANSACTION_TOPIC
from broker_core.wire.messages import CreateTopicSpec, FindCoordinatorRequest, FindCoordinatorResponse

GROUP, TRANSACTION = 0, 1
"""The key types."""


def handle(services: CoordinatorServices, message: Message) -> None:
    """Returns the leader of the key's partition of `__consumer_offsets` or `__transaction_state`. The first request
    creates that topic.
    """
    body: FindCoordinatorRequest = message.body
    if body.keys:
        each = (_find(services, FindCoordinatorRequest(key, body.key_type)) for key in body.keys)
        response = FindCoordinatorResponse(coordinators=tuple(each))
        services.kernel.respond(message, response, label=f"label.coordinators?n={len(body.keys)}")
        return
    response = _find(services, body)
    found = response.error is Errors.NONE
    label = f"label.coordinator?broker={broker_node(response.node_id)}" if found else response.error.name
    services.kernel.respond(message, response, label=label)


def _find(services: CoordinatorServices, request: FindCoordinatorRequest) -> FindCoordinatorResponse:
    if request.key_type not in (GROUP, TRANSACTION):
        is_known_error = services.era.requests.unknown_key_type == "invalid request"
        return FindCoordinatorResponse(Errors.INVALID_REQUEST if is_known_error else Errors.UNKNOWN_SERVER_ERROR)
    is_group = request.key_type == GROUP
    topic = OFFSETS_TOPIC if is_group else TRANSACTION_TOPIC
    if topic not in services.metadata.topic_ids:
        # As in `AutoTopicCreationManager`; what prevents the creation (too few brokers) may have changed at the next
        # request.
        if services.reaches_zookeeper:
            spec = _offsets_topic(services) if is_group else _transaction_topic(services)
            services.controller.admin.create_topic(spec, validate_only=False)
        return FindCoordinatorResponse(Errors.COORDINATOR_NOT_AVAILABLE)
    coordinator = services.groups if is_group else services.transactions.coordinator
    state = services.metadata.partitions.get(coordinator.partition_of(request.key))
    if state is None or not services.metadata.is_alive(state.leader):
        return FindCoordinatorResponse(Errors.COORDINATOR_NOT_AVAILABLE)
    return FindCoordinatorResponse(Errors.NONE, state.leader)


def _offsets_topic(services: CoordinatorServices) -> CreateTopicSpec:
    config = services.config
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


def _transaction_topic(services: CoordinatorServices) -> CreateTopicSpec:
    settings = services.config.transactions
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
