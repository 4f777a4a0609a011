"""The controller of a broker: candidate, and while it holds /controller the one who decides (`KafkaController`).

What it hears (watches, answers, requests) it handles one after the other, as Kafka's single event thread does.
Watches only say that something has changed: what it is is always read anew, which also arms the watch for the next
change.
"""

from collections.abc import Callable, Iterable

from broker_core.controller import alter_partition
from broker_core.controller.admin import CLUSTER_METADATA_TOPIC, ZkAdminManager
from broker_core.controller.channel_manager import RESEND_TIMER, ControllerChannelManager
from broker_core.controller.context import ControllerContext, PartitionAndReplica, topic_of
from broker_core.controller.election import ElectionStrategy
from broker_core.controller.host import ControllerHost
from broker_core.controller.kafka_uuid import random_uuid
from broker_core.controller.kafka_zk_client import NO_CONTROLLER, ControllerMoved, KafkaZkClient
from broker_core.controller.partition_state_machine import PartitionState, PartitionStateMachine
from broker_core.controller.registration import enable_feature_versioning
from broker_core.controller.replica_state_machine import ReplicaState, ReplicaStateMachine
from broker_core.controller.request_batch import ControllerBrokerRequestBatch
from broker_core.controller.topic_deletion import TopicDeletionManager
from broker_core.errors import Errors
from broker_core.events.control import ControllerElected, ControllerResigned
from broker_core.sim.kernel import Subjects, applies
from broker_core.wire.messages import (
    AlterPartitionRequest,
    AlterPartitionResponse,
    ControlledShutdownRequest,
    ControlledShutdownResponse,
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreateTopicsRequest,
    CreateTopicsResponse,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    LeaderAndIsrResponse,
    StopReplicaRequest,
    StopReplicaResponse,
    TopicResult,
)
from broker_core.zk.store import SessionExpired
from broker_core.zk.znodes import (
    BrokerIdZnode,
    ControllerZnode,
    DeleteTopicZnode,
    IsrChangeNotificationZnode,
    LogDirEventNotificationZnode,
    TopicZnode,
    ZnodeDataError,
)

REBALANCE_TIMER = "controller.auto-leader-rebalance"
FIRST_REBALANCE_US = 5_000_000


