"""Elections requested by an administrator (`KafkaController.processReplicaLeaderElection`, KIP-183, KIP-460)."""

from collections.abc import Iterable

from broker_core.controller.context import ControllerContext
from broker_core.controller.election import ElectionStrategy
from broker_core.controller.kafka_zk_client import KafkaZkClient
from broker_core.controller.partition_state_machine import PartitionState, PartitionStateMachine
from broker_core.errors import Errors
from broker_core.partitions import topic_of
from broker_core.wire.messages import ElectionType, PartitionResult
from broker_core.zk.znodes import NO_LEADER, PreferredReplicaElectionZnode

_STRATEGIES = {
    "PREFERRED": (
        ElectionStrategy.PREFERRED,
        Errors.PREFERRED_LEADER_NOT_AVAILABLE,
        "PreferredReplicaPartitionLeaderElectionStrategy",
    ),
    "UNCLEAN": (
        ElectionStrategy.UNCLEAN,
        Errors.ELIGIBLE_LEADERS_NOT_AVAILABLE,
        "OfflinePartitionLeaderElectionStrategy(true)",
    ),
}


class LeaderElections:
    """See the module. Part of a controller."""

    def __init__(self, context: ControllerContext, zk: KafkaZkClient, partition_states: PartitionStateMachine) -> None:
        self.context = context
        self.zk = zk
        self.partition_states = partition_states

    def elect(self, partitions: Iterable[str], kind: ElectionType) -> tuple[PartitionResult, ...]:
        """Elects leaders where needed. Returns each partition's result, elected ones without error."""
        strategy, error, name = _STRATEGIES[kind]
        results: dict[str, PartitionResult] = {}
        electable = []
        for partition in partitions:
            if not self.context.replicas(partition):
                why = "The partition does not exist."
                results[partition] = PartitionResult(partition, Errors.UNKNOWN_TOPIC_OR_PARTITION, why)
            elif self.context.is_queued_for_deletion(topic_of(partition)):
                why = "The topic is being deleted"
                results[partition] = PartitionResult(partition, Errors.INVALID_TOPIC_EXCEPTION, why)
            elif self._is_led_well(partition, kind):
                results[partition] = PartitionResult(partition, Errors.ELECTION_NOT_NEEDED)
            else:
                electable.append(partition)
        elected = self.partition_states.handle_state_changes(electable, PartitionState.ONLINE, strategy)
        for partition in electable:
            why = f"Failed to elect leader for partition {partition} under strategy {name}"
            results[partition] = (
                PartitionResult(partition) if partition in elected else PartitionResult(partition, error, why)
            )
        return tuple(results.values())

    def _is_led_well(self, partition: str, kind: ElectionType) -> bool:
        state = self.context.leadership.get(partition)
        leader = NO_LEADER if state is None else state.leader
        if kind == "PREFERRED":
            return leader == self.context.replicas(partition)[0]
        return leader in self.context.live_brokers

    def process_znode(self) -> None:
        """Handles /admin/preferred_replica_election, and deletes it after all elections were tried."""
        wanted = self.zk.preferred_replica_elections()
        if wanted is not None:
            self.elect(wanted, "PREFERRED")
            self.zk.delete_all([PreferredReplicaElectionZnode.PATH])
            self.zk.preferred_replica_elections()
