"""Deletes topics (`TopicDeletionManager`).

An administrator creates /admin/delete_topics/T. The replicas on live brokers are deleted at once; the znodes when all
replicas are deleted, so a dead broker delays the deletion until it is back.
"""

from collections.abc import Iterable

from broker_core.controller.context import ControllerContext
from broker_core.controller.host import ControllerHost
from broker_core.controller.kafka_zk_client import KafkaZkClient
from broker_core.controller.partition_state_machine import PartitionState, PartitionStateMachine
from broker_core.controller.replica_state_machine import ReplicaState, ReplicaStateMachine
from broker_core.controller.request_batch import ControllerBrokerRequestBatch
from broker_core.partitions import ReplicaId, topic_of
from broker_core.zk.znodes import ConfigZnode, DeleteTopicZnode, TopicZnode


class TopicDeletionManager:
    """See the module. With delete.topic.enable=false requests are removed without a deletion."""

    def __init__(
        self,
        host: ControllerHost,
        context: ControllerContext,
        zk: KafkaZkClient,
        partitions: PartitionStateMachine,
        replicas: ReplicaStateMachine,
    ) -> None:
        self.host = host
        self.context = context
        self.zk = zk
        self.partitions = partitions
        self.replicas = replicas

    def start_up(self) -> None:
        """Resumes pending deletions in a new controller."""
        wanted = self.zk.topic_deletions()
        if not self.host.config.delete_topic_enable:
            self.zk.delete_all([DeleteTopicZnode.path(topic) for topic in wanted])
            return
        self.context.topics_to_delete.update(dict.fromkeys(wanted))
        for topic in wanted:
            if self._is_moving(topic) or any(not self.context.is_replica_online(*r) for r in self._replicas_of(topic)):
                self.mark_ineligible(topic)

    def process_requests(self) -> None:
        """Handles changed children of /admin/delete_topics."""
        wanted = self.zk.topic_deletions()
        unknown = [topic for topic in wanted if topic not in self.context.assignments]
        self.zk.delete_all([DeleteTopicZnode.path(topic) for topic in unknown])
        known = [topic for topic in wanted if topic in self.context.assignments]
        if not self.host.config.delete_topic_enable:
            self.zk.delete_all([DeleteTopicZnode.path(topic) for topic in known])
        elif known:
            for topic in known:
                if self._is_moving(topic):
                    # does nothing for a new request, which is not queued yet: Kafka deletes topics being reassigned
                    self.mark_ineligible(topic)
            self.context.topics_to_delete.update(dict.fromkeys(known))
            self.resume()

    def mark_ineligible(self, topic: str) -> None:
        """Marks queued topics ineligible for deletion until `resume_topics`."""
        if self.context.is_queued_for_deletion(topic):
            self.context.topics_ineligible_for_deletion.add(topic)

    def resume_topics(self, topics: Iterable[str]) -> None:
        """Makes topics eligible for deletion again, and resumes it."""
        queued = [topic for topic in topics if self.context.is_queued_for_deletion(topic)]
        if queued:
            self.context.topics_ineligible_for_deletion.difference_update(queued)
            self.resume()

    def broker_started(self, replicas: list[ReplicaId]) -> None:
        """Resumes the deletion of topics with replicas on a restarted broker."""
        self.resume_topics(dict.fromkeys(topic_of(r.partition) for r in replicas))

    def replicas_failed(self, replicas: Iterable[ReplicaId]) -> None:
        """Marks topics ineligible after a broker failed or could not delete."""
        failed = [r for r in replicas if self._is_queued(r)]
        if failed:
            self.replicas.handle_state_changes(failed, ReplicaState.DELETION_INELIGIBLE)
            self.context.topics_ineligible_for_deletion.update(topic_of(r.partition) for r in failed)
            self.resume()

    def replicas_deleted(self, replicas: Iterable[ReplicaId]) -> None:
        """Handles replicas whose files a broker has deleted."""
        deleted = [r for r in replicas if self._is_queued(r)]
        self.replicas.handle_state_changes(deleted, ReplicaState.DELETION_SUCCESSFUL)
        self.resume()

    def resume(self) -> None:
        """Completes, retries or starts the deletion of each topic that is queued."""
        retry: list[ReplicaId] = []
        eligible: list[str] = []
        for topic in list(self.context.topics_to_delete):
            if self.replicas.all_in_state(topic, ReplicaState.DELETION_SUCCESSFUL):
                self._complete(topic)
                continue
            if self.replicas.in_state(topic, ReplicaState.DELETION_STARTED):
                continue
            retry += self.replicas.in_state(topic, ReplicaState.DELETION_INELIGIBLE)
            if topic not in self.context.topics_ineligible_for_deletion:
                eligible.append(topic)
        self.replicas.handle_state_changes(retry, ReplicaState.OFFLINE)
        if eligible:
            self._start(eligible)

    def _start(self, topics: list[str]) -> None:
        context = self.context
        unseen = [topic for topic in topics if topic not in context.topics_with_deletion_started]
        unseen_partitions = [partition for topic in unseen for partition in context.partitions_of(topic)]
        self.partitions.handle_state_changes(unseen_partitions, PartitionState.OFFLINE)
        self.partitions.handle_state_changes(unseen_partitions, PartitionState.NON_EXISTENT)
        context.topics_with_deletion_started.update(unseen)
        # brokers stop serving the topics before they receive StopReplica
        batch = ControllerBrokerRequestBatch(self.host.broker_id, context, self.replicas.channels)
        batch.add_update_metadata(context.live_brokers, [p for topic in topics for p in context.partitions_of(topic)])
        batch.send()

        replicas = [r for topic in topics for r in self._replicas_of(topic)]
        dead = [r for r in replicas if not context.is_replica_online(*r)]
        alive = [
            r
            for r in replicas
            if context.is_replica_online(*r) and self.replicas.state(r) is not ReplicaState.DELETION_SUCCESSFUL
        ]
        self.replicas.handle_state_changes(dead, ReplicaState.DELETION_INELIGIBLE)
        self.replicas.handle_state_changes(alive, ReplicaState.OFFLINE)
        self.replicas.handle_state_changes(alive, ReplicaState.DELETION_STARTED)
        context.topics_ineligible_for_deletion.update(topic_of(r.partition) for r in dead)

    def _complete(self, topic: str) -> None:
        self.replicas.handle_state_changes(list(self._replicas_of(topic)), ReplicaState.NON_EXISTENT)
        self.zk.delete_tree(TopicZnode.path(topic))
        self.zk.delete_all([ConfigZnode.path("topics", topic), DeleteTopicZnode.path(topic)])
        self.context.remove_topic(topic)

    def _replicas_of(self, topic: str) -> Iterable[ReplicaId]:
        return self.context.replicas_of(self.context.partitions_of(topic))

    def _is_moving(self, topic: str) -> bool:
        return any(self.context.assignment(p).is_being_reassigned for p in self.context.partitions_of(topic))

    def _is_queued(self, replica: ReplicaId) -> bool:
        return self.context.is_queued_for_deletion(topic_of(replica.partition))
