"""Offsets of a group that a producer commits with its transaction (`KafkaProducer.sendOffsetsToTransaction`; KIP-447).

Three requests, one after the other: the group's partition of `__consumer_offsets` is added to the transaction, the
group's coordinator is looked up, and the offsets are written there; they take effect with the COMMIT marker.
"""

import msgspec

from broker_core.clients.exceptions import exception_message
from broker_core.errors import Errors
from broker_core.wire.messages import (
    AddOffsetsToTxnRequest,
    FindCoordinatorRequest,
    TxnOffsetCommitRequest,
    TxnOffsetCommitResponse,
)

GROUP = 0
_MISMATCH = frozenset({Errors.UNKNOWN_MEMBER_ID, Errors.ILLEGAL_GENERATION, Errors.FENCED_INSTANCE_ID})
MEMBER_EXCEPTION = "CommitFailedException"


class GroupMetadata(msgspec.Struct, frozen=True):
    """The group whose offsets these are (`ConsumerGroupMetadata`); without a member id the membership is not
    checked.
    """

    group_id: str
    generation_id: int = -1
    member_id: str = ""
    group_instance_id: str | None = None


class TransactionalOffsets:
    """One call. `offsets`: (topic-partition, offset of the next record). Complete when `is_done`."""

    def __init__(self, group: GroupMetadata, offsets: tuple[tuple[str, int], ...]) -> None:
        self.group = group
        self.offsets = offsets
        self.is_added = False
        self.is_done = False
        self.coordinator: str | None = None

    def next_request(
        self, transactional_id: str, producer_id: int, producer_epoch: int
    ) -> tuple[str, AddOffsetsToTxnRequest | FindCoordinatorRequest | TxnOffsetCommitRequest]:
        """The next API and body; the first AddOffsetsToTxn goes to the transaction coordinator, TxnOffsetCommit to the
        group's `coordinator`.
        """
        group = self.group
        if not self.is_added:
            added = AddOffsetsToTxnRequest(transactional_id, producer_id, producer_epoch, group.group_id)
            return "AddOffsetsToTxn", added
        if self.coordinator is None:
            return "FindCoordinator", FindCoordinatorRequest(group.group_id, GROUP)
        return "TxnOffsetCommit", TxnOffsetCommitRequest(
            transactional_id,
            group.group_id,
            producer_id,
            producer_epoch,
            tuple((name, offset, -1, "") for name, offset in self.offsets),
            group.generation_id,
            group.member_id,
            group.group_instance_id,
        )


def commit_error(response: TxnOffsetCommitResponse) -> Errors:
    """The first error of a response."""
    return next((error for _, error in response.partitions if error is not Errors.NONE), Errors.NONE)


def is_mismatch(error: Errors) -> bool:
    """Whether the named member no longer owns its partitions: another member has them (KIP-447)."""
    return error in _MISMATCH


def mismatch_text(error: Errors) -> str:
    """The message of the `CommitFailedException` for a mismatch."""
    return f"Transaction offset Commit failed due to consumer group metadata mismatch: {exception_message(error)}"
