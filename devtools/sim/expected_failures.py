"""Which alarms and which stuck partitions a random run may have, by the events that it made."""

import re
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from broker_core.eras import Era
from broker_core.events import Event
from broker_core.events.client import ProduceAcknowledged
from broker_core.events.control import (
    ControllerElected,
    ControllerEventProcessed,
    LeaderElected,
    PartitionStateChanged,
    ReplicaStateChanged,
    ZnodeDeleted,
)
from broker_core.events.log import LogDeleted, LogOpened, LogStartOffsetIncremented, LogTruncated, PowerLost
from broker_core.events.replica import FetcherFailed, ReplicaBecameFollower, ReplicaBecameLeader
from broker_core.events.rpc import RpcSent
from broker_core.events.world import BrokerExiting, InvariantViolated
from broker_core.partitions import ReplicaId, broker_node, partition_of, replica_name, topic_of
from broker_core.run import Made
from broker_core.texts import Text, render
from devtools.sim.verdict import Failure
from lab.trials.aftermath import Acknowledged

_TOO_LARGE = ("RECORD_LIST_TOO_LARGE", "MESSAGE_TOO_LARGE")
_BEING_DELETED = ("ReplicaDeletionStarted", "ReplicaDeletionSuccessful")
_STRAY = "a log of a deleted topic of the same name that its broker has left behind"
_LEFT = "a replica that a move made anew while its topic was deleted"
_UNTOLD = "a replica left behind of a deleted topic of the same name: nobody told its broker, which knows a later epoch"
_OLD_LEADER = "cause.zookeeper_usurped"
_ASKS_ON = "a follower asks for the end of an epoch in which it led without a record, and keeps it (KAFKA-10706)"
_ASKED_IN_VAIN = 20
"""A truncation takes two or three requests once; a follower that gets one response this often will always get it."""
_REASONS = re.compile(r"cause\.(?!two\b)\w+|power loss|unclean election|made anew|left behind")
_TOPIC = re.compile("/brokers/topics/([^/]+)")


