"""The protocol errors of Kafka 3.9 as values (`org.apache.kafka.common.protocol.Errors`).

Handlers return one of `Errors`; the log layer, whose errors occur deep in the call stack, raises `KafkaException`,
which carries one. Each error has its code on the wire, whether a client may retry, and one sentence that explains it to
a learner.
"""

from enum import Enum

from broker_core.texts import Text, code_of, render


class Errors(Enum):
    """One row of Kafka's error table: `name`, `code` (int16 on the wire), `retriable`, `sentence`."""

    UNKNOWN_SERVER_ERROR = -1, False, "The broker met an error that it did not expect."
    NONE = 0, False, "No error."
    OFFSET_OUT_OF_RANGE = 1, False, "The offset lies below the log start offset or beyond the log end offset."
    CORRUPT_MESSAGE = 2, True, "The batch failed its CRC, or its size field cannot be right."
    UNKNOWN_TOPIC_OR_PARTITION = 3, True, "This broker hosts no such topic or partition."
    INVALID_FETCH_SIZE = 4, False, "The requested fetch size is invalid."
    LEADER_NOT_AVAILABLE = 5, True, "The partition has no leader at the moment: an election is under way."
    NOT_LEADER_OR_FOLLOWER = 6, True, "This broker is not, or no longer, the replica that may serve this request."
    REQUEST_TIMED_OUT = 7, True, "The request was not completed within its timeout."
    BROKER_NOT_AVAILABLE = 8, False, "The broker is not available."
    REPLICA_NOT_AVAILABLE = 9, True, "The replica is not available on this broker."
    MESSAGE_TOO_LARGE = 10, False, "The batch is larger than max.message.bytes allows."
    STALE_CONTROLLER_EPOCH = 11, False, "The request comes from a controller that has since been replaced."
    OFFSET_METADATA_TOO_LARGE = 12, False, "The metadata string of the committed offset is too long."
    NETWORK_EXCEPTION = 13, True, "The connection was lost before a response arrived."
    COORDINATOR_LOAD_IN_PROGRESS = 14, True, "The coordinator is still reading its partition."
    COORDINATOR_NOT_AVAILABLE = 15, True, "No coordinator is available for this key at the moment."
    NOT_COORDINATOR = 16, True, "This broker is not the coordinator for this key."
    INVALID_TOPIC_EXCEPTION = 17, False, "The topic name is illegal, or the topic is internal."
    RECORD_LIST_TOO_LARGE = 18, False, "The append is larger than a whole segment may be (segment.bytes)."
    NOT_ENOUGH_REPLICAS = 19, True, "The ISR is smaller than min.insync.replicas; nothing was written."
    NOT_ENOUGH_REPLICAS_AFTER_APPEND = 20, True, "Written, but the ISR has since shrunk below min.insync.replicas."
    INVALID_REQUIRED_ACKS = 21, False, "acks must be -1 (all), 0 or 1."
    ILLEGAL_GENERATION = 22, False, "The member speaks of a generation that is not the group's current one."
    INCONSISTENT_GROUP_PROTOCOL = 23, False, "The member shares no protocol type or assignor with the group."
    INVALID_GROUP_ID = 24, False, "The group id is empty or illegal."
    UNKNOWN_MEMBER_ID = 25, False, "The coordinator does not know this member."
    INVALID_SESSION_TIMEOUT = 26, False, "The session timeout lies outside the range that the broker allows."
    REBALANCE_IN_PROGRESS = 27, False, "The group is rebalancing: the member must join again."
    INVALID_COMMIT_OFFSET_SIZE = 28, False, "The offset commit is too large."
    TOPIC_AUTHORIZATION_FAILED = 29, False, "No permission for this topic."
    GROUP_AUTHORIZATION_FAILED = 30, False, "No permission for this group."
    CLUSTER_AUTHORIZATION_FAILED = 31, False, "No permission for this operation on the cluster."
    INVALID_TIMESTAMP = 32, False, "A record's timestamp lies outside the window that the topic allows."
    UNSUPPORTED_SASL_MECHANISM = 33, False, "The broker does not support this SASL mechanism."
    ILLEGAL_SASL_STATE = 34, False, "The request is illegal in this state of the SASL handshake."
    UNSUPPORTED_VERSION = 35, False, "The broker does not support this version of the API."
    TOPIC_ALREADY_EXISTS = 36, False, "A topic of this name exists already."
    INVALID_PARTITIONS = 37, False, "The number of partitions must be at least 1."
    INVALID_REPLICATION_FACTOR = 38, False, "The factor must be at least 1 and at most the number of live brokers."
    INVALID_REPLICA_ASSIGNMENT = 39, False, "The replica assignment is not valid."
    INVALID_CONFIG = 40, False, "The configuration is not valid."
    NOT_CONTROLLER = 41, True, "This broker is not the controller."
    INVALID_REQUEST = 42, False, "The request contradicts itself or the protocol."
    UNSUPPORTED_FOR_MESSAGE_FORMAT = 43, False, "The message format on the broker does not support this request."
    POLICY_VIOLATION = 44, False, "The request violates a policy of the cluster."
    OUT_OF_ORDER_SEQUENCE_NUMBER = 45, False, "The sequence number is not the one that follows the last."
    DUPLICATE_SEQUENCE_NUMBER = 46, False, "The broker has written this sequence number already."
    INVALID_PRODUCER_EPOCH = 47, False, "The producer's epoch is older than the one the broker knows."
    INVALID_TXN_STATE = 48, False, "The transaction is in a state that does not allow this."
    INVALID_PRODUCER_ID_MAPPING = 49, False, "The producer id is not the one assigned to this transactional id."
    INVALID_TRANSACTION_TIMEOUT = 50, False, "The transaction timeout is larger than transaction.max.timeout.ms."
    CONCURRENT_TRANSACTIONS = 51, True, "The previous transaction of this transactional id is still being completed."
    TRANSACTION_COORDINATOR_FENCED = 52, False, "The coordinator that sent this has since been replaced."
    TRANSACTIONAL_ID_AUTHORIZATION_FAILED = 53, False, "No permission for this transactional id."
    SECURITY_DISABLED = 54, False, "Security features are disabled on this cluster."
    OPERATION_NOT_ATTEMPTED = 55, False, "The broker did not try this; something else in the request had failed."
    KAFKA_STORAGE_ERROR = 56, True, "The broker's disk failed."
    LOG_DIR_NOT_FOUND = 57, False, "The broker has no such log directory."
    SASL_AUTHENTICATION_FAILED = 58, False, "SASL authentication failed."
    UNKNOWN_PRODUCER_ID = 59, False, "The broker has no state for this producer id any more."
    REASSIGNMENT_IN_PROGRESS = 60, False, "A reassignment of this partition is under way."
    DELEGATION_TOKEN_AUTH_DISABLED = 61, False, "Delegation tokens are not enabled."
    DELEGATION_TOKEN_NOT_FOUND = 62, False, "The broker does not know this delegation token."
    DELEGATION_TOKEN_OWNER_MISMATCH = 63, False, "The principal is not the owner of the delegation token."
    DELEGATION_TOKEN_REQUEST_NOT_ALLOWED = 64, False, "Delegation tokens may not be requested on this channel."
    DELEGATION_TOKEN_AUTHORIZATION_FAILED = 65, False, "No permission for this delegation token."
    DELEGATION_TOKEN_EXPIRED = 66, False, "The delegation token has expired."
    INVALID_PRINCIPAL_TYPE = 67, False, "The principal type is not supported."
    NON_EMPTY_GROUP = 68, False, "The group still has members."
    GROUP_ID_NOT_FOUND = 69, False, "There is no group of this id."
    FETCH_SESSION_ID_NOT_FOUND = 70, True, "The broker does not know this fetch session."
    INVALID_FETCH_SESSION_EPOCH = 71, True, "The epoch of the fetch session is not the expected one."
    LISTENER_NOT_FOUND = 72, True, "The leader has no listener of the name that the client used."
    TOPIC_DELETION_DISABLED = 73, False, "delete.topic.enable is false."
    FENCED_LEADER_EPOCH = 74, True, "The leader epoch in the request is older than the broker's."
    UNKNOWN_LEADER_EPOCH = 75, True, "The leader epoch in the request is newer than the broker's."
    UNSUPPORTED_COMPRESSION_TYPE = 76, False, "This compression type needs a newer version of the API."
    STALE_BROKER_EPOCH = 77, False, "The broker epoch is not that of the broker's current registration."
    OFFSET_NOT_AVAILABLE = 78, True, "The new leader's high watermark has not caught up with its epoch's start yet."
    MEMBER_ID_REQUIRED = 79, False, "The member must join again with the member id in this answer."
    PREFERRED_LEADER_NOT_AVAILABLE = 80, True, "The preferred replica is not available."
    GROUP_MAX_SIZE_REACHED = 81, False, "The group has group.max.size members already."
    FENCED_INSTANCE_ID = 82, False, "Another member with the same group.instance.id has joined since."
    ELIGIBLE_LEADERS_NOT_AVAILABLE = 83, True, "No replica is eligible to become leader."
    ELECTION_NOT_NEEDED = 84, True, "The partition has the right leader already."
    NO_REASSIGNMENT_IN_PROGRESS = 85, False, "No reassignment of this partition is under way."
    GROUP_SUBSCRIBED_TO_TOPIC = 86, False, "The group is still subscribed to the topic."
    INVALID_RECORD = 87, False, "The broker refuses a record or batch: it breaks a rule of the format or the topic."
    UNSTABLE_OFFSET_COMMIT = 88, True, "A transaction that commits offsets of the group has not ended yet."
    THROTTLING_QUOTA_EXCEEDED = 89, True, "A quota is exceeded."
    PRODUCER_FENCED = 90, False, "A newer producer with the same transactional id has taken over."
    RESOURCE_NOT_FOUND = 91, False, "There is no such resource."
    DUPLICATE_RESOURCE = 92, False, "The request names a resource twice."
    UNACCEPTABLE_CREDENTIAL = 93, False, "The credential is not acceptable."
    INCONSISTENT_VOTER_SET = 94, False, "The voter sets differ."
    INVALID_UPDATE_VERSION = 95, False, "The state has changed since: the update was made against an older version."
    FEATURE_UPDATE_FAILED = 96, False, "The feature could not be updated."
    PRINCIPAL_DESERIALIZATION_FAILURE = 97, False, "The forwarded principal cannot be read."
    SNAPSHOT_NOT_FOUND = 98, False, "There is no such snapshot."
    POSITION_OUT_OF_RANGE = 99, False, "The position lies outside the snapshot."
    UNKNOWN_TOPIC_ID = 100, True, "The broker does not know this topic id."
    DUPLICATE_BROKER_REGISTRATION = 101, False, "The broker id is in use."
    BROKER_ID_NOT_REGISTERED = 102, False, "No broker of this id is registered."
    INCONSISTENT_TOPIC_ID = 103, True, "The topic id is not the one in the log's partition.metadata."
    INCONSISTENT_CLUSTER_ID = 104, False, "The cluster id is not this cluster's."
    TRANSACTIONAL_ID_NOT_FOUND = 105, False, "The coordinator does not know this transactional id."
    FETCH_SESSION_TOPIC_ID_ERROR = 106, True, "The fetch session mixes requests with and without topic ids."
    INELIGIBLE_REPLICA = 107, False, "The new ISR holds a replica that may not join it."
    NEW_LEADER_ELECTED = 108, False, "The partition has changed its leader at the same time."
    OFFSET_MOVED_TO_TIERED_STORAGE = 109, False, "The offset has moved to tiered storage."
    FENCED_MEMBER_EPOCH = 110, False, "The member's epoch is not the one the coordinator knows."
    UNRELEASED_INSTANCE_ID = 111, False, "The group.instance.id is still in use."
    UNSUPPORTED_ASSIGNOR = 112, False, "The group does not support this assignor."
    STALE_MEMBER_EPOCH = 113, False, "The member's epoch is stale: it must learn its assignment first."
    MISMATCHED_ENDPOINT_TYPE = 114, False, "The request went to the wrong kind of endpoint."
    UNSUPPORTED_ENDPOINT_TYPE = 115, False, "This kind of endpoint is not supported."
    UNKNOWN_CONTROLLER_ID = 116, False, "The controller id is unknown."
    UNKNOWN_SUBSCRIPTION_ID = 117, False, "The subscription id of the telemetry is unknown."
    TELEMETRY_TOO_LARGE = 118, False, "The telemetry is larger than the broker accepts."
    INVALID_REGISTRATION = 119, False, "The broker registration is not valid."
    TRANSACTION_ABORTABLE = 120, False, "The transaction must be aborted; the producer may go on after that."
    INVALID_RECORD_STATE = 121, False, "The record is in a state that does not allow this acknowledgement."
    SHARE_SESSION_NOT_FOUND = 122, True, "The broker does not know this share session."
    INVALID_SHARE_SESSION_EPOCH = 123, True, "The epoch of the share session is not the expected one."
    FENCED_STATE_EPOCH = 124, False, "The state epoch is not the expected one."
    INVALID_VOTER_KEY = 125, False, "The voter key is not the receiving replica's."
    DUPLICATE_VOTER = 126, False, "The voter is in the voter set already."
    VOTER_NOT_FOUND = 127, False, "The voter is not in the voter set."

    code: int
    retriable: bool
    sentence: str

    def __init__(self, code: int, retriable: bool, sentence: str) -> None:
        self.code = code
        self.retriable = retriable
        self.sentence = sentence

    @staticmethod
    def of(code: int) -> "Errors":
        """The error of a wire code; UNKNOWN_SERVER_ERROR for a code that Kafka 3.9 does not have."""
        return _BY_CODE.get(code, Errors.UNKNOWN_SERVER_ERROR)


