"""All replicas of a broker: their roles, their leaders, and the ISRs (`kafka.server.ReplicaManager`)."""

from collections.abc import Callable
from typing import Protocol

from broker_core.broker.common.metadata_cache import MetadataCache
from broker_core.broker.config.broker_config import BrokerConfig
from broker_core.broker.logs.log_directory import LogDirectory
from broker_core.broker.replicas.alter_partition_manager import AlterPartitionManager
from broker_core.broker.replicas.appends import Produces
from broker_core.broker.replicas.fetches import Fetches
from broker_core.broker.replicas.isr_changes import IsrChanges, IsrChangesHost
from broker_core.broker.replicas.offset_lookups import OffsetLookups
from broker_core.broker.replicas.partition_factory import PartitionFactory, PartitionFactoryHost
from broker_core.broker.replicas.record_deletion import RecordDeletion
from broker_core.broker.replicas.replica_tasks import ReplicaTasks
from broker_core.eras import Era
from broker_core.errors import Errors
from broker_core.partitions import broker_node
from broker_core.replication import replica_fetcher
from broker_core.replication.isr import CommittedIsr, PendingExpand, PendingShrink
from broker_core.replication.partition import Partition, Role
from broker_core.replication.quota import ReplicationQuotas
from broker_core.replication.replica_fetcher import FetcherSettings, ReplicaFetcher
from broker_core.sim.handlers import ResponseHandler, TimerHandler
from broker_core.wire.messages import (
    AlterPartitionItem,
    AlterPartitionResult,
    FetchResponse,
    LeaderAndIsrPartition,
    ListOffsetsResponse,
    OffsetForLeaderEpochResponse,
)

ANY_EPOCH = -1
"""The request carries no current leader epoch, so it is not fenced."""


class ReplicaHost(PartitionFactoryHost, IsrChangesHost, Protocol):
    """What the replica manager needs of its broker's process."""

    broker_epoch: int

    @property
    def is_stopping(self) -> bool:
        """Whether the broker is shutting down: then it starts no new fetchers."""

    def known_controller(self) -> int: ...

    def halts_instead_of_truncating(self, partition: Partition, why: str) -> bool | None: ...


