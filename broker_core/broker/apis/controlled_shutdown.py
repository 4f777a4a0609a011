"""ControlledShutdown (API key 7)."""

from typing import TYPE_CHECKING

from broker_core.sim.kernel import Message

if TYPE_CHECKING:
    from broker_core.broker.process.broker import Broker


def handle(broker: "Broker", message: Message) -> None:
    """The controller moves leaderships away from a broker that wants to stop."""
    response = broker.controller.controlled_shutdown(message.body)
    broker.kernel.respond(
        message, response, label=f"{len(response.remaining)} left", fields=tuple((p, "led") for p in response.remaining)
    )
