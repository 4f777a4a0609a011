"""Formatters of kafka-console-consumer.sh for the internal topics.

Those of `org.apache.kafka.tools.consumer` print JSON without a line end (`ApiMessageFormatter`). Those of the
coordinators, which Kafka 3.9 also has, print one line per record (`GroupMetadataManager`, `TransactionLog`).
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, NoReturn

from broker_core.log.dump.decoders import TRANSACTION_STATES, in_set_order
from broker_core.log.dump.java import MIN_HASH_TABLE_SIZE, grown_hash_table, scala_hash_order, string_hash
from broker_core.log.dump.message_types import GROUP_RECORDS, TRANSACTION_LOG_KEY, TRANSACTION_LOG_VALUE
from broker_core.log.dump.messages import Json, Struct, UnreadableMessage, json_text, read_message
from broker_core.records.record_batch import Record
from broker_core.shell.console.console_unreadable import UnreadableRecord

_OFFSET_KEY, _OFFSET_VALUE = GROUP_RECORDS[0]
_GROUP_KEY, _GROUP_VALUE = GROUP_RECORDS[2]
_VERSION_BYTES = 2


class _Topic(NamedTuple):
    """The keys of an internal topic by version, and what a formatter prints: a key, a value and its latest version."""

    keys: Mapping[int, Struct]
    key: Struct
    value: Struct
    latest: int


_GROUP_KEYS = {0: _OFFSET_KEY, 1: _OFFSET_KEY, 2: _GROUP_KEY}
_OFFSETS = _Topic(_GROUP_KEYS, _OFFSET_KEY, _OFFSET_VALUE, 4)
_GROUPS = _Topic(_GROUP_KEYS, _GROUP_KEY, _GROUP_VALUE, 4)
_TRANSACTIONS = _Topic({0: TRANSACTION_LOG_KEY}, TRANSACTION_LOG_KEY, TRANSACTION_LOG_VALUE, 1)


def _version(data: bytes) -> int:
    if len(data) < _VERSION_BYTES:
        _refuse(UnreadableMessage(None))
    return int.from_bytes(data[:_VERSION_BYTES], "big", signed=True)


def _read(definition: Struct, data: bytes) -> dict[str, Any]:
    try:
        return read_message(definition, data[_VERSION_BYTES:], _version(data))[0]
    except UnreadableMessage as error:
        _refuse(error)


def _refuse(error: UnreadableMessage) -> NoReturn:
    if error.message is None:
        raise UnreadableRecord("java.nio.BufferUnderflowException", "") from None
    raise UnreadableRecord("java.lang.RuntimeException", error.message) from None


class ApiMessageFormatter:
    """Key and value as JSON. Other records of the topic are skipped; an unknown version is printed as "unknown"."""

    def __init__(self, topic: _Topic) -> None:
        self._topic = topic

    def text(self, partition: str, record: Record) -> str:
        """JSON, without a separator between records."""
        key: Json = None
        if record.key is not None:
            version = _version(record.key)
            definition = self._topic.keys.get(version)
            data: Json = "unknown" if definition is None else _read(definition, record.key)
            if definition is not None and definition is not self._topic.key:
                return ""
            key = {"version": version, "data": data}
        value: Json = None
        if record.value is not None:
            version = _version(record.value)
            is_known = 0 <= version <= self._topic.latest
            value = {"version": version, "data": _read(self._topic.value, record.value) if is_known else "unknown"}
        return json_text({"key": key, "value": value})


class CoordinatorFormatter:
    """Key and value separated by `::`. `shown` returns both as text; a tombstone is NULL."""

    def __init__(self, topic: _Topic, kind: str, shown: Callable[[dict[str, Any], dict[str, Any] | None], str]) -> None:
        self._topic = topic
        self._kind = kind
        self._shown = shown

    def text(self, partition: str, record: Record) -> str:
        """A line, or nothing for a record of another type."""
        if record.key is None:
            return ""
        version = _version(record.key)
        definition = self._topic.keys.get(version)
        if definition is None and self._topic is _TRANSACTIONS:
            return f"unknown::version={version}\n"
        if definition is None:
            return ""
        key = _read(definition, record.key)
        if definition is not self._topic.key:
            return ""
        if record.value is not None and not 0 <= _version(record.value) <= self._topic.latest:
            version = _version(record.value)
            raise UnreadableRecord("java.lang.IllegalStateException", self._kind.format(version))
        return self._shown(key, None if record.value is None else _read(self._topic.value, record.value)) + "\n"


def _offset(key: dict[str, Any], value: dict[str, Any] | None) -> str:
    place = f"[{key['group']},{key['topic']},{key['partition']}]"
    if value is None:
        return f"{place}::NULL"
    epoch, expires = value.get("leaderEpoch", -1), value.get("expireTimestamp", -1)
    return (
        f"{place}::OffsetAndMetadata(offset={value['offset']}, "
        f"leaderEpoch={'Optional.empty' if epoch == -1 else f'Optional[{epoch}]'}, metadata={value['metadata']}, "
        f"commitTimestamp={value['commitTimestamp']}, expireTimestamp={_option(None if expires == -1 else expires)})"
    )


def _group(key: dict[str, Any], value: dict[str, Any] | None) -> str:
    if value is None:
        return f"{key['group']}::NULL"
    members = value["members"]
    ids, size = [member["memberId"] for member in members], MIN_HASH_TABLE_SIZE
    for count in range(len(ids)):
        size = grown_hash_table(size, count)
    shown = (
        f"{ids[place]} -> {_member(members[place], value)}"
        for place in scala_hash_order([string_hash(each) for each in ids], size)
    )
    return (
        f"{key['group']}::GroupMetadata(groupId={key['group']}, generation={value['generation']}, "
        f"protocolType={_option(value['protocolType'] or None)}, currentState={'Stable' if members else 'Empty'}, "
        f"members=HashMap({', '.join(shown)}))"
    )


def _member(member: dict[str, Any], group: dict[str, Any]) -> str:
    session_ms = member["sessionTimeout"]
    return (
        f"MemberMetadata(memberId={member['memberId']}, "
        f"groupInstanceId={_option(member.get('groupInstanceId'))}, clientId={_text(member['clientId'])}, "
        f"clientHost={_text(member['clientHost'])}, sessionTimeoutMs={session_ms}, "
        f"rebalanceTimeoutMs={member.get('rebalanceTimeout', session_ms)}, "
        f"supportedProtocols=List({_text(group['protocol'])}))"
    )


def _transaction(key: dict[str, Any], value: dict[str, Any] | None) -> str:
    name = key["transactionalId"]
    if value is None:
        return f"{name}::NULL"
    status = value["transactionStatus"]
    if not 0 <= status < len(TRANSACTION_STATES):
        message = f"Unknown transaction state id {status} from the transaction status message"
        raise UnreadableRecord("java.lang.IllegalStateException", message)
    state = TRANSACTION_STATES[status]
    topics = [] if state == "Empty" else value["transactionPartitions"]
    if topics is None:
        raise UnreadableRecord("java.lang.NullPointerException", "")
    partitions = in_set_order(topics)
    return (
        f"{name}::TransactionMetadata(transactionalId={name}, producerId={value['producerId']}, "
        f"producerEpoch={value['producerEpoch']}, txnTimeoutMs={value['transactionTimeoutMs']}, state={state}, "
        f"pendingState=None, topicPartitions=HashSet({', '.join(partitions)}), "
        f"txnStartTimestamp={value['transactionStartTimestampMs']}, "
        f"txnLastUpdateTimestamp={value['transactionLastUpdateTimestampMs']})"
    )


def _text(value: str | None) -> str:
    return "null" if value is None else value


def _option(value: object | None) -> str:
    """A Scala Option."""
    return "None" if value is None else f"Some({value})"


_TOOLS = "org.apache.kafka.tools.consumer."
INTERNAL_FORMATTERS: dict[str, ApiMessageFormatter | CoordinatorFormatter] = {
    _TOOLS + "OffsetsMessageFormatter": ApiMessageFormatter(_OFFSETS),
    _TOOLS + "GroupMetadataMessageFormatter": ApiMessageFormatter(_GROUPS),
    _TOOLS + "TransactionLogMessageFormatter": ApiMessageFormatter(_TRANSACTIONS),
    "kafka.coordinator.group.GroupMetadataManager$OffsetsMessageFormatter": CoordinatorFormatter(
        _OFFSETS, "Unknown offset message version: {}", _offset
    ),
    "kafka.coordinator.group.GroupMetadataManager$GroupMetadataMessageFormatter": CoordinatorFormatter(
        _GROUPS, "Unknown group metadata message version: {}", _group
    ),
    "kafka.coordinator.transaction.TransactionLog$TransactionLogMessageFormatter": CoordinatorFormatter(
        _TRANSACTIONS, "Unknown version {} from the transaction log message value", _transaction
    ),
}
"""By class."""
