"""The invariants, each checked when an event could break it."""

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from broker_core.events import Envelope, Event, control, log, replica
from broker_core.events.world import InvariantViolated
from broker_core.sim.invariants.shadow import ShadowLog, ShadowPartition, ShadowReplica

#: an unclean election may break these (a record is lost because the operator chose availability), and a power loss
_EXCUSABLE = frozenset({"I-COMMIT", "I-WEAKISR", "I-HWFOLL"})


class _PartitionState(msgspec.Struct):
    """What a state znode says of a partition, as far as an invariant speaks of it."""

    leader: int
    leader_epoch: int
    isr: list[int]


class Checker:
    """Give it every event in order; it answers with what is violated. One alarm for each invariant, subject and
    detail.
    """

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
        explained_by = partition.excused if partition is not None and invariant in _EXCUSABLE else ""
        self._found.append(
            InvariantViolated(invariant=invariant, subject=subject, detail=detail, explained_by=explained_by)
        )

    def _partition(self, name: str) -> ShadowPartition:
        partition = self.partitions.get(name)
        if partition is None:
            partition = self.partitions[name] = ShadowPartition()
        return partition

    def _order(self, shadow: ShadowReplica) -> None:
        if not 0 <= shadow.start <= shadow.high_watermark <= shadow.log.end:
            self._violated(
                "I-ORDER",
                shadow.key,
                f"log start {shadow.start}, high watermark {shadow.high_watermark}, log end {shadow.log.end} "
                "must stand in this order",
            )

    # logs

    def on_opened(self, event: log.LogOpened) -> None:
        """A log that was known may have lost its end meanwhile; a new one begins with what it says of itself."""
        name, _, node = event.replica.rpartition("@")
        known = self.replicas.get(event.replica)
        if known is not None and known.topic_id == event.topic_id and known.log.end >= event.log_end_offset:
            shadow_log = known.log
            shadow_log.truncate(event.log_end_offset)
        else:
            shadow_log = ShadowLog(event.log_end_offset)
        shadow = ShadowReplica(
            event.replica, name, node, event.topic_id, shadow_log, event.log_start_offset, event.high_watermark
        )
        self.replicas[event.replica] = self._partition(name).replicas[node] = shadow
        self._order(shadow)

    def on_deleted(self, event: log.LogDeleted) -> None:
        shadow = self.replicas.pop(event.replica, None)
        if shadow is not None:
            self._partition(shadow.partition).replicas.pop(shadow.node, None)

    def on_closed(self, event: log.LogClosed) -> None:
        self._goes_offline(event.replica)

    def on_appended(self, event: log.BatchAppended) -> None:
        shadow_log = self.replicas[event.replica].log
        base, last, epoch = event.base_offset, event.last_offset, event.leader_epoch
        if base < shadow_log.end or last < base:
            self._violated(
                "I-LOGMONO",
                event.replica,
                f"a batch of offsets {base} to {last} was appended to a log that ends at {shadow_log.end}",
            )
        if epoch < shadow_log.last_epoch:
            self._violated(
                "I-LOGMONO",
                event.replica,
                f"the batch at {base} has leader epoch {epoch}, the one before it {shadow_log.last_epoch}",
            )
        shadow_log.append(base, last, (epoch, event.size, event.max_timestamp))

    def on_truncated(self, event: log.LogTruncated) -> None:
        shadow = self.replicas[event.replica]
        if event.to_offset > event.from_offset:
            shadow.log = ShadowLog(event.to_offset)
            shadow.start = shadow.high_watermark = event.to_offset
        else:
            shadow.log.truncate(event.to_offset)
            shadow.start = min(shadow.start, event.to_offset)
        self._order(shadow)
        for leader in self._partition(shadow.partition).replicas.values():
            if leader.role == "leader" and shadow.node in leader.isr and event.to_offset < leader.high_watermark:
                self._violated(
                    "I-WEAKISR",
                    leader.key,
                    f"{event.replica} is in its ISR and was truncated to {event.to_offset}, below the high watermark "
                    f"{leader.high_watermark}",
                )
        if shadow.role == "leader":
            self._commit(shadow)

    def on_cleaned(self, event: log.LogCleaned) -> None:
        """Replicas are cleaned one by one, each at its own time: what was cleaned somewhere is compared no more."""
        partition = self._partition(self.replicas[event.replica].partition)
        for shadow in partition.replicas.values():
            shadow.log.forget(event.to_offset)
        if partition.committed is not None:
            partition.committed.forget(event.to_offset)

    def on_log_start(self, event: log.LogStartOffsetIncremented) -> None:
        """Nobody asks about what lies below it any more."""
        shadow = self.replicas[event.replica]
        shadow.start = event.to_offset
        shadow.log.forget(event.to_offset)
        self._order(shadow)

    def on_power_lost(self, event: log.PowerLost) -> None:
        """Records that were replicated but not fsynced may be lost, if all that had them lost their power."""
        for file, _, _, _ in event.cuts:
            if file.endswith(".log"):
                self._partition(file.split("/")[-2]).excused = f"the power loss of {event.broker}"

    # watermarks

    def on_high_watermark(self, event: replica.HighWatermarkAdvanced | replica.HighWatermarkLowered) -> None:
        shadow = self.replicas[event.replica]
        before = shadow.high_watermark
        shadow.high_watermark = reached = event.to_offset
        if not 0 <= shadow.start <= reached <= shadow.log.end:
            self._order(shadow)
        partition = self.partitions[shadow.partition]
        if shadow.role == "leader":
            self._leader_high_watermark(shadow, before, partition)
        elif shadow.role == "follower" and reached > partition.highest:
            self._violated(
                "I-HWFOLL",
                event.replica,
                f"its high watermark is {reached}, but no leader's was ever above {partition.highest}",
            )

    def _leader_high_watermark(self, shadow: ShadowReplica, before: int, partition: ShadowPartition) -> None:
        reached = shadow.high_watermark
        if reached < before:
            self._violated("I-HWLEAD", shadow.key, f"a leader's high watermark went back from {before} to {reached}")
        believed = shadow.believed
        for node in shadow.isr if not shadow.pending_isr else dict.fromkeys(shadow.isr + shadow.pending_isr):
            if node == shadow.node:
                continue
            end = believed.get(node, -1)
            if end < reached:
                self._violated(
                    "I-HWLEAD",
                    shadow.key,
                    f"the high watermark is {reached}, but as far as the leader knows {node} of the ISR ends at {end}",
                )
            if node in shadow.isr:
                self._holds(shadow, node, before, reached)
        if reached > partition.highest:
            committed = partition.committed
            if committed is None:
                committed = partition.committed = ShadowLog(shadow.log.known_from)
            _copy(shadow.log, committed, reached)
            partition.highest = reached

    def _holds(self, leader: ShadowReplica, node: str, start: int, end: int) -> None:
        member = self.partitions[leader.partition].replicas.get(node)
        if member is None:
            return
        differs = member.log.end if member.log.end < end else leader.log.difference(member.log, start, end)
        if differs is not None:
            self._violated(
                "I-WEAKISR",
                leader.key,
                f"offset {differs} lies below its high watermark {end}, but {node} of its ISR does not hold the same "
                "record",
            )

    def on_believed(self, event: replica.RemoteReplicaUpdated) -> None:
        self.replicas[event.replica].believed[event.follower] = event.log_end_offset

    # roles

    def on_leader(self, event: replica.ReplicaBecameLeader) -> None:
        shadow = self.replicas[event.replica]
        self._replica_epoch(shadow, event.leader_epoch)
        shadow.role = "leader"
        shadow.isr = _nodes(event.isr)
        shadow.pending_isr = ()
        shadow.believed = {f"b{broker_id}": log_end_offset for broker_id, log_end_offset, _ in event.remotes}
        partition = self._partition(shadow.partition)
        earlier = partition.leaders.setdefault(event.leader_epoch, shadow.node)
        if earlier != shadow.node:
            self._violated(
                "I-ONELEADER",
                shadow.partition,
                f"in leader epoch {event.leader_epoch} both {earlier} and {shadow.node} led",
            )
        if event.leader_epoch == max(partition.leaders):
            self._commit(shadow)

    def _commit(self, shadow: ShadowReplica) -> None:
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
                f"offset {lost} was committed (below high watermark {partition.highest}), but the leader {shadow.node} "
                f"of epoch {shadow.leader_epoch} does not hold that record",
            )
            # what is lost is lost: from here on the new leader's log is what counts
            partition.committed = None
            partition.highest = min(partition.highest, shadow.log.end)

    def on_follower(self, event: replica.ReplicaBecameFollower) -> None:
        shadow = self.replicas[event.replica]
        self._replica_epoch(shadow, event.leader_epoch)
        shadow.role = "follower"
        shadow.isr = shadow.pending_isr = ()

    def on_offline(self, event: replica.ReplicaWentOffline) -> None:
        self._goes_offline(event.replica)

    def _goes_offline(self, key: str) -> None:
        shadow = self.replicas[key]
        shadow.role = "offline"
        shadow.isr = shadow.pending_isr = ()

    def _replica_epoch(self, shadow: ShadowReplica, leader_epoch: int) -> None:
        partition = self._partition(shadow.partition)
        if leader_epoch < shadow.leader_epoch:
            self._violated(
                "I-EPOCHMONO", shadow.key, f"its leader epoch went back from {shadow.leader_epoch} to {leader_epoch}"
            )
        if leader_epoch > partition.leader_epoch:
            self._violated(
                "I-EPOCHMONO",
                shadow.key,
                f"its leader epoch {leader_epoch} is ahead of ZooKeeper's {partition.leader_epoch}",
            )
        shadow.leader_epoch = leader_epoch

    # the ISR

    def on_isr_proposed(self, event: replica.IsrChangeProposed) -> None:
        self.replicas[event.replica].pending_isr = _nodes(event.isr)

    def on_isr_changed(self, event: replica.IsrShrunk | replica.IsrExpanded) -> None:
        shadow = self.replicas[event.replica]
        shadow.isr = _nodes(event.to_isr)
        shadow.pending_isr = ()
        for broker_id in event.to_isr:
            if broker_id not in event.from_isr:
                self._holds(shadow, f"b{broker_id}", shadow.start, shadow.high_watermark)

    def on_isr_refused(self, event: replica.IsrChangeRefused) -> None:
        self.replicas[event.replica].pending_isr = ()

    # ZooKeeper

    def on_elected(self, event: control.LeaderElected) -> None:
        if event.unclean:
            self._partition(
                event.partition
            ).excused = f"the unclean election of b{event.leader} in leader epoch {event.leader_epoch}"

    def on_znode(self, event: control.ZnodeCreated | control.ZnodeChanged) -> None:
        parts = event.path.split("/")
        if len(parts) != 7 or parts[6] != "state" or parts[2] != "topics":
            return
        try:
            state = msgspec.json.decode(event.data, type=_PartitionState)
        except msgspec.DecodeError:
            # somebody wrote there what no broker would; brokers do not follow it either
            return
        leader, leader_epoch, isr = state.leader, state.leader_epoch, state.isr
        name = f"{parts[3]}-{parts[5]}"
        partition = self._partition(name)
        if leader_epoch < partition.leader_epoch:
            self._violated(
                "I-EPOCHMONO", name, f"leader_epoch went back from {partition.leader_epoch} to {leader_epoch}"
            )
        if leader != partition.leader and partition.leader_epoch >= 0 and leader_epoch == partition.leader_epoch:
            self._violated(
                "I-EPOCHMONO",
                name,
                f"the leader changed from {partition.leader} to {leader} without a new leader epoch ({leader_epoch})",
            )
        if not isr or (leader != -1 and leader not in isr):
            self._violated("I-LEADERINISR", name, f"the leader is {leader}, the ISR {isr}")
        partition.leader, partition.leader_epoch = leader, leader_epoch

    def on_znode_deleted(self, event: control.ZnodeDeleted) -> None:
        """A topic is gone; one of the same name begins anew. Replicas that are still there keep their shadows."""
        parts = event.path.split("/")
        if len(parts) == 4 and parts[2] == "topics":
            for name in [name for name in self.partitions if name.rpartition("-")[0] == parts[3]]:
                self.partitions[name] = ShadowPartition(replicas=self.partitions[name].replicas)


def _nodes(broker_ids: tuple[int, ...]) -> tuple[str, ...]:
    return tuple(f"b{broker_id}" for broker_id in broker_ids)


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
    log.LogCleaned: Checker.on_cleaned,
    log.LogClosed: Checker.on_closed,
    log.BatchAppended: Checker.on_appended,
    log.LogTruncated: Checker.on_truncated,
    log.LogStartOffsetIncremented: Checker.on_log_start,
    log.PowerLost: Checker.on_power_lost,
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

#: the kinds of event that could break an invariant; whoever has many events need not ask about others
CHECKED = frozenset(_CHECKS)