class ReplicaManager:
    """The replicas of a broker: see the module. Its parts are plain data, so that a broker can be pickled."""

    def __init__(self, host: ReplicaHost) -> None:
        self.host = host
        self.kernel = host.kernel
        self.name = host.name
        self.broker_id = host.broker_id
        self.partitions: dict[str, Partition] = {}
        self.fetchers: dict[int, ReplicaFetcher] = {}
        self.record_deletion = RecordDeletion(self)
        self.quotas = ReplicationQuotas()
        self.factory = PartitionFactory(host, self.quotas)
        self.tasks = ReplicaTasks(self)
        self.alter_partition = AlterPartitionManager(self)
        self.isr_changes = IsrChanges(host)
        self.controller_epoch = 0
        self.high_watermark_listeners: list[Callable[[str], None]] = []
        self.produces = Produces(self, self._log_appended)
        self.fetches = Fetches(self, self.record_deletion)
        self.offsets = OffsetLookups(self)
        config = host.config
        self.settings = FetcherSettings(
            wait_max_ms=config.replica_fetch_wait_max_ms,
            min_bytes=config.replica_fetch_min_bytes,
            max_bytes=config.replica_fetch_max_bytes,
            response_max_bytes=config.replica_fetch_response_max_bytes,
            backoff_us=config.replica_fetch_backoff_ms * 1_000,
            socket_timeout_us=config.replica_socket_timeout_ms * 1_000,
        )

    @property
    def timers(self) -> dict[str, TimerHandler]:
        """The handlers of its timers, by name."""
        return {
            **self.produces.timers,
            **self.fetches.timers,
            **self.record_deletion.timers,
            **self.alter_partition.timers,
            **self.isr_changes.timers,
            **self.tasks.timers,
            replica_fetcher.WAKE_TIMER: self._wake_fetcher,
        }

    @property
    def responses(self) -> dict[str, ResponseHandler]:
        """The handlers of responses to its requests, by context."""
        return {
            **self.alter_partition.responses,
            replica_fetcher.FETCH: ResponseHandler(self._on_fetch, self._on_fetcher_disconnect),
            replica_fetcher.EPOCHS: ResponseHandler(self._on_epochs, self._on_fetcher_disconnect),
            replica_fetcher.OFFSETS: ResponseHandler(self._on_offsets, self._on_no_offsets),
        }

    def parked(self) -> list[str]:
        """The rpc ids of the requests in the purgatories."""
        return self.fetches.parked() + self.produces.parked() + self.record_deletion.parked()

    # The timers and responses of the fetchers, which are added and removed.

    def _wake_fetcher(self, leader: int) -> None:
        self.fetchers[leader].on_wake()

    def _on_fetch(self, leader: int, response: FetchResponse) -> None:
        self.fetchers[leader].on_response(response)

    def _on_epochs(self, leader: int, response: OffsetForLeaderEpochResponse) -> None:
        self.fetchers[leader].on_epochs(response)

    def _on_fetcher_disconnect(self, leader: int) -> None:
        self.fetchers[leader].on_disconnect()

    def _on_offsets(self, question: tuple[int, str, int, int], response: ListOffsetsResponse | None) -> None:
        self.fetchers[question[0]].on_offsets(question, response)

    def _on_no_offsets(self, question: tuple[int, str, int, int]) -> None:
        self._on_offsets(question, None)

    # What its parts need.

    @property
    def era(self) -> Era:
        """How followers truncate, among other things."""
        return self.host.era

    @property
    def broker_epoch(self) -> int:
        """The czxid of this broker's registration."""
        return self.host.broker_epoch

    @property
    def wall_ms(self) -> int:
        """Calendar time in ms."""
        return self.host.wall_ms

    @property
    def config(self) -> BrokerConfig:
        """The broker's configuration."""
        return self.host.config

    @property
    def directory(self) -> LogDirectory:
        """The files of the broker."""
        return self.host.directory

    @property
    def metadata(self) -> MetadataCache:
        """This broker's metadata of the cluster."""
        return self.host.metadata

    def known_controller(self) -> int:
        """The controller's broker id, -1 = unknown."""
        return self.host.known_controller()

    # Role changes.

    def become(self, state: LeaderAndIsrPartition) -> Errors:
        """One partition of a LeaderAndIsr (`becomeLeaderOrFollower`). A leader epoch that is not greater than the
        current one is rejected, harmlessly: the state is known already.
        """
        if self.broker_id not in state.replicas:
            return Errors.UNKNOWN_TOPIC_OR_PARTITION
        partition = self.partitions.get(state.partition)
        if partition is None:
            partition = self.partitions[state.partition] = self.factory.open(state.partition, state.topic_id)
        elif partition.log.topic_id and state.topic_id and partition.log.topic_id != state.topic_id:
            return Errors.INCONSISTENT_TOPIC_ID
        elif state.topic_id and not partition.log.topic_id:
            partition.log.assign_topic_id(state.topic_id)
        if state.leader_epoch <= partition.leader_epoch:
            return Errors.STALE_CONTROLLER_EPOCH
        if state.leader < 0:
            # Without a leader everything stays as it is (`makeFollowers`).
            return Errors.NONE
        self.alter_partition.forget(state.partition)
        keeps_fetching = not self.host.era.replication.refetches_in_each_epoch and partition.leader_id == state.leader
        if not (keeps_fetching and self._is_fetching(state.partition, state.leader)):
            self._stop_fetching(state.partition)
        if state.leader == self.broker_id:
            partition.make_leader(state)
        else:
            partition.make_follower(state)
            # A leader that is not in the metadata is not fetched from.
            is_there = broker_node(state.leader) in self.kernel.nodes
            if is_there and not self._is_fetching(state.partition, state.leader):
                self._start_fetching(partition, state.leader)
        self._leadership_changed(state.partition)
        return Errors.NONE

    def _start_fetching(self, partition: Partition, leader: int) -> None:
        fetcher = self.fetchers.get(leader)
        if fetcher is None:
            fetcher = self.fetchers[leader] = ReplicaFetcher(self, leader)
        if not partition.log.leader_epoch_cache.entries:
            partition.truncate_to(partition.high_watermark, "reason.no_epochs")
        if not self.host.is_stopping:
            fetcher.add(partition.name, partition.leader_epoch)

    def _is_fetching(self, name: str, leader: int) -> bool:
        fetcher = self.fetchers.get(leader)
        return fetcher is not None and name in fetcher.states

    def halts_instead_of_truncating(self, partition: Partition, why: str) -> bool | None:
        """Whether this broker halts instead of truncating a log to its leader's end; None = not known now."""
        return self.host.halts_instead_of_truncating(partition, why)

    def _stop_fetching(self, name: str) -> None:
        for fetcher in self.fetchers.values():
            fetcher.remove(name)

    def stop(self, name: str, delete: bool) -> None:
        """StopReplica: the replica neither leads nor follows; with `delete` its files are deleted as well."""
        partition = self.partitions.get(name)
        if partition is None:
            return
        self._stop_fetching(name)
        self.alter_partition.forget(name)
        partition.go_offline()
        if delete:
            del self.partitions[name]
            self.host.kernel.subjects.pop(partition.key, None)
            self.host.logs.delete(partition)
        self._leadership_changed(name)
        if delete:
            self.produces.forget(name)
            self.fetches.forget(name)
            self.record_deletion.forget(name)

    def _leadership_changed(self, name: str) -> None:
        self.produces.check(name)
        self.fetches.check(name)
        self.record_deletion.check(name)

    # What its parts call.

    def not_leader(self, name: str, from_follower: bool = False) -> Errors:
        """The error for a partition that this broker does not lead: other brokers host it, or it is unknown."""
        era = self.era.requests
        if name not in self.host.metadata.partitions and (era.looks_for_partitions or not from_follower):
            return Errors.UNKNOWN_TOPIC_OR_PARTITION
        return Errors.NOT_LEADER_OR_FOLLOWER if name in self.partitions else era.absent_replica[from_follower]

    def epoch_error(
        self, partition: Partition, current_leader_epoch: int, from_follower: bool = False
    ) -> Errors | None:
        """The error of a request with this leader epoch; -1 is accepted in any epoch."""
        if current_leader_epoch != ANY_EPOCH:
            if current_leader_epoch < partition.leader_epoch:
                return Errors.FENCED_LEADER_EPOCH
            if current_leader_epoch > partition.leader_epoch:
                return Errors.UNKNOWN_LEADER_EPOCH
        serves = partition.is_leader or (from_follower and partition.role is Role.FOLLOWER)
        return None if serves else Errors.NOT_LEADER_OR_FOLLOWER

    def high_watermark_moved(self, partition: Partition) -> None:
        """Called when the high watermark has advanced: delayed produce and fetch requests may complete."""
        for listener in self.high_watermark_listeners:
            listener(partition.name)

    def follower_advanced(self, partition: Partition) -> None:
        """A follower has more records, and the high watermark is the same: with acks=2 that may be enough."""
        self.produces.check(partition.name)

    def _log_appended(self, name: str) -> None:
        """Followers may wait for records that are not committed yet."""
        self.fetches.check(name)

    # Called by the fetchers.

    def log_appended_by_follower(self, partition: Partition) -> None:
        """A follower serves only itself; its delayed operations are checked all the same."""
        self.fetches.check(partition.name)

    # The ISR.

    def shrink_isrs(self) -> None:
        """The job that runs every half `replica.lag.time.max.ms`."""
        for partition in list(self.partitions.values()):
            removed = partition.replicas_to_remove()
            if removed:
                self.propose_isr_change(partition, PendingShrink(partition.isr, removed))

    def propose_isr_change(self, partition: Partition, change: PendingExpand | PendingShrink) -> None:
        """Proposes another ISR for a leader, which writes it to ZooKeeper, or asks the controller to, depending on the
        era.
        """
        if self.host.era.isr.change == "zookeeper":
            version = self.isr_changes.write(partition, change.proposed_isr)
            if version is not None and partition.commit_isr(change.proposed_isr, version):
                self.high_watermark_moved(partition)
            return
        partition.propose_isr(change)
        self.alter_partition.submit(
            AlterPartitionItem(
                partition.name,
                partition.leader_epoch,
                tuple(
                    (
                        broker_id,
                        self.broker_epoch if broker_id == self.broker_id else partition.remotes[broker_id].broker_epoch,
                    )
                    for broker_id in change.proposed_isr
                ),
                0,
                partition.partition_epoch,
                partition.log.topic_id or "",
            )
        )

    def isr_change_answered(self, requested: AlterPartitionItem, result: AlterPartitionResult) -> None:
        """Handles the controller's result for one change (`Partition.submitAlterPartition`)."""
        partition = self.partitions.get(result.partition)
        if partition is None or not partition.is_leader or isinstance(partition.isr_state, CommittedIsr):
            return
        if requested.topic_id and requested.topic_id != partition.log.topic_id:
            return  # It belongs to an earlier topic of this name.
        if result.error is Errors.NONE:
            if result.leader_epoch == partition.leader_epoch and partition.commit_isr(
                result.isr, result.partition_epoch
            ):
                self.high_watermark_moved(partition)
        elif result.error in (Errors.OPERATION_NOT_ATTEMPTED, Errors.INELIGIBLE_REPLICA):
            partition.refuse_isr(result.error.name)
        elif result.error not in _OUTCOME_UNKNOWN:
            state = partition.isr_state
            partition.refuse_isr(result.error.name)
            self.propose_isr_change(partition, state)


_OUTCOME_UNKNOWN = frozenset(
    {
        Errors.FENCED_LEADER_EPOCH,
        Errors.INVALID_UPDATE_VERSION,
        Errors.INVALID_REQUEST,
        Errors.UNKNOWN_TOPIC_OR_PARTITION,
        Errors.UNKNOWN_TOPIC_ID,
        Errors.NEW_LEADER_ELECTED,
    }
)