class ExpectedFailures:
    """Receives all events in order, and determines which failures they explain.

    Attributes:
        alarms: how often each (invariant, what explains it in short or nothing) was raised.
        unexplained: the first alarm that nothing explains.
        acknowledged: records acknowledged to producers with acks=all that were not deleted since.
        explained: by partition, what excuses that records are lost or replicas differ.
        deleted: the znodes that were deleted.
        gave_up: whether a broker ended its process by itself.
        stuck: partitions that cannot recover, as Kafka's would not: a replica or a log of a deleted topic blocks the
            way; a move was cancelled when only new replicas were in sync; or, before 3.0, a follower asks where to cut
            and cuts nothing.
        refusing: replicas that have given up fetching, since what they were given was too large, or they had it, or it
            began before their end. Their partitions cannot recover until they get a new request, or are stopped.
        put_off: topics that a controller has begun to delete and has looked at again since, with no broker of theirs
            started after that. If one is being moved, the deletion waits for the move, which waits for a leader.
    """

    def __init__(self, era: Era) -> None:
        self._era = era
        self.alarms: Counter[tuple[str, str]] = Counter()
        self.unexplained: Failure | None = None
        self.acknowledged: list[Acknowledged] = []
        self.explained: dict[str, str] = {}
        self.deleted: set[str] = set()
        self.gave_up = False
        self.stuck: set[str] = set()
        self.refusing: set[str] = set()
        self.put_off: set[str] = set()
        self._begun_to_delete: set[str] = set()
        #: by replica: where its log began last after records were deleted, and where it was cut last
        self._starts: dict[str, int] = {}
        self._cuts: dict[str, int] = {}
        #: by follower and partition: the returned truncation point, and how often in a row
        self._answers: dict[tuple[str, str], tuple[str, int]] = {}
        self._being_deleted: set[str] = set()
        self._recreated: set[str] = set()
        self._open: set[str] = set()
        self._outlived: set[str] = set()

    def see(self, made: Iterable[Made]) -> None:
        """Takes note of what happened next."""
        for (seq, _, _, _, event), _, _ in made:
            if type(event) in _NOTES:
                _NOTES[type(event)](self, seq, event)

    def _acknowledged(self, seq: int, event: ProduceAcknowledged) -> None:
        if event.acks == -1:
            self.acknowledged.append(Acknowledged(event.client, event.partition, event.base_offset, event.count))

    def _violated(self, seq: int, event: InvariantViolated) -> None:
        self.alarms[event.invariant, in_short(event.explained_by)] += 1
        if event.invariant == "I-LEADERINISR" and _OLD_LEADER in event.explained_by:
            # The leader of the deleted topic wrote itself as leader of the new one and is never removed.
            self.stuck.add(event.subject)
        if event.explained_by:
            self.explained[partition_of(event.subject)] = event.explained_by
        elif self.unexplained is None:
            self.unexplained = Failure(event.invariant, seq, f"{event.subject}: {render(event.detail)}")

    def _elected(self, seq: int, event: LeaderElected) -> None:
        if event.unclean:
            self.explained[event.partition] = "an unclean election"

    def _power_lost(self, seq: int, event: PowerLost) -> None:
        for file, _, _, _ in event.cuts:
            self.explained[file.split("/")[-2]] = "a power loss"

    def _fetcher_failed(self, seq: int, event: FetcherFailed) -> None:
        # A leader that lost its tail with the controller leads on in the same epoch: followers that have more than it
        # do not notice until they are given an offset again that they have.
        name = partition_of(event.replica)
        error, end = _refusal_of(event.why)
        if error in _TOO_LARGE or (end >= 0 and name in self.explained):
            self.refusing.add(event.replica)
        # A leader that has deleted a whole epoch returns its log start offset as the end of the epoch. A follower
        # truncated there receives the whole batch around that offset, and accepts it only into an empty log.
        start = self._starts.get(replica_name(name, broker_node(event.leader)))
        if end >= 0 and start == end == self._cuts.get(event.replica):
            self.refusing.add(event.replica)

    def _start_incremented(self, seq: int, event: LogStartOffsetIncremented) -> None:
        self._starts[event.replica] = event.to_offset
        # What is deleted is not lost, though a replica that missed it leads later and begins below.
        name = partition_of(event.replica)
        self.acknowledged = [
            each if each.partition != name else each.without_below(event.to_offset)
            for each in self.acknowledged
            if each.partition != name or each.end > event.to_offset
        ]

    def _truncated(self, seq: int, event: LogTruncated) -> None:
        self._cuts[event.replica] = event.to_offset

    def _exiting(self, seq: int, event: BrokerExiting) -> None:
        self.gave_up = True

    def _sent(self, seq: int, event: RpcSent) -> None:
        # A broker that is down when a reassignment removes its replica never gets the request to delete the log.
        if event.api == "LeaderAndIsr" and event.kind == "response":
            for name, error in event.fields:
                if error == "INCONSISTENT_TOPIC_ID":
                    self.stuck.add(name)
                    self.explained[name] = _STRAY
                elif error == "STALE_CONTROLLER_EPOCH" and replica_name(name, event.source) in self._outlived:
                    # Before topic ids the two cannot be distinguished (`becomeLeaderOrFollower`).
                    self.stuck.add(name)
                    self.explained[name] = _UNTOLD
        elif event.api == "OffsetForLeaderEpoch" and event.kind == "response":
            for name, answer in () if self._era.replication.truncation_at_end_drops_epochs else event.fields:
                self._count_answer(event.destination, name, str(answer))

    def _count_answer(self, follower: str, name: str, answer: str) -> None:
        """How often in a row a follower got the same end of an epoch."""
        before, count = self._answers.get((follower, name), ("", 0))
        count = count + 1 if answer == before else 1
        self._answers[follower, name] = answer, count
        if count == _ASKED_IN_VAIN and answer.startswith("label.epoch_end?"):
            self.stuck.add(name)
            self.explained.setdefault(name, _ASKS_ON)

    def _began_to_follow(self, seq: int, event: ReplicaBecameFollower) -> None:
        replica = ReplicaId.parse(event.replica)
        self._answers.pop((replica.node, replica.partition), None)
        self.refusing.discard(event.replica)

    def _began_to_lead(self, seq: int, event: ReplicaBecameLeader) -> None:
        self.refusing.discard(event.replica)

    # A broker that returns resumes reassignments, also those of a topic being deleted: all replicas are notified, and
    # one that had deleted its log creates it again. The deletion completes without it.

    def _replica_state(self, seq: int, event: ReplicaStateChanged) -> None:
        if event.state in _BEING_DELETED:
            self._being_deleted.add(event.replica)
        else:
            self._being_deleted.discard(event.replica)
        if event.state == "OnlineReplica" and event.from_state != "NonExistentReplica":
            self.put_off.discard(_topic_of(event.replica))

    # Any change of /admin/delete_topics, the end of another topic's deletion, too, makes the controller mark what is
    # being moved as ineligible for deletion (`processTopicDeletion`); so does a new controller.

    def _partition_state(self, seq: int, event: PartitionStateChanged) -> None:
        if event.state == "NonExistentPartition":
            self._begun_to_delete.add(_topic_of(event.partition))

    def _controller_event(self, seq: int, event: ControllerEventProcessed) -> None:
        if event.name == "TopicDeletion":
            self.put_off |= self._begun_to_delete

    def _controller_elected(self, seq: int, event: ControllerElected) -> None:
        self.put_off |= self._begun_to_delete

    def _opened(self, seq: int, event: LogOpened) -> None:
        self._open.add(event.replica)
        self._outlived.discard(event.replica)
        if event.replica in self._being_deleted:
            self._recreated.add(event.replica)

    def _log_deleted(self, seq: int, event: LogDeleted) -> None:
        self._recreated.discard(event.replica)
        self.refusing.discard(event.replica)
        self._open.discard(event.replica)
        self._outlived.discard(event.replica)

    def _znode_deleted(self, seq: int, event: ZnodeDeleted) -> None:
        self.deleted.add(event.path)
        topic = _TOPIC.fullmatch(event.path)
        if topic is not None:
            self._begun_to_delete.discard(topic[1])
            self.put_off.discard(topic[1])
            self._outlived |= {replica for replica in self._open if _topic_of(replica) == topic[1]}
            for replica in sorted(self._recreated):
                name = partition_of(replica)
                if _topic_of(name) == topic[1]:
                    self.stuck.add(name)
                    self.explained[name] = _LEFT


