"""The controller's state machine of partitions (`PartitionStateMachine`)."""

from collections.abc import Iterable, Mapping
from enum import StrEnum

from broker_core.config_defs import ConfigException, topic_value
from broker_core.controller import election
from broker_core.controller.context import LeaderAndIsr
from broker_core.controller.election import ElectionResult, ElectionStrategy
from broker_core.controller.request_batch import ControllerBrokerRequestBatch
from broker_core.controller.state_machine import StateMachine
from broker_core.events.control import LeaderElected, PartitionStateChanged
from broker_core.partitions import topic_of
from broker_core.sim.kernel import Subjects, applies
from broker_core.zk.znodes import NO_LEADER


class PartitionState(StrEnum):
    """The states of a partition in the controller, with the action on entry and the transitions out of each.

    `VALID_PREVIOUS_STATES` holds the transitions as data; the page and docs/STATE_CHARTS.md are drawn from it.
    """

    NON_EXISTENT = "NonExistentPartition"
    """The partition was never created, or has been deleted.

    Action: the controller drops its state.
    Transitions: NewPartition when the topic appears in /brokers/topics.
    """
    NEW = "NewPartition"
    """The partition has an assignment, but no leader and no ISR.

    Action: none.
    Transitions: OnlinePartition when one of its replicas is live; OfflinePartition otherwise.
    """
    ONLINE = "OnlinePartition"
    """The partition has a leader.

    Action: from NewPartition, the first live replica becomes leader, all live replicas form the ISR, and the state
    znode is created. From the other states, a leader is elected by the given strategy and the state znode is
    updated. LeaderAndIsr is sent to the live replicas, UpdateMetadata to all live brokers.
    Transitions: OnlinePartition at each further election; OfflinePartition when the leader's broker fails or the
    topic is being deleted.
    """
    OFFLINE = "OfflinePartition"
    """The partition had a leader, and its leader is offline.

    Action: nothing is sent. The election is tried at once and again whenever a broker starts.
    Transitions: OnlinePartition when an election succeeds; NonExistentPartition when the topic is deleted.
    """


VALID_PREVIOUS_STATES: Mapping[PartitionState, tuple[PartitionState, ...]] = {
    PartitionState.NON_EXISTENT: (PartitionState.OFFLINE,),
    PartitionState.NEW: (PartitionState.NON_EXISTENT,),
    PartitionState.ONLINE: (PartitionState.NEW, PartitionState.ONLINE, PartitionState.OFFLINE),
    PartitionState.OFFLINE: (PartitionState.NEW, PartitionState.ONLINE, PartitionState.OFFLINE),
}
"""The valid previous states of each state. A new controller sets initial states without a transition."""


