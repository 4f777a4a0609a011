"""The tool's messages for records that are not metadata of KRaft or of remote logs: a cluster with ZooKeeper has none.

A metadata record begins with a frame version, a type and a version, each an unsigned varint
(`org.apache.kafka.server.common.serialization.AbstractApiMessageSerde`).
"""

from collections.abc import Iterable

from broker_core.log.dump.decoders import Parser
from broker_core.log.dump.java import int16, int32
from broker_core.log.dump.records import DumpedRecord
from broker_core.records.varint import VARINT_MAX_BYTES

CLUSTER_TYPES = frozenset((*range(6), *range(7, 13), 14, 15, *range(17, 28)))
"""The types of metadata records of 3.9.1 (`MetadataRecordType`)."""
REMOTE_TYPES = frozenset(range(4))
"""The types of records of `__remote_log_metadata` (`RemoteLogMetadataSerde`)."""
_FRAME_VERSION = 1
_MAX_SHORT = 2**15 - 1
_NO_VALUE = (
    'Cannot invoke "java.nio.ByteBuffer.remaining()" because the return value of '
    '"org.apache.kafka.common.record.Record.value()" is null'
)


def metadata_parser(where: str, types: frozenset[int], *, copies_value: bool) -> Parser:
    """Prints why a record cannot be read as metadata of these types; `where` precedes its offset. A tool that copies
    the value first fails on null.
    """

    def parse(record: DumpedRecord) -> tuple[Iterable[str] | None, Iterable[str] | None]:
        if record.value is None and copies_value:
            why = _NO_VALUE
        else:
            why = _fault(record.value or b"", types)
        return None, (f"Error at {where}{record.offset}, skipping. {why}",)

    return parse


def _fault(value: bytes, types: frozenset[int]) -> str:
    numbers: list[int] = []
    at = 0
    for entity in ("frame version", "type", "version"):
        number, at = _read(value, at)
        if number is None:
            return f"Error while reading {entity}"
        if number > _MAX_SHORT:
            return f"Value for {entity} was too large."
        numbers.append(int16(number))
        if numbers[0] != _FRAME_VERSION:
            return _unknown_frame(numbers[0])
    if numbers[1] not in types:
        name = "org.apache.kafka.common.errors.UnsupportedVersionException"
        return f"{name}: Unknown metadata id {numbers[1]}"
    return f"Failed to deserialize record with type {numbers[1]}"


def _unknown_frame(version: int) -> str:
    if version:
        return (
            f"Could not deserialize metadata record due to unknown frame version {version}(only frame version "
            f"{_FRAME_VERSION} is supported)"
        )
    return (
        "Could not deserialize metadata record with frame version 0. Note that upgrades from the preview release of "
        "KRaft in 2.8 to newer versions are not supported."
    )


def _read(value: bytes, at: int) -> tuple[int | None, int]:
    """An unsigned varint (`ByteUtils.readUnsignedVarint`) and where it ends; None if it is cut off or too long."""
    number = 0
    for place, byte in enumerate(value[at : at + VARINT_MAX_BYTES]):
        number |= (byte & 0x7F) << 7 * place
        if byte < 0x80:
            return int32(number), at + place + 1
    return None, at
