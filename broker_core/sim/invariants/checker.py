"""The invariants, each checked when an event could break it."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgspec

from broker_core.events import Envelope, Event
from broker_core.events import control, log, replica
from broker_core.events.world import InvariantViolated
from broker_core.sim.invariants.shadow import ShadowLog, ShadowPartition, ShadowReplica

#: an unclean election may break these (a record is lost because the operator chose availability)
_EXCUSED_BY_UNCLEAN_ELECTION = frozenset({"I-COMMIT", "I-WEAKISR", "I-HWFOLL"})


class Checker:
    """Give it every event in order; it answers with what is violated. One alarm for each invariant, subject and detail."""

    def __init__(self) -> None:
        self.replicas: dict[str, ShadowReplica] = {}
        self.partitions: dict[str, ShadowPartition] = {}
        self._raised: set[tuple[str, str, str]] = set()
        self._found: list[InvariantViolated] = []

    def observe(self, envelope: Envelope) -> Sequence[InvariantViolated]:
        """The violations that this event brings about, mostly none."""
        event = envelope[4]
        check = _CHECKS.get(type(event))
        if check is None:
            return ()
        check(self, event)
        if not self._found:
            return ()
        found, self._found = self._found, []
        return found

    # plumbing

    def _violated(self, invariant: str, subject: str, detail: str) -> None:
        if (invariant, subject, detail) in self._raised:
            return
        self._raised.add((invariant, subject, detail))
        partition = self.partitions.get(subject.partition("@")[0])
        explained_by = partition.excused if partition is not None and invariant in _EXCUSED_BY_UNCLEAN_ELECTION else ""
        self._found.append(InvariantViolated(invariant=invariant, subject=subject, detail=detail, explained_by=explained_by))

    def _partition(self, name: str) -> ShadowPartition:
        partition = self.partitions.get(name)
        if partition is None:
            partition = self.partitions[name] = ShadowPartition()
        return partition

    def _order(self, key: str, shadow: ShadowReplica) -> None:
        if not 0 <= shadow.start <= shadow.high_watermark <= shadow.log.end:
            self._violated(
                "I-ORDER",
                key,
                f"log start {shadow.start}, high watermark {shadow.high_watermark}, log end {shadow.log.end} "
                "must stand in this order",
            )

    def _leaders(self, name: str) -> Iterator[tuple[str, ShadowReplica]]:
        for key, shadow in self.replicas.items():
            if shadow.partition == name and shadow.role == "leader":
                yield key, shadow

    # logs

    def on_opened(self, event: log.LogOpened) -> None:
        partition, _, node = event.replica.rpartition("@b")
        known = self.replicas.get(event.replica)
        if known is not None and known.topic_id == event.topic_id and known.log.end >= event.log_end_offset:
            shadow_log = known.log
            shadow_log.truncate(event.log_end_offset)
        else:
            shadow_log = ShadowLog(event.tail[0][0] if event.tail else event.log_end_offset)
            for base, last, epoch, _, _, size in event.tail:
                shadow_log.append(base, last, (epoch, size, -1))
            shadow_log.known_from = shadow_log.end = event.log_end_offset
        shadow = ShadowReplica(
            partition, int(node), event.topic_id, shadow_log, event.log_start_offset, event.high_watermark, believed={}
        )
        self.replicas[event.replica] = shadow
        self._order(event.replica, shadow)

    def on_deleted(self, event: log.LogDeleted) -> None:
        self.replicas.pop(event.replica, None)

    def on_closed(self, event: log.LogClosed) -> None:
        shadow = self.replicas[event.replica]
        shadow.role = "offline"
        shadow.isr = shadow.pending_isr = ()

    def on_appended(self, event: log.BatchAppended) -> None:
        shadow = self.replicas[event.replica]
        if event.base_offset < shadow.log.end or event.last_offset < event.base_offset:
            self._violated(
                "I-LOGMONO",
                event.replica,
                f"a batch of offsets {event.base_offset} to {event.last_offset} was appended to a log that ends at {shadow.log.end}",
            )
        if event.leader_epoch < shadow.log.last_epoch:
            self._violated(
                "I-LOGMONO",
                event.replica,
                f"the batch at {event.base_offset} has leader epoch {event.leader_epoch}, the one before it {shadow.log.last_epoch}",
            )
        shadow.log.append(event.base_offset, event.last_offset, (event.leader_epoch, event.size, event.max_timestamp))

    def on_truncated(self, event: log.LogTruncated) -> None:
        shadow = self.replicas[event.replica]
        if event.to_offset > event.from_offset:
            shadow.log = ShadowLog(event.to_offset)
            shadow.start = shadow.high_watermark = event.to_offset
        else:
            shadow.log.truncate(event.to_offset)
            shadow.start = min(shadow.start, event.to_offset)
        self._order(event.replica, shadow)
        for key, leader in self._leaders(shadow.partition):
            if shadow.broker_id in leader.isr and event.to_offset < leader.high_watermark:
                self._violated(
                    "I-WEAKISR",
                    key,
                    f"{event.replica} is in its ISR and was truncated to {event.to_offset}, below the high watermark "
                    f"{leader.high_watermark}",
                )
        if shadow.role == "leader":
            self._commit(event.replica, shadow)

    # watermarks

    def on_high_watermark(self, event: replica.HighWatermarkAdvanced | replica.HighWatermarkLowered) -> None:
        shadow = self.replicas[event.replica]
        before = shadow.high_watermark
        shadow.high_watermark = reached = event.to_offset
        if not 0 <= shadow.start <= reached <= shadow.log.end:
            self._order(event.replica, shadow)
        partition = self._partition(shadow.partition)
        if shadow.role == "leader":
            self._leader_high_watermark(event.replica, shadow, before, partition)
        elif shadow.role == "follower" and reached > partition.highest:
            self._violated(
                "I-HWFOLL",
                event.replica,
                f"its high watermark is {reached}, but no leader's was ever above {partition.highest}",
            )

    def _leader_high_watermark(self, key: str, shadow: ShadowReplica, before: int, partition: ShadowPartition) -> None:
        reached = shadow.high_watermark
        if reached < before:
            self._violated("I-HWLEAD", key, f"a leader's high watermark went back from {before} to {reached}")
        for broker_id in set(shadow.isr) | set(shadow.pending_isr):
            believed = shadow.log.end if broker_id == shadow.broker_id else shadow.believed.get(broker_id, -1)
            if believed < reached:
                self._violated(
                    "I-HWLEAD",
                    key,
                    f"the high watermark is {reached}, but as far as the leader knows b{broker_id} of the ISR ends at {believed}",
                )
            if broker_id in shadow.isr and broker_id != shadow.broker_id:
                self._holds(key, shadow, broker_id, before, reached)
        if reached > partition.highest:
            committed = partition.committed
            if committed is None:
                committed = partition.committed = ShadowLog(shadow.log.known_from)
            _copy(shadow.log, committed, reached)
            partition.highest = reached

    def _holds(self, key: str, leader: ShadowReplica, broker_id: int, start: int, end: int) -> None:
        member = self.replicas.get(f"{leader.partition}@b{broker_id}")
        if member is None:
            return
        if member.log.end < end:
            differs: int | None = member.log.end
        else:
            differs = leader.log.difference(member.log, start, end)
        if differs is not None:
            self._violated(
                "I-WEAKISR",
                key,
                f"offset {differs} lies below its high watermark {end}, but b{broker_id} of its ISR does not hold the same record",
            )

    def on_believed(self, event: replica.RemoteReplicaUpdated) -> None:
        self.replicas[event.replica].believed[int(event.follower[1:])] = event.log_end_offset

    # roles

    def on_leader(self, event: replica.ReplicaBecameLeader) -> None:
        shadow = self.replicas[event.replica]
        self._replica_epoch(event.replica, shadow, event.leader_epoch)
        shadow.role = "leader"
        shadow.isr = event.isr
        shadow.pending_isr = ()
        shadow.believed = {broker_id: log_end_offset for broker_id, log_end_offset, _ in event.remotes}
        partition = self._partition(shadow.partition)
        earlier = partition.leaders.setdefault(event.leader_epoch, shadow.broker_id)
        if earlier != shadow.broker_id:
            self._violated(
                "I-ONELEADER",
                shadow.partition,
                f"in leader epoch {event.leader_epoch} both b{earlier} and b{shadow.broker_id} led",
            )
        if event.leader_epoch == max(partition.leaders):
            self._commit(event.replica, shadow)

    def _commit(self, key: str, shadow: ShadowReplica) -> None:
        """The true leader must hold everything that was ever committed."""
        partition = self._partition(shadow.partition)
        committed = partition.committed
        if committed is None:
            return
        if shadow.log.end < partition.highest:
            lost: int | None = shadow.log.end
        else:
            lost = committed.difference(shadow.log, shadow.start, partition.highest)
        if lost is not None:
            self._violated(
                "I-COMMIT",
                shadow.partition,
                f"offset {lost} was committed (below high watermark {partition.highest}), but the leader b{shadow.broker_id} of epoch "
                f"{shadow.leader_epoch} does not hold that record",
            )
            # what is lost is lost: from here on the new leader's log is what counts
            partition.committed = None
            partition.highest = min(partition.highest, shadow.log.end)

    def on_follower(self, event: replica.ReplicaBecameFollower) -> None:
        shadow = self.replicas[event.replica]
        self._replica_epoch(event.replica, shadow, event.leader_epoch)
        shadow.role = "follower"
        shadow.isr = shadow.pending_isr = ()

    def on_offline(self, event: replica.ReplicaWentOffline) -> None:
        shadow = self.replicas[event.replica]
        shadow.role = "offline"
        shadow.isr = shadow.pending_isr = ()

    def _replica_epoch(self, key: str, shadow: ShadowReplica, leader_epoch: int) -> None:
        partition = self._partition(shadow.partition)
        if leader_epoch < shadow.leader_epoch:
            self._violated("I-EPOCHMONO", key, f"its leader epoch went back from {shadow.leader_epoch} to {leader_epoch}")
        if leader_epoch > partition.leader_epoch:
            self._violated(
                "I-EPOCHMONO", key, f"its leader epoch {leader_epoch} is ahead of ZooKeeper's {partition.leader_epoch}"
            )
        shadow.leader_epoch = leader_epoch

    # the ISR

    def on_isr_proposed(self, event: replica.IsrChangeProposed) -> None:
        self.replicas[event.replica].pending_isr = event.isr

    def on_isr_changed(self, event: replica.IsrShrunk | replica.IsrExpanded) -> None:
        shadow = self.replicas[event.replica]
        shadow.isr = event.to_isr
        shadow.pending_isr = ()
        for broker_id in event.to_isr:
            if broker_id not in event.from_isr:
                self._holds(event.replica, shadow, broker_id, shadow.start, shadow.high_watermark)

    def on_isr_refused(self, event: replica.IsrChangeRefused) -> None:
        self.replicas[event.replica].pending_isr = ()

    # ZooKeeper

    def on_elected(self, event: control.LeaderElected) -> None:
        if event.unclean:
            self._partition(event.partition).excused = f"the unclean election of b{event.leader} in leader epoch {event.leader_epoch}"

    def on_znode(self, event: control.ZnodeCreated | control.ZnodeChanged) -> None:
        parts = event.path.split("/")
        if len(parts) != 7 or parts[6] != "state" or parts[2] != "topics":
            return
        try:
            state: Any = msgspec.json.decode(event.data)
            leader, leader_epoch, isr = state["leader"], state["leader_epoch"], state["isr"]
        except (msgspec.DecodeError, KeyError, TypeError):
            return
        name = f"{parts[3]}-{parts[5]}"
        partition = self._partition(name)
        if leader_epoch < partition.leader_epoch:
            self._violated("I-EPOCHMONO", name, f"leader_epoch went back from {partition.leader_epoch} to {leader_epoch}")
        if leader != partition.leader and partition.leader_epoch >= 0 and leader_epoch == partition.leader_epoch:
            self._violated(
                "I-EPOCHMONO", name, f"the leader changed from {partition.leader} to {leader} without a new leader epoch ({leader_epoch})"
            )
        if not isr or (leader != -1 and leader not in isr):
            self._violated("I-LEADERINISR", name, f"the leader is {leader}, the ISR {isr}")
        partition.leader, partition.leader_epoch = leader, leader_epoch

    def on_znode_deleted(self, event: control.ZnodeDeleted) -> None:
        parts = event.path.split("/")
        if len(parts) == 4 and parts[2] == "topics":
            for name in [name for name in self.partitions if name.rpartition("-")[0] == parts[3]]:
                del self.partitions[name]


def _copy(source: ShadowLog, target: ShadowLog, end: int) -> None:
    """Extends `target` by the batches of `source` that begin below `end` and that it does not have yet."""
    start = target.end
    index = len(source.bases)
    while index > 0 and source.bases[index - 1] >= start:
        index -= 1
    for at in range(index, len(source.bases)):
        if source.bases[at] >= end:
            break
        target.append(source.bases[at], source.lasts[at], source.identities[at])


_CHECKS: dict[type[Event], Callable[[Checker, Any], None]] = {
    log.LogOpened: Checker.on_opened,
    log.LogDeleted: Checker.on_deleted,
    log.LogClosed: Checker.on_closed,
    log.BatchAppended: Checker.on_appended,
    log.LogTruncated: Checker.on_truncated,
    replica.HighWatermarkAdvanced: Checker.on_high_watermark,
    replica.HighWatermarkLowered: Checker.on_high_watermark,
    replica.RemoteReplicaUpdated: Checker.on_believed,
    replica.ReplicaBecameLeader: Checker.on_leader,
    replica.ReplicaBecameFollower: Checker.on_follower,
    replica.ReplicaWentOffline: Checker.on_offline,
    replica.IsrChangeProposed: Checker.on_isr_proposed,
    replica.IsrShrunk: Checker.on_isr_changed,
    replica.IsrExpanded: Checker.on_isr_changed,
    replica.IsrChangeRefused: Checker.on_isr_refused,
    control.LeaderElected: Checker.on_elected,
    control.ZnodeCreated: Checker.on_znode,
    control.ZnodeChanged: Checker.on_znode,
    control.ZnodeDeleted: Checker.on_znode_deleted,
}
