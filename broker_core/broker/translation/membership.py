"""JoinGroup (API key 11), Heartbeat (12), LeaveGroup (13) and SyncGroup (14)."""

from typing import Any

from broker_core.broker.translation.common import Immediate, RequestContext, Translation
from broker_core.errors import Errors
from broker_core.wire.messages import (
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
    JoinGroupResponse,
    LeaveGroupRequest,
    LeaveGroupResponse,
    SyncGroupRequest,
    SyncGroupResponse,
)
from broker_core.wire.schemas import SCHEMAS

_JOIN = SCHEMAS[11].response
_HEARTBEAT = SCHEMAS[12].response
_LEAVE = SCHEMAS[13].response
_SYNC = SCHEMAS[14].response

_MEMBERS_VERSION = 3
"""From this version on several members leave in one request."""
_NULL_PROTOCOL_VERSION = 7
_SYNC_PROTOCOL_VERSION = 5
"""From this version on a member must name its protocol."""


def _join_body(request: Any, context: RequestContext) -> JoinGroupRequest:
    return JoinGroupRequest(
        request.group_id,
        request.session_timeout_ms,
        request.rebalance_timeout_ms if context.version > 0 else request.session_timeout_ms,
        request.member_id,
        request.group_instance_id,
        request.protocol_type,
        tuple((protocol.name, protocol.metadata) for protocol in request.protocols),
        request.reason or "",
        context.version,
        context.client_id,
        f"/{context.host}",
        not context.has_client_id and context.broker.era.groups.keeps_null_client_ids,
    )


def _join_answer(body: JoinGroupResponse, request: Any, context: RequestContext) -> Any:
    name = body.protocol_name
    return _JOIN.type(
        error_code=body.error.code,
        generation_id=body.generation_id
        if body.error is Errors.NONE
        else context.broker.era.groups.join_error_generation,
        protocol_type=body.protocol_type,
        protocol_name="" if name is None and context.version < _NULL_PROTOCOL_VERSION else name,
        leader=body.leader,
        skip_assignment=body.skip_assignment,
        member_id=body.member_id,
        members=[
            _JOIN.JoinGroupResponseMember(member_id=member_id, group_instance_id=instance, metadata=metadata)
            for member_id, instance, metadata in body.members
        ],
    )


def _sync_body(request: Any, context: RequestContext) -> Any:
    if context.version >= _SYNC_PROTOCOL_VERSION and None in (request.protocol_type, request.protocol_name):
        return Immediate(_SYNC.type(error_code=Errors.INCONSISTENT_GROUP_PROTOCOL.code))
    return SyncGroupRequest(
        request.group_id,
        request.generation_id,
        request.member_id,
        request.group_instance_id,
        request.protocol_type,
        request.protocol_name,
        tuple((each.member_id, each.assignment) for each in request.assignments),
    )


def _sync_answer(body: SyncGroupResponse, request: Any, context: RequestContext) -> Any:
    return _SYNC.type(
        error_code=body.error.code,
        protocol_type=body.protocol_type,
        protocol_name=body.protocol_name,
        assignment=body.assignment,
    )


def _heartbeat_body(request: Any, context: RequestContext) -> HeartbeatRequest:
    return HeartbeatRequest(request.group_id, request.generation_id, request.member_id, request.group_instance_id)


def _heartbeat_answer(body: HeartbeatResponse, request: Any, context: RequestContext) -> Any:
    return _HEARTBEAT.type(error_code=body.error.code)


def _leave_body(request: Any, context: RequestContext) -> LeaveGroupRequest:
    if context.version < _MEMBERS_VERSION:
        return LeaveGroupRequest(request.group_id, ((request.member_id, None),))
    return LeaveGroupRequest(
        request.group_id, tuple((member.member_id, member.group_instance_id) for member in request.members)
    )


def _leave_answer(body: LeaveGroupResponse, request: Any, context: RequestContext) -> Any:
    if context.version < _MEMBERS_VERSION:
        alone = body.members[0][2] if body.error is Errors.NONE and body.members else body.error
        return _LEAVE.type(error_code=alone.code)
    return _LEAVE.type(
        error_code=body.error.code,
        members=[
            _LEAVE.MemberResponse(member_id=member_id, group_instance_id=instance, error_code=error.code)
            for member_id, instance, error in body.members
        ],
    )


JOIN_GROUP = Translation(_join_body, _join_answer)
SYNC_GROUP = Translation(_sync_body, _sync_answer)
HEARTBEAT = Translation(_heartbeat_body, _heartbeat_answer)
LEAVE_GROUP = Translation(_leave_body, _leave_answer)
