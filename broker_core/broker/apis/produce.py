"""Produce (API key 0)."""

from typing import TYPE_CHECKING

from broker_core.sim.kernel import Message

if TYPE_CHECKING:
    from broker_core.broker.broker import Broker


def handle(broker: "Broker", message: Message) -> None:
    """Appends what a producer sends; the answer depends on acks."""
    broker.replicas.produce(message, message.body)
