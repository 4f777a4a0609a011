"""The controller of a broker: a candidate, and active while it holds /controller (`KafkaController`).

Watches, responses and requests are handled one after the other, as in Kafka's single event thread. Watches only report
that something has changed: the data is always read again, which also sets the watch for the next change.
"""

from collections import Counter
from collections.abc import Callable
from typing import TypeVar

from broker_core.controller import alter_partition
from broker_core.controller.admin import CLUSTER_METADATA_TOPIC, ZkAdminManager, can_be_znode
from broker_core.controller.channel_manager import ControllerChannelManager
from broker_core.controller.cluster_changes import ClusterChanges
from broker_core.controller.context import ControllerContext
from broker_core.controller.host import ControllerHost
from broker_core.controller.kafka_zk_client import NO_CONTROLLER, ControllerMoved, KafkaZkClient
from broker_core.controller.partition_state_machine import PartitionStateMachine
from broker_core.controller.parts import ControllerParts
from broker_core.controller.reassignment import PartitionReassignments
from broker_core.controller.registration import enable_feature_versioning
from broker_core.controller.replica_state_machine import ReplicaStateMachine
from broker_core.controller.requested_elections import LeaderElections
from broker_core.controller.topic_deletion import TopicDeletionManager
from broker_core.errors import Errors
from broker_core.events.control import ControllerElected, ControllerEventProcessed, ControllerResigned
from broker_core.partitions import broker_node, partition_name
from broker_core.sim.handlers import TimerHandler
from broker_core.sim.kernel import Subjects, applies
from broker_core.wire.messages import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
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
    ElectLeadersRequest,
    ElectLeadersResponse,
    LeaderAndIsrResponse,
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
    OngoingReassignment,
    StopReplicaRequest,
    StopReplicaResponse,
    TopicResult,
)
from broker_core.zk.store import SessionExpired, ZkError, path_fault
from broker_core.zk.znodes import (
    BrokerIdZnode,
    ControllerZnode,
    DeleteTopicZnode,
    IsrChangeNotificationZnode,
    LogDirEventNotificationZnode,
    PreferredReplicaElectionZnode,
    ReassignPartitionsZnode,
    TopicZnode,
    ZnodeDataError,
)

NO_BROKER_EPOCH = -1
"""The epoch of a broker that does not send one, as before KIP-380."""
REBALANCE_TIMER = "controller.auto-leader-rebalance"
FIRST_REBALANCE_US = 5_000_000

Response = TypeVar("Response")


