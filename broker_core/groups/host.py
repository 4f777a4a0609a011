"""The interface of the group coordinator and its broker: settings and pending writes."""

from typing import Protocol, TypeAlias

import msgspec

from broker_core.eras import Era
from broker_core.errors import Errors
from broker_core.groups.classic_group import JoinFields
from broker_core.groups.offsets import CommittedOffset
from broker_core.log.unified_log import UnifiedLog
from broker_core.sim.kernel import Kernel, Message

TIMER_PREFIX = "groups."


class GroupSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The broker's settings in use; Kafka's names with `_` for `.`."""

    group_min_session_timeout_ms: int = 6_000
    group_max_session_timeout_ms: int = 1_800_000
    group_max_size: int = 2_147_483_647
    group_initial_rebalance_delay_ms: int = 3_000
    offset_metadata_max_bytes: int = 4_096
    offsets_commit_timeout_ms: int = 5_000
    offsets_retention_minutes: int = 10_080
    offsets_retention_check_interval_ms: int = 600_000

    @property
    def offsets_retention_ms(self) -> int:
        """How long offsets are kept."""
        return self.offsets_retention_minutes * 60_000


class Assignment(msgspec.Struct, frozen=True):
    """A pending write of a generation's assignment; its syncs wait for it."""

    group: str
    generation_id: int
    assignments: dict[str, bytes]


class StaticRejoin(msgspec.Struct, frozen=True):
    """A pending write of a static member's new id; its join waits for it. The previous state (`old_member_id`,
    `old_leader`, `previous_fields`) is restored when the write fails. `may_skip_assignment`: the response may tell the
    leader to skip the assignment.
    """

    group: str
    member_id: str
    old_member_id: str
    old_leader: str
    previous_fields: JoinFields
    may_skip_assignment: bool
    message: Message


class Commit(msgspec.Struct, frozen=True):
    """A pending write of offsets; the request waits for it. `order`: the partitions in the order of the request, with
    those rejected at once. `number`: of the record, among those of the group.
    """

    group: str
    message: Message
    offsets: dict[str, CommittedOffset]
    order: tuple[tuple[str, Errors], ...]
    number: int


class TransactionalCommit(msgspec.Struct, frozen=True):
    """A pending write of a transaction's offsets; the request waits for it. `order`, `number` as in Commit."""

    group: str
    message: Message
    producer_id: int
    offsets: dict[str, CommittedOffset]
    order: tuple[tuple[str, Errors], ...]
    number: int


class EmptyGroup(msgspec.Struct, frozen=True):
    """A pending write of a group without members; no request waits for it."""

    group: str


Store: TypeAlias = Assignment | StaticRejoin | Commit | TransactionalCommit | EmptyGroup


class CoordinatorHost(Protocol):
    """What the coordinator needs of its broker."""

    kernel: Kernel
    name: str
    era: Era

    @property
    def wall_ms(self) -> int: ...

    @property
    def group_settings(self) -> GroupSettings: ...

    def append_to_group_log(self, partition: str, data: bytes, store: Store | None) -> Errors:
        """Appends a batch as leader. When it is committed (or can no longer be) `stored(store, error)` is called,
        unless the append fails at once: then this returns why.
        """

    def offsets_log(self, partition: str) -> UnifiedLog:
        """The log of a partition of `__consumer_offsets` that this broker leads."""

    def timer(self, delay_us: int, name: str, data: object = None) -> int: ...

    @property
    def offsets_partition_count(self) -> int:
        """How many partitions `__consumer_offsets` has, or will have."""

    def has_partition(self, partition: str) -> bool:
        """Whether offsets may be committed for the partition."""
