"""The metadata that members of type "consumer" exchange through the coordinator (`ConsumerProtocol`, its versions 0 to
3).

The bytes are opaque to a broker, except that it reads the topics of a subscription.
"""

import struct
from collections.abc import Iterable

import msgspec

from broker_core.partitions import TopicPartition, partition_name, sorted_partitions

PROTOCOL_TYPE = "consumer"
SUBSCRIPTION_VERSION = 3
ASSIGNMENT_VERSION = 3
DEFAULT_GENERATION = -1

_SHORT = struct.Struct(">h")
_INT = struct.Struct(">i")


class ProtocolError(ValueError):
    """The bytes are not a valid subscription or assignment."""


class Subscription(msgspec.Struct, frozen=True):
    """A member's subscription. `owned`: topic-partitions that it still owns, since `generation_id`; sorted."""

    topics: tuple[str, ...]
    user_data: bytes | None = None
    owned: tuple[str, ...] = ()
    generation_id: int = DEFAULT_GENERATION


class ProtocolReader:
    """Reads Kafka's primitive types from bytes. Raises ProtocolError past their end."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    @property
    def is_at_end(self) -> bool:
        """Whether all bytes are read."""
        return self._at >= len(self._data)

    def take(self, length: int) -> bytes:
        """The next bytes."""
        if length < 0 or self._at + length > len(self._data):
            raise ProtocolError(f"{length} bytes at {self._at} expected, there are {len(self._data)}")
        self._at += length
        return self._data[self._at - length : self._at]

    def int16(self) -> int:
        """A short."""
        return int(_SHORT.unpack(self.take(2))[0])

    def int32(self) -> int:
        """An int."""
        return int(_INT.unpack(self.take(4))[0])

    def int64(self) -> int:
        """A long."""
        return int.from_bytes(self.take(8), "big", signed=True)

    def string(self) -> str:
        """A string that may not be null."""
        return self.take(self.int16()).decode("utf-8", "replace")

    def nullable_string(self) -> str | None:
        """A string, None for null."""
        length = self.int16()
        return None if length < 0 else self.take(length).decode("utf-8", "replace")

    def nullable_bytes(self) -> bytes | None:
        """Bytes, None for null."""
        length = self.int32()
        return None if length < 0 else self.take(length)

    def partitions(self) -> tuple[str, ...]:
        """An array of topics with their partitions, as topic-partitions."""
        found = []
        for _ in range(self.int32()):
            topic = self.string()
            found += [partition_name(topic, self.int32()) for _ in range(self.int32())]
        return tuple(found)


def int16(value: int) -> bytes:
    """A short."""
    return _SHORT.pack(value)


def int32(value: int) -> bytes:
    """An int."""
    return _INT.pack(value)


def int64(value: int) -> bytes:
    """A long."""
    return value.to_bytes(8, "big", signed=True)


def string(text: str | None) -> bytes:
    """A string with its length; None is null."""
    if text is None:
        return int16(-1)
    data = text.encode()
    return int16(len(data)) + data


def nullable_bytes(data: bytes | None) -> bytes:
    """Bytes with their length; None is null."""
    return int32(-1) if data is None else int32(len(data)) + data


def encode_partitions(names: Iterable[str]) -> bytes:
    """An array of topics with their partitions; both sorted."""
    by_topic: dict[str, list[int]] = {}
    for topic, number in sorted(map(TopicPartition.parse, names)):
        by_topic.setdefault(topic, []).append(number)
    parts = [int32(len(by_topic))]
    for topic, numbers in by_topic.items():
        parts += [string(topic), int32(len(numbers)), *map(int32, numbers)]
    return b"".join(parts)


def encode_subscription(subscription: Subscription) -> bytes:
    """The bytes of a subscription, version 3; no rack."""
    topics = sorted(subscription.topics)
    return b"".join(
        (
            int16(SUBSCRIPTION_VERSION),
            int32(len(topics)),
            *map(string, topics),
            nullable_bytes(subscription.user_data),
            encode_partitions(subscription.owned),
            int32(subscription.generation_id),
            string(None),
        )
    )


def decode_subscription(data: bytes) -> Subscription:
    """Reads a subscription of any version. Raises ProtocolError."""
    reader = ProtocolReader(data)
    version = reader.int16()
    if version < 0:
        raise ProtocolError(f"version {version} is none")
    topics = tuple(reader.string() for _ in range(reader.int32()))
    user_data = reader.nullable_bytes()
    owned = reader.partitions() if version >= 1 else ()
    generation_id = reader.int32() if version >= 2 else DEFAULT_GENERATION
    return Subscription(topics, user_data, owned, generation_id)


def decode_subscribed_topics(data: bytes) -> tuple[str, ...]:
    """The topics of a subscription, of which the coordinator reads what version 0 has, whatever version is named:
    clients other than Kafka's leave out what later ones added. Raises ProtocolError.
    """
    reader = ProtocolReader(data)
    reader.int16()
    topics = tuple(reader.string() for _ in range(reader.int32()))
    reader.nullable_bytes()
    return topics


def encode_assignment(partitions: Iterable[str]) -> bytes:
    """The bytes of an assignment."""
    return int16(ASSIGNMENT_VERSION) + encode_partitions(partitions) + nullable_bytes(None)


def decode_assignment(data: bytes) -> tuple[str, ...]:
    """The topic-partitions of an assignment; none for empty bytes. Raises ProtocolError."""
    if not data:
        return ()
    reader = ProtocolReader(data)
    reader.int16()
    return tuple(sorted_partitions(reader.partitions()))
