"""Reassignment of partitions to other brokers (KIP-455; `KafkaController.onPartitionReassignment`).

During a reassignment a partition has its old and its new replicas. The new ones fetch until they are in the ISR; then
one of them becomes leader, and the old ones are removed. All of this is in the topic's znode, so that any later
controller can continue. The letters below are those of Kafka's own description.
"""

from collections.abc import Callable, Collection

from broker_core.controller.election import ElectionStrategy
from broker_core.controller.partition_state_machine import PartitionState
from broker_core.controller.parts import ControllerPart
from broker_core.controller.replica_assignment import ReplicaAssignment
from broker_core.controller.replica_state_machine import ReplicaState
from broker_core.controller.request_batch import ControllerBrokerRequestBatch
from broker_core.errors import Errors
from broker_core.partitions import ReplicaId, topic_of
from broker_core.wire.messages import PartitionResult

_UNKNOWN = (Errors.UNKNOWN_TOPIC_OR_PARTITION, "The partition does not exist.")


class PartitionReassignments(ControllerPart):
    """See the module."""

    # triggers

    def reassign(self, wanted: dict[str, tuple[int, ...] | None]) -> tuple[PartitionResult, ...]:
        """Starts reassignments at an administrator's request: replicas for each partition, None to cancel one."""
        results: dict[str, PartitionResult] = {}
        accepted: dict[str, ReplicaAssignment] = {}
        for partition, target in wanted.items():
            current = self.context.assignment(partition)
            why = None if target is None else self._refusal(current, target)
            if why is not None:
                said = why if self.host.era.requests.explains_reassignment else None
                results[partition] = PartitionResult(partition, Errors.INVALID_REPLICA_ASSIGNMENT, said)
            elif target is not None:
                accepted[partition] = current.reassign_to(target)
            elif current.is_being_reassigned:
                accepted[partition] = current.reassign_to(current.origin)
            else:
                results[partition] = PartitionResult(partition, Errors.NO_REASSIGNMENT_IN_PROGRESS)
        self._remove_requests(lambda partition, _: partition in accepted)
        for partition, assignment in accepted.items():
            results[partition] = self._begin(partition, assignment)
        return tuple(results[partition] for partition in wanted)

    def _refusal(self, current: ReplicaAssignment, target: tuple[int, ...]) -> str | None:
        shown = f"ArrayBuffer({', '.join(map(str, target))})"
        if not target:
            return "Empty replica list specified in partition reassignment."
        if len(set(target)) < len(target):
            return f"Duplicate replica ids in partition reassignment replica list: {shown}"
        if any(broker_id < 0 for broker_id in target):
            return f"Invalid broker id in replica list: {shown}"
        adding = current.reassign_to(target).adding
        live = [broker_id for broker_id in self.context.live_brokers if self.context.is_live(broker_id)]
        if not set(adding) <= set(live):
            return (
                f"Replica assignment has brokers that are not alive. Replica list: "
                f"ArrayBuffer({', '.join(map(str, adding))}), live broker list: Set({', '.join(map(str, live))})"
            )
        return None

    def process_znode(self) -> set[str]:
        """Handles /admin/reassign_partitions. Returns the partitions whose reassignment started."""
        wanted = self.zk.partition_reassignments()
        if wanted is None:
            return set()
        results = {
            partition: self._begin(partition, self.context.assignment(partition).reassign_to(target))
            for partition, target in wanted.items()
        }
        failed = {partition for partition, result in results.items() if result.error is not Errors.NONE}
        if failed:
            self._remove_requests(lambda partition, _: partition in failed)
        return set(results) - failed

    def take_over(self) -> None:
        """In a new controller: starts pending requests, then resumes reassignments of its predecessor."""
        begun = self.process_znode()
        self._resume(lambda partition, _: partition not in begun)

    def brokers_started(self, brokers: Collection[int]) -> None:
        """Resumes reassignments to started brokers."""
        self._resume(lambda _, assignment: any(each in brokers for each in assignment.target))

    def _resume(self, wanted: Callable[[str, ReplicaAssignment], bool]) -> None:
        for partition in list(self.context.reassignments):
            assignment = self.context.assignment(partition)
            if wanted(partition, assignment):
                self._reassign(partition, assignment)

    def isr_changed(self, partition: str) -> None:
        """Completes a reassignment if all new replicas are in the ISR."""
        assignment = self.context.reassignments.get(partition)
        if assignment is None:
            return
        if self._is_complete(partition, assignment):
            self._reassign(partition, assignment)
        elif self.host.era.isr.change == "zookeeper":
            self.zk.watch_partition_state(partition)

    def in_flight(self, partitions: Collection[str] | None) -> dict[str, ReplicaAssignment]:
        """The reassignments in progress of these partitions, or of all."""
        moving = {name: each for name, each in self.context.reassignments.items() if each.is_being_reassigned}
        return {name: each for name, each in moving.items() if partitions is None or name in partitions}

    # phases

    def _begin(self, partition: str, assignment: ReplicaAssignment) -> PartitionResult:
        if self.context.is_queued_for_deletion(topic_of(partition)) or not self.context.replicas(partition):
            return PartitionResult(partition, *_UNKNOWN)
        self._reassign(partition, assignment)
        return PartitionResult(partition)

    def _reassign(self, partition: str, assignment: ReplicaAssignment) -> None:
        self.deletions.mark_ineligible(topic_of(partition))
        self._set_current(partition, assignment)
        if self._is_complete(partition, assignment):
            self._complete(partition, assignment)
            return
        # A1, A2: all replicas are notified of each other, and the new ones start to fetch
        self._raise_leader_epoch(partition, assignment.replicas)
        self.replica_states.handle_state_changes(_replicas(partition, assignment.adding), ReplicaState.NEW)

    def _set_current(self, partition: str, assignment: ReplicaAssignment) -> None:
        """U1, U2: updates the assignment in ZooKeeper and here; stops new replicas of an overridden reassignment."""
        current = self.context.assignment(partition)
        if current != assignment:
            # before KIP-455 an already complete reassignment is written once, when it is done
            if self.host.era.zookeeper.topic_version > 1 or not self._is_complete(partition, assignment):
                self._write(partition, assignment)
            self.context.set_assignment(partition, assignment)
            unneeded = tuple(each for each in current.replicas if each not in assignment.replicas)
            self._remove(partition, unneeded)
        if self.host.era.isr.change == "zookeeper":
            self.zk.watch_partition_state(partition)
        self.context.reassignments[partition] = assignment

    def _is_complete(self, partition: str, assignment: ReplicaAssignment) -> bool:
        if not assignment.is_being_reassigned:
            return True
        state = self.zk.partition_states([partition]).get(partition)
        return state is not None and set(assignment.target) <= set(state.isr)

    def _complete(self, partition: str, assignment: ReplicaAssignment) -> None:
        """B1 to B8."""
        done = ReplicaAssignment(assignment.target)
        self.replica_states.handle_state_changes(_replicas(partition, assignment.adding), ReplicaState.ONLINE)
        self.context.set_assignment(partition, done)
        self._move_leader(partition, done)
        self._remove(partition, assignment.removing)
        self._write(partition, done)
        self._remove_requests(lambda name, replicas: name == partition and replicas == done.replicas)
        del self.context.reassignments[partition]
        batch = self._batch()
        batch.add_update_metadata(self.context.live_brokers, [partition])
        batch.send()
        self.deletions.resume_topics([topic_of(partition)])

    def _move_leader(self, partition: str, done: ReplicaAssignment) -> None:
        """B3: elects another leader if this one is removed or offline; else sends the reduced replicas."""
        leader = self.context.leadership[partition].leader
        if leader in done.replicas and self.context.is_replica_online(partition, leader):
            self._raise_leader_epoch(partition, done.replicas)
        else:
            self.partition_states.handle_state_changes([partition], PartitionState.ONLINE, ElectionStrategy.REASSIGN)

    def _remove(self, partition: str, brokers: tuple[int, ...]) -> None:
        """B4, B5: removes replicas from the ISR and deletes their files, without waiting for the brokers."""
        replicas = _replicas(partition, brokers)
        for state in (
            ReplicaState.OFFLINE,
            ReplicaState.DELETION_STARTED,
            ReplicaState.DELETION_SUCCESSFUL,
            ReplicaState.NON_EXISTENT,
        ):
            self.replica_states.handle_state_changes(replicas, state)

    def _raise_leader_epoch(self, partition: str, brokers: tuple[int, ...]) -> None:
        remaining = [partition]
        while remaining:
            states = self.zk.partition_states(remaining)
            wanted = {
                name: state.next(state.leader, state.isr)
                for name, state in states.items()
                if state.controller_epoch <= self.context.epoch
            }
            updates = self.zk.update_partition_states(wanted)
            for name, state in updates.done.items():
                self.context.leadership[name] = state
                batch = self._batch()
                batch.add_leader_and_isr(brokers, name, state, is_new=False)
                batch.send()
            remaining = updates.retry

    def _write(self, partition: str, assignment: ReplicaAssignment) -> None:
        topic = topic_of(partition)
        self.zk.set_topic(topic, self.context.topic_znode(topic, {partition: assignment}))

    def _remove_requests(self, done: Callable[[str, tuple[int, ...]], bool]) -> None:
        """Removes completed requests from /admin/reassign_partitions."""
        wanted = self.zk.partition_reassignments()
        if wanted is not None:
            self.zk.set_partition_reassignments(
                {name: target for name, target in wanted.items() if not done(name, target)}
            )
            self.zk.partition_reassignments()

    def _batch(self) -> ControllerBrokerRequestBatch:
        return ControllerBrokerRequestBatch(self.host.broker_id, self.context, self.channels)


def _replicas(partition: str, brokers: tuple[int, ...]) -> list[ReplicaId]:
    return [ReplicaId(partition, broker_id) for broker_id in brokers]
