"""The tool's text for keys and values: a string by default, or the output of a decoder.

Source: `DumpLogSegments.newDecoder`, `OffsetsMessageParser`, `TransactionLogMessageParser`;
`org.apache.kafka.tools.api.Decoder`, `CoordinatorRecordSerde`, `TransactionLog.formatRecordKeyAndValue`.
"""

import re
import struct
from base64 import b64decode
from collections.abc import Callable, Iterable
from typing import TypeAlias

from broker_core.config_defs.java_text import JAVA_CLASSES
from broker_core.log.dump.java import (
    MIN_HASH_TABLE_SIZE,
    Thrown,
    decode_in_pieces,
    grown_hash_table,
    int32,
    scala_hash_order,
    string_hash,
)
from broker_core.log.dump.message_types import (
    ASSIGNMENT,
    GROUP_METADATA_VALUE,
    GROUP_RECORDS,
    SUBSCRIPTION,
    TRANSACTION_LOG_KEY,
    TRANSACTION_LOG_VALUE,
)
from broker_core.log.dump.messages import Json, Struct, UnreadableMessage, json_text, read_message
from broker_core.log.dump.records import DumpedRecord
from broker_core.partitions import partition_name

Text: TypeAlias = Iterable[str]
"""A text in pieces."""
Parser: TypeAlias = Callable[[DumpedRecord], tuple[Text | None, Text | None]]
"""Returns the printed key and payload of a record, None for what is not printed. Raises Thrown."""
Decoder: TypeAlias = Callable[[bytes], Text]

_VERSION = struct.Struct(">h")
_CONSUMER_PROTOCOL = "consumer"
_DELETE = "<DELETE>"
_API = "org.apache.kafka.tools.api."
_DEPRECATED = "kafka.serializer."


def _number(size: int) -> Decoder:
    def read(data: bytes) -> Text:
        if len(data) < size:
            rule = f"the decoder reads {size} bytes, a key or value has {len(data)}"
            raise Thrown("java.nio.BufferUnderflowException", None, rule)
        return (str(int.from_bytes(data[:size], "big", signed=True)),)

    return read


def _array(data: bytes) -> Text:
    # Java shows an array by its address; here the same bytes give the same text.
    return (f"[B@{string_hash(data.decode('latin-1')) & 0xFFFFFFFF:x}",)


_DECODERS: dict[str, Decoder] = {
    "StringDecoder": decode_in_pieces,
    "IntegerDecoder": _number(4),
    "LongDecoder": _number(8),
    "DefaultDecoder": _array,
}


def class_parser(key_class: str, value_class: str) -> tuple[Parser, list[str]]:
    """The parser for decoder classes, and what the tool prints about them. Raises Thrown."""
    printed: list[str] = []
    read_value = _decoder(value_class, printed)
    read_key = _decoder(key_class, printed)

    def parse(record: DumpedRecord) -> tuple[Text | None, Text | None]:
        return (
            None if record.key is None else read_key(record.key),
            None if record.value is None else read_value(record.value),
        )

    return parse, printed


_SERIALIZER = re.compile(
    r"org\.apache\.kafka\.common\.serialization\."
    r"(String|Integer|Long|Short|Float|Double|Boolean|Bytes|ByteArray|ByteBuffer|UUID|Void|List)(Des|S)erializer"
)
"""With Java's own, the classes that the tool finds, although they are not decoders."""


def _decoder(class_name: str, printed: list[str]) -> Decoder:
    name = class_name.removeprefix(_DEPRECATED).removeprefix(_API)
    if name not in _DECODERS or name == class_name:
        if class_name in JAVA_CLASSES or _SERIALIZER.fullmatch(class_name):
            rule = f"{class_name} is not a decoder"
            raise Thrown(
                "java.lang.NoSuchMethodException", f"{class_name}.<init>(kafka.utils.VerifiableProperties)", rule
            )
        rule = f"a decoder is one of {', '.join(_API + each for each in _DECODERS)}, not {class_name!r}"
        raise Thrown("java.lang.ClassNotFoundException", class_name, rule)
    if class_name.startswith(_DEPRECATED):
        printed.append(f"{class_name} is deprecated. Please use {_API}{name} instead")
    return _DECODERS[name]


# __consumer_offsets


def parse_group_record(record: DumpedRecord) -> tuple[Text | None, Text | None]:
    """A record of __consumer_offsets as JSON; for one that cannot be parsed the key contains a note."""
    if record.key is None:
        raise Thrown(
            "java.lang.RuntimeException",
            f"Failed to decode message at offset {record.offset} using offset topic decoder (message had a missing "
            "key)",
            f"records of __consumer_offsets have keys, the one at offset {record.offset} has none",
        )
    try:
        record_type = _version(record.key, "key")
        definitions = GROUP_RECORDS.get(record_type)
        if definitions is None:
            return (f"Unknown record type {record_type} at offset {record.offset}, skipping.",), None
        key: Json = {"type": str(record_type), "data": _read(definitions[0], record.key[2:], record_type, "key")}
        if record.value is None:
            return (json_text(key),), (_DELETE,)
        version = _version(record.value, "value")
        data = _read(definitions[1], record.value[2:], version, "value")
        if definitions[1] is GROUP_METADATA_VALUE:
            _open_members(data)
        _leave_out_default(data)
        return (json_text(key),), (json_text({"version": str(version), "data": data}),)
    except UnreadableMessage as error:
        return (f"Error at offset {record.offset}, skipping. {error.message}",), None


