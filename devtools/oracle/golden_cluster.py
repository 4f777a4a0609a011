"""Several golden brokers that replicate to each other: leaders follow the steps, and followers fetch at once."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from broker_core.partitions import TopicPartition
from broker_core.replication.truncation import decide, diverging_epoch, may_diverge
from devtools.oracle.golden_broker import GoldenBroker, Mismatch, Step

_ONLY = 0
_ALL_IN_ONE_FETCH = 1 << 30


class GoldenCluster:
    """The brokers of a case: usually a single broker.

    In a cluster every broker hosts every partition. A follower fetches until its log equals its leader's, and truncates
    what its leader never had (KIP-595).
    """

    def __init__(self, case: Mapping[str, Any], start_ms: int) -> None:
        self.brokers = {broker_id: GoldenBroker(case, start_ms) for broker_id in case.get("brokers", [_ONLY])}
        # partition -> id of its leader
        self._leaders: dict[TopicPartition, int] = {}
        # Partitions with a batch that was acknowledged by the leader before the followers fetched it.
        self._ahead: set[TopicPartition] = set()

    def pass_time(self, step: Step, now_ms: int) -> None:
        """Before a step periodic jobs run and followers fetch, unless the leader is killed before they can."""
        for broker in self.brokers.values():
            if broker.is_running:
                broker.pass_time(now_ms)
        for topic_partition in sorted(self._ahead):
            if step.get("stop") != "kill" or step.get("broker") != self._leaders[topic_partition]:
                self._replicate(topic_partition, now_ms)

    def broker_of(self, topic_partition: TopicPartition, step: Step) -> GoldenBroker:
        """The broker of a step: the one that it names, or the partition's leader."""
        leader_id = step.get("leader", self._leaders.get(topic_partition, _ONLY))
        return self.brokers[step.get("broker", leader_id)]

    def roots(self, folder: Path) -> list[tuple[GoldenBroker, Path]]:
        """Which broker's directory is compared with which folder of a case."""
        if len(self.brokers) == 1:
            return [(broker, folder) for broker in self.brokers.values()]
        names = {f"broker-{broker_id}": broker for broker_id, broker in self.brokers.items()}
        if folder.name in names:
            return [(names[folder.name], folder)]
        return [(broker, folder / name) for name, broker in names.items() if (folder / name).exists()]

    def elect(self, topic_partition: TopicPartition, step: Step, now_ms: int) -> None:
        """Makes a broker leader; its log must end at the same offset as the real one's. All others follow it."""
        leader_id = self._leaders[topic_partition] = step["leader"]
        leader = self.brokers[leader_id]
        for broker in self.brokers.values():
            broker.follow(topic_partition, now_ms)
        leader.elect(topic_partition, step["epoch"], now_ms)
        end_offset = leader.log(topic_partition).log_end_offset
        if end_offset != step["log_end_offset"]:
            raise Mismatch(f"broker {leader_id} leads from offset {end_offset}, expected {step['log_end_offset']}")
        self._replicate(topic_partition, now_ms)

    def follow_up(self, topic_partition: TopicPartition, step: Step, now_ms: int) -> None:
        """What the other brokers do after a step."""
        if topic_partition in self._leaders and any(key in step for key in ("append", "marker")):
            if step.get("acks", -1) == -1:
                # The followers fetch it before the producer receives the response.
                self._replicate(topic_partition, now_ms)
            else:
                self._ahead.add(topic_partition)
        elif "start" in step or "restart" in step:
            for led, leader_id in self._leaders.items():
                if leader_id != step["broker"]:
                    self.brokers[step["broker"]].follow(led, now_ms)
                self._replicate(led, now_ms)

    def _replicate(self, topic_partition: TopicPartition, now_ms: int) -> None:
        leader = self.brokers[self._leaders[topic_partition]]
        if not leader.is_running:
            return
        followers = [broker for broker in self.brokers.values() if broker is not leader and broker.is_running]
        for follower in followers:
            _catch_up(follower, leader, topic_partition, now_ms)
        self._ahead.discard(topic_partition)
        for broker in (leader, *followers):
            broker.commit(topic_partition, leader.log(topic_partition).log_end_offset)


def _catch_up(follower: GoldenBroker, leader: GoldenBroker, topic_partition: TopicPartition, now_ms: int) -> None:
    own, leading = follower.log(topic_partition), leader.log(topic_partition)
    while True:
        offset, epochs, end_offset = own.log_end_offset, leading.leader_epoch_cache, leading.log_end_offset
        last_epoch = own.leader_epoch_cache.latest_epoch
        if may_diverge(epochs, end_offset, last_epoch, offset):
            diverging = diverging_epoch(epochs, end_offset, last_epoch, offset)
            if diverging is not None:
                decision = decide(own.leader_epoch_cache, offset, follower.committed(topic_partition), *diverging)
                own.truncate_to(decision.offset)
                continue
        if offset == end_offset:
            return
        info = own.append_as_follower(leading.read(offset, _ALL_IN_ONE_FETCH).data, now_ms)
        for roll in info.rolled:
            own.flush(roll.new_base_offset)
