"""ControlledShutdown (API key 7)."""

from broker_core.broker.apis.services import ControllerServices
from broker_core.sim.kernel import Message


def handle(services: ControllerServices, message: Message) -> None:
    """The controller moves leaderships away from a broker that is shutting down."""
    response = services.controller.controlled_shutdown(message.body)
    services.kernel.respond(
        message,
        response,
        label=f"label.remaining?n={len(response.remaining)}",
        fields=tuple((p, "label.still_led") for p in response.remaining),
    )
