"""ListPartitionReassignments (API key 46, KIP-455)."""

from broker_core.broker.apis.services import ControllerServices
from broker_core.sim.kernel import Message
from broker_core.texts import escape


def handle(services: ControllerServices, message: Message) -> None:
    """The controller returns the partitions that are being reassigned."""
    response = services.controller.list_partition_reassignments(message.body)
    fields = tuple(
        (each.partition, f"label.replica_list?replicas={escape(str(list(each.replicas)))}")
        for each in response.partitions
    )
    services.kernel.respond(message, response, label=f"label.reassigning?n={len(response.partitions)}", fields=fields)
