"""What a broker answers: one file an API. A handler checks, calls the engine and answers."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from broker_core.broker.apis import (
    alter_configs,
    alter_partition,
    alter_partition_reassignments,
    controlled_shutdown,
    create_partitions,
    create_topics,
    delete_records,
    delete_topics,
    describe_configs,
    describe_log_dirs,
    elect_leaders,
    fetch,
    leader_and_isr,
    list_offsets,
    list_partition_reassignments,
    metadata,
    offset_for_leader_epoch,
    produce,
    stop_replica,
    update_metadata,
)
from broker_core.sim.kernel import Message

if TYPE_CHECKING:
    from broker_core.broker.broker import Broker

HANDLERS: dict[str, Callable[["Broker", Message], None]] = {
    "AlterConfigs": alter_configs.handle,
    "AlterPartition": alter_partition.handle,
    "AlterPartitionReassignments": alter_partition_reassignments.handle,
    "ControlledShutdown": controlled_shutdown.handle,
    "CreatePartitions": create_partitions.handle,
    "CreateTopics": create_topics.handle,
    "DeleteRecords": delete_records.handle,
    "DeleteTopics": delete_topics.handle,
    "DescribeConfigs": describe_configs.handle,
    "DescribeLogDirs": describe_log_dirs.handle,
    "ElectLeaders": elect_leaders.handle,
    "Fetch": fetch.handle,
    "IncrementalAlterConfigs": alter_configs.handle_incremental,
    "LeaderAndIsr": leader_and_isr.handle,
    "ListOffsets": list_offsets.handle,
    "ListPartitionReassignments": list_partition_reassignments.handle,
    "Metadata": metadata.handle,
    "OffsetForLeaderEpoch": offset_for_leader_epoch.handle,
    "Produce": produce.handle,
    "StopReplica": stop_replica.handle,
    "UpdateMetadata": update_metadata.handle,
}
