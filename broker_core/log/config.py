"""The topic configurations of Kafka 3.9 that the log layer reads (`LogConfig`).

Names are Kafka's with '_' for '.'; defaults are Kafka's; times are ms, sizes are bytes.
"""

from collections.abc import Mapping

import msgspec

from broker_core.config_defs import LONG_MAX
from broker_core.eras import LogBehaviour
from broker_core.errors import Errors, KafkaException
from broker_core.records.compression import CompressionType
from broker_core.records.record_batch import TimestampType
from broker_core.texts import text


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
    message_timestamp_difference_max_ms: int = LONG_MAX
    compression_type: str = "producer"
    compression_gzip_level: int = -1
    compression_lz4_level: int = 9
    compression_zstd_level: int = 3
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
    message_format_version: str = "3.0-IV1"
    message_downconversion_enable: bool = True
    producer_id_expiration_ms: int = 86400000
    """producer.id.expiration.ms: a broker configuration in Kafka, applied by the log."""
    behaviour: LogBehaviour = LogBehaviour()
    """The behaviour of the broker's era."""

    @property
    def is_compacted(self) -> bool:
        """Whether every record needs a key."""
        return "compact" in self.cleanup_policy

    @property
    def magic(self) -> int:
        """The magic of the batches that a leader writes: 0 up to message.format.version 0.9, 1 with 0.10, 2 from 0.11
        on.
        """
        if not self.message_format_version.startswith("0."):
            return 2
        minor = int(self.message_format_version.split(".")[1].partition("-")[0])
        return 0 if minor < 10 else 1 if minor == 10 else 2

    @property
    def max_segment_ms(self) -> int:
        """The age at which a segment rolls; a compacted log must roll in time for max.compaction.lag.ms."""
        if self.max_compaction_lag_ms < self.segment_ms and self.is_compacted:
            return self.max_compaction_lag_ms
        return self.segment_ms

    @property
    def timestamp_type(self) -> TimestampType:
        """message.timestamp.type as the bit that it sets in a batch."""
        if self.message_timestamp_type == "LogAppendTime":
            return TimestampType.LOG_APPEND_TIME
        return TimestampType.CREATE_TIME

    @property
    def before_max_ms(self) -> int:
        """How old a timestamp may be; falls back to the config that 3.6 replaced (KIP-937)."""
        own = self.message_timestamp_before_max_ms
        return own if own != LONG_MAX else self.message_timestamp_difference_max_ms

    @property
    def after_max_ms(self) -> int:
        """How far ahead a timestamp may be."""
        own = self.message_timestamp_after_max_ms
        return own if own != LONG_MAX else self.message_timestamp_difference_max_ms

    @property
    def has_timestamp_window(self) -> bool:
        """Whether the producers' timestamps are checked at all."""
        return (
            self.before_max_ms != LONG_MAX or self.after_max_ms != LONG_MAX
        ) and self.timestamp_type is TimestampType.CREATE_TIME

    @property
    def target_compression(self) -> CompressionType | None:
        """The codec to which the broker converts every batch; None to keep the producer's."""
        return None if self.compression_type == "producer" else CompressionType.for_name(self.compression_type)

    @property
    def compression_level(self) -> int | None:
        """The level of that codec (KIP-390); None if it has none or the producer's codec is kept."""
        levels = {
            "gzip": self.compression_gzip_level,
            "lz4": self.compression_lz4_level,
            "zstd": self.compression_zstd_level,
        }
        return levels.get(self.compression_type)

    @staticmethod
    def of(configs: Mapping[str, object]) -> "LogConfig":
        """The defaults, overridden by a topic's configurations, whose names are Kafka's ("segment.bytes").

        Values may be texts, as in ZooKeeper, and lists. Names that do not concern the log are ignored. Raises
        INVALID_CONFIG for a text that is not a number where one is needed; the broker checks the limits.
        """
        chosen = {}
        for name, value in configs.items():
            field = name.replace(".", "_")
            if field in LogConfig.__struct_fields__:
                chosen[field] = ",".join(value) if isinstance(value, tuple | list) else value
        try:
            return msgspec.convert(chosen, LogConfig, strict=False)
        except msgspec.ValidationError as error:
            raise KafkaException(Errors.INVALID_CONFIG, text("refused.config", problem=str(error))) from error