_BY_CODE = {error.code: error for error in Errors}


class KafkaException(Exception):
    """An operation ended with a protocol error.

    `what` says what was wrong in this case: a message, Kafka's own message in a response, or nothing if the error says
    it all.
    """

    def __init__(self, error: Errors, what: Text | str = "") -> None:
        super().__init__(error, what)
        self.error = error
        self.what = what

    @property
    def message(self) -> str:
        """What was wrong, in English, for a response or a log."""
        return render(self.what) or self.error.sentence

    @property
    def code(self) -> str:
        """What was wrong, as in events: a code, Kafka's own message, or the name of the error."""
        return code_of(self.what) or self.error.name

    def __str__(self) -> str:
        return f"{self.error.name}: {self.message}"


class RecordValidationException(KafkaException):
    """A batch was rejected because of individual records (KIP-467): (index of the record, why), in increasing order."""

    def __init__(self, error: Errors, message: str, record_errors: tuple[tuple[int, str | None], ...]) -> None:
        super().__init__(error, message)
        self.record_errors = record_errors

    def __reduce__(self) -> tuple[type, tuple[Errors, str, tuple[tuple[int, str | None], ...]]]:
        return type(self), (self.error, self.message, self.record_errors)


class UnexpectedAppendOffsetException(KafkaException):
    """A follower received a batch that starts below its log end offset (Kafka's class of the same name).

    `first_offset` is that of the refused batch, `log_end_offset` that of the log, which is unchanged.
    """

    def __init__(self, what: Text, first_offset: int, log_end_offset: int) -> None:
        super().__init__(Errors.UNKNOWN_SERVER_ERROR, what)
        self.first_offset = first_offset
        self.log_end_offset = log_end_offset

    def __reduce__(self) -> tuple[type, tuple[Text | str, int, int]]:
        return type(self), (self.what, self.first_offset, self.log_end_offset)
