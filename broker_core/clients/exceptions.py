"""Kafka's protocol errors as its Java client names them: exception class and message (`Errors`, `common.errors`)."""

from broker_core.errors import Errors, KafkaError

_MESSAGES = {
    Errors.UNKNOWN_SERVER_ERROR: "The server experienced an unexpected error when processing the request.",
    Errors.OFFSET_OUT_OF_RANGE: "The requested offset is not within the range of offsets maintained by the server.",
    Errors.CORRUPT_MESSAGE: (
        "This message has failed its CRC checksum, exceeds the valid size, has a null key for a compacted topic, or "
        "is otherwise corrupt."
    ),
    Errors.UNKNOWN_TOPIC_OR_PARTITION: "This server does not host this topic-partition.",
    Errors.LEADER_NOT_AVAILABLE: (
        "There is no leader for this topic-partition as we are in the middle of a leadership election."
    ),
    Errors.NOT_LEADER_OR_FOLLOWER: (
        "For requests intended only for the leader, this error indicates that the broker is not the current leader. "
        "For requests intended for any replica, this error indicates that the broker is not a replica of the topic "
        "partition."
    ),
    Errors.REQUEST_TIMED_OUT: "The request timed out.",
    Errors.MESSAGE_TOO_LARGE: (
        "The request included a message larger than the max message size the server will accept."
    ),
    Errors.NETWORK_EXCEPTION: "The server disconnected before a response was received.",
    Errors.INVALID_TOPIC_EXCEPTION: "The request attempted to perform an operation on an invalid topic.",
    Errors.RECORD_LIST_TOO_LARGE: (
        "The request included message batch larger than the configured segment size on the server."
    ),
    Errors.NOT_ENOUGH_REPLICAS: "Messages are rejected since there are fewer in-sync replicas than required.",
    Errors.NOT_ENOUGH_REPLICAS_AFTER_APPEND: (
        "Messages are written to the log, but to fewer in-sync replicas than required."
    ),
    Errors.INVALID_REQUIRED_ACKS: "Produce request specified an invalid value for required acks.",
    Errors.INVALID_TIMESTAMP: "The timestamp of the message is out of acceptable range.",
    Errors.TOPIC_ALREADY_EXISTS: "Topic with this name already exists.",
    Errors.INVALID_PARTITIONS: "Number of partitions is below 1.",
    Errors.INVALID_REPLICATION_FACTOR: "Replication factor is below 1 or larger than the number of available brokers.",
    Errors.INVALID_REPLICA_ASSIGNMENT: "Replica assignment is invalid.",
    Errors.INVALID_CONFIG: "Configuration is invalid.",
    Errors.NOT_CONTROLLER: "This is not the correct controller for this cluster.",
    Errors.INVALID_REQUEST: (
        "This most likely occurs because of a request being malformed by the client library or the message was sent "
        "to an incompatible broker. See the broker logs for more details."
    ),
    Errors.POLICY_VIOLATION: "Request parameters do not satisfy the configured policy.",
    Errors.KAFKA_STORAGE_ERROR: "Disk error when trying to access log file on the disk.",
    Errors.FENCED_LEADER_EPOCH: "The leader epoch in the request is older than the epoch on the broker.",
    Errors.UNKNOWN_LEADER_EPOCH: "The leader epoch in the request is newer than the epoch on the broker.",
    Errors.INVALID_RECORD: "This record has failed the validation on broker and hence will be rejected.",
    Errors.TOPIC_DELETION_DISABLED: "Topic deletion is disabled.",
    Errors.COORDINATOR_LOAD_IN_PROGRESS: "The coordinator is loading and hence can't process requests.",
    Errors.COORDINATOR_NOT_AVAILABLE: "The coordinator is not available.",
    Errors.NOT_COORDINATOR: "This is not the correct coordinator.",
    Errors.ILLEGAL_GENERATION: "Specified group generation id is not valid.",
    Errors.INCONSISTENT_GROUP_PROTOCOL: (
        "The group member's supported protocols are incompatible with those of existing members or first group member "
        "tried to join with empty protocol type or empty protocol list."
    ),
    Errors.INVALID_GROUP_ID: "The group id is invalid.",
    Errors.UNKNOWN_MEMBER_ID: "The coordinator is not aware of this member.",
    Errors.INVALID_SESSION_TIMEOUT: (
        "The session timeout is not within the range allowed by the broker (as configured by "
        "group.min.session.timeout.ms and group.max.session.timeout.ms)."
    ),
    Errors.REBALANCE_IN_PROGRESS: "The group is rebalancing, so a rejoin is needed.",
    Errors.OFFSET_METADATA_TOO_LARGE: "The metadata field of the offset request was too large.",
    Errors.INVALID_COMMIT_OFFSET_SIZE: "The committing offset data size is not valid.",
    Errors.NON_EMPTY_GROUP: "The group is not empty.",
    Errors.GROUP_ID_NOT_FOUND: "The group id does not exist.",
    Errors.GROUP_MAX_SIZE_REACHED: (
        "The consumer group has reached its max size. It already has the configured maximum number of members."
    ),
    Errors.FENCED_INSTANCE_ID: (
        "The broker rejected this static consumer since another consumer with the same group.instance.id has "
        "registered with a different member.id."
    ),
    Errors.GROUP_SUBSCRIBED_TO_TOPIC: (
        "Deleting offsets of a topic is forbidden while the consumer group is actively subscribed to it."
    ),
    Errors.REASSIGNMENT_IN_PROGRESS: "A partition reassignment is in progress.",
    Errors.NO_REASSIGNMENT_IN_PROGRESS: "No partition reassignment is in progress.",
    Errors.ELECTION_NOT_NEEDED: "Leader election not needed for topic partition.",
    Errors.PREFERRED_LEADER_NOT_AVAILABLE: "The preferred leader was not available.",
    Errors.ELIGIBLE_LEADERS_NOT_AVAILABLE: "Eligible topic partition leaders are not available.",
    Errors.OUT_OF_ORDER_SEQUENCE_NUMBER: "The broker received an out of order sequence number.",
    Errors.DUPLICATE_SEQUENCE_NUMBER: "The broker received a duplicate sequence number.",
    Errors.INVALID_PRODUCER_EPOCH: "Producer attempted to produce with an old epoch.",
    Errors.INVALID_TXN_STATE: "The producer attempted a transactional operation in an invalid state.",
    Errors.INVALID_PRODUCER_ID_MAPPING: (
        "The producer attempted to use a producer id which is not currently assigned to its transactional id."
    ),
    Errors.INVALID_TRANSACTION_TIMEOUT: (
        "The transaction timeout is larger than the maximum value allowed by the broker (as configured by "
        "transaction.max.timeout.ms)."
    ),
    Errors.CONCURRENT_TRANSACTIONS: (
        "The producer attempted to update a transaction while another concurrent operation on the same transaction "
        "was ongoing."
    ),
    Errors.PRODUCER_FENCED: "There is a newer producer with the same transactionalId which fences the current one.",
    Errors.TRANSACTIONAL_ID_NOT_FOUND: "The transactionalId could not be found",
    Errors.UNKNOWN_PRODUCER_ID: (
        "This exception is raised by the broker if it could not locate the producer metadata associated with the "
        "producerId in question."
    ),
    Errors.TRANSACTION_ABORTABLE: (
        "The server encountered an error with the transaction. The client can abort the transaction to continue using "
        "this transactional ID."
    ),
    Errors.OFFSET_NOT_AVAILABLE: (
        "The leader high watermark has not caught up from a recent leader election so the offsets cannot be "
        "guaranteed to be monotonically increasing."
    ),
}

