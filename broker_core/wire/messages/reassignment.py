"""Elections and reassignments requested by an administrator."""

from typing import Literal

import msgspec

from broker_core.errors import Errors

ElectionType = Literal["PREFERRED", "UNCLEAN"]


class PartitionResult(msgspec.Struct, frozen=True, gc=False):
    """The result for one partition. `message` None = the default message of the error."""

    partition: str
    error: Errors = Errors.NONE
    message: str | None = None


class ElectLeadersRequest(msgspec.Struct, frozen=True, gc=False):
    """`partitions` None = all; the response then omits those that had the preferred leader already."""

    election_type: ElectionType
    partitions: tuple[str, ...] | None
    timeout_ms: int = 30_000


class ElectLeadersResponse(msgspec.Struct, frozen=True, gc=False):
    error: Errors = Errors.NONE
    partitions: tuple[PartitionResult, ...] = ()


class AlterPartitionReassignmentsRequest(msgspec.Struct, frozen=True, gc=False):
    """`partitions`: (topic-partition, replicas; None = cancel the move)."""

    partitions: tuple[tuple[str, tuple[int, ...] | None], ...]
    timeout_ms: int = 30_000


class AlterPartitionReassignmentsResponse(msgspec.Struct, frozen=True, gc=False):
    error: Errors = Errors.NONE
    partitions: tuple[PartitionResult, ...] = ()


class ListPartitionReassignmentsRequest(msgspec.Struct, frozen=True, gc=False):
    """`partitions` None = all that are being reassigned."""

    partitions: tuple[str, ...] | None = None
    timeout_ms: int = 30_000


class OngoingReassignment(msgspec.Struct, frozen=True, gc=False):
    """A partition that is being reassigned: all its replicas, the adding and the removing ones."""

    partition: str
    replicas: tuple[int, ...]
    adding_replicas: tuple[int, ...]
    removing_replicas: tuple[int, ...]


class ListPartitionReassignmentsResponse(msgspec.Struct, frozen=True, gc=False):
    error: Errors = Errors.NONE
    partitions: tuple[OngoingReassignment, ...] = ()
