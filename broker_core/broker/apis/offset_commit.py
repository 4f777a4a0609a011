"""OffsetCommit (API key 8)."""

from broker_core.broker.apis.services import GroupServices
from broker_core.sim.kernel import Message


def handle(services: GroupServices, message: Message) -> None:
    """Responds when the offsets are committed in `__consumer_offsets`, or written to ZooKeeper."""
    if message.body.in_zookeeper:
        response = services.zookeeper_offsets.commit(message.body)
        services.kernel.respond(message, response, label="label.written_to_zookeeper")
    else:
        services.groups.commit(message, message.body)