class Controller:
    """See the module. Its broker registers it among the subjects as "controller@b1"."""

    def __init__(self, host: ControllerHost) -> None:
        self.host = host
        self.active_controller_id = NO_CONTROLLER
        self.context = ControllerContext(host.era.zookeeper.topic_version)
        self.zk = KafkaZkClient(host, self.context)
        self.channels = ControllerChannelManager(host)
        self.partition_states = PartitionStateMachine(host, self.context, self.zk, self.channels)
        self.replica_states = ReplicaStateMachine(host, self.context, self.zk, self.channels)
        self.deletions = TopicDeletionManager(host, self.context, self.zk, self.partition_states, self.replica_states)
        parts = ControllerParts(
            host, self.context, self.zk, self.channels, self.partition_states, self.replica_states, self.deletions
        )
        self.reassignments = PartitionReassignments(parts)
        self.changes = ClusterChanges(parts, self.reassignments)
        self.elections = LeaderElections(self.context, self.zk, self.partition_states)
        self.admin = ZkAdminManager(host, self.context, self.zk)

    @property
    def is_active(self) -> bool:
        """Whether this broker acts as the controller."""
        return self.active_controller_id == self.host.broker_id

    @property
    def controller_epoch(self) -> int:
        """The epoch of this controller; 0 unless it is active."""
        return self.context.epoch

    def describe(self) -> dict[str, dict[str, str]]:
        """The states of partitions and replicas, according to events."""
        return {
            "partitions": {partition: state.value for partition, state in sorted(self.partition_states.states.items())},
            "replicas": {str(replica): state.value for replica, state in sorted(self.replica_states.states.items())},
        }

    # The life of a controller

    def start(self) -> None:
        """Joins the election; once the broker has registered itself, in each of its sessions."""
        self._process("Startup", self._reelect)

    def session_expired(self) -> None:
        """Resigns and joins the election again after the broker's session has expired."""
        self._resign("reason.zookeeper_session_expired")
        self._set_active(NO_CONTROLLER)

    def shut_down(self) -> None:
        """Resigns when the broker shuts down."""
        self._resign("reason.broker_stopping")

    def _reelect(self) -> None:
        self._read_controller()
        if self.active_controller_id != NO_CONTROLLER:
            return
        try:
            epoch, epoch_zk_version = self.zk.register_controller(self.host.broker_id)
        except ControllerMoved:
            self._read_controller()
            return
        self.context.epoch_zk_version = epoch_zk_version
        self.host.emit(ControllerElected(broker=self.host.broker_id, controller_epoch=epoch))
        self.host.controller_changed(self.host.broker_id, epoch)
        self._take_over()

    def _read_controller(self) -> None:
        """Reads and watches /controller, and resigns if another broker holds it now."""
        self.zk.watch_controller()
        controller_id = self.zk.controller_id()
        if self.is_active and controller_id != self.host.broker_id:
            self._resign(
                "reason.other_controller" if controller_id != NO_CONTROLLER else "reason.controller_znode_deleted"
            )
        self._set_active(controller_id)

    def _set_active(self, controller_id: int) -> None:
        if self.active_controller_id != controller_id:
            self.active_controller_id = controller_id
            self.host.controller_changed(controller_id, self.context.epoch)

    def _resign(self, why: str) -> None:
        if self.is_active:
            self.channels.shut_down()
            self.host.emit(ControllerResigned(broker=self.host.broker_id, why=why))
            self.host.controller_changed(NO_CONTROLLER, 0)

    def _take_over(self) -> None:
        """Loads the state from ZooKeeper and completes what is pending (`onControllerFailover`)."""
        context = self.context
        if self.host.era.zookeeper.feature_znode:
            enable_feature_versioning(self.host.zk)
        self.zk.delete_all(self.zk.log_dir_events())
        self.zk.delete_all(self.zk.isr_change_notifications())
        context.add_live_brokers(self.zk.brokers())
        self.changes.load_topics(self.zk.topics())
        context.leadership.update(self.zk.partition_states(context.all_partitions()))
        for broker_id in context.live_brokers:
            self.channels.add_broker(broker_id)
            self.zk.watch_broker(broker_id)
        self.deletions.start_up()
        # brokers have to know the live brokers before they can follow any of them
        self.changes.send_update_metadata(context.live_brokers, ())
        self.replica_states.start_up()
        self.partition_states.start_up()
        self.reassignments.take_over()
        self.deletions.resume()
        self.elections.process_znode()
        if self.host.config.auto_leader_rebalance_enable:
            self.host.timer(FIRST_REBALANCE_US, REBALANCE_TIMER, context.epoch)

    def _process(self, name: str, action: Callable[[], object], about: str = "") -> None:
        """Handles one event: `name` is the class of Kafka's `ControllerEvent`, `about` its subject.

        While handling it this controller may find that it is no longer active.
        """
        self.host.emit(ControllerEventProcessed(broker=self.host.broker_id, name=name, about=about))
        try:
            try:
                action()
            except ControllerMoved:
                self._read_controller()
        except SessionExpired:
            self.session_expired()
        except (ZnodeDataError, ZkError):
            # an external client made an unexpected change in ZooKeeper; Kafka logs the error and handles the next event
            return

    # Notifications

    def on_watch(self, kind: str, path: str) -> None:
        """Handles a fired watch: `kind` is created, changed, deleted or children."""
        if path == ControllerZnode.PATH:
            if kind == "deleted":
                self._process("Reelect", self._reelect)
            else:
                self._process("ControllerChange", self._read_controller)
        elif not self.is_active:
            return
        elif path == BrokerIdZnode.PARENT:
            self._process("BrokerChange", self.changes.brokers_changed)
        elif path.startswith(BrokerIdZnode.PARENT + "/"):
            broker_id = int(path.rpartition("/")[2])
            self._process(
                "BrokerModifications", lambda: self.changes.broker_modified(broker_id), broker_node(broker_id)
            )
        elif path == TopicZnode.PARENT:
            self._process("TopicChange", self.changes.topics_changed)
        elif path.startswith(TopicZnode.PARENT + "/") and path.endswith("/state"):
            _, topic, _, number, _ = path.removeprefix(TopicZnode.PARENT).split("/")
            self._isr_of_reassigned_changed(partition_name(topic, number))
        elif path.startswith(TopicZnode.PARENT + "/"):
            topic = path.rpartition("/")[2]
            self._process("PartitionModifications", lambda: self.changes.partitions_modified(topic), topic)
        elif path == DeleteTopicZnode.PARENT:
            self._process("TopicDeletion", self.deletions.process_requests)
        elif path == IsrChangeNotificationZnode.PARENT:
            self._process("IsrChangeNotification", self.changes.isr_changed)
        elif path == LogDirEventNotificationZnode.PARENT:
            self._process("LogDirEventNotification", self.changes.log_dir_failed)
        elif path == ReassignPartitionsZnode.PATH and kind == "created":
            self._process("ZkPartitionReassignment", self.reassignments.process_znode)
        elif path == PreferredReplicaElectionZnode.PATH and kind == "created":
            self._process("ReplicaLeaderElection", self.elections.process_znode)

    def _isr_of_reassigned_changed(self, partition: str) -> None:
        self._process("PartitionReassignmentIsrChange", lambda: self.reassignments.isr_changed(partition), partition)

    @property
    def timers(self) -> dict[str, TimerHandler]:
        """What it does when each of its timers is due."""
        return {**self.channels.timers, REBALANCE_TIMER: self._rebalance_leaders}

    def _rebalance_leaders(self, epoch: int) -> None:
        """Rebalances leaders, unless this controller has resigned since."""
        if self.is_active and epoch == self.context.epoch:
            self._process("AutoPreferredReplicaLeaderElection", self.changes.rebalance_leaders)
            self.host.timer(
                self.host.config.leader_imbalance_check_interval_seconds * 1_000_000, REBALANCE_TIMER, epoch
            )

    def on_response(self, broker_id: int, channel: int, body: object) -> None:
        """Handles a broker's response."""
        request = self.channels.on_response(broker_id, channel)
        if request is None or not self.is_active:
            return
        if isinstance(body, LeaderAndIsrResponse):
            self._process(
                "LeaderAndIsrResponseReceived",
                lambda: self.changes.leader_and_isr_answered(broker_id, body),
                broker_node(broker_id),
            )
        elif isinstance(body, StopReplicaResponse) and isinstance(request.body, StopReplicaRequest):
            sent = request.body
            self._process(
                "TopicDeletionStopReplicaResponseReceived",
                lambda: self.changes.stop_replica_answered(broker_id, sent, body),
                broker_node(broker_id),
            )

    def on_disconnect(self, broker_id: int, channel: int) -> None:
        """Handles a connection to a broker that closed before a response."""
        self.channels.on_disconnect(broker_id, channel)

    # Requests of brokers and administrators

    def alter_partition(self, request: AlterPartitionRequest) -> AlterPartitionResponse:
        """Handles a leader's ISR proposals."""
        response = AlterPartitionResponse(Errors.NOT_CONTROLLER)

        def process() -> None:
            nonlocal response
            error = alter_partition.request_error(self.context, request)
            response = AlterPartitionResponse(error)
            if error is Errors.NONE:
                response = AlterPartitionResponse(Errors.UNKNOWN_SERVER_ERROR)
                results = alter_partition.alter_partitions(self.context, self.zk, request)
                self.changes.send_update_metadata(
                    self.context.live_brokers, [item.partition for item in request.partitions]
                )
                response = AlterPartitionResponse(Errors.NONE, results)

        if self.is_active:
            self._process("AlterPartitionReceived", process, ", ".join(item.partition for item in request.partitions))
        return response

    def partitions_altered(self, response: AlterPartitionResponse) -> None:
        """Continues reassignments that waited for an ISR change, after the leader's response."""
        for result in response.partitions:
            if self.is_active and result.error is Errors.NONE and result.partition in self.context.reassignments:
                self._isr_of_reassigned_changed(result.partition)

    def elect_leaders(self, request: ElectLeadersRequest) -> ElectLeadersResponse:
        """Elects leaders for an administrator; brokers get them later, by UpdateMetadata."""
        partitions = self.context.all_partitions() if request.partitions is None else request.partitions

        def process() -> ElectLeadersResponse:
            results = self.elections.elect(partitions, request.election_type)
            if request.partitions is None:
                results = tuple(each for each in results if each.error is not Errors.ELECTION_NOT_NEEDED)
            return ElectLeadersResponse(Errors.NONE, results)

        return self._answer("ReplicaLeaderElection", process, ElectLeadersResponse)

    def alter_partition_reassignments(
        self, request: AlterPartitionReassignmentsRequest
    ) -> AlterPartitionReassignmentsResponse:
        """Starts or cancels reassignments."""
        return self._answer(
            "ApiPartitionReassignment",
            lambda: AlterPartitionReassignmentsResponse(
                Errors.NONE, self.reassignments.reassign(dict(request.partitions))
            ),
            AlterPartitionReassignmentsResponse,
        )

    def list_partition_reassignments(
        self, request: ListPartitionReassignmentsRequest
    ) -> ListPartitionReassignmentsResponse:
        """The reassignments in progress."""
        return self._answer(
            "ListPartitionReassignments",
            lambda: ListPartitionReassignmentsResponse(
                Errors.NONE,
                tuple(
                    OngoingReassignment(partition, *assignment)
                    for partition, assignment in self.reassignments.in_flight(request.partitions).items()
                ),
            ),
            ListPartitionReassignmentsResponse,
        )

    def unclean_election_enabled(self, topic: str | None = None) -> None:
        """Handles unclean election enabled for a topic or for all (`TopicUncleanLeaderElectionEnable`)."""
        if self.is_active:
            self._process(
                "TopicUncleanLeaderElectionEnable", lambda: self.partition_states.trigger_online(topic), topic or ""
            )

    def _answer(self, name: str, action: Callable[[], Response], refuse: Callable[[Errors], Response]) -> Response:
        """The result of an action; NOT_CONTROLLER if this broker is not, or no longer, the controller."""
        answers: list[Response] = []
        if self.is_active:
            self._process(name, lambda: answers.append(action()))
        if answers:
            return answers[0]
        return refuse(Errors.UNKNOWN_SERVER_ERROR if self.is_active else Errors.NOT_CONTROLLER)

    def controlled_shutdown(self, request: ControlledShutdownRequest) -> ControlledShutdownResponse:
        """Handles a controlled shutdown: moves the broker's leaderships, removes its replicas from ISRs."""
        response = ControlledShutdownResponse(Errors.STALE_CONTROLLER_EPOCH)

        def process() -> None:
            nonlocal response
            broker = self.context.live_brokers.get(request.broker_id)
            sends_epoch = self.host.era.controller.broker_epochs and request.broker_epoch != NO_BROKER_EPOCH
            if broker is None:
                # a broker that sends an epoch is looked up first; Kafka fails if it is not registered
                error = Errors.UNKNOWN_SERVER_ERROR if sends_epoch else Errors.BROKER_NOT_AVAILABLE
                response = ControlledShutdownResponse(error)
            elif sends_epoch and request.broker_epoch < broker.epoch:
                response = ControlledShutdownResponse(Errors.STALE_BROKER_EPOCH)
            else:
                remaining = self.changes.shut_down_broker(request.broker_id)
                response = ControlledShutdownResponse(Errors.NONE, tuple(remaining))

        if self.is_active:
            self._process("ControlledShutdown", process, broker_node(request.broker_id))
        return response

    def create_topics(self, request: CreateTopicsRequest, part: slice = slice(None)) -> CreateTopicsResponse:
        """Creates topics in ZooKeeper, or a part of those of a request; their leaders are elected later."""
        names = Counter(spec.name for spec in request.topics)
        results: list[TopicResult] = []
        for spec in request.topics[part]:
            if not self.is_active:
                results.append(TopicResult(spec.name, Errors.NOT_CONTROLLER))
            elif spec.name == CLUSTER_METADATA_TOPIC and self.host.era.creations.reserves_cluster_metadata:
                why = f"Creation of internal topic {CLUSTER_METADATA_TOPIC} is prohibited."
                results.append(TopicResult(spec.name, Errors.INVALID_REQUEST, why))
            elif names[spec.name] > 1:
                results.append(TopicResult(spec.name, Errors.INVALID_REQUEST, "Found multiple entries for this topic."))
            else:
                results.append(self.admin.create_topic(spec, validate_only=request.validate_only))
        return CreateTopicsResponse(tuple(results))

    def create_partitions(self, request: CreatePartitionsRequest) -> CreatePartitionsResponse:
        """Adds partitions to topics in ZooKeeper; their leaders are elected later.

        A topic that is named twice is refused once, except in a request that fails as a whole.
        """
        names = Counter(spec.name for spec in request.topics)
        results: dict[str, TopicResult] = {}
        for spec in request.topics:
            if not self.is_active:
                results[spec.name] = TopicResult(spec.name, Errors.NOT_CONTROLLER)
            elif names[spec.name] > 1:
                results[spec.name] = TopicResult(spec.name, Errors.INVALID_REQUEST, "Duplicate topic in request.")
            elif not can_be_znode(spec.name):
                # a lookup of a name that is not valid in a path aborts the request; earlier topics are done
                era = self.host.era.requests
                path = TopicZnode.path(spec.name)
                why = path_fault(path, is_old=era.old_paths) if era.explains_failures else None
                failed = [each.name for each in request.topics]
                if not era.repeats_failures:
                    failed = list(dict.fromkeys(failed))
                return CreatePartitionsResponse(
                    tuple(TopicResult(name, Errors.UNKNOWN_SERVER_ERROR, why) for name in failed)
                )
            elif self.context.is_queued_for_deletion(spec.name):
                why = "The topic is queued for deletion."
                results[spec.name] = TopicResult(spec.name, Errors.INVALID_TOPIC_EXCEPTION, why)
            else:
                results[spec.name] = self.admin.create_partitions(spec, validate_only=request.validate_only)
        return CreatePartitionsResponse(tuple(results.values()))

    def delete_topics(self, request: DeleteTopicsRequest) -> DeleteTopicsResponse:
        """Marks topics for deletion; they are deleted later."""
        if not self.is_active:
            return DeleteTopicsResponse(tuple(TopicResult(name, Errors.NOT_CONTROLLER) for name in request.names))
        if not self.host.config.delete_topic_enable and self.host.era.requests.deletion_disabled == "refused":
            return DeleteTopicsResponse(
                tuple(TopicResult(name, Errors.TOPIC_DELETION_DISABLED) for name in request.names)
            )
        return DeleteTopicsResponse(tuple(self.admin.delete_topic(name) for name in request.names))


@applies(ControllerElected)
def apply_elected(subjects: Subjects, event: ControllerElected, at_us: int) -> None:
    """Applies that a broker holds /controller."""
    controller: Controller = subjects[f"controller@{broker_node(event.broker)}"]
    controller.active_controller_id = event.broker
    controller.context.epoch = event.controller_epoch


@applies(ControllerResigned)
def apply_resigned(subjects: Subjects, event: ControllerResigned, at_us: int) -> None:
    """Applies a resignation: drops the controller's state."""
    controller: Controller = subjects[f"controller@{broker_node(event.broker)}"]
    controller.active_controller_id = NO_CONTROLLER
    controller.context.reset()
    controller.partition_states.states.clear()
    controller.replica_states.states.clear()
