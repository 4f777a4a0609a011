"""What a broker answers: one file an API. A handler checks, calls the engine and answers."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from broker_core.broker.apis import (
    alter_partition,
    controlled_shutdown,
    create_partitions,
    create_topics,
    delete_topics,
    fetch,
    leader_and_isr,
    list_offsets,
    metadata,
    produce,
    stop_replica,
    update_metadata,
)
from broker_core.sim.kernel import Message

if TYPE_CHECKING:
    from broker_core.broker.broker import Broker

HANDLERS: dict[str, Callable[["Broker", Message], None]] = {
    "AlterPartition": alter_partition.handle,
    "ControlledShutdown": controlled_shutdown.handle,
    "CreatePartitions": create_partitions.handle,
    "CreateTopics": create_topics.handle,
    "DeleteTopics": delete_topics.handle,
    "Fetch": fetch.handle,
    "LeaderAndIsr": leader_and_isr.handle,
    "ListOffsets": list_offsets.handle,
    "Metadata": metadata.handle,
    "Produce": produce.handle,
    "StopReplica": stop_replica.handle,
    "UpdateMetadata": update_metadata.handle,
}
