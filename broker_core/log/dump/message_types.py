"""The messages that Kafka 3.9 writes into its internal topics and control batches.

Source: the JSON definitions beside the group and transaction coordinators (`OffsetCommitKey.json` and so on) and the
clients (`ConsumerProtocolSubscription.json` and so on).
"""

from broker_core.log.dump.messages import Field, Struct

_GROUP_MEMBER = Struct(
    "MemberMetadata",
    (
        Field("memberId", "string"),
        Field("groupInstanceId", "string", since=3, nullable=True),
        Field("clientId", "string"),
        Field("clientHost", "string"),
        Field("rebalanceTimeout", "int32", since=1),
        Field("sessionTimeout", "int32"),
        Field("subscription", "bytes"),
        Field("assignment", "bytes"),
    ),
    flexible_since=4,
)
_TOPIC_PARTITIONS = Struct(
    "TopicPartitions", (Field("topicId", "uuid"), Field("partitions", ["int32"])), flexible_since=0
)
_TARGET_PARTITIONS = _TOPIC_PARTITIONS._replace(name="TopicPartition", latest=0)
_CLASSIC_MEMBER = Struct(
    "ClassicMemberMetadata",
    (
        Field("sessionTimeoutMs", "int32"),
        Field(
            "supportedProtocols",
            [
                Struct(
                    "ClassicProtocol",
                    (Field("name", "string"), Field("metadata", "bytes")),
                    flexible_since=0,
                    latest=0,
                )
            ],
        ),
    ),
    flexible_since=0,
    latest=0,
)
_PARTITION_RACKS = Struct(
    "PartitionMetadata", (Field("partition", "int32"), Field("racks", ["string"])), flexible_since=0, latest=0
)
_TOPIC_METADATA = Struct(
    "TopicMetadata",
    (
        Field("topicId", "uuid"),
        Field("topicName", "string"),
        Field("numPartitions", "int32"),
        Field("partitionMetadata", [_PARTITION_RACKS]),
    ),
    flexible_since=0,
    latest=0,
)

_OFFSET_COMMIT_KEY = Struct(
    "OffsetCommitKey", (Field("group", "string"), Field("topic", "string"), Field("partition", "int32"))
)
_OFFSET_COMMIT_VALUE = Struct(
    "OffsetCommitValue",
    (
        Field("offset", "int64"),
        Field("leaderEpoch", "int32", since=3),
        Field("metadata", "string"),
        Field("commitTimestamp", "int64"),
        Field("expireTimestamp", "int64", since=1, until=1),
    ),
    flexible_since=4,
)
_GROUP_METADATA_KEY = Struct("GroupMetadataKey", (Field("group", "string"),))
GROUP_METADATA_VALUE = Struct(
    "GroupMetadataValue",
    (
        Field("protocolType", "string"),
        Field("generation", "int32"),
        Field("protocol", "string", nullable=True),
        Field("leader", "string", nullable=True),
        Field("currentStateTimestamp", "int64", since=2),
        Field("members", [_GROUP_MEMBER]),
    ),
    flexible_since=4,
)
_CONSUMER_GROUP_METADATA_VALUE = Struct("ConsumerGroupMetadataValue", (Field("epoch", "int32"),), flexible_since=0)
_CONSUMER_GROUP_PARTITION_METADATA_VALUE = Struct(
    "ConsumerGroupPartitionMetadataValue", (Field("topics", [_TOPIC_METADATA]),), flexible_since=0
)
_CONSUMER_GROUP_MEMBER_METADATA_VALUE = Struct(
    "ConsumerGroupMemberMetadataValue",
    (
        Field("instanceId", "string", nullable=True),
        Field("rackId", "string", nullable=True),
        Field("clientId", "string"),
        Field("clientHost", "string"),
        Field("subscribedTopicNames", ["string"]),
        Field("subscribedTopicRegex", "string", nullable=True),
        Field("rebalanceTimeoutMs", "int32"),
        Field("serverAssignor", "string", nullable=True),
        Field("classicMemberMetadata", _CLASSIC_MEMBER, nullable=True, tag=0),
    ),
    flexible_since=0,
)
_TARGET_ASSIGNMENT_METADATA_VALUE = Struct(
    "ConsumerGroupTargetAssignmentMetadataValue", (Field("assignmentEpoch", "int32"),), flexible_since=0
)
_TARGET_ASSIGNMENT_MEMBER_VALUE = Struct(
    "ConsumerGroupTargetAssignmentMemberValue", (Field("topicPartitions", [_TARGET_PARTITIONS]),), flexible_since=0
)
_CURRENT_MEMBER_ASSIGNMENT_VALUE = Struct(
    "ConsumerGroupCurrentMemberAssignmentValue",
    (
        Field("memberEpoch", "int32"),
        Field("previousMemberEpoch", "int32"),
        Field("state", "int8"),
        Field("assignedPartitions", [_TOPIC_PARTITIONS]),
        Field("partitionsPendingRevocation", [_TOPIC_PARTITIONS]),
    ),
    flexible_since=0,
)


