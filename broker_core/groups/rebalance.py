"""Rebalances and their triggers: members that join, leave or time out (`GroupCoordinator.prepareRebalance`,
`onCompleteJoin`, `onExpireHeartbeat`).
"""

from broker_core.errors import Errors
from broker_core.groups.answers import answer_join, answer_sync
from broker_core.groups.classic_group import ClassicGroup, ClassicGroupMember
from broker_core.groups.facts import Groups
from broker_core.groups.group_log import GroupLog
from broker_core.groups.host import TIMER_PREFIX, EmptyGroup
from broker_core.groups.states import CAN_REBALANCE, GroupState
from broker_core.sim.handlers import TimerHandler, Unpacked
from broker_core.texts import escape, text
from broker_core.wire.messages import JoinGroupResponse, SyncGroupResponse

JOIN_DUE_TIMER = TIMER_PREFIX + "join_due"
SYNC_DUE_TIMER = TIMER_PREFIX + "sync_due"
SESSION_DUE_TIMER = TIMER_PREFIX + "session_due"
PENDING_EXPIRED_TIMER = TIMER_PREFIX + "pending_expired"


def joined(
    group: ClassicGroup,
    member_id: str,
    members: tuple[tuple[str, str | None, bytes], ...],
    skip_assignment: bool = False,
) -> JoinGroupResponse:
    """The response to a member of the generation; `members` for the leader."""
    return JoinGroupResponse(
        Errors.NONE,
        group.generation_id,
        group.protocol_type,
        group.protocol_name,
        group.leader or "",
        skip_assignment,
        member_id,
        members,
    )


def synced(group: ClassicGroup, member: ClassicGroupMember) -> SyncGroupResponse:
    """The response with a member's assignment."""
    return SyncGroupResponse(Errors.NONE, group.protocol_type, group.protocol_name, member.assignment)


