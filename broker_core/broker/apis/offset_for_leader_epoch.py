"""OffsetForLeaderEpoch (API key 23, KIP-101), as sent by followers."""

from broker_core.broker.apis.services import ReplicationServices
from broker_core.sim.kernel import Message


def handle(services: ReplicationServices, message: Message) -> None:
    """Returns the end offsets of epochs in the logs that this broker leads."""
    response = services.replicas.offsets.for_leader_epochs(message.body)
    fields = tuple(
        (result.partition, f"label.epoch_end?end={result.end_offset}&epoch={result.leader_epoch}")
        if result.error.code == 0
        else (result.partition, result.error.name)
        for result in response.partitions
    )
    services.kernel.respond(
        message, response, label=fields[0][1] if len(fields) == 1 else "label.epoch_ends", fields=fields
    )