class Controller:
    """See the module. Its broker registers it among the subjects as "controller@b1"."""

    def __init__(self, host: ControllerHost) -> None:
        self.host = host
        self.active_controller_id = NO_CONTROLLER
        self.context = ControllerContext()
        self.zk = KafkaZkClient(host, self.context)
        self.channels = ControllerChannelManager(host)
        self.partition_states = PartitionStateMachine(host, self.context, self.zk, self.channels)
        self.replica_states = ReplicaStateMachine(host, self.context, self.zk, self.channels)
        self.deletions = TopicDeletionManager(host, self.context, self.zk, self.partition_states, self.replica_states)
        self.admin = ZkAdminManager(host, self.context, self.zk)

    @property
    def is_active(self) -> bool:
        """Whether this broker believes to be the controller."""
        return self.active_controller_id == self.host.broker_id

    @property
    def controller_epoch(self) -> int:
        """The epoch of this controller; 0 unless it is active."""
        return self.context.epoch

    def describe(self) -> dict[str, dict[str, str]]:
        """The states of partitions and replicas, as events have told them."""
        return {
            "partitions": {partition: state.value for partition, state in sorted(self.partition_states.states.items())},
            "replicas": {replica.name: state.value for replica, state in sorted(self.replica_states.states.items())},
        }

    # The life of a controller

    def start(self) -> None:
        """Joins the election; once the broker has registered itself, in each of its sessions."""
        self._process(self._reelect)

    def session_expired(self) -> None:
        """ZooKeeper has dropped the broker: whatever it held is gone."""
        self._resign("its ZooKeeper session expired")
        self._set_active(NO_CONTROLLER)

    def shut_down(self) -> None:
        """The broker stops."""
        self._resign("its broker stops")

    def _reelect(self) -> None:
        self._look_who_is_controller()
        if self.active_controller_id != NO_CONTROLLER:
            return
        try:
            epoch, epoch_zk_version = self.zk.register_controller(self.host.broker_id)
        except ControllerMoved:
            self._look_who_is_controller()
            return
        self.context.epoch_zk_version = epoch_zk_version
        self.host.emit(ControllerElected(broker=self.host.broker_id, controller_epoch=epoch))
        self.host.controller_changed(self.host.broker_id, epoch)
        try:
            self._take_over()
        except ZnodeDataError:
            # nobody can lead with what this one cannot read, but Kafka leaves that to the next to find out
            self._resign("it cannot read ZooKeeper")
            self.zk.delete_controller()

    def _look_who_is_controller(self) -> None:
        """Reads /controller, has its next change reported, and resigns if it is another's now."""
        self.zk.watch_controller()
        controller_id = self.zk.controller_id()
        if self.is_active and controller_id != self.host.broker_id:
            self._resign("another controller was elected" if controller_id != NO_CONTROLLER else "/controller is gone")
        self._set_active(controller_id)

    def _set_active(self, controller_id: int) -> None:
        if self.active_controller_id != controller_id:
            self.active_controller_id = controller_id
            self.host.controller_changed(controller_id, self.context.epoch)

    def _resign(self, why: str) -> None:
        if self.is_active:
            self.channels.shut_down()
            self.host.emit(ControllerResigned(broker=self.host.broker_id, why=why))

    def _take_over(self) -> None:
        """Loads what ZooKeeper says and puts right what is not as it should be (`onControllerFailover`)."""
        context = self.context
        enable_feature_versioning(self.host.zk)
        self.zk.delete_all(self.zk.log_dir_events())
        self.zk.delete_all(self.zk.isr_change_notifications())
        context.add_live_brokers(self.zk.brokers())
        self._load_topics(self.zk.topics())
        context.leadership.update(self.zk.partition_states(context.all_partitions()))
        for broker_id in context.live_brokers:
            self.channels.add_broker(broker_id)
            self.zk.watch_broker(broker_id)
        self.deletions.start_up()
        # brokers have to know the live brokers before they can follow any of them
        self._send_update_metadata(context.live_brokers, ())
        self.replica_states.start_up()
        self.partition_states.start_up()
        self.deletions.resume()
        if self.host.config.auto_leader_rebalance_enable:
            self.host.timer(FIRST_REBALANCE_US, REBALANCE_TIMER, context.epoch)

    def _process(self, action: Callable[[], None]) -> bool:
        """Handles one thing. False if this controller found out that it is none any more."""
        try:
            action()
        except ZnodeDataError:
            # somebody wrote into ZooKeeper what Kafka does not write; Kafka logs the error and takes the next event
            return True
        except SessionExpired:
            self.session_expired()
            return False
        except ControllerMoved:
            try:
                self._look_who_is_controller()
            except SessionExpired:
                self.session_expired()
            return False
        return True

    # What it hears

    def on_watch(self, kind: str, path: str) -> None:
        """A watch fired: `kind` is created, changed, deleted or children."""
        if path == ControllerZnode.PATH:
            self._process(self._reelect if kind == "deleted" else self._look_who_is_controller)
        elif not self.is_active:
            return
        elif path == BrokerIdZnode.PARENT:
            self._process(self._brokers_changed)
        elif path.startswith(BrokerIdZnode.PARENT + "/"):
            self._process(lambda: self._broker_modified(int(path.rpartition("/")[2])))
        elif path == TopicZnode.PARENT:
            self._process(self._topics_changed)
        elif path.startswith(TopicZnode.PARENT + "/"):
            self._process(lambda: self._partitions_modified(path.rpartition("/")[2]))
        elif path == DeleteTopicZnode.PARENT:
            self._process(self.deletions.process_wishes)
        elif path == IsrChangeNotificationZnode.PARENT:
            self._process(self._isr_changed)
        elif path == LogDirEventNotificationZnode.PARENT:
            self._process(self._log_dir_failed)

    def on_timer(self, name: str, data: object) -> None:
        """A timer that this controller set is due."""
        if name == RESEND_TIMER and isinstance(data, tuple):
            self.channels.on_resend(*data)
        elif name == REBALANCE_TIMER and self.is_active and data == self.context.epoch:
            self._process(self._rebalance_leaders)
            self.host.timer(self.host.config.leader_imbalance_check_interval_seconds * 1_000_000, REBALANCE_TIMER, data)

    def on_response(self, broker_id: int, api: str, body: object) -> None:
        """A broker has answered a request."""
        request = self.channels.on_response(broker_id)
        if request is None or not self.is_active:
            return
        if isinstance(body, LeaderAndIsrResponse):
            self._process(lambda: self._leader_and_isr_answered(broker_id, body))
        elif isinstance(body, StopReplicaResponse) and isinstance(request.body, StopReplicaRequest):
            sent = request.body
            self._process(lambda: self._stop_replica_answered(broker_id, sent, body))

    def on_disconnect(self, broker_id: int, api: str) -> None:
        """The connection to a broker closed before it had answered."""
        self.channels.on_disconnect(broker_id)

    # Brokers

    def _brokers_changed(self) -> None:
        """Brokers registered, died, or did both since the last look (`processBrokerChange`)."""
        context = self.context
        registered = self.zk.brokers()
        known = context.live_brokers
        new = [broker_id for broker_id in registered if broker_id not in known]
        dead = [broker_id for broker_id in known if broker_id not in registered]
        bounced = [each for each in registered if each in known and registered[each].epoch > known[each].epoch]
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
        """Everybody learns of the new brokers, and they of everything. Their replicas join no ISR yet, and lead nothing
        unless nobody else did."""
        context = self.context
        for broker_id in brokers:
            context.replicas_on_offline_dirs.pop(broker_id, None)
        self._send_update_metadata([each for each in context.live_brokers if each not in brokers], ())
        self._send_update_metadata(brokers, context.partitions_with_leaders())
        replicas = [replica for broker_id in brokers for replica in context.replicas_on(broker_id)]
        self.replica_states.handle_state_changes(replicas, ReplicaState.ONLINE)
        self.partition_states.trigger_online()
        self.deletions.broker_started(replicas)
        for broker_id in brokers:
            self.zk.watch_broker(broker_id)

    def _brokers_failed(self, brokers: list[int]) -> None:
        context = self.context
        for broker_id in brokers:
            context.replicas_on_offline_dirs.pop(broker_id, None)
        context.shutting_down.difference_update(brokers)
        self._replicas_became_offline([r for broker_id in brokers for r in context.replicas_on(broker_id)])

    def _replicas_became_offline(self, replicas: list[PartitionAndReplica]) -> None:
        """Partitions that they led get new leaders; then they leave the ISRs of all their partitions."""
        context = self.context
        to_delete = [r for r in replicas if context.is_queued_for_deletion(topic_of(r.partition))]
        to_keep = [r for r in replicas if not context.is_queued_for_deletion(topic_of(r.partition))]
        self.partition_states.handle_state_changes(context.partitions_with_offline_leader(), PartitionState.OFFLINE)
        elected = self.partition_states.trigger_online()
        self.replica_states.handle_state_changes(to_keep, ReplicaState.OFFLINE)
        self.deletions.replicas_failed(to_delete)
        if not to_keep and not elected:
            self._send_update_metadata(context.live_brokers, ())

    def _broker_modified(self, broker_id: int) -> None:
        """A registration has other data now, its endpoints for example."""
        context = self.context
        self.zk.watch_broker(broker_id)
        before, now = context.live_brokers.get(broker_id), self.zk.brokers().get(broker_id)
        if before is not None and now is not None and now.epoch == before.epoch and now.endpoints != before.endpoints:
            context.add_live_brokers({broker_id: now})
            self._send_update_metadata(context.live_brokers, ())

    # Topics

    def _topics_changed(self) -> None:
        """Topics have appeared or gone (`processTopicChange`)."""
        found = self.zk.topics()
        new = [topic for topic in found if topic not in self.context.assignments]
        for topic in self.context.topics:
            if topic not in found:
                self.context.remove_topic(topic)
        self._load_topics(new)
        self._create_partitions([partition for topic in new for partition in self.context.partitions_of(topic)])

    def _load_topics(self, topics: list[str]) -> None:
        for topic in topics:
            znode = self.zk.topic(topic)
            if znode is None:
                self.context.add_topic(topic, "", {})
                continue
            topic_id = znode.topic_id if isinstance(znode.topic_id, str) else ""
            if not topic_id:
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

    def _partitions_modified(self, topic: str) -> None:
        """A topic's znode has changed: partitions may have been added."""
        znode = self.zk.topic(topic)
        known = self.context.assignments.get(topic)
        if znode is None or known is None:
            return
        added = {number: replicas for number, replicas in znode.partitions.items() if number not in known}
        if added and self.context.is_queued_for_deletion(topic):
            topic_id = self.context.topic_ids[topic]
            self.zk.set_topic(topic, TopicZnode(partitions=known, topic_id=topic_id))
        elif added:
            self.context.add_topic(topic, self.context.topic_ids[topic], known | added)
            self._create_partitions([f"{topic}-{number}" for number in sorted(added)])

    def _create_partitions(self, partitions: list[str]) -> None:
        replicas = list(self.context.replicas_of(partitions))
        self.partition_states.handle_state_changes(partitions, PartitionState.NEW)
        self.replica_states.handle_state_changes(replicas, ReplicaState.NEW)
        self.partition_states.handle_state_changes(partitions, PartitionState.ONLINE)
        self.replica_states.handle_state_changes(replicas, ReplicaState.ONLINE)

    # Notifications

    def _isr_changed(self) -> None:
        """Leaders have written ISRs themselves: takes them over, passes them on, and removes the notifications."""
        paths = self.zk.isr_change_notifications()
        partitions = self.zk.partitions_of_isr_changes(paths)
        if partitions:
            self.context.leadership.update(self.zk.partition_states(partitions))
            self._send_update_metadata(self.context.live_brokers, partitions)
        self.zk.delete_all(paths)

    def _log_dir_failed(self) -> None:
        """Brokers have lost a disk: their answers to LeaderAndIsr will tell which replicas were on it."""
        paths = self.zk.log_dir_events()
        for broker_id in self.zk.brokers_of_log_dir_events(paths):
            self.replica_states.handle_state_changes(self.context.replicas_on(broker_id), ReplicaState.ONLINE)
        self.zk.delete_all(paths)

    # Leaders

    def _rebalance_leaders(self) -> None:
        """Moves leadership back to the preferred replicas of brokers that lead too few
        (`checkAndTriggerAutoLeaderRebalance`)."""
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
                    if context.is_replica_online(partition, broker_id)
                    and broker_id in context.leadership[partition].isr
                ]
                self.partition_states.handle_state_changes(
                    candidates, PartitionState.ONLINE, ElectionStrategy.PREFERRED
                )

    # Answers

    def _leader_and_isr_answered(self, broker_id: int, response: LeaderAndIsrResponse) -> None:
        """Replicas on a failed disk are offline although their broker lives."""
        if response.error is not Errors.NONE:
            return
        before = self.context.replicas_on_offline_dirs.get(broker_id, set())
        online = {partition for partition, error in response.partitions if error is Errors.NONE}
        offline = [partition for partition, error in response.partitions if error is Errors.KAFKA_STORAGE_ERROR]
        self.context.replicas_on_offline_dirs[broker_id] = (before - online) | set(offline)
        new = [PartitionAndReplica(partition, broker_id) for partition in offline if partition not in before]
        if new:
            self._replicas_became_offline(new)

    def _stop_replica_answered(
        self, broker_id: int, request: StopReplicaRequest, response: StopReplicaResponse
    ) -> None:
        """Counts only for topics that are being deleted."""
        asked = {state.partition for state in request.partitions if state.delete_partition}
        answered = [
            (PartitionAndReplica(partition, broker_id), response.error is Errors.NONE and error is Errors.NONE)
            for partition, error in response.partitions
            if partition in asked and topic_of(partition) in self.context.topics_with_deletion_started
        ]
        failed = [replica for replica, done in answered if not done]
        deleted = [replica for replica, done in answered if done]
        if failed:
            self.deletions.replicas_failed(failed)
        if deleted:
            self.deletions.replicas_deleted(deleted)

    # Requests of brokers and administrators

    def alter_partition(self, request: AlterPartitionRequest) -> AlterPartitionResponse:
        """A leader proposes ISRs."""
        response = AlterPartitionResponse(Errors.NOT_CONTROLLER)

        def process() -> None:
            nonlocal response
            error = alter_partition.request_error(self.context, request)
            response = AlterPartitionResponse(error)
            if error is Errors.NONE:
                response = AlterPartitionResponse(Errors.UNKNOWN_SERVER_ERROR)
                results = alter_partition.alter_partitions(self.context, self.zk, request)
                self._send_update_metadata(self.context.live_brokers, [item.partition for item in request.partitions])
                response = AlterPartitionResponse(Errors.NONE, results)

        if self.is_active:
            self._process(process)
        return response

    def controlled_shutdown(self, request: ControlledShutdownRequest) -> ControlledShutdownResponse:
        """A broker wants to stop: others take over what it leads, and it leaves the ISRs of what it follows."""
        response = ControlledShutdownResponse(Errors.STALE_CONTROLLER_EPOCH)

        def process() -> None:
            nonlocal response
            broker = self.context.live_brokers.get(request.broker_id)
            if broker is None:
                response = ControlledShutdownResponse(Errors.BROKER_NOT_AVAILABLE)
            elif request.broker_epoch < broker.epoch:
                response = ControlledShutdownResponse(Errors.STALE_BROKER_EPOCH)
            else:
                remaining = self._shut_down_broker(request.broker_id)
                response = ControlledShutdownResponse(Errors.NONE, tuple(remaining))

        if self.is_active:
            self._process(process)
        return response

    def _shut_down_broker(self, broker_id: int) -> list[str]:
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
        # once before and once with the change of state, so that the followers fetch no more when the ISR shrinks
        batch = self._batch()
        for partition in followed:
            batch.add_stop_replica(broker_id, partition, delete=False)
        batch.send()
        self.replica_states.handle_state_changes(
            [PartitionAndReplica(partition, broker_id) for partition in followed], ReplicaState.OFFLINE
        )
        return context.partitions_led_by(broker_id)

    def create_topics(self, request: CreateTopicsRequest) -> CreateTopicsResponse:
        """Creates topics in ZooKeeper; that their partitions have leaders shows later, in the metadata."""
        names = [spec.name for spec in request.topics]
        results: list[TopicResult] = []
        for spec in request.topics:
            if not self.is_active:
                results.append(TopicResult(spec.name, Errors.NOT_CONTROLLER))
            elif spec.name == CLUSTER_METADATA_TOPIC:
                why = f"Creation of internal topic {CLUSTER_METADATA_TOPIC} is prohibited."
                results.append(TopicResult(spec.name, Errors.INVALID_REQUEST, why))
            elif names.count(spec.name) > 1:
                results.append(TopicResult(spec.name, Errors.INVALID_REQUEST, "Found multiple entries for this topic."))
            else:
                results.append(self.admin.create_topic(spec, validate_only=request.validate_only))
        return CreateTopicsResponse(tuple(results))

    def create_partitions(self, request: CreatePartitionsRequest) -> CreatePartitionsResponse:
        """Adds partitions to topics in ZooKeeper; that they have leaders shows later, in the metadata."""
        names = [spec.name for spec in request.topics]
        results: list[TopicResult] = []
        for spec in request.topics:
            if not self.is_active:
                results.append(TopicResult(spec.name, Errors.NOT_CONTROLLER))
            elif names.count(spec.name) > 1:
                results.append(TopicResult(spec.name, Errors.INVALID_REQUEST, "Duplicate topic in request."))
            elif self.context.is_queued_for_deletion(spec.name):
                why = "The topic is queued for deletion."
                results.append(TopicResult(spec.name, Errors.INVALID_TOPIC_EXCEPTION, why))
            else:
                results.append(self.admin.create_partitions(spec, validate_only=request.validate_only))
        return CreatePartitionsResponse(tuple(results))

    def delete_topics(self, request: DeleteTopicsRequest) -> DeleteTopicsResponse:
        """Marks topics for deletion; that they are gone shows later, in the metadata."""
        if not self.is_active:
            return DeleteTopicsResponse(tuple(TopicResult(name, Errors.NOT_CONTROLLER) for name in request.names))
        if not self.host.config.delete_topic_enable:
            return DeleteTopicsResponse(
                tuple(TopicResult(name, Errors.TOPIC_DELETION_DISABLED) for name in request.names)
            )
        return DeleteTopicsResponse(tuple(self.admin.delete_topic(name) for name in request.names))

    # Sending

    def _batch(self) -> ControllerBrokerRequestBatch:
        return ControllerBrokerRequestBatch(self.host.broker_id, self.context, self.channels)

    def _send_update_metadata(self, brokers: Iterable[int], partitions: Iterable[str]) -> None:
        batch = self._batch()
        batch.add_update_metadata(brokers, partitions)
        batch.send()


@applies(ControllerElected)
def apply_elected(subjects: Subjects, event: ControllerElected, at_us: int) -> None:
    """A broker holds /controller."""
    controller: Controller = subjects[f"controller@b{event.broker}"]
    controller.active_controller_id = event.broker
    controller.context.epoch = event.controller_epoch


@applies(ControllerResigned)
def apply_resigned(subjects: Subjects, event: ControllerResigned, at_us: int) -> None:
    """A controller is none any more and forgets what it knew."""
    controller: Controller = subjects[f"controller@b{event.broker}"]
    controller.active_controller_id = NO_CONTROLLER
    controller.context.reset()
    controller.partition_states.states.clear()
    controller.replica_states.states.clear()
