"""The offsets of a group's member (`ConsumerCoordinator`): committed by the application, at intervals, before it
rejoins and before it closes; looked up when a partition is assigned.
"""

from broker_core.clients.consumer.consumer_coordinator import FATAL, GroupMembership
from broker_core.clients.consumer.group_consumer_settings import GroupConsumerSettings
from broker_core.clients.consumer.group_fetcher import UNKNOWN_POSITION
from broker_core.clients.consumer.manual_offsets import NOT_PART
from broker_core.clients.exceptions import COORDINATOR_MOVED, LOST_MEMBERSHIP, exception_class, exception_message
from broker_core.errors import Errors
from broker_core.sim.kernel import Kernel
from broker_core.wire.messages import OffsetCommitRequest, OffsetCommitResponse, OffsetFetchRequest, OffsetFetchResponse

_REBALANCES = (
    "RebalanceInProgressException: Offset commit cannot be completed since the consumer is undergoing a rebalance for "
    "auto partition assignment. You can try completing the rebalance by calling poll() and then retry the operation."
)


class CommittingMember(GroupMembership):
    """A member that commits the positions of its partitions."""

    def __init__(self, kernel: Kernel, name: str, settings: GroupConsumerSettings, bootstrap: tuple[str, ...]) -> None:
        super().__init__(kernel, name, settings, bootstrap)
        #: Until when it repeats a commit before it rejoins.
        self._commits_until_us = 0

    def _prepare_join(self) -> bool:
        self._commits_until_us = self.kernel.now_us + self.settings.max_poll_interval_ms * 1_000
        return not (self.settings.enable_auto_commit and self._commit("before join"))

    def commit(self) -> bool:
        """Called when the application calls `commitSync` between two polls."""
        self.commit_answer = None
        if self.state != "stable":
            self.commit_answer = _REBALANCES if self.state in ("joining", "syncing") else NOT_PART
        elif not any(offset >= 0 for offset, _ in self.positions.values()):
            self.commit_answer = ""
        elif not self._commit("commitSync"):
            return False
        return True

    def _record_response(self, error: Errors) -> None:
        """Passes the result to the application, unless the commit is retried."""
        if error is Errors.REBALANCE_IN_PROGRESS:
            self.commit_answer = _REBALANCES
        elif error in LOST_MEMBERSHIP:
            self.commit_answer = NOT_PART
        elif error is Errors.NONE:
            self.commit_answer = ""
        elif not error.retriable:
            self.commit_answer = f"{exception_class(error)}: {exception_message(error)}"
        else:
            self.later("commit")

    def _commit(self, why: str) -> bool:
        """Commits the positions; False when there is nothing to commit or no coordinator is known."""
        rows = tuple(
            (name, offset, epoch, "")
            for name in self.owned
            for offset, epoch in [self.positions.get(name, (UNKNOWN_POSITION, -1))]
            if offset >= 0
        )
        coordinator = self._coordinator_if_alive() if rows else None
        if coordinator is None:
            return False
        request = OffsetCommitRequest(
            self.settings.group_id, rows, self.generation_id, self.member_id, self.settings.group_instance_id
        )
        label = ", ".join(f"{name}@{offset}" for name, offset, *_ in rows[:3])
        data = (why, self._epoch)
        self.send_request(coordinator, "OffsetCommit", request, "commit", f"OffsetCommit {label}", data=data)
        return True

    def _commit_answered(self, response: OffsetCommitResponse | None, why: str, epoch: int) -> None:
        error = Errors.NONE
        if response is not None:
            error = next((each for _, each in response.partitions if each is not Errors.NONE), Errors.NONE)
        if why in ("close", "before join") and epoch == self._epoch and self._repeats(why, error):
            return
        if why == "close":
            if self.state == "closing":
                self._leave()
            return
        if why == "commitSync":
            self._record_response(error if response is not None else Errors.COORDINATOR_NOT_AVAILABLE)
        if epoch != self._epoch:
            return
        if error in FATAL:
            self._fail(error)
        elif why == "before join":
            self._prepared()
        elif error is Errors.REBALANCE_IN_PROGRESS:
            self._rejoin("reason.group_rebalancing")
        elif error in LOST_MEMBERSHIP and self.state == "stable":
            self._lost(error.name)
        elif error in COORDINATOR_MOVED:
            self._coordinator_lost()

    def _repeats(self, why: str, error: Errors) -> bool:
        """Whether a commit before it rejoins or closes is sent again: a topic may come back (`onJoinPrepare`)."""
        in_time = why == "close" or self.kernel.now_us < self._commits_until_us
        self.repeats_commit = in_time and error.retriable and error not in COORDINATOR_MOVED
        if self.repeats_commit:
            self.later("commit again")
        return self.repeats_commit

    def _commit_again(self) -> None:
        if self.state == "closing" and not self._commit("close"):
            self._leave()
        elif self.state == "joining" and not self._commit("before join"):
            self._prepared()

    def _coordinator_back(self) -> None:
        self._look_up_committed()

    def _look_up_committed(self) -> None:
        wanted = tuple(name for name in self.owned if name not in self.positions)
        if wanted and self._coordinator is not None:
            request = OffsetFetchRequest(self.settings.group_id, wanted, require_stable=True)
            label = f"OffsetFetch {self.settings.group_id}"
            self.send_request(self._coordinator, "OffsetFetch", request, "offsets", label, data=wanted)

    def _on_committed(self, response: OffsetFetchResponse) -> None:
        if response.error is not Errors.NONE:
            if response.error in COORDINATOR_MOVED:
                self._coordinator_lost()
            self.later("offsets")
            return
        if response.unstable:
            # A transaction is about to commit the offsets of the group.
            self.later("offsets")
        for name, offset, leader_epoch, _ in response.partitions:
            if name in response.unstable:
                continue
            if name in self.owned and name not in self.positions:
                self.positions[name] = (offset, leader_epoch)
        self._fetcher.fetch_all()
