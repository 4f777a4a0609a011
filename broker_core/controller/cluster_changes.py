"""The controller's handling of cluster changes: brokers, topics, partitions, notifications (`KafkaController`).

Each method handles one kind of change; it reads ZooKeeper and compares that with the controller's context.
"""

from collections.abc import Iterable

from broker_core.controller.election import ElectionStrategy
from broker_core.controller.kafka_uuid import random_uuid
from broker_core.controller.partition_state_machine import PartitionState
from broker_core.controller.parts import ControllerPart, ControllerParts
from broker_core.controller.reassignment import PartitionReassignments
from broker_core.controller.replica_assignment import ReplicaAssignment
from broker_core.controller.replica_state_machine import ReplicaState
from broker_core.controller.request_batch import ControllerBrokerRequestBatch
from broker_core.errors import Errors
from broker_core.partitions import ReplicaId, partition_name, topic_of
from broker_core.wire.messages import LeaderAndIsrResponse, StopReplicaRequest, StopReplicaResponse
from broker_core.zk.znodes import TopicZnode

_NUMBER_AT = len("isr_change_")


class ClusterChanges(ControllerPart):
    """See the module."""

    def __init__(self, parts: ControllerParts, reassignments: PartitionReassignments) -> None:
        super().__init__(parts)
        self.reassignments = reassignments

    # Brokers

    def brokers_changed(self) -> None:
        """Handles brokers that registered, failed, or did both since the last read (`processBrokerChange`)."""
        context = self.context
        registered = self.zk.brokers()
        known = context.live_brokers
        new = [broker_id for broker_id in registered if broker_id not in known]
        dead = [broker_id for broker_id in known if broker_id not in registered]
        bounced = [
            each
            for each in registered
            if self.host.era.controller.broker_epochs and each in known and registered[each].epoch > known[each].epoch
        ]
        for broker_id in bounced + dead:
            self.channels.remove_broker(broker_id)
        for broker_id in sorted(new + bounced):
            self.channels.add_broker(broker_id)
        if new:
            context.add_live_brokers({broker_id: registered[broker_id] for broker_id in new})
            self._brokers_started(sorted(new))
        if bounced:
            context.remove_live_brokers(bounced)
            self._brokers_failed(sorted(bounced))
            context.add_live_brokers({broker_id: registered[broker_id] for broker_id in bounced})
            self._brokers_started(sorted(bounced))
        if dead:
            context.remove_live_brokers(dead)
            self._brokers_failed(sorted(dead))

    def _brokers_started(self, brokers: list[int]) -> None:
        """Sends the new brokers to all brokers, and the metadata to the new ones.

        Their replicas join no ISR yet, and become leaders only of partitions without one.
        """
        context = self.context
        for broker_id in brokers:
            context.replicas_on_offline_dirs.pop(broker_id, None)
        self.send_update_metadata([each for each in context.live_brokers if each not in brokers], ())
        self.send_update_metadata(brokers, context.partitions_with_leaders())
        replicas = [replica for broker_id in brokers for replica in context.replicas_on(broker_id)]
        self.replica_states.handle_state_changes(replicas, ReplicaState.ONLINE)
        self.partition_states.trigger_online()
        self.reassignments.brokers_started(brokers)
        self.deletions.broker_started(replicas)
        for broker_id in brokers:
            self.zk.watch_broker(broker_id)

    def _brokers_failed(self, brokers: list[int]) -> None:
        context = self.context
        for broker_id in brokers:
            context.replicas_on_offline_dirs.pop(broker_id, None)
        context.shutting_down.difference_update(brokers)
        self._replicas_became_offline([r for broker_id in brokers for r in context.replicas_on(broker_id)])

    def _replicas_became_offline(self, replicas: list[ReplicaId]) -> None:
        """Elects new leaders for their partitions, then removes the replicas from the ISRs."""
        context = self.context
        to_delete = [r for r in replicas if context.is_queued_for_deletion(topic_of(r.partition))]
        to_keep = [r for r in replicas if not context.is_queued_for_deletion(topic_of(r.partition))]
        self.partition_states.handle_state_changes(context.partitions_with_offline_leader(), PartitionState.OFFLINE)
        elected = self.partition_states.trigger_online()
        self.replica_states.handle_state_changes(to_keep, ReplicaState.OFFLINE)
        self.deletions.replicas_failed(to_delete)
        if not to_keep and not elected:
            self.send_update_metadata(context.live_brokers, ())

    def broker_modified(self, broker_id: int) -> None:
        """Handles changed data of a registration, its endpoints for example."""
        context = self.context
        self.zk.watch_broker(broker_id)
        before, now = context.live_brokers.get(broker_id), self.zk.brokers().get(broker_id)
        if before is not None and now is not None and now.epoch == before.epoch and now.endpoints != before.endpoints:
            context.add_live_brokers({broker_id: now})
            self.send_update_metadata(context.live_brokers, ())

    def shut_down_broker(self, broker_id: int) -> list[str]:
        context = self.context
        context.shutting_down.add(broker_id)
        partitions = [
            replica.partition
            for replica in context.replicas_on(broker_id)
            if len(context.replicas(replica.partition)) > 1
            and replica.partition in context.leadership
            and not context.is_queued_for_deletion(topic_of(replica.partition))
        ]
        led = [partition for partition in partitions if context.leadership[partition].leader == broker_id]
        followed = [partition for partition in partitions if context.leadership[partition].leader != broker_id]
        self.partition_states.handle_state_changes(led, PartitionState.ONLINE, ElectionStrategy.CONTROLLED_SHUTDOWN)
        # once before and once with the change of state, so that the followers stop fetching before the ISR shrinks
        batch = self._batch()
        for partition in followed:
            batch.add_stop_replica(broker_id, partition, delete=False)
        batch.send()
        self.replica_states.handle_state_changes(
            [ReplicaId(partition, broker_id) for partition in followed], ReplicaState.OFFLINE
        )
        return context.partitions_led_by(broker_id)

    # Topics

    def topics_changed(self) -> None:
        """Handles new and deleted topics (`processTopicChange`)."""
        found = dict.fromkeys(self.zk.topics())
        new = [topic for topic in found if topic not in self.context.assignments]
        for topic in [topic for topic in self.context.assignments if topic not in found]:
            self.context.remove_topic(topic)
        self.load_topics(new)
        self._create_partitions([partition for topic in new for partition in self.context.partitions_of(topic)])

    def load_topics(self, topics: list[str]) -> None:
        for topic in topics:
            znode = self.zk.topic(topic)
            if znode is None:
                self.context.add_topic(topic, "", {})
                continue
            topic_id = znode.topic_id if isinstance(znode.topic_id, str) else ""
            if not topic_id and self.host.era.zookeeper.topic_ids:
                topic_id = random_uuid(self.host.stream)
                self.zk.set_topic(
                    topic,
                    TopicZnode(
                        partitions=znode.partitions,
                        topic_id=topic_id,
                        adding_replicas=znode.adding_replicas,
                        removing_replicas=znode.removing_replicas,
                    ),
                )
            self.context.add_topic(topic, topic_id, znode.partitions)
            for number, replicas in znode.partitions.items():
                adding, removing = znode.adding_replicas.get(number, ()), znode.removing_replicas.get(number, ())
                if adding or removing:
                    self.context.set_assignment(
                        partition_name(topic, number), ReplicaAssignment(replicas, adding, removing)
                    )

    def partitions_modified(self, topic: str) -> None:
        """Handles a changed topic znode: partitions may have been added."""
        znode = self.zk.topic(topic)
        known = self.context.assignments.get(topic)
        if znode is None or known is None:
            return
        added = {number: replicas for number, replicas in znode.partitions.items() if number not in known}
        if added and self.context.is_queued_for_deletion(topic):
            self.zk.set_topic(topic, self.context.topic_znode(topic))
        elif added:
            self.context.add_topic(topic, self.context.topic_ids[topic], known | added)
            self._create_partitions([partition_name(topic, number) for number in sorted(added)])

    def _create_partitions(self, partitions: list[str]) -> None:
        replicas = list(self.context.replicas_of(partitions))
        self.partition_states.handle_state_changes(partitions, PartitionState.NEW)
        self.replica_states.handle_state_changes(replicas, ReplicaState.NEW)
        self.partition_states.handle_state_changes(partitions, PartitionState.ONLINE)
        self.replica_states.handle_state_changes(replicas, ReplicaState.ONLINE)

    # Notifications

    def isr_changed(self) -> None:
        """Handles ISRs written by leaders: updates the context, propagates them, removes the notifications.

        Kafka extracts the numbers from their names: one that is too short aborts this, and all of them stay
        (`IsrChangeNotificationSequenceZNode.sequenceNumber`).
        """
        paths = self.zk.isr_change_notifications()
        if any(len(path.rpartition("/")[2]) < _NUMBER_AT for path in paths):
            return
        partitions = self.zk.partitions_of_isr_changes(paths)
        if partitions:
            self.context.leadership.update(self.zk.partition_states(partitions))
            self.send_update_metadata(self.context.live_brokers, partitions)
        self.zk.delete_all(paths)

    def log_dir_failed(self) -> None:
        """Handles failed log directories: the responses to LeaderAndIsr report the replicas on them."""
        paths = self.zk.log_dir_events()
        for broker_id in self.zk.brokers_of_log_dir_events(paths):
            self.replica_states.handle_state_changes(self.context.replicas_on(broker_id), ReplicaState.ONLINE)
        self.zk.delete_all(paths)

    # Leaders

    def rebalance_leaders(self) -> None:
        """Moves leadership back to the preferred replicas of brokers that lead too few
        (`checkAndTriggerAutoLeaderRebalance`).
        """
        context = self.context
        preferred: dict[int, list[str]] = {}
        for partition in context.partitions_with_leaders():
            preferred.setdefault(context.replicas(partition)[0], []).append(partition)
        for broker_id, partitions in sorted(preferred.items()):
            led_by_others = [partition for partition in partitions if context.leadership[partition].leader != broker_id]
            if len(led_by_others) * 100 > len(partitions) * self.host.config.leader_imbalance_per_broker_percentage:
                candidates = [
                    partition
                    for partition in led_by_others
                    if not context.reassignments
                    and context.is_replica_online(partition, broker_id)
                    and broker_id in context.leadership[partition].isr
                ]
                self.partition_states.handle_state_changes(
                    candidates, PartitionState.ONLINE, ElectionStrategy.PREFERRED
                )

    # Answers

    def leader_and_isr_answered(self, broker_id: int, response: LeaderAndIsrResponse) -> None:
        """Marks replicas on a failed disk offline although their broker is live."""
        if response.error is not Errors.NONE:
            return
        before = self.context.replicas_on_offline_dirs.get(broker_id, set())
        online = {partition for partition, error in response.partitions if error is Errors.NONE}
        offline = [partition for partition, error in response.partitions if error is Errors.KAFKA_STORAGE_ERROR]
        self.context.replicas_on_offline_dirs[broker_id] = (before - online) | set(offline)
        new = [ReplicaId(partition, broker_id) for partition in offline if partition not in before]
        if new:
            self._replicas_became_offline(new)

    def stop_replica_answered(self, broker_id: int, request: StopReplicaRequest, response: StopReplicaResponse) -> None:
        """Handles a StopReplica response, for topics that are being deleted only."""
        requested = {state.partition for state in request.partitions if state.delete_partition}
        answered = [
            (ReplicaId(partition, broker_id), response.error is Errors.NONE and error is Errors.NONE)
            for partition, error in response.partitions
            if partition in requested and topic_of(partition) in self.context.topics_with_deletion_started
        ]
        failed = [replica for replica, done in answered if not done]
        deleted = [replica for replica, done in answered if done]
        if failed:
            self.deletions.replicas_failed(failed)
        if deleted:
            self.deletions.replicas_deleted(deleted)

    # Sending

    def _batch(self) -> ControllerBrokerRequestBatch:
        return ControllerBrokerRequestBatch(self.host.broker_id, self.context, self.channels)

    def send_update_metadata(self, brokers: Iterable[int], partitions: Iterable[str]) -> None:
        batch = self._batch()
        batch.add_update_metadata(brokers, partitions)
        batch.send()
