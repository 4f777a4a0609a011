"""SyncGroup (API key 14)."""

from typing import TYPE_CHECKING

from broker_core.sim.kernel import Message

if TYPE_CHECKING:
    from broker_core.broker.process.broker import Broker


def handle(broker: "Broker", message: Message) -> None:
    """Answered when the leader's assignment is stored."""
    broker.groups.sync(message, message.body)
