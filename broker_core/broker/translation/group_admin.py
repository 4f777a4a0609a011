"""DescribeGroups (API key 15), ListGroups (16), DeleteGroups (42) and OffsetDelete (47)."""

from typing import Any

from broker_core.broker.translation.common import (
    RequestContext,
    Translation,
    by_requested_topic,
    partitions_of,
)
from broker_core.errors import Errors
from broker_core.groups.states import GroupState
from broker_core.wire.messages import (
    DeleteGroupsRequest,
    DeleteGroupsResponse,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
    ListGroupsRequest,
    ListGroupsResponse,
    OffsetDeleteRequest,
    OffsetDeleteResponse,
)
from broker_core.wire.schemas import SCHEMAS

_DESCRIBE = SCHEMAS[15].response
_LIST = SCHEMAS[16].response
_DELETE = SCHEMAS[42].response
_OFFSET_DELETE = SCHEMAS[47].response

GROUP_OPERATIONS = 328
"""All operations on a group, as a bit field: read, delete, describe."""

CLASSIC = "classic"


def _describe_body(request: Any, context: RequestContext) -> DescribeGroupsRequest:
    return DescribeGroupsRequest(tuple(request.groups))


def _describe_answer(body: DescribeGroupsResponse, request: Any, context: RequestContext) -> Any:
    era = context.broker.era
    completing = GroupState.COMPLETING_REBALANCE.value
    return _DESCRIBE.type(
        groups=[
            _DESCRIBE.DescribedGroup(
                error_code=group.error.code,
                group_id=group.group_id,
                group_state=era.groups.names_completing_rebalance if group.state == completing else group.state,
                protocol_type=group.protocol_type,
                protocol_data=group.protocol,
                members=[
                    _DESCRIBE.DescribedGroupMember(
                        member_id=member.member_id,
                        group_instance_id=member.group_instance_id,
                        client_id=member.client_id,
                        client_host=member.client_host,
                        member_metadata=member.metadata,
                        member_assignment=member.assignment,
                    )
                    for member in group.members
                ],
                authorized_operations=GROUP_OPERATIONS
                if request.include_authorized_operations and group.error is Errors.NONE
                else era.requests.operations_not_requested,
            )
            for group in body.groups
        ]
    )


def _list_body(request: Any, context: RequestContext) -> ListGroupsRequest:
    return ListGroupsRequest(tuple(request.states_filter))


def _list_answer(body: ListGroupsResponse, request: Any, context: RequestContext) -> Any:
    types = {each.lower() for each in request.types_filter}
    return _LIST.type(
        error_code=body.error.code,
        groups=[
            _LIST.ListedGroup(group_id=group, protocol_type=protocol_type, group_state=state, group_type=CLASSIC)
            for group, protocol_type, state in body.groups
            if not types or CLASSIC in types
        ],
    )


def _delete_body(request: Any, context: RequestContext) -> DeleteGroupsRequest:
    return DeleteGroupsRequest(tuple(dict.fromkeys(request.groups_names)))


def _delete_answer(body: DeleteGroupsResponse, request: Any, context: RequestContext) -> Any:
    return _DELETE.type(
        results=[_DELETE.DeletableGroupResult(group_id=group, error_code=error.code) for group, error in body.results]
    )


def _offset_delete_body(request: Any, context: RequestContext) -> OffsetDeleteRequest:
    return OffsetDeleteRequest(request.group_id, tuple(name for name, _ in partitions_of(request.topics)))


def _offset_delete_answer(body: OffsetDeleteResponse, request: Any, context: RequestContext) -> Any:
    topics = {} if body.error is not Errors.NONE else by_requested_topic(body.partitions, request.topics, context)
    repeats = context.broker.era.groups.repeats_deleted_offsets
    return _OFFSET_DELETE.type(
        error_code=body.error.code,
        topics=[
            _OFFSET_DELETE.OffsetDeleteResponseTopic(
                name=topic,
                partitions=[
                    _OFFSET_DELETE.OffsetDeleteResponsePartition(partition_index=index, error_code=error.code)
                    for index, error in rows
                ],
            )
            for topic, rows in topics.items()
            for _ in range(len(rows) if repeats else 1)
        ],
    )


DESCRIBE_GROUPS = Translation(_describe_body, _describe_answer)
LIST_GROUPS = Translation(_list_body, _list_answer)
DELETE_GROUPS = Translation(_delete_body, _delete_answer)
OFFSET_DELETE = Translation(_offset_delete_body, _offset_delete_answer)