_NOTES: dict[type[Event], Callable[[ExpectedFailures, int, Any], None]] = {
    ProduceAcknowledged: ExpectedFailures._acknowledged,
    InvariantViolated: ExpectedFailures._violated,
    LeaderElected: ExpectedFailures._elected,
    PowerLost: ExpectedFailures._power_lost,
    FetcherFailed: ExpectedFailures._fetcher_failed,
    ReplicaBecameFollower: ExpectedFailures._began_to_follow,
    ReplicaBecameLeader: ExpectedFailures._began_to_lead,
    RpcSent: ExpectedFailures._sent,
    BrokerExiting: ExpectedFailures._exiting,
    ReplicaStateChanged: ExpectedFailures._replica_state,
    PartitionStateChanged: ExpectedFailures._partition_state,
    ControllerEventProcessed: ExpectedFailures._controller_event,
    ControllerElected: ExpectedFailures._controller_elected,
    LogOpened: ExpectedFailures._opened,
    LogDeleted: ExpectedFailures._log_deleted,
    LogStartOffsetIncremented: ExpectedFailures._start_incremented,
    LogTruncated: ExpectedFailures._truncated,
    ZnodeDeleted: ExpectedFailures._znode_deleted,
}


def _refusal_of(why: str) -> tuple[str, int]:
    """Why a fetcher failed: the name of the error, empty for none, and the log end offset of a follower that got a
    batch from before it, -1 otherwise.
    """
    failed = Text.parse(why)
    if failed is None:
        return why, -1
    refused = failed.values.get("why")
    end = -1
    if isinstance(refused, Text) and refused.id == "refused.append_before_end":
        end = int(str(refused.values["end"]))
    return str(failed.values.get("error", "")), end


def _topic_of(name: str) -> str:
    """The topic of a partition or a replica."""
    return topic_of(partition_of(name))


def in_short(explanation: str) -> str:
    """Without names and numbers, so that like explanations count together."""
    reason = _REASONS.search(explanation)
    return explanation if reason is None else reason[0]