_CLASSES = {
    Errors.MESSAGE_TOO_LARGE: "RecordTooLargeException",
    Errors.OUT_OF_ORDER_SEQUENCE_NUMBER: "OutOfOrderSequenceException",
    Errors.INVALID_PRODUCER_ID_MAPPING: "InvalidPidMappingException",
    Errors.INVALID_TRANSACTION_TIMEOUT: "InvalidTxnTimeoutException",
    Errors.NON_EMPTY_GROUP: "GroupNotEmptyException",
    Errors.OFFSET_METADATA_TOO_LARGE: "OffsetMetadataTooLarge",
    Errors.COORDINATOR_LOAD_IN_PROGRESS: "CoordinatorLoadInProgressException",
    Errors.RECORD_LIST_TOO_LARGE: "RecordBatchTooLargeException",
    Errors.REQUEST_TIMED_OUT: "TimeoutException",
    Errors.TOPIC_ALREADY_EXISTS: "TopicExistsException",
    Errors.INVALID_CONFIG: "InvalidConfigurationException",
    Errors.UNKNOWN_SERVER_ERROR: "UnknownServerException",
    Errors.KAFKA_STORAGE_ERROR: "KafkaStorageException",
}


def exception_class(error: KafkaError) -> str:
    """The Java exception's class without its package, `NotEnoughReplicasException`."""
    name = _CLASSES.get(error)
    if name is None:
        words = error.name.removesuffix("_EXCEPTION").split("_")
        name = "".join(word.capitalize() for word in words) + "Exception"
    return name


def exception_message(error: KafkaError, message: str | None = None) -> str:
    """What the exception says: the broker's own message if it sent one, else the client's standing text."""
    return message or _MESSAGES.get(error, error.sentence)
