"""Opens replicas: a log with its configuration and files, and its partition (`Partition.createLogIfNotExists`)."""

from collections.abc import Mapping
from typing import Protocol

from msgspec import structs

from broker_core.broker.common.metadata_cache import MetadataCache
from broker_core.broker.config.broker_config import BrokerConfig
from broker_core.broker.logs.log_directory import LogDirectory
from broker_core.broker.logs.log_manager import LogManager
from broker_core.config_defs import ConfigException, Value, topic_values
from broker_core.controller.controller import Controller
from broker_core.eras import Era
from broker_core.log import LogConfig, Slices, Work, at_once
from broker_core.partitions import topic_of
from broker_core.replication.isr import Lag
from broker_core.replication.local_replica import LocalReplica
from broker_core.replication.partition import Partition
from broker_core.replication.quota import ReplicationQuotas
from broker_core.sim.kernel import Kernel


class PartitionFactoryHost(Protocol):
    """What the factory needs of its broker's process."""

    kernel: Kernel
    name: str
    broker_id: int
    config: BrokerConfig
    era: Era
    metadata: MetadataCache
    directory: LogDirectory
    logs: LogManager
    controller: Controller

    @property
    def wall_ms(self) -> int: ...


class PartitionFactory:
    """Opens replicas: see the module. It is also the host of the partitions that it opens."""

    def __init__(self, host: PartitionFactoryHost, quotas: ReplicationQuotas) -> None:
        self._host = host
        self._quotas = quotas
        self.kernel = host.kernel
        self.name = host.name
        self.broker_id = host.broker_id
        self.era = host.era
        #: Settings, overrides and resulting values of the last topic, which its next partition shares.
        self._last_values: tuple[dict[str, str], dict[str, str], dict[str, Value]] | None = None
        #: The inputs of the last log's configuration, and that configuration.
        self._last_config: tuple[Mapping[str, Value], int, LogConfig] | None = None

    def open(self, name: str, topic_id: str | None) -> Partition:
        """Opens or creates a log; `topic_id` None: as in its own file."""
        return at_once(self.open_in_slices(name, topic_id, Work()))

    def open_in_slices(self, name: str, topic_id: str | None, work: Work) -> Slices[Partition]:
        """As `open`, with a pause whenever a slice of `work` is full."""
        host = self._host
        topic = topic_of(name)
        configs = self.topic_values(topic)
        self._quotas.throttle(topic, configs, self.broker_id)
        log = yield from host.directory.open(name, self.log_config(configs), topic_id or None, host.wall_ms, work)
        config = host.config
        partition = Partition(
            self,
            name,
            log,
            high_watermark=host.directory.high_watermarks.get(name, log.log_start_offset),
            min_insync_replicas=min_insync_replicas(configs),
            lag=Lag(self.era.isr.lag, config.replica_lag_time_max_ms * 1_000, config.replica_lag_max_messages),
        )
        self.kernel.subjects[partition.key] = partition
        partition.emit_log_opened()
        return partition

    def log_config(self, configs: Mapping[str, Value]) -> LogConfig:
        """The configuration of the logs of a topic with these configurations at this broker. The partitions of a topic
        are opened one after the other and share it.
        """
        expiration_ms = self._host.config.producer_id_expiration_ms
        last = self._last_config
        if last is not None and last[0] is configs and last[1] == expiration_ms:
            return last[2]
        config = structs.replace(LogConfig.of(configs), behaviour=self.era.log, producer_id_expiration_ms=expiration_ms)
        self._last_config = (configs, expiration_ms, config)
        return config

    def topic_values(self, topic: str) -> Mapping[str, Value]:
        """All configurations of a topic as they apply at this broker."""
        settings = self._host.config.settings
        overrides = self._host.controller.zk.topic_configs(topic)
        last = self._last_values
        if last is not None and last[0] == settings and last[1] == overrides:
            return last[2]
        try:
            values = topic_values(settings, overrides, self.era.configs.tables.topics)
        except ConfigException:
            # An external write in ZooKeeper that Kafka's tools reject: the topic is treated as without overrides.
            values = topic_values(settings, {}, self.era.configs.tables.topics)
        self._last_values = (dict(settings), overrides, values)
        return values

    # What a partition needs of its broker.

    def is_alive(self, broker_id: int) -> bool:
        """Whether the broker is in the metadata."""
        return self._host.metadata.is_alive(broker_id)

    def log_truncated(self, replica: LocalReplica) -> None:
        """Updates the checkpoints after a log was truncated."""
        self._host.logs.log_truncated(replica)


def min_insync_replicas(configs: Mapping[str, Value]) -> int:
    """`min.insync.replicas` of a topic's configurations."""
    value = configs["min.insync.replicas"]
    assert isinstance(value, int)
    return value
