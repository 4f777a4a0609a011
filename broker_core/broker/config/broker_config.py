"""A broker's configuration: the settings that the core acts on, with Kafka's names and defaults."""

from collections.abc import Mapping

import msgspec

from broker_core.config_defs import BROKER_CONFIGS, LONG_MAX, RETIRED_CONFIGS, ConfigException, ConfigKey
from broker_core.groups.host import GroupSettings
from broker_core.transactions.host import TransactionSettings

NONE: Mapping[str, str] = {}
RACK_AWARE_SELECTOR = "org.apache.kafka.common.replica.RackAwareReplicaSelector"
"""The only `replica.selector.class` in Kafka. Without one consumers read from the leader."""


class BrokerConfig(msgspec.Struct, frozen=True, kw_only=True):
    """Kafka's settings with `_` for `.`; those ending in `_ms` are milliseconds (`kafka.server.KafkaConfig`).

    `settings` is what was set, by Kafka's names; `release_defaults` are the defaults of the era's brokers that differ
    from Kafka 3.9.
    """

    socket_request_max_bytes: int = 104_857_600
    connections_max_idle_ms: int = 600_000
    zookeeper_session_timeout_ms: int = 18_000
    num_partitions: int = 1
    default_replication_factor: int = 1
    replica_lag_time_max_ms: int = 30_000
    replica_lag_max_messages: int = 4_000
    replica_selector_class: str | None = None
    broker_rack: str | None = None
    replica_fetch_wait_max_ms: int = 500
    replica_fetch_min_bytes: int = 1
    replica_fetch_max_bytes: int = 1_048_576
    replica_fetch_response_max_bytes: int = 10_485_760
    replica_fetch_backoff_ms: int = 1_000
    replica_socket_timeout_ms: int = 30_000
    replica_high_watermark_checkpoint_interval_ms: int = 5_000
    log_flush_offset_checkpoint_interval_ms: int = 60_000
    log_flush_start_offset_checkpoint_interval_ms: int = 60_000
    log_flush_scheduler_interval_ms: int = LONG_MAX
    log_initial_task_delay_ms: int = 30_000
    log_retention_check_interval_ms: int = 300_000
    log_segment_delete_delay_ms: int = 60_000
    producer_id_expiration_ms: int = 86_400_000
    producer_id_expiration_check_interval_ms: int = 600_000
    log_cleaner_enable: bool = True
    log_cleaner_threads: int = 1
    log_cleaner_backoff_ms: int = 15_000
    log_cleaner_dedupe_buffer_size: int = 134_217_728
    log_cleaner_io_buffer_load_factor: float = 0.9
    controlled_shutdown_enable: bool = True
    controlled_shutdown_max_retries: int = 3
    controlled_shutdown_retry_backoff_ms: int = 5_000
    request_timeout_ms: int = 30_000
    fetch_max_bytes: int = 57_671_680
    max_incremental_fetch_session_cache_slots: int = 1_000
    auto_leader_rebalance_enable: bool = True
    leader_imbalance_check_interval_seconds: int = 300
    leader_imbalance_per_broker_percentage: int = 10
    delete_topic_enable: bool = True
    unclean_leader_election_enable: bool = False
    auto_create_topics_enable: bool = True
    offsets_topic_num_partitions: int = 50
    offsets_topic_replication_factor: int = 3
    offsets_topic_segment_bytes: int = 104_857_600
    groups: GroupSettings = GroupSettings()
    transactions: TransactionSettings = TransactionSettings()
    settings: dict[str, str] = {}
    release_defaults: Mapping[str, str] = {}

    @property
    def overrides(self) -> dict[str, str]:
        """What was set, without the defaults of the release."""
        return {name: text for name, text in self.settings.items() if self.release_defaults.get(name) != text}

    @staticmethod
    def of(
        settings: Mapping[str, str],
        release_defaults: Mapping[str, str] = NONE,
        release_keys: Mapping[str, ConfigKey] = BROKER_CONFIGS,
    ) -> "BrokerConfig":
        """From Kafka's names (`replica.lag.time.max.ms`). `release_keys` is the table of the broker's release.

        Settings of parts that the core does not have are accepted, as by a real broker, and have no effect.

        Raises ConfigException for a value of the wrong type or beyond its limits, and for a replica selector that is
        not Kafka's: a real broker does not start without its class.
        """
        settings = {**release_defaults, **settings}
        keys = {**BROKER_CONFIGS, **RETIRED_CONFIGS, **release_keys}
        values = {name: keys[name].parse(text) for name, text in settings.items() if name in keys}
        taken = {name.replace(".", "_"): value for name, value in values.items()}
        known = {name: value for name, value in taken.items() if name in BrokerConfig.__struct_fields__}
        of_groups = {name: taken[name] for name in GroupSettings.__struct_fields__ if name in taken}
        of_transactions = {name: taken[name] for name in TransactionSettings.__struct_fields__ if name in taken}
        selector = known.get("replica_selector_class")
        if selector not in (None, "", RACK_AWARE_SELECTOR):
            raise ConfigException(
                f"Invalid value {selector} for configuration replica.selector.class: Class {selector} could not be "
                f"found. Expected {RACK_AWARE_SELECTOR}, or none to read from leaders."
            )
        known["groups"] = GroupSettings(**of_groups)  # type: ignore[arg-type, assignment]
        known["transactions"] = TransactionSettings(**of_transactions)  # type: ignore[arg-type, assignment]
        return BrokerConfig(**known, settings=settings, release_defaults=release_defaults)  # type: ignore[arg-type]
