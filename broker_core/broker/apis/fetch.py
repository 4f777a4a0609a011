"""Fetch (API key 1), of followers and of consumers."""

from typing import TYPE_CHECKING

from broker_core.sim.kernel import Message

if TYPE_CHECKING:
    from broker_core.broker.process.broker import Broker


def handle(broker: "Broker", message: Message) -> None:
    """Reads, or parks the request until there is something to read."""
    broker.replicas.fetches.take(message, message.body)