def _group_key(name: str, *, of_member: bool = False) -> Struct:
    fields = (Field("groupId", "string"), Field("memberId", "string"))
    return Struct(name, fields if of_member else fields[:1])


GROUP_RECORDS: dict[int, tuple[Struct, Struct]] = {
    0: (_OFFSET_COMMIT_KEY, _OFFSET_COMMIT_VALUE),
    1: (_OFFSET_COMMIT_KEY, _OFFSET_COMMIT_VALUE),
    2: (_GROUP_METADATA_KEY, GROUP_METADATA_VALUE),
    3: (_group_key("ConsumerGroupMetadataKey"), _CONSUMER_GROUP_METADATA_VALUE),
    4: (_group_key("ConsumerGroupPartitionMetadataKey"), _CONSUMER_GROUP_PARTITION_METADATA_VALUE),
    5: (_group_key("ConsumerGroupMemberMetadataKey", of_member=True), _CONSUMER_GROUP_MEMBER_METADATA_VALUE),
    6: (_group_key("ConsumerGroupTargetAssignmentMetadataKey"), _TARGET_ASSIGNMENT_METADATA_VALUE),
    7: (_group_key("ConsumerGroupTargetAssignmentMemberKey", of_member=True), _TARGET_ASSIGNMENT_MEMBER_VALUE),
    8: (_group_key("ConsumerGroupCurrentMemberAssignmentKey", of_member=True), _CURRENT_MEMBER_ASSIGNMENT_VALUE),
}
"""Type of a record in __consumer_offsets -> its key and its value. The type is the version of the key."""

_OWNED_PARTITIONS = Struct("TopicPartition", (Field("topic", "string"), Field("partitions", ["int32"])), latest=3)
SUBSCRIPTION = Struct(
    "ConsumerProtocolSubscription",
    (
        Field("topics", ["string"]),
        Field("userData", "buffer", nullable=True),
        Field("ownedPartitions", [_OWNED_PARTITIONS], since=1),
        Field("generationId", "int32", since=2),
        Field("rackId", "string", since=3, nullable=True),
    ),
)
ASSIGNMENT = Struct(
    "ConsumerProtocolAssignment",
    (Field("assignedPartitions", [_OWNED_PARTITIONS]), Field("userData", "buffer", nullable=True)),
)

TRANSACTION_LOG_KEY = Struct("TransactionLogKey", (Field("transactionalId", "string"),))
TRANSACTION_LOG_VALUE = Struct(
    "TransactionLogValue",
    (
        Field("producerId", "int64"),
        Field("producerEpoch", "int16"),
        Field("transactionTimeoutMs", "int32"),
        Field("transactionStatus", "int8"),
        Field(
            "transactionPartitions",
            [
                Struct(
                    "PartitionsSchema",
                    (Field("topic", "string"), Field("partitionIds", ["int32"])),
                    flexible_since=1,
                    latest=1,
                )
            ],
            nullable=True,
        ),
        Field("transactionLastUpdateTimestampMs", "int64"),
        Field("transactionStartTimestampMs", "int64"),
    ),
    flexible_since=1,
)

SNAPSHOT_HEADER = Struct(
    "SnapshotHeaderRecord",
    (Field("version", "int16"), Field("lastContainedLogTimestamp", "int64")),
    flexible_since=0,
)
SNAPSHOT_FOOTER = Struct("SnapshotFooterRecord", (Field("version", "int16"),), flexible_since=0)
KRAFT_VERSION = Struct(
    "KRaftVersionRecord", (Field("version", "int16"), Field("kRaftVersion", "int16")), flexible_since=0
)
_ENDPOINT = Struct(
    "Endpoint", (Field("name", "string"), Field("host", "string"), Field("port", "uint16")), flexible_since=0, latest=0
)
_VOTER = Struct(
    "Voter",
    (
        Field("voterId", "int32"),
        Field("voterDirectoryId", "uuid"),
        Field("endpoints", [_ENDPOINT]),
        Field(
            "kRaftVersionFeature",
            Struct(
                "KRaftVersionFeature",
                (Field("minSupportedVersion", "int16"), Field("maxSupportedVersion", "int16")),
                flexible_since=0,
                latest=0,
            ),
        ),
    ),
    flexible_since=0,
    latest=0,
)
VOTERS = Struct("VotersRecord", (Field("version", "int16"), Field("voters", [_VOTER])), flexible_since=0)
