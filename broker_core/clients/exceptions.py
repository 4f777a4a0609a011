"""Kafka's protocol errors as its Java client names them: exception class and message (`Errors`, `common.errors`)."""

from broker_core.errors import Errors

COORDINATOR_MOVED = frozenset({Errors.NOT_COORDINATOR, Errors.COORDINATOR_NOT_AVAILABLE})
"""After these errors a client looks up the coordinator again."""
LOST_MEMBERSHIP = frozenset({Errors.UNKNOWN_MEMBER_ID, Errors.ILLEGAL_GENERATION})
"""After these errors a member rejoins without a member id."""

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
    Errors.CORRUPT_MESSAGE: "CorruptRecordException",
    Errors.STALE_CONTROLLER_EPOCH: "ControllerMovedException",
    Errors.TOPIC_AUTHORIZATION_FAILED: "TopicAuthorizationException",
    Errors.GROUP_AUTHORIZATION_FAILED: "GroupAuthorizationException",
    Errors.CLUSTER_AUTHORIZATION_FAILED: "ClusterAuthorizationException",
    Errors.DUPLICATE_SEQUENCE_NUMBER: "DuplicateSequenceException",
    Errors.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: "TransactionalIdAuthorizationException",
    Errors.SASL_AUTHENTICATION_FAILED: "SaslAuthenticationException",
    Errors.DELEGATION_TOKEN_AUTH_DISABLED: "DelegationTokenDisabledException",
    Errors.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED: "UnsupportedByAuthenticationException",
    Errors.DELEGATION_TOKEN_AUTHORIZATION_FAILED: "DelegationTokenAuthorizationException",
    Errors.PRINCIPAL_DESERIALIZATION_FAILURE: "PrincipalDeserializationException",
    Errors.FETCH_SESSION_TOPIC_ID_ERROR: "FetchSessionTopicIdException",
}


def exception_class(error: Errors) -> str:
    """The Java exception's class without its package, `NotEnoughReplicasException`."""
    name = _CLASSES.get(error)
    if name is None:
        words = error.name.removesuffix("_EXCEPTION").split("_")
        name = "".join(word.capitalize() for word in words) + "Exception"
    return name


def exception_message(error: Errors, message: str | None = None) -> str:
    """The message of the exception: the broker's own message if it sent one, else the client's default."""
    return message or error.message
