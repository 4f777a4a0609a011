"""Membership of a group with a coordinator (`AbstractCoordinator`): the classic protocol, from the lookup of the
coordinator to leaving the group. Subclasses define what members subscribe to and how partitions are assigned.
"""

from abc import abstractmethod

from broker_core.clients.consumer.group_consumer_settings import GroupConsumerSettings
from broker_core.clients.consumer.group_member import GroupMember
from broker_core.clients.exceptions import COORDINATOR_MOVED, LOST_MEMBERSHIP, exception_class, exception_message
from broker_core.clients.metadata import backoff_us
from broker_core.errors import Errors
from broker_core.events.group import ConsumerAssigned
from broker_core.groups.answers import describe_sync
from broker_core.groups.consumer_protocol import PROTOCOL_TYPE
from broker_core.partitions import broker_node, sorted_partitions
from broker_core.sim.kernel import Kernel
from broker_core.texts import text
from broker_core.wire.messages import (
    FindCoordinatorRequest,
    FindCoordinatorResponse,
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
    JoinGroupResponse,
    LeaveGroupRequest,
    SyncGroupRequest,
    SyncGroupResponse,
)

JOIN_TIMEOUT_LAPSE_MS = 5_000

FATAL = frozenset(
    {
        Errors.FENCED_INSTANCE_ID,
        Errors.INCONSISTENT_GROUP_PROTOCOL,
        Errors.INVALID_SESSION_TIMEOUT,
        Errors.INVALID_GROUP_ID,
        Errors.GROUP_MAX_SIZE_REACHED,
    }
)
"""After these errors the application has to act."""