def _version(data: bytes, which: str) -> int:
    if len(data) < _VERSION.size:
        raise UnreadableMessage(f"Could not read version from {which}'s buffer.")
    return int(_VERSION.unpack_from(data)[0])


def _read(definition: Struct, data: bytes, version: int, which: str) -> dict[str, Json]:
    try:
        return read_message(definition, data, version)[0]
    except UnreadableMessage as error:
        reason = "null" if error.message is None else error.message
        raise UnreadableMessage(
            f"Could not read record with version {version} from {which}'s buffer due to: {reason}."
        ) from None


def _open_members(group: dict[str, Json]) -> None:
    """Parses the subscriptions and assignments of consumers; those that cannot be parsed stay bytes."""
    members = group["members"]
    if group["protocolType"] != _CONSUMER_PROTOCOL or not isinstance(members, list):
        return
    for member in members:
        assert isinstance(member, dict)
        for field, definition in (("subscription", SUBSCRIPTION), ("assignment", ASSIGNMENT)):
            data = _bytes(member[field])
            if len(data) < _VERSION.size:
                continue
            try:
                member[field] = read_message(definition, data[2:], int(_VERSION.unpack_from(data)[0]))[0]
            except UnreadableMessage:
                continue


def _bytes(value: Json) -> bytes:
    assert isinstance(value, str)
    return b64decode(value)


def _leave_out_default(data: dict[str, Json]) -> None:
    if data.get("classicMemberMetadata") == {"sessionTimeoutMs": 0, "supportedProtocols": []}:
        del data["classicMemberMetadata"]


# __transaction_state

TRANSACTION_STATES = (
    "Empty",
    "Ongoing",
    "PrepareCommit",
    "PrepareAbort",
    "CompleteCommit",
    "CompleteAbort",
    "Dead",
    "PrepareEpochFence",
)


def parse_transaction_record(record: DumpedRecord) -> tuple[Text | None, Text | None]:
    """A record of __transaction_state. Raises Thrown for one that cannot be parsed."""
    if record.key is None:
        raise Thrown(
            "java.lang.NullPointerException",
            'Cannot invoke "java.nio.ByteBuffer.getShort()" because "buffer" is null',
            f"records of __transaction_state have keys, the one at offset {record.offset} has none",
        )
    try:
        version = _short(record.key)
        if version != 0:
            return (f"unknown::version={version}",), None
        transactional_id = read_message(TRANSACTION_LOG_KEY, record.key[2:], version)[0]["transactionalId"]
        key = f"transaction_metadata::transactionalId={transactional_id}"
        if record.value is None:
            return (key,), (_DELETE,)
        version = _short(record.value)
        if not 0 <= version <= 1:
            message = f"Unknown version {version} from the transaction log message value"
            raise _bad_transaction("java.lang.IllegalStateException", message)
        return (key,), (_transaction(read_message(TRANSACTION_LOG_VALUE, record.value[2:], version)[0]),)
    except UnreadableMessage as error:
        java_class = "java.nio.BufferUnderflowException" if error.message is None else "java.lang.RuntimeException"
        raise _bad_transaction(java_class, error.message) from None


def _bad_transaction(java_class: str, message: str | None) -> Thrown:
    return Thrown(java_class, message, f"a record is none of __transaction_state ({message or 'it ends too early'})")


def _short(data: bytes) -> int:
    if len(data) < _VERSION.size:
        raise UnreadableMessage(None)
    return int(_VERSION.unpack_from(data)[0])


def _transaction(value: dict[str, Json]) -> str:
    status = value["transactionStatus"]
    assert isinstance(status, int)
    if not 0 <= status < len(TRANSACTION_STATES):
        message = f"Unknown transaction state id {status} from the transaction status message"
        raise _bad_transaction("java.lang.IllegalStateException", message)
    topics = value["transactionPartitions"]
    if TRANSACTION_STATES[status] == "Empty":
        topics = []
    elif topics is None:
        raise _bad_transaction(
            "java.lang.NullPointerException",
            'Cannot invoke "java.util.List.forEach(java.util.function.Consumer)" because the return value of '
            '"org.apache.kafka.coordinator.transaction.generated.TransactionLogValue.transactionPartitions()" is null',
        )
    return (
        f"producerId:{value['producerId']},producerEpoch:{value['producerEpoch']},state={TRANSACTION_STATES[status]},"
        f"partitions=[{','.join(in_set_order(topics))}],"
        f"txnLastUpdateTimestamp={value['transactionLastUpdateTimestampMs']},"
        f"txnTimeoutMs={value['transactionTimeoutMs']}"
    )


_MAX_SMALL_SET = 4


def in_set_order(topics: Json) -> list[str]:
    """The partitions of a transaction, in the iteration order of the Scala hash set that holds them."""
    assert isinstance(topics, list)
    hashes: dict[str, int] = {}
    size = MIN_HASH_TABLE_SIZE
    for each in topics:
        assert isinstance(each, dict)
        topic, numbers = each["topic"], each["partitionIds"]
        assert isinstance(topic, str) and isinstance(numbers, list)
        partitions = {number: None for number in numbers if isinstance(number, int)}
        # Capacity is reserved for a whole hash set at once; sets of up to four are not hash sets and are added one by
        # one.
        needed = int((len(partitions) + 1) / 0.75)
        while size < needed:
            size *= 2
        for partition in partitions:
            if len(partitions) <= _MAX_SMALL_SET:
                size = grown_hash_table(size, len(hashes))
            hashes[partition_name(topic, partition)] = int32(31 * (31 + partition) + string_hash(topic))
    names = list(hashes)
    return [names[place] for place in scala_hash_order(list(hashes.values()), size)]
