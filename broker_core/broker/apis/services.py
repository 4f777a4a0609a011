"""The parts of a broker that the API handlers use, by subject: no handler gets the whole broker."""

from typing import Protocol

from broker_core.broker.admin.admin_purgatory import AdminPurgatory
from broker_core.broker.admin.config_admin import ConfigAdmin
from broker_core.broker.admin.quota_admin import QuotaAdmin
from broker_core.broker.admin.scram_admin import ScramAdmin
from broker_core.broker.admin.topic_creations import TopicCreations
from broker_core.broker.common.metadata_cache import MetadataCache
from broker_core.broker.config.broker_config import BrokerConfig
from broker_core.broker.coordinators.marker_appends import MarkerAppendsHost
from broker_core.broker.coordinators.transactions import TransactionParts
from broker_core.broker.coordinators.zookeeper_offsets import ZookeeperOffsets
from broker_core.broker.logs.log_directory import LogDirectory
from broker_core.broker.logs.log_manager import LogManager
from broker_core.broker.replicas.replica_manager import ReplicaManager
from broker_core.controller.controller import Controller
from broker_core.eras import Era
from broker_core.events.envelope import Event
from broker_core.groups.coordinator import GroupCoordinator
from broker_core.sim.kernel import Kernel, Message
from broker_core.sim.zookeeper import ZkClient


class Services(Protocol):
    """Used by all handlers: the kernel, through which they respond, and the broker's metadata."""

    kernel: Kernel
    metadata: MetadataCache


class ReplicationServices(Services, Protocol):
    """Replicas and their logs."""

    replicas: ReplicaManager
    logs: LogManager
    directory: LogDirectory


class GroupServices(Services, Protocol):
    """Consumer groups and committed offsets."""

    groups: GroupCoordinator
    zookeeper_offsets: ZookeeperOffsets


class TransactionServices(Services, Protocol):
    """Transactions and producer ids."""

    transactions: TransactionParts
    era: Era

    @property
    def wall_ms(self) -> int: ...


class ControllerServices(Services, Protocol):
    """The controller, if this broker is it, and the requests that wait for an effect of its decisions."""

    controller: Controller
    waiting_admin: AdminPurgatory
    topic_creations: TopicCreations

    @property
    def zk(self) -> ZkClient: ...


class AdminServices(Services, Protocol):
    """Configurations, quotas and credentials."""

    configs: ConfigAdmin
    quotas_admin: QuotaAdmin
    scram_admin: ScramAdmin


class TopicCreationServices(ControllerServices, Protocol):
    """Topics that a request creates implicitly (`AutoTopicCreationManager`)."""

    era: Era
    config: BrokerConfig

    @property
    def reaches_zookeeper(self) -> bool: ...


class ProduceServices(ReplicationServices, TransactionServices, Protocol):
    """Appends, including those of transactions."""

    era: Era


class TransactionalOffsetServices(GroupServices, TransactionServices, Protocol):
    """Offsets that a transaction commits."""


class CoordinatorServices(TopicCreationServices, GroupServices, TransactionServices, Protocol):
    """The coordinator of a group or a transactional id."""


class ClusterStateServices(ReplicationServices, GroupServices, TransactionServices, Protocol):
    """State that a controller's request changes: replicas, the metadata, and what depends on them."""

    name: str
    era: Era
    broker_epoch: int
    waiting_admin: AdminPurgatory

    def emit(self, event: Event) -> int: ...

    def leader_and_isr(self, message: Message) -> None: ...

    def stop_replica(self, message: Message) -> None: ...


class BrokerServices(
    ProduceServices, CoordinatorServices, ClusterStateServices, AdminServices, MarkerAppendsHost, Protocol
):
    """All of them: implemented by the broker."""