class GroupMembership(GroupMember):
    """A member of a group of any protocol type.

    `_coordinator`: the coordinator of the group, None while it is not known. `_epoch`: how often the state has changed;
    earlier responses and pauses are ignored. `_protocol`: the assignor that the group has agreed on.
    `_last_response_us`: when the coordinator last responded. `repeats_commit`: before it joins or leaves it waits for a
    commit to succeed; in the meantime it stays a member.
    """

    def __init__(self, kernel: Kernel, name: str, settings: GroupConsumerSettings, bootstrap: tuple[str, ...]) -> None:
        super().__init__(kernel, name, settings, bootstrap)
        self._coordinator: str | None = None
        self._epoch = 0
        self._protocol = ""
        self._last_response_us = 0
        self.repeats_commit = False

    @property
    @abstractmethod
    def is_cooperative(self) -> bool:
        """Whether it keeps its partitions while it rejoins."""

    @abstractmethod
    def _coordinator_back(self) -> None:
        """The coordinator is known again, and the member did not have to rejoin."""

    @abstractmethod
    def _prepare_join(self) -> bool:
        """Prepares to rejoin (`onJoinPrepare`); False: `_prepared` is called when that is done."""

    @abstractmethod
    def _protocols(self) -> tuple[tuple[str, bytes], ...]:
        """(assignor, subscription) for each of its assignors, the preferred one first (`metadata`)."""

    @abstractmethod
    def _joined_as(self, joined: JoinGroupResponse) -> None:
        """It has joined: `_sync` has to be called, with an assignment if it leads the group (`onLeaderElected`)."""

    @abstractmethod
    def _take_assignment(self, assignment: bytes) -> None:
        """Handles its new assignment (`onJoinComplete`)."""

    def _fail(self, error: Errors) -> None:
        self.give_up(f"{exception_class(error)}: {exception_message(error)}")

    def _fail_unexpectedly(self, where: str, error: Errors) -> None:
        self.give_up(f"KafkaException: Unexpected error {where}: {exception_message(error)}")

    def _change(self, state: str, why: str) -> None:
        self._epoch += 1
        super()._change(state, why)

    def later(self, name: str) -> None:
        """Retries after a pause, unless the state changes in the meantime."""
        self._attempts += 1
        self.kernel.timer(self.name, self.kernel.now_us + backoff_us(self._attempts), name, self._epoch)

    # The coordinator.

    def _find_coordinator(self) -> None:
        request = FindCoordinatorRequest(self.settings.group_id)
        label = f"FindCoordinator {self.settings.group_id}"
        self.send_request(self.metadata.node_for_request(), "FindCoordinator", request, "find", label)

    def _coordinator_found(self, response: FindCoordinatorResponse) -> None:
        if self.is_over:
            return
        if response.error is not Errors.NONE:
            if response.error in FATAL:
                self._fail(response.error)
            else:
                self.later("find")
            return
        self._attempts = 0
        self._coordinator = broker_node(response.node_id)
        self._last_response_us = self.kernel.now_us
        if self.state == "finding the coordinator":
            self._join("reason.coordinator_found")
        elif self.state == "stable":
            self._coordinator_back()

    def _coordinator_lost(self) -> None:
        if self._coordinator is not None:
            self._coordinator = None
            self.later("find")

    def _coordinator_if_alive(self) -> str | None:
        """The coordinator. After a session timeout without a response it is looked up again, as another broker may have
        taken over (`Heartbeat.sessionTimeoutExpired`).
        """
        if self.kernel.now_us - self._last_response_us >= self.settings.session_timeout_ms * 1_000:
            self._coordinator_lost()
        return self._coordinator

    # Joining.

    @property
    def _join_timeout_ms(self) -> int:
        """The timeout of a join, while others join or the leader assigns (`joinGroupTimeoutMs`)."""
        return max(self.settings.request_timeout_ms, self.settings.max_poll_interval_ms + JOIN_TIMEOUT_LAPSE_MS)

    def _rejoin(self, why: str) -> None:
        """Before it rejoins, a member commits; an eager one revokes all its partitions. Only a poll does so."""
        if self.state != "stable":
            return
        if self.work.is_busy:
            self.work.rejoins_for = why
            return
        self._change("joining", why)
        if self._prepare_join():
            self._prepared()

    def _prepared(self) -> None:
        if not self.is_cooperative:
            self._own((), self.owned)
        self._send_join()

    def _join(self, why: str) -> None:
        self._change("joining", why)
        self._send_join()

    def _lost(self, why: str) -> None:
        """It is no longer a member: its partitions may have other owners (`onPartitionsLost`); this is detected in a
        poll.
        """
        if self.work.is_busy:
            self.work.lost_for = why
            return
        self.member_id = ""
        self.generation_id = -1
        self._own((), self.owned)
        self._join(why)

    def _send_join(self) -> None:
        if self._coordinator is None:
            self.later("join")
            return
        settings = self.settings
        request = JoinGroupRequest(
            settings.group_id,
            settings.session_timeout_ms,
            settings.max_poll_interval_ms,
            self.member_id,
            settings.group_instance_id,
            PROTOCOL_TYPE,
            self._protocols(),
        )
        timeout_ms = self._join_timeout_ms
        self.send_request(
            self._coordinator, "JoinGroup", request, "join", f"JoinGroup {settings.group_id}", timeout_ms, self._epoch
        )

    def _joined(self, response: JoinGroupResponse, epoch: int) -> None:
        if self.state != "joining" or epoch != self._epoch:
            return
        error = response.error
        if error is Errors.MEMBER_ID_REQUIRED:
            self.member_id = response.member_id
            self._send_join()
        elif error in FATAL:
            self._fail(error)
        elif error is Errors.UNKNOWN_MEMBER_ID:
            self._lost("reason.unknown_member")
        elif error in COORDINATOR_MOVED:
            self._coordinator_lost()
            self.later("join")
        elif error is not Errors.NONE:
            if error is Errors.REBALANCE_IN_PROGRESS or error.retriable:
                self.later("join")
            else:
                self._fail_unexpectedly("in join group response", error)
        else:
            self._attempts = 0
            self.member_id = response.member_id
            self.generation_id = response.generation_id
            self._last_response_us = self.kernel.now_us
            self._protocol = response.protocol_name or ""
            self._change(
                "syncing",
                text("reason.generation", generation=response.generation_id, assignor=str(self._protocol)).code,
            )
            self._timer(self.settings.heartbeat_interval_ms, "heartbeat", (self.member_id, self.generation_id))
            self._joined_as(response)

    def _sync(self, assignments: tuple[tuple[str, bytes], ...]) -> None:
        request = SyncGroupRequest(
            self.settings.group_id,
            self.generation_id,
            self.member_id,
            self.settings.group_instance_id,
            PROTOCOL_TYPE,
            self._protocol,
            assignments,
        )
        if self._coordinator is None:
            self._join("reason.coordinator_lost")
            return
        timeout_ms = self._join_timeout_ms
        label, fields = describe_sync(request)
        self.send_request(self._coordinator, "SyncGroup", request, "sync", label, timeout_ms, self._epoch, fields)

    def _synced(self, response: SyncGroupResponse, epoch: int) -> None:
        if self.state != "syncing" or epoch != self._epoch:
            return
        error = response.error
        if error in FATAL:
            self._fail(error)
        elif error in LOST_MEMBERSHIP:
            self._lost(error.name)
        elif error is not Errors.NONE:
            if error in COORDINATOR_MOVED:
                self._coordinator_lost()
            elif error is not Errors.REBALANCE_IN_PROGRESS and not error.retriable:
                self._fail_unexpectedly("from SyncGroup", error)
                return
            self._join(error.name)
        else:
            self._take_assignment(response.assignment)

    def _own(self, partitions: tuple[str, ...], revoked: tuple[str, ...]) -> None:
        partitions = tuple(sorted_partitions(partitions))
        if partitions != self.owned or revoked:
            self.kernel.emit(ConsumerAssigned(client=self.name, partitions=partitions, revoked=revoked), self.name)

    # Heartbeats.

    def _send_heartbeat(self, membership: tuple[str, int]) -> None:
        is_member = self.state in ("joining", "syncing", "stable") or (self.repeats_commit and not self.is_over)
        if membership != (self.member_id, self.generation_id) or not is_member:
            return
        self._timer(self.settings.heartbeat_interval_ms, "heartbeat", membership)
        joins = self.state == "joining" and not self.repeats_commit
        coordinator = None if joins else self._coordinator_if_alive()
        if coordinator is None:
            return
        request = HeartbeatRequest(
            self.settings.group_id, self.generation_id, self.member_id, self.settings.group_instance_id
        )
        self.send_request(coordinator, "Heartbeat", request, "heartbeat", "Heartbeat", data=membership)

    def _heartbeat_answered(self, response: HeartbeatResponse, membership: tuple[str, int]) -> None:
        error = response.error
        if error in (Errors.NONE, Errors.REBALANCE_IN_PROGRESS) and membership == (self.member_id, self.generation_id):
            self._last_response_us = self.kernel.now_us
        if error is Errors.NONE or membership != (self.member_id, self.generation_id) or self.state != "stable":
            return
        if error is Errors.REBALANCE_IN_PROGRESS:
            self._rejoin("reason.group_rebalancing")
        elif error in FATAL:
            self._fail(error)
        elif error in LOST_MEMBERSHIP:
            self._lost(error.name)
        elif error in COORDINATOR_MOVED:
            self._coordinator_lost()

    # Leaving.

    def _leave(self) -> None:
        dynamic = self.settings.group_instance_id is None
        if not dynamic or not self.member_id or self._coordinator is None:
            self._change("closed", "reason.no_work_left")
            return
        request = LeaveGroupRequest(self.settings.group_id, ((self.member_id, None),))
        self.send_request(self._coordinator, "LeaveGroup", request, "leave", f"LeaveGroup {self.settings.group_id}")

    def _poll_late(self, poll: int) -> None:
        """`max.poll.interval.ms` has passed: the heartbeat thread leaves the group; a static member only stops its
        heartbeats (KIP-62).
        """
        if not self.work.is_busy or self.work.poll != poll or self.state != "stable":
            return
        member_id, self.member_id, self.generation_id = self.member_id, "", -1
        self._change("left", f"reason.poll_timeout?limit={self.settings.max_poll_interval_ms}")
        if self.settings.group_instance_id is None and self._coordinator is not None:
            request = LeaveGroupRequest(self.settings.group_id, ((member_id, None),))
            self.send_request(self._coordinator, "LeaveGroup", request, "left", f"LeaveGroup {self.settings.group_id}")
