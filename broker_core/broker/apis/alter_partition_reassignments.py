"""AlterPartitionReassignments (API key 45, KIP-455)."""

from broker_core.broker.apis.services import ControllerServices
from broker_core.errors import Errors
from broker_core.sim.kernel import Message


def handle(services: ControllerServices, message: Message) -> None:
    """The controller starts or cancels reassignments; the response does not wait for their completion."""
    response = services.controller.alter_partition_reassignments(message.body)
    fields = tuple((result.partition, result.error.name) for result in response.partitions)
    errors = (response.error, *(each.error for each in response.partitions))
    label = next((error.name for error in errors if error is not Errors.NONE), "label.ok")
    services.kernel.respond(message, response, label=label, fields=fields)
