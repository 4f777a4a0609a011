"""Loading of a partition by its new coordinator: the log is read from the beginning, which takes disk time
(`GroupMetadataManager.scheduleLoadGroupAndOffsets`). Until then requests for its groups get
COORDINATOR_LOAD_IN_PROGRESS.

Kafka's broker has a thread for it. Here a large log is replayed in slices, and then what was found is taken in by
groups, with other requests between them.
"""

import msgspec

from broker_core.groups.classic_group import ClassicGroupMember
from broker_core.groups.facts import Groups
from broker_core.groups.host import TIMER_PREFIX
from broker_core.groups.offset_log import LoadedOffsets, Replay
from broker_core.groups.offsets import StoredGroup
from broker_core.groups.rebalance import Rebalances
from broker_core.groups.removals import Removals
from broker_core.groups.states import GroupState
from broker_core.log.stored_records import LOAD_BUFFER_SIZE
from broker_core.sim.handlers import TimerHandler, Unpacked

LOAD_TIMER = TIMER_PREFIX + "load"
SLICE_TIMER = TIMER_PREFIX + "load_slice"
SLICE_PAUSE_US = 1_000
SLICE_EVENTS = 1_000
"""The limit of the groups, members and offsets that a slice takes in, unless a single group has more."""


class Progress(msgspec.Struct):
    """A partition that is being loaded. `names`: the groups that are not taken in yet, the next one is the last; None
    until all is replayed.
    """

    leader_epoch: int
    replay: Replay
    names: list[str] | None = None


class Loading:
    """See the module."""

    def __init__(self, groups: Groups, rebalances: Rebalances, removals: Removals) -> None:
        self._host = groups.host
        self._groups = groups
        self._rebalances = rebalances
        self._removals = removals
        self._progress: dict[str, Progress] = {}

    @property
    def timers(self) -> dict[str, TimerHandler]:
        """The handlers of its timers, by name."""
        return {LOAD_TIMER: Unpacked(self._read), SLICE_TIMER: Unpacked(self._on_slice)}

    def begin(self, partition: str, leader_epoch: int) -> None:
        """Starts loading a partition that the broker leads now, unless it is loaded or loading."""
        if partition in self._groups.owned or partition in self._groups.loading:
            return
        read_us = self._host.kernel.slow_disks.get(self._host.name, 0)
        if not read_us:
            self._load(partition, Progress(leader_epoch, Replay(self._host.offsets_log(partition))))
            return
        size = sum(size for _, size in self._host.offsets_log(partition).describe_files())
        self._groups.load_started(partition, leader_epoch)
        self._host.timer((1 + size // LOAD_BUFFER_SIZE) * read_us, LOAD_TIMER, (partition, leader_epoch))

    def end(self, partition: str) -> None:
        """The broker no longer leads a partition."""
        self._progress.pop(partition, None)
        self._groups.taking_in.discard(partition)

    def transaction_completed(self, producer_id: int, partition: str, is_commit: bool) -> None:
        """A transaction has ended in a partition; some of its groups may not be taken in yet."""
        progress = self._progress.get(partition)
        if progress is not None and progress.names is not None:
            progress.replay.loaded.end(producer_id, is_commit)

    def _read(self, partition: str, leader_epoch: int) -> None:
        """The log is read, unless the broker no longer leads the partition in this epoch."""
        if self._groups.loading.get(partition) == leader_epoch:
            self._load(partition, Progress(leader_epoch, Replay(self._host.offsets_log(partition))))

    def _on_slice(self, partition: str, leader_epoch: int) -> None:
        """Continues, unless the broker no longer leads the partition in this epoch."""
        progress = self._progress.get(partition)
        if progress is not None and progress.leader_epoch == leader_epoch:
            del self._progress[partition]
            self._load(partition, progress)

    def _load(self, partition: str, progress: Progress) -> None:
        loaded = progress.replay.loaded
        if progress.names is None:
            if not progress.replay.run_slice():
                if partition not in self._groups.loading:
                    self._groups.load_started(partition, progress.leader_epoch)
                self._pause(partition, progress)
                return
            progress.names = loaded.names()[::-1]
            offset_count = sum(len(offsets) for offsets in loaded.offsets.values())
            self._groups.loaded(partition, progress.leader_epoch, len(progress.names), offset_count)
        left = SLICE_EVENTS
        while progress.names and left > 0:
            left -= self._take_in(partition, progress.names.pop(), loaded)
        if progress.names:
            self._groups.taking_in.add(partition)
            self._pause(partition, progress)
            return
        self._groups.taking_in.discard(partition)
        self._removals.begin()

    def _pause(self, partition: str, progress: Progress) -> None:
        self._progress[partition] = progress
        self._host.timer(SLICE_PAUSE_US, SLICE_TIMER, (partition, progress.leader_epoch))

    def _take_in(self, partition: str, name: str, loaded: LoadedOffsets) -> int:
        """Introduces a group; returns how many facts are known of it."""
        stored = loaded.groups.get(name) or StoredGroup("", 0, None, None, -1, ())
        group = self._groups.introduce(
            name,
            partition,
            GroupState.STABLE if stored.members else GroupState.EMPTY,
            "reason.loaded",
            generation_id=stored.generation_id,
            protocol_type=stored.protocol_type,
            protocol=stored.protocol_name or "",
            leader=stored.leader or "",
            timestamp_ms=stored.current_state_timestamp,
        )
        for row in stored.members:
            loaded_member = ClassicGroupMember(
                row.member_id,
                row.group_instance_id,
                row.client_id,
                row.client_host,
                row.rebalance_timeout_ms,
                row.session_timeout_ms,
                ((stored.protocol_name or "", row.subscription),),
            )
            self._rebalances.touch(group, self._groups.add(group, loaded_member, stored.protocol_type))
        if stored.members:
            self._groups.assign(group, {row.member_id: row.assignment for row in stored.members})
        offsets = loaded.take_offsets(name)
        for producer_id, name_of_partition, found in offsets:
            number, committed = self._groups.next_commit_number(), found.committed
            if producer_id is None:
                self._groups.commit(group, name_of_partition, committed, number)
            else:
                self._groups.suspend(group, producer_id, name_of_partition, committed, number)
        if len(group.members) > self._host.group_settings.group_max_size:
            # The members rejoin, which gives them the chance to commit; the last ones are refused (`onGroupLoaded`).
            self._rebalances.maybe_rebalance(group, "reason.group_over_size")
        return 1 + len(stored.members) + len(offsets)
