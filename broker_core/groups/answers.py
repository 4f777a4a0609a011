"""Responses to delayed requests, and the mapping of log errors to client errors."""

from broker_core.errors import Errors
from broker_core.events.rpc import Fields
from broker_core.groups.classic_group import ClassicGroupMember
from broker_core.groups.consumer_protocol import ProtocolError, decode_assignment
from broker_core.groups.waiting import WaitingRequests
from broker_core.sim.kernel import Kernel, Message
from broker_core.texts import escape
from broker_core.wire.messages import JoinGroupResponse, OffsetCommitResponse, SyncGroupRequest, SyncGroupResponse

OFFSET_ERRORS = {
    Errors.UNKNOWN_TOPIC_OR_PARTITION: Errors.COORDINATOR_NOT_AVAILABLE,
    Errors.NOT_ENOUGH_REPLICAS: Errors.COORDINATOR_NOT_AVAILABLE,
    Errors.NOT_ENOUGH_REPLICAS_AFTER_APPEND: Errors.COORDINATOR_NOT_AVAILABLE,
    Errors.NOT_LEADER_OR_FOLLOWER: Errors.NOT_COORDINATOR,
    Errors.KAFKA_STORAGE_ERROR: Errors.NOT_COORDINATOR,
    Errors.MESSAGE_TOO_LARGE: Errors.INVALID_COMMIT_OFFSET_SIZE,
    Errors.RECORD_LIST_TOO_LARGE: Errors.INVALID_COMMIT_OFFSET_SIZE,
    Errors.INVALID_FETCH_SIZE: Errors.INVALID_COMMIT_OFFSET_SIZE,
}
"""The error for a commit whose records could not be written (`GroupMetadataManager.storeOffsets`)."""

GROUP_ERRORS = {
    **OFFSET_ERRORS,
    Errors.REQUEST_TIMED_OUT: Errors.REBALANCE_IN_PROGRESS,
    Errors.MESSAGE_TOO_LARGE: Errors.UNKNOWN_SERVER_ERROR,
    Errors.RECORD_LIST_TOO_LARGE: Errors.UNKNOWN_SERVER_ERROR,
    Errors.INVALID_FETCH_SIZE: Errors.UNKNOWN_SERVER_ERROR,
}
"""The error for members when a group's record could not be written (`GroupMetadataManager.storeGroup`)."""


def partitions_of(assignment: bytes) -> tuple[str, ...]:
    """The topic-partitions of an assignment; empty if it is not a consumer's."""
    try:
        return decode_assignment(assignment)
    except ProtocolError:
        return ()


def describe_sync(request: SyncGroupRequest) -> tuple[str, Fields]:
    """`(label, fields)` of a SyncGroup request: that of the leader carries the assignments."""
    count = len(request.assignments)
    kind = f"label.sync_assigns?group={escape(request.group_id)}&n={count}"
    label = kind if count else f"label.sync_empty?group={escape(request.group_id)}"
    return label, (("generation_id", request.generation_id), ("assignments", count))


def respond_join(kernel: Kernel, waiting: WaitingRequests, message: Message, response: JoinGroupResponse) -> None:
    """Answers a JoinGroup: that of the leader lists the members."""
    waiting.completed(message, response.error)
    if response.error is not Errors.NONE:
        kernel.respond(message, response, label=response.error.name)
        return
    count, generation = len(response.members), response.generation_id
    listed = f"label.generation_members?generation={generation}&n={count}"
    label = listed if count else f"label.generation_no_members?generation={generation}"
    fields = (("member_id", response.member_id), ("leader", response.leader), ("members", count))
    kernel.respond(message, response, label=label, fields=fields)


def respond_sync(kernel: Kernel, waiting: WaitingRequests, message: Message, response: SyncGroupResponse) -> None:
    """Answers a SyncGroup."""
    waiting.completed(message, response.error)
    good = response.error is Errors.NONE
    partitions = ", ".join(partitions_of(response.assignment)) if good else ""
    label = "label.assignment" if good else response.error.name
    kernel.respond(message, response, label=label, fields=(("label.assignment", partitions),) if good else ())


def respond_commit(kernel: Kernel, message: Message, results: tuple[tuple[str, Errors], ...]) -> None:
    """Answers an OffsetCommit: (topic-partition, error)."""
    error = next((error for _, error in results if error is not Errors.NONE), Errors.NONE)
    label = "label.committed" if error is Errors.NONE else error.name
    kernel.respond(message, OffsetCommitResponse(results), label=label)


def answer_join(
    kernel: Kernel, waiting: WaitingRequests, member: ClassicGroupMember, response: JoinGroupResponse
) -> None:
    """Answers the join of a member, if one is pending."""
    message, member.joining = member.joining, None
    if message is not None:
        respond_join(kernel, waiting, message, response)


def answer_sync(
    kernel: Kernel, waiting: WaitingRequests, member: ClassicGroupMember, response: SyncGroupResponse
) -> None:
    """Answers the sync of a member, if one is pending."""
    message, member.syncing = member.syncing, None
    if message is not None:
        respond_sync(kernel, waiting, message, response)
