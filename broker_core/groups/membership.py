"""SyncGroup, Heartbeat and LeaveGroup: requests of members that have joined (`GroupCoordinator.handleSyncGroup`,
`handleHeartbeat`, `handleLeaveGroup`).
"""

from broker_core.errors import Errors
from broker_core.groups.answers import GROUP_ERRORS, respond_sync
from broker_core.groups.classic_group import ClassicGroup
from broker_core.groups.facts import Groups
from broker_core.groups.group_log import GroupLog
from broker_core.groups.host import Assignment
from broker_core.groups.rebalance import Rebalances, synced
from broker_core.groups.states import GroupState
from broker_core.sim.kernel import Message
from broker_core.wire.messages import HeartbeatRequest, LeaveGroupRequest, SyncGroupRequest, SyncGroupResponse


class Membership:
    """See the module."""

    def __init__(self, groups: Groups, log: GroupLog, rebalances: Rebalances) -> None:
        self._host = groups.host
        self._groups = groups
        self._log = log
        self._rebalances = rebalances

    # The assignment.

    def sync(self, message: Message, request: SyncGroupRequest) -> None:
        """Responds with the member's assignment once the leader has sent it and it is stored."""
        error = self._groups.status_for_member(request.group_id)
        group = self._groups.known.get(request.group_id)
        if error is Errors.COORDINATOR_LOAD_IN_PROGRESS:
            # The rebalance is lost: the member must join again. Older clients do not expect the other error.
            error = Errors.REBALANCE_IN_PROGRESS
        if error is Errors.NONE:
            error = Errors.UNKNOWN_MEMBER_ID if group is None else self._sync_error(group, request)
        if group is None or error is not Errors.NONE:
            respond_sync(self._host.kernel, self._groups.waiting, message, SyncGroupResponse(error))
            return
        member = group.members[request.member_id]
        group.pending_syncs.pop(request.member_id, None)
        if group.state is GroupState.STABLE:
            respond_sync(self._host.kernel, self._groups.waiting, message, synced(group, member))
            self._rebalances.touch(group, member)
            return
        waiting = self._groups.waiting
        waiting.superseded(member.syncing)
        member.syncing = message
        needs = "label.needs_assignment"
        if group.is_leader(request.member_id):
            if group.has_null_client:
                member.syncing = None
                refused = SyncGroupResponse(Errors.UNKNOWN_SERVER_ERROR)
                respond_sync(self._host.kernel, self._groups.waiting, message, refused)
                return
            needs = "label.needs_stored"
            given = dict(request.assignments)
            assignments = {member_id: given.get(member_id, b"") for member_id in group.members}
            store = Assignment(group.group_id, group.generation_id, assignments)
            error = self._log.write(group, assignments, store)
            if error is not Errors.NONE:
                self.assignment_stored(group, store, error)
        if member.syncing is message:
            waiting.park(message, group, needs, group.sync_due_us)

    def _sync_error(self, group: ClassicGroup, request: SyncGroupRequest) -> Errors:
        error = self._groups.member_error(group, request.member_id, request.group_instance_id)
        if error is not Errors.NONE:
            return error
        if request.generation_id != group.generation_id:
            return Errors.ILLEGAL_GENERATION
        if request.protocol_type is not None and request.protocol_type != group.protocol_type:
            return Errors.INCONSISTENT_GROUP_PROTOCOL
        if request.protocol_name is not None and request.protocol_name != group.protocol_name:
            return Errors.INCONSISTENT_GROUP_PROTOCOL
        if group.state is GroupState.EMPTY:
            return Errors.UNKNOWN_MEMBER_ID
        if group.state is GroupState.PREPARING_REBALANCE:
            return Errors.REBALANCE_IN_PROGRESS
        return Errors.NONE

    def assignment_stored(self, group: ClassicGroup, store: Assignment, error: Errors) -> None:
        """Handles a stored assignment, or a failed write; those of earlier generations are ignored."""
        if group.state is not GroupState.COMPLETING_REBALANCE or group.generation_id != store.generation_id:
            return
        error = GROUP_ERRORS.get(error, error)
        if error is Errors.NONE:
            self._groups.assign(group, store.assignments)
            self._groups.transition(group, GroupState.STABLE, "reason.assignment_stored")
            self._rebalances.propagate(group, Errors.NONE)
        else:
            self._rebalances.propagate(group, error)
            self._rebalances.maybe_rebalance(group, "reason.assignment_not_stored")

    # Heartbeats and leaving.

    def heartbeat(self, request: HeartbeatRequest) -> Errors:
        """Keeps a session alive; REBALANCE_IN_PROGRESS makes the member rejoin."""
        error = self._groups.status_for_member(request.group_id)
        if error is Errors.COORDINATOR_LOAD_IN_PROGRESS:
            return Errors.NONE  # The group is still loading; the member's session starts when it is loaded.
        if error is not Errors.NONE:
            return error
        group = self._groups.known.get(request.group_id)
        if group is None:
            return Errors.UNKNOWN_MEMBER_ID
        error = self._groups.member_error(group, request.member_id, request.group_instance_id)
        if error is not Errors.NONE:
            return error
        era = self._host.era.groups
        must_rejoin = group.state is GroupState.COMPLETING_REBALANCE and not era.heartbeats_continue_in_sync
        if must_rejoin and not era.checks_generation_in_sync:
            return Errors.REBALANCE_IN_PROGRESS
        if request.generation_id != group.generation_id:
            return Errors.ILLEGAL_GENERATION
        if group.state is GroupState.EMPTY:
            return Errors.UNKNOWN_MEMBER_ID
        if must_rejoin:
            return Errors.REBALANCE_IN_PROGRESS
        self._rebalances.touch(group, group.members[request.member_id])
        return Errors.REBALANCE_IN_PROGRESS if group.state is GroupState.PREPARING_REBALANCE else Errors.NONE

    def leave(self, request: LeaveGroupRequest) -> tuple[Errors, tuple[tuple[str, str | None, Errors], ...]]:
        """The error of the whole request, or one for each member."""
        error = self._groups.status_for_member(request.group_id)
        if error is not Errors.NONE:
            return error, ()
        group = self._groups.known.get(request.group_id)
        results = tuple(
            (
                member_id,
                instance,
                Errors.UNKNOWN_MEMBER_ID if group is None else self._leave(group, member_id, instance),
            )
            for member_id, instance in request.members
        )
        return Errors.NONE, results

    def _leave(self, group: ClassicGroup, member_id: str, instance: str | None) -> Errors:
        """An administrator names a static member by its instance id alone."""
        if instance is not None and not member_id:
            member_id = group.static_members.get(instance, "")
        if group.pending_members.pop(member_id, None) is not None:
            self._rebalances.try_complete_join(group)
            return Errors.NONE
        error = self._groups.member_error(group, member_id, instance)
        if error is Errors.NONE:
            self._rebalances.remove(group, member_id, "reason.member_left")
        return error
