"""The controller's state machine of replicas (`ReplicaStateMachine`)."""

from collections.abc import Iterable, Mapping
from enum import StrEnum

import msgspec

from broker_core.controller.context import LeaderAndIsr
from broker_core.controller.request_batch import ControllerBrokerRequestBatch
from broker_core.controller.state_machine import StateMachine
from broker_core.events.control import ReplicaStateChanged
from broker_core.partitions import ReplicaId, topic_of
from broker_core.sim.kernel import Subjects, applies
from broker_core.zk.znodes import NO_LEADER


class ReplicaState(StrEnum):
    """The states of a replica in the controller, with the action on entry and the transitions out of each.

    `VALID_PREVIOUS_STATES` holds the transitions as data; the page and docs/STATE_CHARTS.md are drawn from it.
    """

    NON_EXISTENT = "NonExistentReplica"
    """The replica was never created, or has been deleted.

    Action: the controller removes it from the partition's assignment.
    Transitions: NewReplica when the replica is assigned.
    """
    NEW = "NewReplica"
    """The replica has been assigned.

    Action: if the partition has a leader, LeaderAndIsr makes the replica its follower.
    Transitions: OnlineReplica; OfflineReplica.
    """
    ONLINE = "OnlineReplica"
    """The replica's broker is live.

    Action: LeaderAndIsr sends the leader and the ISR to the broker, unless the replica comes from NewReplica, where
    they have been sent already.
    Transitions: OfflineReplica when the broker fails.
    """
    OFFLINE = "OfflineReplica"
    """The replica's broker is down, or is to stop the replica.

    Action: StopReplica is sent to the broker. The replica leaves the ISR unless it is the last member; if it was the
    leader, the partition has no leader now. LeaderAndIsr is sent to the other replicas.
    Transitions: OnlineReplica when the broker is live again; ReplicaDeletionStarted and ReplicaDeletionIneligible
    when the topic is deleted.
    """
    DELETION_STARTED = "ReplicaDeletionStarted"
    """The replica is being deleted.

    Action: StopReplica with deletion is sent to the broker.
    Transitions: ReplicaDeletionSuccessful; ReplicaDeletionIneligible.
    """
    DELETION_SUCCESSFUL = "ReplicaDeletionSuccessful"
    """The broker has deleted the replica's files.

    Action: none.
    Transitions: NonExistentReplica when all replicas of the topic are in this state.
    """
    DELETION_INELIGIBLE = "ReplicaDeletionIneligible"
    """The replica cannot be deleted now: its broker is down or has failed to delete it.

    Action: none.
    Transitions: OfflineReplica and OnlineReplica when the broker is live again.
    """


_LIVING = (ReplicaState.NEW, ReplicaState.ONLINE, ReplicaState.OFFLINE, ReplicaState.DELETION_INELIGIBLE)

VALID_PREVIOUS_STATES: Mapping[ReplicaState, tuple[ReplicaState, ...]] = {
    ReplicaState.NON_EXISTENT: (ReplicaState.DELETION_SUCCESSFUL,),
    ReplicaState.NEW: (ReplicaState.NON_EXISTENT,),
    ReplicaState.ONLINE: _LIVING,
    ReplicaState.OFFLINE: _LIVING,
    ReplicaState.DELETION_STARTED: (ReplicaState.OFFLINE,),
    ReplicaState.DELETION_SUCCESSFUL: (ReplicaState.DELETION_STARTED,),
    ReplicaState.DELETION_INELIGIBLE: (ReplicaState.OFFLINE, ReplicaState.DELETION_STARTED),
}
"""The valid previous states of each state. A new controller sets initial states without a transition."""


