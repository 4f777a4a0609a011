"""OffsetCommit and OffsetFetch (`GroupCoordinator.handleCommitOffsets`, `GroupMetadataManager.storeOffsets`)."""

from collections.abc import Mapping

from broker_core.config_defs.java_text import partition_code, scala_hash_set_order, scala_set_order
from broker_core.errors import Errors
from broker_core.groups.answers import OFFSET_ERRORS, respond_commit
from broker_core.groups.classic_group import ClassicGroup
from broker_core.groups.facts import Groups
from broker_core.groups.host import Commit, CoordinatorHost, GroupSettings
from broker_core.groups.offsets import CommittedOffset, encode_offset_key, encode_offset_value
from broker_core.groups.rebalance import Rebalances
from broker_core.groups.states import GroupState
from broker_core.log.dump.java import int64
from broker_core.records.record_batch import SimpleRecord, build_batch
from broker_core.sim.kernel import Message
from broker_core.wire.messages import OffsetCommitRequest, OffsetFetchRequest, OffsetFetchResponse

NOT_SET = -1


class OffsetCommits:
    """See the module."""

    def __init__(self, groups: Groups, rebalances: Rebalances) -> None:
        self._host = groups.host
        self._groups = groups
        self._rebalances = rebalances

    def commit(self, message: Message, request: OffsetCommitRequest) -> None:
        """Responds when the records are committed. If no partition exists, the group is not checked."""
        if not any(self._host.has_partition(name) for name, *_ in request.partitions):
            respond_commit(self._host.kernel, message, refused_offsets(self._host, request.partitions, Errors.NONE))
            return
        error = self._groups.status(request.group_id, allows_empty_id=True)
        group = self._groups.known.get(request.group_id)
        if error is Errors.NONE and group is None:
            if request.generation_id < 0 or not self._host.era.groups.checks_members_of_commits:
                group = self._groups.create(request.group_id)
            else:
                error = Errors.ILLEGAL_GENERATION
        if error is Errors.NONE and group is not None:
            error = self._error(group, request)
        if group is None or error is not Errors.NONE:
            respond_commit(self._host.kernel, message, refused_offsets(self._host, request.partitions, error))
            return
        self._store(group, message, request)

    def _error(self, group: ClassicGroup, request: OffsetCommitRequest) -> Errors:
        era = self._host.era.groups
        if not era.checks_members_of_commits or (request.generation_id < 0 and group.state is GroupState.EMPTY):
            return Errors.NONE
        if group.state is GroupState.COMPLETING_REBALANCE and not era.checks_generation_in_sync:
            return Errors.REBALANCE_IN_PROGRESS
        if request.generation_id < 0 and not request.member_id and request.group_instance_id is None:
            return Errors.UNKNOWN_MEMBER_ID
        error = self._groups.member_error(group, request.member_id, request.group_instance_id)
        if error is not Errors.NONE:
            return error
        if request.generation_id != group.generation_id:
            return Errors.ILLEGAL_GENERATION
        self._rebalances.touch(group, group.members[request.member_id])
        return Errors.REBALANCE_IN_PROGRESS if group.state is GroupState.COMPLETING_REBALANCE else Errors.NONE

    def _store(self, group: ClassicGroup, message: Message, request: OffsetCommitRequest) -> None:
        order, offsets = examine_offsets(self._host, request.partitions, request.retention_ms, request.timestamps)
        if not offsets:
            respond_commit(self._host.kernel, message, order)
            return
        data = build_batch(offset_records(group, offsets, self._host.wall_ms), base_sequence=0)
        number = group.begin_write(offsets, self._groups.next_commit_number())
        store = Commit(group.group_id, message, offsets, order, number)
        self._groups.accept(group, request.member_id, request.generation_id, offsets)
        error = self._host.append_to_group_log(group.partition, data, store)
        if error is not Errors.NONE:
            self.stored(group, store, error)

    def stored(self, group: ClassicGroup | None, store: Commit, error: Errors) -> None:
        """Offsets were stored, or the write failed; None: the group was removed in the meantime."""
        if group is not None:
            for name, committed in store.offsets.items():
                is_wanted = group.end_write(name, store.number) and error is Errors.NONE
                if is_wanted and group.is_newer(name, store.number):
                    self._groups.commit(group, name, committed, store.number)
        error = OFFSET_ERRORS.get(error, error)
        results = tuple((name, error if own is Errors.NONE else own) for name, own in store.order)
        respond_commit(self._host.kernel, store.message, results)

    def fetch(self, request: OffsetFetchRequest) -> OffsetFetchResponse:
        """The committed offsets of a group; offsets with a pending transaction are withheld if stable ones are
        required.
        """
        error = self._groups.status(request.group_id, allows_empty_id=True)
        if error is not Errors.NONE:
            return OffsetFetchResponse(error)
        group = self._groups.known.get(request.group_id)
        offsets = {} if group is None else group.offsets
        none = CommittedOffset(-1)
        wanted = request.partitions
        if wanted is None:
            wanted = tuple(scala_hash_set_order(offsets, partition_code))
        names = scala_set_order(wanted, partition_code)
        waiting = group.waiting_partitions if group is not None and request.require_stable else frozenset()
        rows = [(name, none if name in waiting else offsets.get(name, none)) for name in names]
        return OffsetFetchResponse(
            Errors.NONE,
            tuple((name, row.offset, row.leader_epoch, row.metadata) for name, row in rows),
            unstable=tuple(name for name in names if name in waiting),
        )


