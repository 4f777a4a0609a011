"""UpdateMetadata (API key 6)."""

from broker_core.broker.apis.fencing import controller_error
from broker_core.broker.apis.services import ClusterStateServices
from broker_core.broker.common.metadata_cache import DELETED_LEADER
from broker_core.errors import Errors
from broker_core.events.control import MetadataUpdated
from broker_core.sim.kernel import Message
from broker_core.wire.messages import UpdateMetadataRequest, UpdateMetadataResponse


def handle(services: ClusterStateServices, message: Message) -> None:
    """Updates this broker's metadata of the cluster."""
    body: UpdateMetadataRequest = message.body
    error = controller_error(services, body)
    if error is Errors.NONE:
        services.metadata.update(body)
        services.emit(
            MetadataUpdated(
                broker=services.name,
                controller=body.controller_id,
                live_brokers=tuple(sorted(broker_id for broker_id, _ in body.live_brokers)),
                partitions=len(body.partitions),
            )
        )
    services.kernel.respond(
        message, UpdateMetadataResponse(error), label=error.name if error is not Errors.NONE else "label.ok"
    )
    if error is Errors.NONE:
        services.waiting_admin.metadata_updated()
        services.transactions.markers.on_metadata_changed([state.partition for state in body.partitions])
        if any(state.leader == DELETED_LEADER for state in body.partitions):
            services.groups.topics_deleted(lambda topic: topic not in services.metadata.topic_ids)