class ReplicaStateMachine(StateMachine[ReplicaId, ReplicaState]):
    """The states of all replicas; one that is not listed is NonExistentReplica."""

    non_existent = ReplicaState.NON_EXISTENT

    def in_state(self, topic: str, state: ReplicaState) -> list[ReplicaId]:
        """A topic's replicas in a state."""
        return [r for r in self.context.replicas_of(self.context.partitions_of(topic)) if self.state(r) is state]

    def all_in_state(self, topic: str, state: ReplicaState) -> bool:
        """Whether all replicas of a topic are in a state."""
        return all(self.state(r) is state for r in self.context.replicas_of(self.context.partitions_of(topic)))

    def start_up(self) -> None:
        """Initialises the states in a new controller and notifies live brokers of their replicas.

        Replicas on dead brokers leave their ISR, unless the era keeps them in it.
        """
        replicas = list(self.context.replicas_of(self.context.all_partitions()))
        online = [r for r in replicas if self.context.is_replica_online(*r)]
        offline = [r for r in replicas if not self.context.is_replica_online(*r)]
        for replica in online:
            self._enter(replica, ReplicaState.ONLINE)
        for replica in offline:
            # replicas on a dead broker cannot be deleted; Kafka starts from this state to be safe
            self._enter(replica, ReplicaState.DELETION_INELIGIBLE)
        self.handle_state_changes(online, ReplicaState.ONLINE)
        if self.host.era.controller.takeover_shrinks_isr:
            self.handle_state_changes(offline, ReplicaState.OFFLINE)

    def handle_state_changes(self, replicas: Iterable[ReplicaId], target: ReplicaState) -> None:
        """Moves replicas to a state and notifies the brokers; skips invalid transitions."""
        by_broker: dict[int, list[ReplicaId]] = {}
        for replica in replicas:
            by_broker.setdefault(replica.broker_id, []).append(replica)
        batch = ControllerBrokerRequestBatch(self.host.broker_id, self.context, self.channels)
        for broker_id, of_broker in sorted(by_broker.items()):
            valid = [r for r in of_broker if self.state(r) in VALID_PREVIOUS_STATES[target]]
            match target:
                case ReplicaState.NEW:
                    self._to_new(valid, batch)
                case ReplicaState.ONLINE:
                    self._to_online(valid, batch)
                case ReplicaState.OFFLINE:
                    self._to_offline(broker_id, valid, batch)
                case _:
                    for replica in valid:
                        self._enter(replica, target)
                        if target is ReplicaState.DELETION_STARTED:
                            batch.add_stop_replica(broker_id, replica.partition, delete=True)
                        elif target is ReplicaState.NON_EXISTENT:
                            without = self.context.assignment(replica.partition).without(broker_id)
                            self.context.set_assignment(replica.partition, without)
        batch.send()

    def _to_new(self, replicas: list[ReplicaId], batch: ControllerBrokerRequestBatch) -> None:
        for replica in replicas:
            state = self.context.leadership.get(replica.partition)
            if state is not None:
                if state.leader == replica.broker_id:
                    continue
                batch.add_leader_and_isr([replica.broker_id], replica.partition, state, is_new=True)
            self._enter(replica, ReplicaState.NEW)

    def _to_online(self, replicas: list[ReplicaId], batch: ControllerBrokerRequestBatch) -> None:
        for replica in replicas:
            state = self.context.leadership.get(replica.partition)
            if state is not None and self.state(replica) is not ReplicaState.NEW:
                batch.add_leader_and_isr([replica.broker_id], replica.partition, state, is_new=False)
            self._enter(replica, ReplicaState.ONLINE)

    def _to_offline(self, broker_id: int, replicas: list[ReplicaId], batch: ControllerBrokerRequestBatch) -> None:
        context = self.context
        for replica in replicas:
            batch.add_stop_replica(broker_id, replica.partition, delete=False)
        with_leader = [r.partition for r in replicas if r.partition in context.leadership]
        for partition, state in self._remove_from_isr(broker_id, with_leader).items():
            if not context.is_queued_for_deletion(topic_of(partition)):
                others = [other for other in context.replicas(partition) if other != broker_id]
                batch.add_leader_and_isr(others, partition, state, is_new=False)
            self._enter(ReplicaId(partition, broker_id), ReplicaState.OFFLINE)
        for replica in replicas:
            if replica.partition not in context.leadership:
                batch.add_update_metadata(context.live_brokers, [replica.partition])
                self._enter(replica, ReplicaState.OFFLINE)

    def _remove_from_isr(self, broker_id: int, partitions: list[str]) -> dict[str, LeaderAndIsr]:
        """Removes a broker from ISRs and leaderships in ZooKeeper. Returns all new states, unchanged ones included."""
        results: dict[str, LeaderAndIsr] = {}
        remaining = partitions
        while remaining:
            wanted: dict[str, LeaderAndIsr] = {}
            for partition, state in self.zk.partition_states(remaining).items():
                if state.controller_epoch > self.context.epoch:
                    continue
                if broker_id not in state.isr:
                    results[partition] = msgspec.structs.replace(state, controller_epoch=self.context.epoch)
                    continue
                # an ISR is never empty: only its last member knows what was committed
                isr = state.isr if len(state.isr) == 1 else tuple(member for member in state.isr if member != broker_id)
                wanted[partition] = state.next(NO_LEADER if state.leader == broker_id else state.leader, isr)
            updates = self.zk.update_partition_states(wanted)
            results.update(updates.done)
            remaining = updates.retry
        for partition, state in results.items():
            self.context.leadership[partition] = state
        return results

    def _enter(self, replica: ReplicaId, state: ReplicaState) -> None:
        before = self.state(replica)
        if before is not state:
            self.host.emit(
                ReplicaStateChanged(
                    replica=str(replica), from_state=before.value, state=state.value, controller=self.host.name
                )
            )


@applies(ReplicaStateChanged)
def apply_replica_state(subjects: Subjects, event: ReplicaStateChanged, at_us: int) -> None:
    """Applies a changed state of a replica."""
    states: ReplicaStateMachine = subjects[f"controller@{event.controller}"].replica_states
    states.set_state(ReplicaId.parse(event.replica), ReplicaState(event.state))