def refused_offsets(
    host: CoordinatorHost, partitions: tuple[tuple[str, int, int, str], ...], error: Errors
) -> tuple[tuple[str, Errors], ...]:
    """The error of the whole request for each partition; for a missing partition its own error."""
    return tuple(
        (name, error if host.has_partition(name) else Errors.UNKNOWN_TOPIC_OR_PARTITION) for name, *_ in partitions
    )


def is_too_long(metadata: str, settings: GroupSettings) -> bool:
    """Whether the metadata of an offset is too long, in characters as Java counts them."""
    return len(metadata.encode("utf-16-le")) // 2 > settings.offset_metadata_max_bytes


def _times(host: CoordinatorHost, retention_ms: int, timestamp: int) -> tuple[int, int]:
    """When an offset is committed, and when it expires by itself (-1: never), in ms. Old versions of OffsetCommit may
    set either (-1: not set).
    """
    now_ms = host.wall_ms
    committed_ms = now_ms if timestamp == NOT_SET else timestamp
    if host.era.groups.expires_with_group:
        return committed_ms, NOT_SET if retention_ms == NOT_SET else int64(now_ms + retention_ms)
    if retention_ms == NOT_SET:
        retention_ms = host.group_settings.offsets_retention_ms
    return now_ms, int64(committed_ms + retention_ms)


def examine_offsets(
    host: CoordinatorHost,
    partitions: tuple[tuple[str, int, int, str], ...],
    retention_ms: int = NOT_SET,
    timestamps: tuple[int, ...] = (),
) -> tuple[tuple[tuple[str, Errors], ...], dict[str, CommittedOffset]]:
    """The results that are known already, and the offsets to write."""
    order: list[tuple[str, Errors]] = []
    offsets: dict[str, CommittedOffset] = {}
    timestamps = timestamps or (NOT_SET,) * len(partitions)
    for (name, offset, leader_epoch, metadata), timestamp in zip(partitions, timestamps, strict=True):
        error = Errors.NONE
        if not host.has_partition(name):
            error = Errors.UNKNOWN_TOPIC_OR_PARTITION
        elif is_too_long(metadata, host.group_settings):
            error = Errors.OFFSET_METADATA_TOO_LARGE
        else:
            offsets[name] = CommittedOffset(offset, leader_epoch, metadata, *_times(host, retention_ms, timestamp))
        order.append((name, error))
    return tuple(order), offsets


def offset_records(group: ClassicGroup, offsets: Mapping[str, CommittedOffset], now_ms: int) -> list[SimpleRecord]:
    """Offsets as records for the log."""
    return [
        SimpleRecord(now_ms, encode_offset_key(group.group_id, name), encode_offset_value(committed), ())
        for name, committed in offsets.items()
    ]
