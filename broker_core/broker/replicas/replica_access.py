"""What the parts of a replica manager need of it."""

from collections.abc import Callable
from typing import Protocol

from broker_core.broker.common.metadata_cache import MetadataCache
from broker_core.broker.config.broker_config import BrokerConfig
from broker_core.eras import Era
from broker_core.errors import Errors
from broker_core.replication.isr import PendingExpand, PendingShrink
from broker_core.replication.partition import Partition
from broker_core.replication.quota import ReplicationQuotas
from broker_core.sim.kernel import Kernel


class ReplicaAccess(Protocol):
    """The open replicas of a broker, and what concerns several parts."""

    kernel: Kernel
    name: str
    partitions: dict[str, Partition]
    quotas: ReplicationQuotas
    high_watermark_listeners: list[Callable[[str], None]]
    """Called with the name of a partition whose high watermark has advanced, in this order."""

    @property
    def era(self) -> Era: ...

    @property
    def config(self) -> BrokerConfig: ...

    @property
    def metadata(self) -> MetadataCache: ...

    @property
    def wall_ms(self) -> int: ...

    def not_leader(self, name: str, from_follower: bool = False) -> Errors:
        """The error for a partition that this broker does not lead, or, for a request that followers may serve, too,
        does not host.
        """

    def epoch_error(
        self, partition: Partition, current_leader_epoch: int, from_follower: bool = False
    ) -> Errors | None:
        """The error for a request with this leader epoch; -1 is accepted in any epoch."""

    def propose_isr_change(self, partition: Partition, change: PendingExpand | PendingShrink) -> None:
        """Proposes another ISR for a leader."""

    def high_watermark_moved(self, partition: Partition) -> None:
        """Calls the listeners."""

    def follower_advanced(self, partition: Partition) -> None:
        """Completes produces that wait for a number of replicas."""