class PartitionStateMachine(StateMachine[str, PartitionState]):
    """The states of all partitions; one that is not listed is NonExistentPartition."""

    non_existent = PartitionState.NON_EXISTENT

    def start_up(self) -> None:
        """Initialises the states in a new controller, and elects missing leaders."""
        for partition in self.context.all_partitions():
            state = self.context.leadership.get(partition)
            if state is None:
                self._enter(partition, PartitionState.NEW)
            elif self.context.is_replica_online(partition, state.leader):
                self._enter(partition, PartitionState.ONLINE)
            else:
                self._enter(partition, PartitionState.OFFLINE)
        self.trigger_online()

    def trigger_online(self, topic: str | None = None) -> list[str]:
        """Tries to bring partitions without a leader online, of one topic or all, except those of topics to delete.
        Returns the elected.
        """
        waiting = [
            partition
            for partition, state in self.states.items()
            if state in (PartitionState.NEW, PartitionState.OFFLINE)
            and not self.context.is_queued_for_deletion(topic_of(partition))
            and topic in (None, topic_of(partition))
        ]
        return self.handle_state_changes(waiting, PartitionState.ONLINE)

    def handle_state_changes(
        self,
        partitions: Iterable[str],
        target: PartitionState,
        strategy: ElectionStrategy = ElectionStrategy.OFFLINE,
    ) -> list[str]:
        """Moves partitions to a state and notifies the brokers; skips invalid transitions.

        `strategy` applies to OnlinePartition only. Returns the partitions where a leader was elected by it.
        """
        valid = [partition for partition in partitions if self.state(partition) in VALID_PREVIOUS_STATES[target]]
        if target is not PartitionState.ONLINE:
            for partition in valid:
                self._enter(partition, target)
            return []
        batch = ControllerBrokerRequestBatch(self.host.broker_id, self.context, self.channels)
        new = [partition for partition in valid if self.state(partition) is PartitionState.NEW]
        rest = [partition for partition in valid if self.state(partition) is not PartitionState.NEW]
        self._initialize(new, batch)
        elected = self._elect(rest, strategy, batch)
        batch.send()
        return elected

    def _initialize(self, partitions: list[str], batch: ControllerBrokerRequestBatch) -> None:
        states = {}
        for partition in partitions:
            live = self.context.online_replicas(partition)
            if live:
                states[partition] = LeaderAndIsr(live[0], 0, tuple(live), controller_epoch=self.context.epoch)
        for partition, state in self.zk.create_partition_states(states).items():
            self.context.leadership[partition] = state
            batch.add_leader_and_isr(state.isr, partition, state, is_new=True)
            self._elected(partition, state, ElectionStrategy.NEW)

    def _elect(
        self, partitions: list[str], strategy: ElectionStrategy, batch: ControllerBrokerRequestBatch
    ) -> list[str]:
        elected: list[str] = []
        remaining = partitions
        while remaining:
            wanted: dict[str, LeaderAndIsr] = {}
            unclean: set[str] = set()
            for partition, state in self.zk.partition_states(remaining).items():
                if state.controller_epoch > self.context.epoch:
                    # a later controller has decided already, and this one has not been notified yet
                    continue
                choice = self._choose(partition, state.isr, strategy)
                if choice is None:
                    self._emit_elected(partition, NO_LEADER, state, strategy)
                    continue
                recovering = choice.unclean and self.host.era.controller.leader_recovery_state
                wanted[partition] = state.next(choice.leader, choice.isr, recovering=recovering)
                if choice.unclean:
                    unclean.add(partition)
            updates = self.zk.update_partition_states(wanted)
            for partition, state in updates.done.items():
                self.context.leadership[partition] = state
                recipients = self.context.online_replicas(
                    partition,
                    or_shutting_down=strategy not in (ElectionStrategy.OFFLINE, ElectionStrategy.UNCLEAN),
                )
                batch.add_leader_and_isr(recipients, partition, state, is_new=False)
                self._elected(partition, state, strategy, unclean=partition in unclean)
            elected += updates.done
            remaining = updates.retry
        return elected

    def _choose(self, partition: str, isr: tuple[int, ...], strategy: ElectionStrategy) -> ElectionResult | None:
        context = self.context
        assignment = context.replicas(partition)
        live = context.online_replicas(partition)
        match strategy:
            case ElectionStrategy.PREFERRED:
                return election.preferred(assignment, isr, live)
            case ElectionStrategy.REASSIGN:
                return election.reassign(context.assignment(partition).target, isr, live)
            case ElectionStrategy.UNCLEAN:
                return election.offline(assignment, isr, live, unclean_allowed=True)
            case ElectionStrategy.CONTROLLED_SHUTDOWN:
                live_or_shutting_down = context.online_replicas(partition, or_shutting_down=True)
                return election.controlled_shutdown(assignment, isr, live_or_shutting_down, context.shutting_down)
        unclean_allowed = not any(member in live for member in isr) and self._unclean_allowed_for(topic_of(partition))
        return election.offline(assignment, isr, live, unclean_allowed)

    def _unclean_allowed_for(self, topic: str) -> bool:
        overrides = self.zk.topic_configs(topic)
        try:
            return bool(topic_value("unclean.leader.election.enable", self.host.config.settings, overrides))
        except ConfigException:
            return False

    def _elected(
        self, partition: str, state: LeaderAndIsr, strategy: ElectionStrategy, *, unclean: bool = False
    ) -> None:
        self._emit_elected(partition, state.leader, state, strategy, unclean)
        self._enter(partition, PartitionState.ONLINE)

    def _emit_elected(
        self, partition: str, leader: int, state: LeaderAndIsr, strategy: ElectionStrategy, unclean: bool = False
    ) -> None:
        self.host.emit(
            LeaderElected(
                partition=partition,
                leader=leader,
                leader_epoch=state.leader_epoch,
                isr=state.isr,
                strategy=strategy.value,
                unclean=unclean,
            )
        )

    def _enter(self, partition: str, state: PartitionState) -> None:
        before = self.state(partition)
        if before is not state:
            self.host.emit(
                PartitionStateChanged(
                    partition=partition, from_state=before.value, state=state.value, controller=self.host.name
                )
            )


@applies(PartitionStateChanged)
def apply_partition_state(subjects: Subjects, event: PartitionStateChanged, at_us: int) -> None:
    """Applies a changed state of a partition."""
    states: PartitionStateMachine = subjects[f"controller@{event.controller}"].partition_states
    states.set_state(event.partition, PartitionState(event.state))
