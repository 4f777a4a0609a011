"""Translation between Kafka's messages and the bodies that handlers use; one file per family of APIs."""

from broker_core.broker.translation import (
    alter_replica_log_dirs,
    api_versions,
    describe_cluster,
    update_features,
)
from broker_core.broker.translation.allocate_producer_ids import ALLOCATE_PRODUCER_IDS
from broker_core.broker.translation.between_brokers import BETWEEN_BROKERS
from broker_core.broker.translation.committed_offsets import OFFSET_COMMIT, OFFSET_FETCH
from broker_core.broker.translation.common import RequestContext, Translation, immediate
from broker_core.broker.translation.configs import ALTER_CONFIGS, DESCRIBE_CONFIGS, INCREMENTAL_ALTER_CONFIGS
from broker_core.broker.translation.consumer_group_protocol import CONSUMER_GROUP_PROTOCOL
from broker_core.broker.translation.delete_records import DELETE_RECORDS
from broker_core.broker.translation.delete_topics import DELETE_TOPICS
from broker_core.broker.translation.describe_log_dirs import DESCRIBE_LOG_DIRS
from broker_core.broker.translation.describe_transactions import DESCRIBE_TRANSACTIONS
from broker_core.broker.translation.fetch import FETCH
from broker_core.broker.translation.find_coordinator import FIND_COORDINATOR
from broker_core.broker.translation.group_admin import DELETE_GROUPS, DESCRIBE_GROUPS, LIST_GROUPS, OFFSET_DELETE
from broker_core.broker.translation.list_offsets import LIST_OFFSETS
from broker_core.broker.translation.membership import HEARTBEAT, JOIN_GROUP, LEAVE_GROUP, SYNC_GROUP
from broker_core.broker.translation.metadata import METADATA
from broker_core.broker.translation.offset_for_leader_epoch import OFFSET_FOR_LEADER_EPOCH
from broker_core.broker.translation.produce import PRODUCE
from broker_core.broker.translation.quotas import CLIENT_QUOTAS
from broker_core.broker.translation.reassignment import (
    ALTER_PARTITION_REASSIGNMENTS,
    ELECT_LEADERS,
    LIST_PARTITION_REASSIGNMENTS,
)
from broker_core.broker.translation.scram import SCRAM
from broker_core.broker.translation.security import SECURITY
from broker_core.broker.translation.topics import CREATE_PARTITIONS, CREATE_TOPICS
from broker_core.broker.translation.transactions import TRANSACTIONS

TRANSLATIONS: dict[str, Translation] = {
    "AllocateProducerIds": ALLOCATE_PRODUCER_IDS,
    "AlterConfigs": ALTER_CONFIGS,
    "AlterPartitionReassignments": ALTER_PARTITION_REASSIGNMENTS,
    "AlterReplicaLogDirs": immediate(alter_replica_log_dirs.body),
    "ApiVersions": immediate(api_versions.body),
    "CreatePartitions": CREATE_PARTITIONS,
    "CreateTopics": CREATE_TOPICS,
    "DeleteGroups": DELETE_GROUPS,
    "DeleteRecords": DELETE_RECORDS,
    "DeleteTopics": DELETE_TOPICS,
    "DescribeCluster": immediate(describe_cluster.body),
    "DescribeConfigs": DESCRIBE_CONFIGS,
    "DescribeGroups": DESCRIBE_GROUPS,
    "DescribeLogDirs": DESCRIBE_LOG_DIRS,
    "ElectLeaders": ELECT_LEADERS,
    "Fetch": FETCH,
    "FindCoordinator": FIND_COORDINATOR,
    "Heartbeat": HEARTBEAT,
    "IncrementalAlterConfigs": INCREMENTAL_ALTER_CONFIGS,
    "JoinGroup": JOIN_GROUP,
    "LeaveGroup": LEAVE_GROUP,
    "ListGroups": LIST_GROUPS,
    "ListOffsets": LIST_OFFSETS,
    "ListPartitionReassignments": LIST_PARTITION_REASSIGNMENTS,
    "Metadata": METADATA,
    "OffsetCommit": OFFSET_COMMIT,
    "OffsetDelete": OFFSET_DELETE,
    "OffsetFetch": OFFSET_FETCH,
    "OffsetForLeaderEpoch": OFFSET_FOR_LEADER_EPOCH,
    "Produce": PRODUCE,
    "SyncGroup": SYNC_GROUP,
    **BETWEEN_BROKERS,
    **CLIENT_QUOTAS,
    **CONSUMER_GROUP_PROTOCOL,
    **DESCRIBE_TRANSACTIONS,
    "UpdateFeatures": immediate(update_features.body),
    **SCRAM,
    **SECURITY,
    **TRANSACTIONS,
}

__all__ = ["TRANSLATIONS", "RequestContext", "Translation"]
