"""JoinGroup (API key 11)."""

from typing import TYPE_CHECKING

from broker_core.sim.kernel import Message

if TYPE_CHECKING:
    from broker_core.broker.process.broker import Broker


def handle(broker: "Broker", message: Message) -> None:
    """Answered when the group's members have joined."""
    broker.groups.join(message, message.body)
