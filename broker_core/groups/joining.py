"""JoinGroup: validation, member ids, and whether a join starts a rebalance (`GroupCoordinator.handleJoinGroup`)."""

import msgspec

from broker_core.errors import Errors
from broker_core.groups.answers import GROUP_ERRORS, answer_join, answer_sync, respond_join
from broker_core.groups.classic_group import NULL_CLIENT, ClassicGroup, ClassicGroupMember, JoinFields, join_fields_of
from broker_core.groups.facts import Groups
from broker_core.groups.group_log import GroupLog
from broker_core.groups.host import StaticRejoin
from broker_core.groups.rebalance import Rebalances, joined
from broker_core.groups.states import GroupState
from broker_core.sim.kernel import Message
from broker_core.texts import escape
from broker_core.wire.messages import JoinGroupRequest, JoinGroupResponse, SyncGroupResponse

NEW_MEMBER_JOIN_TIMEOUT_MS = 300_000
MEMBER_ID_REQUIRED_VERSION = 4
SKIP_ASSIGNMENT_VERSION = 9


class Joining:
    """See the module."""

    def __init__(self, groups: Groups, log: GroupLog, rebalances: Rebalances) -> None:
        self._host = groups.host
        self._groups = groups
        self._log = log
        self._rebalances = rebalances

    def join(self, message: Message, request: JoinGroupRequest) -> None:
        """Responds when all members have joined, or at once if there is nothing to wait for."""
        member_id = request.member_id
        group = self._groups.known.get(request.group_id)
        error = self._error(group, request)
        if error is not Errors.NONE:
            self._refuse(message, error, member_id)
            return
        if group is None:
            group = self._groups.create(request.group_id)
        was_stuck = group.is_stuck
        if not self._has_capacity(group, member_id):
            self._rebalances.drop(group, member_id, "reason.group_full")
            self._refuse(message, Errors.GROUP_MAX_SIZE_REACHED, "")
        elif not group.supports(request.protocol_type, request.protocols, self._host.era.groups.checks_first_protocols):
            self._refuse(message, Errors.INCONSISTENT_GROUP_PROTOCOL, member_id)
        elif not member_id:
            self._join_new(group, message, request)
        else:
            self._join_known(group, message, request)
        self._rebalances.try_complete_join(group)
        if group.is_stuck and not was_stuck:
            self._fail(group, message)
        elif any(member.joining is message for member in group.members.values()):
            self._groups.waiting.park_join(group, message)

    def _fail(self, group: ClassicGroup, message: Message) -> None:
        """This join would have been the last, but the members cannot vote on an assignor."""
        for member in group.members.values():
            if member.joining is message:
                member.joining = None
                self._refuse(message, Errors.UNKNOWN_SERVER_ERROR, "")

    def _error(self, group: ClassicGroup | None, request: JoinGroupRequest) -> Errors:
        settings = self._host.group_settings
        error = self._groups.status(request.group_id)
        shortest, longest = settings.group_min_session_timeout_ms, settings.group_max_session_timeout_ms
        if error is Errors.NONE and not shortest <= request.session_timeout_ms <= longest:
            return Errors.INVALID_SESSION_TIMEOUT
        if error is Errors.NONE and group is None and request.member_id:
            return Errors.UNKNOWN_MEMBER_ID
        return error

    def _refuse(self, message: Message, error: Errors, member_id: str) -> None:
        respond_join(self._host.kernel, self._groups.waiting, message, JoinGroupResponse(error, member_id=member_id))

    def _has_capacity(self, group: ClassicGroup, member_id: str) -> bool:
        limit = self._host.group_settings.group_max_size
        if not self._host.era.groups.counts_waiting_members:
            member = group.members.get(member_id)
            if member is None:
                return bool(member_id) or len(group.members) < limit
            return member.joining is not None or len(group.members) <= limit
        if group.state is GroupState.PREPARING_REBALANCE:
            member = group.members.get(member_id)
            waiting = sum(1 for each in group.members.values() if each.joining is not None)
            return (member is not None and member.joining is not None) or waiting < limit
        return group.state is GroupState.EMPTY or member_id in group.members or len(group.members) < limit

    # A member without an id.

    def _join_new(self, group: ClassicGroup, message: Message, request: JoinGroupRequest) -> None:
        instance = request.group_instance_id
        client_id = NULL_CLIENT if request.has_null_client_id else _client_id(message, request)
        member_id = self._new_member_id(client_id if instance is None else instance)
        if instance is not None:
            old_id = group.static_members.get(instance)
            if old_id is None:
                self._add(group, message, request, member_id)
            else:
                self._replace(group, message, request, old_id, member_id)
        elif request.version >= MEMBER_ID_REQUIRED_VERSION:
            self._rebalances.expect_member(group, member_id, request.session_timeout_ms)
            self._refuse(message, Errors.MEMBER_ID_REQUIRED, member_id)
        else:
            self._add(group, message, request, member_id)

    def _new_member_id(self, prefix: str) -> str:
        drawn = bytearray(self._host.kernel.streams["groups"].bytes(16))
        drawn[6] = drawn[6] & 0x0F | 0x40
        drawn[8] = drawn[8] & 0x3F | 0x80
        text = drawn.hex()
        return f"{prefix}-{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"

    def _add(self, group: ClassicGroup, message: Message, request: JoinGroupRequest, member_id: str) -> None:
        if group.state is GroupState.PREPARING_REBALANCE and group.generation_id == 0:
            group.new_member_added = True
        new_member = ClassicGroupMember(
            member_id,
            request.group_instance_id,
            _client_id(message, request),
            request.client_host,
            request.rebalance_timeout_ms,
            request.session_timeout_ms,
            request.protocols,
        )
        member = self._groups.add(group, new_member, request.protocol_type)
        member.joining = message
        if self._host.era.groups.expires_new_members != "never":
            member.is_new = True
            self._rebalances.touch(group, member, NEW_MEMBER_JOIN_TIMEOUT_MS)
        self._rebalances.maybe_rebalance(group, f"reason.member_joined?member={escape(member_id)}")

    # A member rejoins.

    def _join_known(self, group: ClassicGroup, message: Message, request: JoinGroupRequest) -> None:
        member_id = request.member_id
        if member_id in group.pending_members and request.group_instance_id is not None:
            # A static member with a new id: Kafka fails if the response says that the member is known.
            self._refuse(message, Errors.UNKNOWN_SERVER_ERROR, "")
            return
        if group.pending_members.pop(member_id, None) is not None:
            self._add(group, message, request, member_id)
            return
        error = group.member_error(member_id, request.group_instance_id)
        if error is not Errors.NONE:
            self._refuse(message, error, member_id)
            return
        member = group.members[member_id]
        is_leader, is_same = group.is_leader(member_id), member.protocols == request.protocols
        if group.state is GroupState.PREPARING_REBALANCE:
            self._rejoin(group, member, message, request, "reason.member_rejoined")
        elif group.state is GroupState.EMPTY:
            self._refuse(message, Errors.UNKNOWN_MEMBER_ID, member_id)
        elif not is_same:
            self._rejoin(group, member, message, request, f"reason.metadata_changed?member={escape(member_id)}")
        elif group.state is GroupState.STABLE and is_leader:
            self._rejoin(group, member, message, request, f"reason.leader_rejoined?member={escape(member_id)}")
        else:
            members = group.member_metadata() if is_leader else ()
            respond_join(self._host.kernel, self._groups.waiting, message, joined(group, member_id, members))

    def _rejoin(
        self, group: ClassicGroup, member: ClassicGroupMember, message: Message, request: JoinGroupRequest, why: str
    ) -> None:
        self._groups.update(group, member, self._updated(member, request))
        # As in Kafka the member's pending join, if there is one, gets no response.
        self._groups.waiting.superseded(member.joining)
        member.joining = message
        self._rebalances.maybe_rebalance(group, why)

    def _updated(self, member: ClassicGroupMember, request: JoinGroupRequest) -> JoinFields:
        """What is stored about a member that rejoins."""
        if self._host.era.groups.updates_timeouts:
            return join_fields_of(request)
        return member.rebalance_timeout_ms, member.session_timeout_ms, request.protocols

    # A static member restarts (KIP-345).

    def _replace(
        self, group: ClassicGroup, message: Message, request: JoinGroupRequest, old_id: str, new_id: str
    ) -> None:
        """A static member restarted: it replaces the old process, whose requests are fenced, and keeps its client id.
        In a stable group that is not changed by it, it gets its assignment without a rebalance.
        """
        instance = request.group_instance_id or ""
        old = group.members[old_id]
        rejoin = StaticRejoin(
            group.group_id,
            new_id,
            old_id,
            group.leader or "",
            old.join_fields,
            request.version >= SKIP_ASSIGNMENT_VERSION,
            message,
        )
        kernel, waiting = self._host.kernel, self._groups.waiting
        answer_join(kernel, waiting, old, JoinGroupResponse(Errors.FENCED_INSTANCE_ID, member_id=old_id))
        answer_sync(kernel, waiting, old, SyncGroupResponse(Errors.FENCED_INSTANCE_ID))
        member = self._groups.replace(group, instance, old_id, new_id, old.client_id)
        member.timer_due_us = 0
        self._rebalances.touch(group, member)
        self._groups.update(group, member, self._updated(member, request))
        has_generation = group.state in (GroupState.STABLE, GroupState.COMPLETING_REBALANCE)
        if has_generation and self._host.era.groups.replaces_static_at_once:
            self.static_rejoined(group, rejoin, Errors.NONE)
        elif group.state is GroupState.STABLE and group.select_protocol() == group.protocol_name:
            assignments = {each.member_id: each.assignment for each in group.members.values()}
            error = self._log.write(group, assignments, rejoin)
            if error is not Errors.NONE:
                self.static_rejoined(group, rejoin, error)
        elif group.state is GroupState.EMPTY:
            self._refuse(message, Errors.UNKNOWN_MEMBER_ID, new_id)
        else:
            member.joining = message
            self._rebalances.maybe_rebalance(group, f"reason.static_member_rejoined?instance={escape(instance)}")

    def static_rejoined(self, group: ClassicGroup, rejoin: StaticRejoin, error: Errors) -> None:
        """The new id of a static member was stored, or the write failed: then the old one is kept."""
        if error is not Errors.NONE:
            self._revert(group, rejoin)
            self._refuse(rejoin.message, GROUP_ERRORS.get(error, error), "")
            return
        is_leader = group.is_leader(rejoin.member_id)
        if rejoin.may_skip_assignment:
            members = group.member_metadata() if is_leader else ()
            response = joined(group, rejoin.member_id, members, skip_assignment=is_leader)
        else:
            response = msgspec.structs.replace(joined(group, rejoin.member_id, ()), leader=rejoin.old_leader)
        respond_join(self._host.kernel, self._groups.waiting, rejoin.message, response)

    def _revert(self, group: ClassicGroup, rejoin: StaticRejoin) -> None:
        member = group.members.get(rejoin.member_id)
        if member is None or member.group_instance_id is None:
            return
        self._groups.update(group, member, rejoin.previous_fields)
        self._groups.replace(group, member.group_instance_id, rejoin.member_id, rejoin.old_member_id, member.client_id)
        member.timer_due_us = 0
        self._rebalances.touch(group, member)


def _client_id(message: Message, request: JoinGroupRequest) -> str:
    return message.source if request.client_id is None else request.client_id
