"""AlterPartition (API key 56, KIP-497)."""

from broker_core.broker.apis.services import ControllerServices
from broker_core.errors import Errors
from broker_core.sim.kernel import Message


def handle(services: ControllerServices, message: Message) -> None:
    """The controller decides on an ISR that a leader proposes."""
    response = services.controller.alter_partition(message.body)
    fields = tuple(
        (result.partition, f"ISR {list(result.isr)}" if result.error is Errors.NONE else result.error.name)
        for result in response.partitions
    )
    label = response.error.name if response.error is not Errors.NONE else (str(fields[0][1]) if fields else "label.ok")
    services.kernel.respond(message, response, label=label, fields=fields)
    services.controller.partitions_altered(response)
