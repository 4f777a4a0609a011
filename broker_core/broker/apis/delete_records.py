"""DeleteRecords (API key 21)."""

from typing import TYPE_CHECKING

from broker_core.sim.kernel import Message

if TYPE_CHECKING:
    from broker_core.broker.process.broker import Broker


def handle(broker: "Broker", message: Message) -> None:
    """Moves the starts of logs; answers when all living replicas have followed, or the timeout has passed."""
    broker.replicas.record_deletion.delete(message, message.body)
