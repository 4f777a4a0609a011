"""Loading of a partition by its new coordinator: the log is read from the beginning, which takes disk time
(`GroupMetadataManager.scheduleLoadGroupAndOffsets`). Until then requests for its groups get
COORDINATOR_LOAD_IN_PROGRESS.
"""

from broker_core.groups.classic_group import ClassicGroupMember
from broker_core.groups.facts import Groups
from broker_core.groups.host import TIMER_PREFIX
from broker_core.groups.offset_log import LoadedOffsets, replay
from broker_core.groups.offsets import StoredGroup
from broker_core.groups.rebalance import Rebalances
from broker_core.groups.removals import Removals
from broker_core.groups.states import GroupState
from broker_core.log.stored_records import LOAD_BUFFER_SIZE
from broker_core.sim.handlers import TimerHandler, Unpacked

LOAD_TIMER = TIMER_PREFIX + "load"


class Loading:
    """See the module."""

    def __init__(self, groups: Groups, rebalances: Rebalances, removals: Removals) -> None:
        self._host = groups.host
        self._groups = groups
        self._rebalances = rebalances
        self._removals = removals

    @property
    def timers(self) -> dict[str, TimerHandler]:
        """The handlers of its timers, by name."""
        return {LOAD_TIMER: Unpacked(self._finish)}

    def begin(self, partition: str, leader_epoch: int) -> None:
        """Starts loading a partition that the broker leads now, unless it is loaded or loading."""
        if partition in self._groups.owned or partition in self._groups.loading:
            return
        read_us = self._host.kernel.slow_disks.get(self._host.name, 0)
        if not read_us:
            self._load(partition, leader_epoch)
            return
        size = sum(size for _, size in self._host.offsets_log(partition).describe_files())
        self._groups.load_started(partition, leader_epoch)
        self._host.timer((1 + size // LOAD_BUFFER_SIZE) * read_us, LOAD_TIMER, (partition, leader_epoch))

    def _finish(self, partition: str, leader_epoch: int) -> None:
        """Completes loading, unless the broker no longer leads the partition in this epoch."""
        if self._groups.loading.get(partition) == leader_epoch:
            self._load(partition, leader_epoch)

    def _load(self, partition: str, leader_epoch: int) -> None:
        loaded = replay(self._host.offsets_log(partition))
        offset_count = sum(len(offsets) for offsets in loaded.offsets.values())
        self._groups.loaded(partition, leader_epoch, len(loaded.names()), offset_count)
        for name in loaded.names():
            self._take_in(partition, name, loaded)
        self._removals.begin()

    def _take_in(self, partition: str, name: str, loaded: LoadedOffsets) -> None:
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
        for producer_id, name_of_partition, found in loaded.offsets_of(name):
            number, committed = group.begin_write(()), found.committed
            if producer_id is None:
                self._groups.commit(group, name_of_partition, committed, number)
            else:
                self._groups.suspend(group, producer_id, name_of_partition, committed, number)
        if len(group.members) > self._host.group_settings.group_max_size:
            # The members rejoin, which gives them the chance to commit; the last ones are refused (`onGroupLoaded`).
            self._rebalances.maybe_rebalance(group, "reason.group_over_size")
