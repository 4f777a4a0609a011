"""The group coordinator of a broker (`kafka.coordinator.group.GroupCoordinator`), classic protocol.

It manages the groups whose partition of `__consumer_offsets` this broker leads. Durable state is written there; a
response that depends on such a record is sent when the record is committed. On election the log is replayed; on
resignation the groups are dropped.

The class here is the entry point: `joining`, `membership`, `rebalance`, `offset_commits` and `removals` decide, `facts`
emits the events, and `apply` alone changes groups.
"""

from collections.abc import Callable
from typing import Any

from broker_core.errors import Errors
from broker_core.groups import apply as _apply  # noqa: F401  registers what facts do
from broker_core.groups.answers import answer_join, answer_sync, partitions_of, respond_join
from broker_core.groups.classic_group import ClassicGroup
from broker_core.groups.facts import Groups
from broker_core.groups.group_log import GroupLog
from broker_core.groups.host import (
    Assignment,
    Commit,
    CoordinatorHost,
    StaticRejoin,
    Store,
    TransactionalCommit,
)
from broker_core.groups.joining import Joining
from broker_core.groups.loading import Loading
from broker_core.groups.membership import Membership
from broker_core.groups.offset_commits import OffsetCommits
from broker_core.groups.rebalance import Rebalances
from broker_core.groups.removals import Removals
from broker_core.groups.states import GroupState
from broker_core.groups.transactional_commits import TransactionalCommits
from broker_core.sim.handlers import TimerHandler
from broker_core.sim.kernel import Message
from broker_core.wire.messages import (
    DescribedGroup,
    HeartbeatRequest,
    JoinGroupRequest,
    JoinGroupResponse,
    LeaveGroupRequest,
    OffsetCommitRequest,
    OffsetFetchRequest,
    OffsetFetchResponse,
    SyncGroupRequest,
    SyncGroupResponse,
    TxnOffsetCommitRequest,
)


