"""What shapes a log: the topic configurations of Kafka 3.9 that the log layer reads (`LogConfig`).

Names are Kafka's with '_' for '.'; defaults are Kafka's; times are ms, sizes are bytes.
"""

from collections.abc import Mapping

import msgspec

from broker_core.errors import KafkaError, KafkaException
from broker_core.records.compression import CompressionType
from broker_core.records.record_batch import TimestampType

LONG_MAX = 2**63 - 1
INT_MAX = 2**31 - 1


class LogConfig(msgspec.Struct, frozen=True, kw_only=True):
    """The configuration of one log. `LogConfig.of` reads it from a topic's configuration."""

    segment_bytes: int = 1073741824
    segment_ms: int = 604800000
    segment_jitter_ms: int = 0
    index_interval_bytes: int = 4096
    segment_index_bytes: int = 10485760
    max_message_bytes: int = 1048588
    message_timestamp_type: str = "CreateTime"
    message_timestamp_before_max_ms: int = LONG_MAX
    message_timestamp_after_max_ms: int = LONG_MAX
    compression_type: str = "producer"
    cleanup_policy: str = "delete"
    preallocate: bool = False
    retention_bytes: int = -1
    retention_ms: int = 604800000
    flush_messages: int = LONG_MAX
    flush_ms: int = LONG_MAX
    file_delete_delay_ms: int = 60000
    delete_retention_ms: int = 86400000
    min_cleanable_dirty_ratio: float = 0.5
    min_compaction_lag_ms: int = 0
    max_compaction_lag_ms: int = LONG_MAX
    producer_id_expiration_ms: int = 86400000
    """A broker's configuration in Kafka (producer.id.expiration.ms); the log is where it acts."""

    @property
    def is_compacted(self) -> bool:
        """Whether every record needs a key."""
        return "compact" in self.cleanup_policy

    @property
    def max_segment_ms(self) -> int:
        """The age at which a segment rolls; a compacted log must roll in time for max.compaction.lag.ms."""
        return min(self.segment_ms, self.max_compaction_lag_ms) if self.is_compacted else self.segment_ms

    @property
    def timestamp_type(self) -> TimestampType:
        """message.timestamp.type as the bit that it sets in a batch."""
        if self.message_timestamp_type == "LogAppendTime":
            return TimestampType.LOG_APPEND_TIME
        return TimestampType.CREATE_TIME

    @property
    def target_compression(self) -> CompressionType | None:
        """The codec into which the broker turns every batch; None where the producer's stays."""
        return None if self.compression_type == "producer" else CompressionType.for_name(self.compression_type)

    @staticmethod
    def of(configs: Mapping[str, object]) -> "LogConfig":
        """The defaults with a topic's own configurations, whose names are Kafka's ("segment.bytes").

        Values may be strings, as in ZooKeeper. Names that do not concern the log are passed over: the broker checks
        names. Raises KafkaException(INVALID_CONFIG) for a value that the log cannot use.
        """
        chosen: dict[str, object] = {}
        for name, value in configs.items():
            field = name.replace(".", "_")
            if field in _CHECKS:
                chosen[field] = _CHECKS[field].parse(name, value)
        return LogConfig(**chosen)  # type: ignore[arg-type]


class _Check(msgspec.Struct, frozen=True):
    """How a value is read and which values are allowed."""

    kind: type
    minimum: float | None = None
    maximum: float | None = None
    words: tuple[str, ...] = ()
    is_list: bool = False

    def parse(self, name: str, value: object) -> object:
        text = str(value).strip()
        if self.words:
            parts = [part.strip() for part in text.split(",")] if self.is_list else [text]
            if not all(part in self.words for part in parts):
                raise _invalid(name, value, "one of " + ", ".join(self.words))
            return ",".join(parts)
        if self.kind is bool:
            if text.lower() not in ("true", "false"):
                raise _invalid(name, value, "true or false")
            return text.lower() == "true"
        try:
            number = self.kind(text)
        except ValueError:
            raise _invalid(name, value, "a number") from None
        if self.minimum is not None and number < self.minimum:
            raise _invalid(name, value, f"at least {self.minimum}")
        if self.maximum is not None and number > self.maximum:
            raise _invalid(name, value, f"at most {self.maximum}")
        return number


def _invalid(name: str, value: object, expected: str) -> KafkaException:
    return KafkaException(
        KafkaError.INVALID_CONFIG, f"Invalid value {value} for configuration {name}: expected {expected}"
    )


_INT = _Check(int, 0, INT_MAX)
_LONG = _Check(int, 0, LONG_MAX)
_CHECKS = {
    "segment_bytes": _Check(int, 14, INT_MAX),
    "segment_ms": _Check(int, 1, LONG_MAX),
    "segment_jitter_ms": _LONG,
    "index_interval_bytes": _INT,
    "segment_index_bytes": _Check(int, 4, INT_MAX),
    "max_message_bytes": _INT,
    "message_timestamp_type": _Check(str, words=("CreateTime", "LogAppendTime")),
    "message_timestamp_before_max_ms": _LONG,
    "message_timestamp_after_max_ms": _LONG,
    "compression_type": _Check(str, words=("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer")),
    "cleanup_policy": _Check(str, words=("compact", "delete"), is_list=True),
    "preallocate": _Check(bool),
    "retention_bytes": _Check(int, -1, LONG_MAX),
    "retention_ms": _Check(int, -1, LONG_MAX),
    "flush_messages": _Check(int, 1, LONG_MAX),
    "flush_ms": _LONG,
    "file_delete_delay_ms": _LONG,
    "delete_retention_ms": _LONG,
    "min_cleanable_dirty_ratio": _Check(float, 0, 1),
    "min_compaction_lag_ms": _LONG,
    "max_compaction_lag_ms": _Check(int, 1, LONG_MAX),
}
