"""OffsetCommit (API key 8)."""

from typing import TYPE_CHECKING

from broker_core.sim.kernel import Message

if TYPE_CHECKING:
    from broker_core.broker.process.broker import Broker


def handle(broker: "Broker", message: Message) -> None:
    """Answered when the offsets are committed in the log of `__consumer_offsets`, or written to ZooKeeper."""
    if message.body.in_zookeeper:
        response = broker.zookeeper_offsets.commit(message.body)
        broker.kernel.respond(message, response, label="written to ZooKeeper")
    else:
        broker.groups.commit(message, message.body)