class GroupCoordinator:
    """See the module."""

    def __init__(self, host: CoordinatorHost) -> None:
        self.registry = Groups(host)
        log = GroupLog(host)
        self._host = host
        self._rebalances = Rebalances(self.registry, log)
        self._joining = Joining(self.registry, log, self._rebalances)
        self._membership = Membership(self.registry, log, self._rebalances)
        self._commits = OffsetCommits(self.registry, self._rebalances)
        self._transactional = TransactionalCommits(self.registry)
        self._removals = Removals(self.registry)
        self._loading = Loading(self.registry, self._rebalances, self._removals)

    @property
    def groups(self) -> dict[str, ClassicGroup]:
        """The groups by name."""
        return self.registry.known

    @property
    def timers(self) -> dict[str, TimerHandler]:
        """The handlers of its timers, by name."""
        return {**self._rebalances.timers, **self._loading.timers, **self._removals.timers}

    # elections and resignations

    def on_election(self, partition: str, leader_epoch: int) -> None:
        """Starts coordinating a partition of `__consumer_offsets`: replays its log."""
        self._loading.begin(partition, leader_epoch)

    def on_resignation(self, partition: str) -> None:
        """Stops coordinating a partition: drops its groups, and answers all pending requests."""
        if partition not in self.registry.owned and partition not in self.registry.loading:
            return
        self._loading.end(partition)
        kernel, waiting = self._host.kernel, self.registry.waiting
        gone = [group for group in self.groups.values() if group.partition == partition]
        for group in gone:
            for member in group.members.values():
                answer_join(
                    kernel, waiting, member, JoinGroupResponse(Errors.NOT_COORDINATOR, member_id=member.member_id)
                )
                answer_sync(kernel, waiting, member, SyncGroupResponse(Errors.NOT_COORDINATOR))
        self.registry.unloaded(partition, gone)

    def parked(self) -> list[str]:
        """The rpc ids of the JoinGroup and SyncGroup requests that wait."""
        return self.registry.waiting.requests()

    def partition_of(self, group_id: str) -> str:
        """The partition of a group, whether it exists or not."""
        return self.registry.partition_of(group_id)

    def coordinates(self, partition: str) -> bool:
        """Whether this broker has loaded that partition and coordinates its groups."""
        return partition in self.registry.owned

    # requests of members

    def join(self, message: Message, request: JoinGroupRequest) -> None:
        """JoinGroup: answered when all have joined, or at once if that is not needed."""
        self._joining.join(message, request)

    def sync(self, message: Message, request: SyncGroupRequest) -> None:
        """SyncGroup: answered with the member's assignment once the leader has sent it and it is stored."""
        self._membership.sync(message, request)

    def heartbeat(self, request: HeartbeatRequest) -> Errors:
        """Heartbeat: keeps a session alive; REBALANCE_IN_PROGRESS makes the member rejoin."""
        return self._membership.heartbeat(request)

    def leave(self, request: LeaveGroupRequest) -> tuple[Errors, tuple[tuple[str, str | None, Errors], ...]]:
        """LeaveGroup: the error of the whole request, or one for each member."""
        return self._membership.leave(request)

    # offsets

    def commit(self, message: Message, request: OffsetCommitRequest) -> None:
        """OffsetCommit: answered when the records are committed."""
        self._commits.commit(message, request)

    def find_or_create(self, group_id: str) -> None:
        """Makes sure that a group that is coordinated here exists."""
        if group_id not in self.registry.known:
            self.registry.create(group_id)

    def commit_in_transaction(self, message: Message, request: TxnOffsetCommitRequest, error: Errors) -> None:
        """TxnOffsetCommit, after its verification: `error` is set if the group is not in the transaction."""
        self._transactional.commit(message, request, error)

    def transaction_completed(self, producer_id: int, partition: str, is_commit: bool) -> None:
        """Handles the end of a transaction in a partition of `__consumer_offsets`."""
        self._loading.transaction_completed(producer_id, partition, is_commit)
        self._transactional.completed(producer_id, partition, is_commit)

    def fetch_offsets(self, request: OffsetFetchRequest) -> OffsetFetchResponse:
        """OffsetFetch."""
        return self._commits.fetch(request)

    def delete_offsets(
        self, group_id: str, partitions: tuple[str, ...]
    ) -> tuple[Errors, tuple[tuple[str, Errors], ...]]:
        """OffsetDelete: the error of the whole request, or one for each partition."""
        return self._removals.delete_offsets(group_id, partitions)

    def delete_group(self, group_id: str) -> Errors:
        """DeleteGroups, of one group: only an empty one."""
        return self._removals.delete_group(group_id)

    def topics_deleted(self, is_gone: Callable[[str], bool]) -> None:
        """Removes the offsets of deleted topics."""
        self._removals.topics_deleted(is_gone)

    def status(self, group_id: str) -> Errors:
        """The error for any request for a group; NONE if it is coordinated here."""
        return self.registry.status(group_id)

    # descriptions

    @property
    def is_loading(self) -> bool:
        """Whether some of its groups are still loading, so that a list of them is incomplete."""
        return bool(self.registry.loading or self.registry.taking_in)

    def list_groups(self, states: tuple[str, ...]) -> tuple[tuple[str, str, str], ...]:
        """ListGroups: (group, protocol type, state) of those that this broker coordinates."""
        wanted = {state.lower() for state in states}
        return tuple(
            (group.group_id, group.protocol_type or "", group.state.value)
            for group in self.groups.values()
            if not wanted or group.state.value.lower() in wanted
        )

    def describe_group(self, group_id: str) -> DescribedGroup:
        """DescribeGroups, of one group; an unknown one is Dead."""
        error = self.registry.status(group_id, allows_empty_id=True)
        if error is not Errors.NONE:
            return DescribedGroup(group_id, error)
        group = self.groups.get(group_id)
        if group is None:
            return DescribedGroup(group_id, state=GroupState.DEAD.value)
        if group.has_null_client:
            return DescribedGroup(group_id, Errors.UNKNOWN_SERVER_ERROR)
        return group.describe()

    def description(self) -> dict[str, dict[str, Any]]:
        """All groups as shown in the view; equals the result of folding the events."""
        return {
            f"{group.group_id}@{self._host.name}": {
                "state": group.state.value,
                "generation_id": group.generation_id,
                "protocol": group.protocol_name or "",
                "leader": group.leader or "",
                "members": {
                    member.member_id: list(partitions_of(member.assignment)) for member in group.members.values()
                },
                "offsets": {name: committed.offset for name, committed in group.offsets.items()},
                "pending": {
                    str(producer_id): {name: committed.offset for name, committed in waiting.items()}
                    for producer_id, waiting in group.pending_transactional.items()
                },
            }
            for group in self.groups.values()
        }

    # completed writes

    def stored(self, store: Store, error: Errors) -> None:
        """Continues after a write is committed or has failed."""
        group = self.groups.get(store.group)
        if isinstance(store, Commit):
            self._commits.stored(group, store, error)
        elif isinstance(store, TransactionalCommit):
            self._transactional.stored(group, store, error)
        elif isinstance(store, StaticRejoin):
            if group is None:
                response = JoinGroupResponse(Errors.NOT_COORDINATOR, member_id=store.member_id)
                respond_join(self._host.kernel, self.registry.waiting, store.message, response)
            else:
                self._joining.static_rejoined(group, store, error)
        elif isinstance(store, Assignment) and group is not None:
            self._membership.assignment_stored(group, store, error)
