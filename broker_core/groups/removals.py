"""Removal of offsets and groups: by request, with their topics, and by age
(`GroupCoordinator.cleanupGroupMetadata`).
"""

from collections.abc import Callable
from typing import Any, TypeAlias

from broker_core.errors import Errors
from broker_core.groups.classic_group import ClassicGroup
from broker_core.groups.consumer_protocol import PROTOCOL_TYPE
from broker_core.groups.facts import Groups
from broker_core.groups.host import TIMER_PREFIX
from broker_core.groups.offsets import CommittedOffset, encode_group_key, encode_offset_key
from broker_core.groups.states import GroupState
from broker_core.partitions import parse_requested
from broker_core.records.record_batch import build_batch
from broker_core.sim.handlers import TimerHandler

EXPIRE_TIMER = TIMER_PREFIX + "expire_offsets"
Tombstone: TypeAlias = tuple[int, bytes, bytes | None, tuple[Any, ...]]


class Removals:
    """See the module."""

    def __init__(self, groups: Groups) -> None:
        self._host = groups.host
        self._groups = groups
        self._looks_for_expired = False

    @property
    def timers(self) -> dict[str, TimerHandler]:
        """The handlers of its timers, by name."""
        return {EXPIRE_TIMER: self._expire}

    def delete_offsets(
        self, group_id: str, partitions: tuple[str, ...]
    ) -> tuple[Errors, tuple[tuple[str, Errors], ...]]:
        """OffsetDelete: the error of the whole request, or one for each partition."""
        error = self._groups.status(group_id)
        group = self._groups.known.get(group_id)
        if error is Errors.NONE and group is None:
            error = Errors.GROUP_ID_NOT_FOUND
        if group is None or error is not Errors.NONE:
            return error, ()
        subscribed: set[str] = set()
        if group.state is not GroupState.EMPTY:
            if group.protocol_type != PROTOCOL_TYPE:
                return Errors.NON_EMPTY_GROUP, ()
            topics = group.subscribed_topics()
            subscribed = {parse_requested(name).topic for name in partitions} if topics is None else topics
        results = []
        gone = []
        for name in partitions:
            if parse_requested(name).topic in subscribed:
                results.append((name, Errors.GROUP_SUBSCRIBED_TO_TOPIC))
            else:
                results.append((name, Errors.NONE))
                gone.append(name)
        if gone:
            # Also without offsets to delete: an empty group that has none is removed now.
            self._forget(group, gone, "reason.offset_deleted")
        return Errors.NONE, tuple(results)

    def delete_group(self, group_id: str) -> Errors:
        """DeleteGroups, of one group: only an empty one."""
        error = self._groups.status(group_id, allows_empty_id=self._host.era.groups.deletes_without_id)
        if error is not Errors.NONE:
            return error
        group = self._groups.known.get(group_id)
        if group is None:
            return Errors.GROUP_ID_NOT_FOUND
        if group.state is not GroupState.EMPTY:
            return Errors.NON_EMPTY_GROUP
        self._forget(group, list(group.offsets), "reason.group_deleted", removes_group=True)
        return Errors.NONE

    def topics_deleted(self, is_gone: Callable[[str], bool]) -> None:
        """Removes the offsets of deleted topics and, because Kafka checks all groups then, groups without offsets and
        members.
        """
        for group in list(self._groups.known.values()):
            names = [*group.offsets, *sorted(group.waiting_partitions.difference(group.offsets))]
            gone = [name for name in names if is_gone(parse_requested(name).topic)]
            if gone or self._is_unused(group):
                self._forget(group, gone, "reason.topic_deleted")

    def _forget(self, group: ClassicGroup, names: list[str], why: str, *, removes_group: bool = False) -> None:
        """Writes tombstones for offsets, and one for a group that has no offsets and members left
        (`cleanupGroupMetadata`). Offsets that are pending for these partitions are dropped (`removeOffsets`).
        """
        now_ms = self._host.wall_ms
        names = list(dict.fromkeys(names))
        stored = [name for name in names if name in group.offsets]
        records: list[Tombstone] = [(now_ms, encode_offset_key(group.group_id, name), None, ()) for name in stored]
        for name in names:
            group.pending_writes.pop(name, None)
        has_left = len(stored) < len(group.offsets) or bool(group.pending_writes or group.pending_transactional)
        is_dead = removes_group or (group.state is GroupState.EMPTY and not has_left)
        if is_dead and group.generation_id > 0:
            records.append((now_ms, encode_group_key(group.group_id), None, ()))
        if records:
            self._host.append_to_group_log(group.partition, build_batch(records), None)
        for name in names:
            if name in group.offsets or any(name in pending for pending in group.pending_transactional.values()):
                self._groups.forget_offset(group, name, why)
        if is_dead:
            self._groups.transition(group, GroupState.DEAD, why)

    # By age.

    def begin(self) -> None:
        """Starts the periodic check for expired offsets."""
        if not self._looks_for_expired:
            self._looks_for_expired = True
            self._check_later()

    def _check_later(self) -> None:
        delay_ms = self._host.group_settings.offsets_retention_check_interval_ms
        self._host.timer(delay_ms * 1_000, EXPIRE_TIMER)

    def _expire(self, _: None) -> None:
        """Removes offsets that are too old, and groups without members and offsets."""
        now_ms = self._host.wall_ms
        for group in list(self._groups.known.values()):
            expired = self._expired(group, now_ms)
            if expired or self._is_unused(group):
                self._forget(group, expired, "reason.offsets_expired")
        if self._groups.owned:
            self._check_later()
        else:
            self._looks_for_expired = False

    @staticmethod
    def _is_unused(group: ClassicGroup) -> bool:
        return group.state is GroupState.EMPTY and not group.has_offsets

    def _expired(self, group: ClassicGroup, now_ms: int) -> list[str]:
        """The partitions whose offsets have expired (`removeExpiredOffsets`)."""
        retention_ms = self._host.group_settings.offsets_retention_ms
        waiting = group.waiting_partitions
        offsets = {name: committed for name, committed in group.offsets.items() if name not in waiting}
        if not self._host.era.groups.expires_with_group:
            # before KIP-211 whether the group has members does not matter
            return [
                name
                for name, each in offsets.items()
                if now_ms > _expires_ms(each, each.commit_timestamp, retention_ms)
            ]
        begun_ms = None
        if group.protocol_type is None:
            topics: set[str] | None = set()
        elif group.state is GroupState.EMPTY:
            topics, begun_ms = set(), group.current_state_timestamp
        else:
            is_stable = group.state is GroupState.STABLE and group.protocol_type == PROTOCOL_TYPE
            topics = group.subscribed_topics() if is_stable else None
        if topics is None:
            return []
        return [
            name
            for name, each in offsets.items()
            if parse_requested(name).topic not in topics
            and now_ms >= _expires_ms(each, each.commit_timestamp if begun_ms is None else begun_ms, retention_ms)
        ]


def _expires_ms(committed: CommittedOffset, begun_ms: int, retention_ms: int) -> int:
    """When an offset expires: at its own time, or `retention_ms` after `begun_ms`."""
    return committed.expire_timestamp if committed.expire_timestamp != -1 else begun_ms + retention_ms
