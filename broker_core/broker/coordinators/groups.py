"""The broker as seen by its group coordinator."""

from typing import Protocol

from broker_core.broker.common.metadata_cache import MetadataCache
from broker_core.broker.config.broker_config import BrokerConfig
from broker_core.broker.replicas.replica_manager import ReplicaManager
from broker_core.eras import Era
from broker_core.errors import Errors
from broker_core.groups.host import GroupSettings, Store
from broker_core.log.unified_log import UnifiedLog
from broker_core.sim.kernel import Kernel
from broker_core.topics import OFFSETS_TOPIC


class GroupBroker(Protocol):
    """What the coordinator needs, under the names of the broker."""

    kernel: Kernel
    name: str
    era: Era
    config: BrokerConfig
    metadata: MetadataCache
    replicas: ReplicaManager

    @property
    def wall_ms(self) -> int: ...

    def append_for_coordinator(self, partition: str, data: bytes, waiting: object, timeout_ms: int) -> Errors:
        """Appends a batch as leader; `waiting` waits until it is committed."""

    def timer(self, delay_us: int, name: str, data: object = None) -> int: ...


class GroupHost:
    """The host of the group coordinator (`broker_core.groups.host.CoordinatorHost`)."""

    def __init__(self, broker: GroupBroker) -> None:
        self._broker = broker
        self.kernel = broker.kernel
        self.name = broker.name
        self.era = broker.era

    @property
    def wall_ms(self) -> int:
        """Calendar time in ms."""
        return self._broker.wall_ms

    @property
    def group_settings(self) -> GroupSettings:
        """The settings of groups."""
        return self._broker.config.groups

    @property
    def offsets_partition_count(self) -> int:
        """The number of partitions that `__consumer_offsets` has, or will have."""
        count = self._broker.metadata.partition_count(OFFSETS_TOPIC)
        return count or self._broker.config.offsets_topic_num_partitions

    def has_partition(self, partition: str) -> bool:
        """Whether offsets may be committed for the partition."""
        return not self.era.groups.checks_commits or self._broker.metadata.is_known(partition)

    def offsets_log(self, partition: str) -> UnifiedLog:
        """The log of a partition of `__consumer_offsets` that this broker leads."""
        return self._broker.replicas.partitions[partition].log

    def append_to_group_log(self, partition: str, data: bytes, store: Store | None) -> Errors:
        """Appends to a partition of `__consumer_offsets`; `store` waits until that is committed, with a timeout."""
        timeout_ms = self.group_settings.offsets_commit_timeout_ms
        return self._broker.append_for_coordinator(partition, data, store, timeout_ms)

    def timer(self, delay_us: int, name: str, data: object = None) -> int:
        """Calls the handler registered for `name` after a delay."""
        return self._broker.timer(delay_us, name, data)