class Rebalances:
    """See the module. Timers contain the rebalance or the generation that they belong to: earlier ones are ignored."""

    def __init__(self, groups: Groups, log: GroupLog) -> None:
        self._host = groups.host
        self._groups = groups
        self._log = log

    @property
    def timers(self) -> dict[str, TimerHandler]:
        """The handlers of its timers, by name."""
        return {
            JOIN_DUE_TIMER: Unpacked(self.join_due),
            SYNC_DUE_TIMER: Unpacked(self.sync_due),
            SESSION_DUE_TIMER: Unpacked(self._session_due),
            PENDING_EXPIRED_TIMER: Unpacked(self._pending_expired),
        }

    # The rebalance.

    def maybe_rebalance(self, group: ClassicGroup, why: str) -> None:
        """Starts a rebalance, unless one is in progress."""
        if group.state in CAN_REBALANCE:
            self._rebalance(group, why)

    def _rebalance(self, group: ClassicGroup, why: str) -> None:
        if group.state is GroupState.COMPLETING_REBALANCE:
            self.propagate(group, Errors.REBALANCE_IN_PROGRESS)
        group.pending_syncs.clear()
        group.rebalance += 1
        group.is_initial_rebalance = group.state is GroupState.EMPTY
        max_ms = group.rebalance_timeout_ms
        delay_ms = self._host.group_settings.group_initial_rebalance_delay_ms
        wait_ms = delay_ms if group.is_initial_rebalance else max_ms
        self._groups.transition(group, GroupState.PREPARING_REBALANCE, why, wait_ms)
        self._await_joins(group, wait_ms)
        if group.is_initial_rebalance:
            group.remaining_initial_delay_ms = max(max_ms - delay_ms, 0)
            group.new_member_added = False
        else:
            self.try_complete_join(group)

    def try_complete_join(self, group: ClassicGroup) -> None:
        """Completes a rebalance when all members have joined."""
        if (
            group.state is GroupState.PREPARING_REBALANCE
            and not group.is_initial_rebalance
            and not group.is_stuck
            and group.has_all_members_joined
        ):
            self._complete_join(group)

    def join_due(self, group_id: str, rebalance: int) -> None:
        """The rebalance timeout has passed; a group's first rebalance waits longer while members join (KIP-134)."""
        group = self._groups.known.get(group_id)
        if group is None or group.rebalance != rebalance or group.state is not GroupState.PREPARING_REBALANCE:
            return
        if group.is_initial_rebalance and group.new_member_added and group.remaining_initial_delay_ms > 0:
            group.new_member_added = False
            delay_ms = min(self._host.group_settings.group_initial_rebalance_delay_ms, group.remaining_initial_delay_ms)
            group.remaining_initial_delay_ms -= delay_ms
            self._await_joins(group, delay_ms)
            for member in group.members.values():
                if member.joining is not None:
                    self._groups.waiting.park_join(group, member.joining)
            return
        self._complete_join(group)

    def _complete_join(self, group: ClassicGroup) -> None:
        for member in list(group.members.values()):
            if member.joining is None and not member.is_static:
                self._remove_member(group, member, "reason.rejoin_timeout")
        group.rebalance += 1
        group.is_initial_rebalance = False
        leader = group.joined_leader()
        if group.members and leader is None:
            self._await_joins(group, group.rebalance_timeout_ms)
            return
        group.pending_syncs.clear()
        if leader is None:
            self._groups.new_generation(group, GroupState.EMPTY, "reason.no_members", protocol=None, leader=None)
            self._log.write(group, {}, EmptyGroup(group.group_id))
            return
        protocol = group.select_protocol()
        if protocol is None:
            group.is_stuck = True
            return
        why = text("reason.new_generation", n=len(group.members), assignor=str(protocol)).code
        self._groups.new_generation(
            group,
            GroupState.COMPLETING_REBALANCE,
            why,
            protocol=protocol,
            leader=leader,
            wait_ms=group.rebalance_timeout_ms,
        )
        group.sync_due_us = self._host.kernel.now_us + group.rebalance_timeout_ms * 1_000
        for member in list(group.members.values()):
            members = group.member_metadata() if group.is_leader(member.member_id) else ()
            answer_join(self._host.kernel, self._groups.waiting, member, joined(group, member.member_id, members))
            self.touch(group, member)
            member.is_new = False
            group.pending_syncs[member.member_id] = None
        if self._host.era.groups.expires_syncs:
            self._timer(group.rebalance_timeout_ms, SYNC_DUE_TIMER, (group.group_id, group.generation_id))

    def sync_due(self, group_id: str, generation_id: int) -> None:
        """The sync timeout has passed: members that have not synced are removed (KAFKA-13435)."""
        group = self._groups.known.get(group_id)
        if group is None or group.generation_id != generation_id or not group.pending_syncs:
            return
        if group.state not in (GroupState.COMPLETING_REBALANCE, GroupState.STABLE):
            return
        for member_id in list(group.pending_syncs):
            member = group.members.get(member_id)
            if member is not None:
                self._remove_member(group, member, "reason.sync_timeout")
        self._rebalance(group, "reason.members_sync_timeout")

    def propagate(self, group: ClassicGroup, error: Errors) -> None:
        """Responds to all pending syncs, with the assignments or an error."""
        for member in list(group.members.values()):
            waiting = member.syncing is not None
            response = synced(group, member) if error is Errors.NONE else SyncGroupResponse(error)
            answer_sync(self._host.kernel, self._groups.waiting, member, response)
            if waiting:
                self.touch(group, member)

    # Removals.

    def remove(self, group: ClassicGroup, member_id: str, why: str) -> None:
        """A member was removed: its partitions are assigned to the others."""
        self._remove_member(group, group.members[member_id], why)
        if group.state in (GroupState.STABLE, GroupState.COMPLETING_REBALANCE):
            self._rebalance(group, f"reason.member_removed?member={escape(member_id)}&why=({why})")
        else:
            self.try_complete_join(group)

    def drop(self, group: ClassicGroup, member_id: str, why: str) -> None:
        """Removes a member, or an id with which none has joined yet, without a rebalance (`GroupMetadata.remove`)."""
        group.pending_members.pop(member_id, None)
        member = group.members.get(member_id)
        if member is not None:
            self._remove_member(group, member, why)

    def _remove_member(self, group: ClassicGroup, member: ClassicGroupMember, why: str) -> None:
        kernel, waiting = self._host.kernel, self._groups.waiting
        if self._host.era.groups.refuses_joins_of_removed:
            answer_join(kernel, waiting, member, JoinGroupResponse(Errors.UNKNOWN_MEMBER_ID))
        else:
            waiting.superseded(member.joining)
        # As in Kafka a pending sync gets no response: only another request, LeaveGroup, can remove its member.
        waiting.superseded(member.syncing)
        self._groups.remove(group, member, why)

    # Sessions.

    def touch(self, group: ClassicGroup, member: ClassicGroupMember, timeout_ms: int | None = None) -> None:
        """Restarts the session of a member. One timer per member checks when it ends."""
        if timeout_ms is None and member.is_new and self._host.era.groups.expires_new_members == "until heard of":
            member.timer_due_us = 0
            return
        timeout_us = (member.session_timeout_ms if timeout_ms is None else timeout_ms) * 1_000
        member.deadline_us = self._host.kernel.now_us + timeout_us
        if not member.timer_due_us or member.deadline_us < member.timer_due_us:
            self._watch_session(group, member)

    def _watch_session(self, group: ClassicGroup, member: ClassicGroupMember) -> None:
        due_us = member.timer_due_us = member.deadline_us
        self._host.timer(
            due_us - self._host.kernel.now_us, SESSION_DUE_TIMER, (group.group_id, member.member_id, due_us)
        )

    def _session_due(self, group_id: str, member_id: str, due_us: int) -> None:
        """Checks whether a session has expired."""
        group = self._groups.known.get(group_id)
        member = None if group is None else group.members.get(member_id)
        if group is None or member is None or member.timer_due_us != due_us:
            return
        member.timer_due_us = 0
        if due_us < member.deadline_us:
            self._watch_session(group, member)
        elif member.is_new and member.joining is not None:
            self.remove(group, member_id, "reason.join_timeout")
        elif member.joining is None and member.syncing is None:
            self.remove(group, member_id, "reason.session_timeout")

    def expect_member(self, group: ClassicGroup, member_id: str, timeout_ms: int) -> None:
        """A member was given an id and has one session timeout to join with it (KIP-394)."""
        group.pending_members[member_id] = self._host.kernel.now_us + timeout_ms * 1_000
        self._timer(timeout_ms, PENDING_EXPIRED_TIMER, (group.group_id, member_id))

    def _pending_expired(self, group_id: str, member_id: str) -> None:
        """A member that was given an id has not joined with it in time and is no longer pending."""
        group = self._groups.known.get(group_id)
        now_us = self._host.kernel.now_us
        if group is None or group.pending_members.get(member_id, now_us + 1) > now_us:
            return
        del group.pending_members[member_id]
        self.try_complete_join(group)

    def _await_joins(self, group: ClassicGroup, wait_ms: int) -> None:
        group.join_due_us = self._host.kernel.now_us + wait_ms * 1_000
        self._timer(wait_ms, JOIN_DUE_TIMER, (group.group_id, group.rebalance))

    def _timer(self, delay_ms: int, name: str, data: object) -> None:
        self._host.timer(delay_ms * 1_000, name, data)
