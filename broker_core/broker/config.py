"""A broker's configuration: the settings that the core acts on, with Kafka's names and defaults."""

from collections.abc import Mapping

import msgspec


#: broker settings whose name as a topic's setting is not simply that without `log.`
_TOPIC_NAMES = {
    "log.roll.ms": "segment.ms",
    "log.roll.jitter.ms": "segment.jitter.ms",
    "log.index.size.max.bytes": "segment.index.bytes",
    "log.flush.interval.messages": "flush.messages",
    "log.flush.interval.ms": "flush.ms",
    "log.segment.delete.delay.ms": "file.delete.delay.ms",
    "log.cleaner.min.cleanable.ratio": "min.cleanable.dirty.ratio",
    "log.cleaner.min.compaction.lag.ms": "min.compaction.lag.ms",
    "log.cleaner.max.compaction.lag.ms": "max.compaction.lag.ms",
    "log.cleaner.delete.retention.ms": "delete.retention.ms",
    "message.max.bytes": "max.message.bytes",
    "compression.type": "compression.type",
}


class ConfigError(ValueError):
    """A setting cannot be taken. The message says which, what was expected and what was found."""


class BrokerConfig(msgspec.Struct, frozen=True, kw_only=True):
    """Kafka's settings with `_` for `.`; those ending in `_ms` are milliseconds (`kafka.server.KafkaConfig`).

    `zookeeper_session_timeout_ms` and the rest keep Kafka 3.9's defaults; a lab sets its own on top.
    """

    zookeeper_session_timeout_ms: int = 18_000
    num_partitions: int = 1
    default_replication_factor: int = 1
    min_insync_replicas: int = 1
    replica_lag_time_max_ms: int = 30_000
    replica_fetch_wait_max_ms: int = 500
    replica_fetch_min_bytes: int = 1
    replica_fetch_max_bytes: int = 1_048_576
    replica_fetch_response_max_bytes: int = 10_485_760
    replica_fetch_backoff_ms: int = 1_000
    replica_socket_timeout_ms: int = 30_000
    replica_high_watermark_checkpoint_interval_ms: int = 5_000
    log_flush_offset_checkpoint_interval_ms: int = 60_000
    log_flush_start_offset_checkpoint_interval_ms: int = 60_000
    log_initial_task_delay_ms: int = 30_000
    controlled_shutdown_enable: bool = True
    controlled_shutdown_max_retries: int = 3
    controlled_shutdown_retry_backoff_ms: int = 5_000
    request_timeout_ms: int = 30_000
    fetch_max_bytes: int = 57_671_680
    unclean_leader_election_enable: bool = False
    auto_leader_rebalance_enable: bool = True
    leader_imbalance_check_interval_seconds: int = 300
    leader_imbalance_per_broker_percentage: int = 10
    delete_topic_enable: bool = True
    auto_create_topics_enable: bool = True
    log_configs: dict[str, str] = {}

    def topic_defaults(self) -> dict[str, str]:
        """What this broker's `log.*` settings say for topics that do not say it themselves, by the topics' names."""
        return {
            _TOPIC_NAMES.get(name, name.removeprefix("log.")): value
            for name, value in self.log_configs.items()
            if name.startswith("log.") or name in _TOPIC_NAMES
        }

    @staticmethod
    def of(settings: Mapping[str, str]) -> "BrokerConfig":
        """From Kafka's names (`replica.lag.time.max.ms`). What starts with `log.` and is no setting of the broker itself is kept
        for its logs. Settings of parts that the core does not have are accepted as a real broker would, and act on nothing.

        Raises ConfigError for a value of the wrong type.
        """
        fields = {field.name: field for field in msgspec.structs.fields(BrokerConfig)}
        taken: dict[str, object] = {}
        log_configs: dict[str, str] = {}
        for name, value in settings.items():
            field = fields.get(name.replace(".", "_"))
            if field is None:
                log_configs[name] = value
                continue
            try:
                taken[field.name] = msgspec.convert(value.strip(), field.type, strict=False)
            except msgspec.ValidationError as error:
                raise ConfigError(f"{name} is {value!r}; expected {getattr(field.type, '__name__', field.type)}: {error}") from None
        return BrokerConfig(**taken, log_configs=log_configs)  # type: ignore[arg-type]
