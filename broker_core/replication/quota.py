"""Replication throttling (KIP-73; `ReplicationQuotaManager`).

Only replicas that a topic's configuration lists are throttled, and only while they are not in sync. Leader and follower
each count the bytes and stop if the rate of the last seconds is above the bound.
"""

from collections.abc import Mapping, Sequence

from broker_core.config_defs import LONG_MAX, Value
from broker_core.config_defs.java_text import parse_integer
from broker_core.partitions import TopicPartition
from broker_core.wire.messages import FetchPartitionResponse

WINDOW_US = 1_000_000
WINDOWS = 11
RESPONSE_BYTES = 16
PARTITION_BYTES = 55
"""The size of a fetch response of version 17 without partitions, and the overhead of each partition."""
ALL_PARTITIONS = -1
LEADER_REPLICAS = "leader.replication.throttled.replicas"
FOLLOWER_REPLICAS = "follower.replication.throttled.replicas"


class ReplicationQuota:
    """The quota of one side. `bytes_per_second` is the bound; `throttled`: topic -> its throttled partitions here."""

    def __init__(self) -> None:
        self.bytes_per_second = LONG_MAX
        self.throttled: dict[str, frozenset[int]] = {}
        # (start, bytes) of the past windows; the end and the bytes of the current one
        self._closed: list[tuple[int, int]] = []
        self._window_end_us = -WINDOWS * WINDOW_US
        self._window_bytes = 0

    def throttle(self, topic: str, replicas: tuple[str, ...], broker_id: int) -> None:
        """Sets a topic's throttled replicas: `*`, or `partition:broker` each."""
        if "*" in replicas:
            partitions = frozenset((ALL_PARTITIONS,))
        else:
            pairs = [replica.split(":") for replica in replicas if replica]
            here = (parse_integer(partition) for partition, broker in pairs if parse_integer(broker) == broker_id)
            partitions = frozenset(partition for partition in here if partition is not None)
        self.throttled.pop(topic, None)
        if partitions:
            self.throttled[topic] = partitions

    def is_throttled(self, partition: str) -> bool:
        """Whether a partition's replica is listed."""
        topic, number = TopicPartition.parse(partition)
        partitions = self.throttled.get(topic)
        return partitions is not None and (ALL_PARTITIONS in partitions or number in partitions)

    def holds_back(self, partition: str, now_us: int) -> bool:
        """Whether a partition's replica is throttled now, unless it is in sync."""
        return bool(self.throttled) and self.is_throttled(partition) and self.rate(now_us) > self.bytes_per_second

    def record_response(self, answers: Sequence[FetchPartitionResponse], now_us: int) -> None:
        """Records a leader's response to a follower's fetch.

        As in Kafka the size includes the envelope, even without throttled partitions
        (`KafkaApis.sizeOfThrottledPartitions`): a bound of a few bytes per second blocks everything.
        """
        byte_count = RESPONSE_BYTES
        if self.throttled:
            for answer in answers:
                if self.is_throttled(answer.partition):
                    byte_count += PARTITION_BYTES + len(answer.records)
        if now_us < self._window_end_us:
            self._window_bytes += byte_count
        else:
            self._open_window(byte_count, now_us)

    def record(self, byte_count: int, now_us: int) -> None:
        """Records copied bytes of throttled replicas."""
        if now_us < self._window_end_us:
            self._window_bytes += byte_count
        else:
            self._open_window(byte_count, now_us)

    def rate(self, now_us: int) -> float:
        """Bytes per second since the oldest window in use, at least over one window (`SimpleRate`)."""
        counting = [window for window in (*self._closed, self._window) if now_us - window[0] < WINDOWS * WINDOW_US]
        if not counting:
            return 0.0
        elapsed_us = max(now_us - counting[0][0], WINDOW_US)
        return sum(byte_count for _, byte_count in counting) * 1_000_000 / elapsed_us

    @property
    def _window(self) -> tuple[int, int]:
        return self._window_end_us - WINDOW_US, self._window_bytes

    def _open_window(self, byte_count: int, now_us: int) -> None:
        self._closed.append(self._window)
        del self._closed[:-WINDOWS]
        self._window_end_us = now_us + WINDOW_US
        self._window_bytes = byte_count


class ReplicationQuotas:
    """The quotas of a broker: for sending as a leader, and for fetching as a follower."""

    def __init__(self) -> None:
        self.leader = ReplicationQuota()
        self.follower = ReplicationQuota()

    def throttle(self, topic: str, configs: Mapping[str, Value], broker_id: int) -> None:
        """Sets a topic's throttled replicas at a broker, from the topic's configurations."""
        for quota, name in ((self.leader, LEADER_REPLICAS), (self.follower, FOLLOWER_REPLICAS)):
            replicas = configs[name]
            assert isinstance(replicas, tuple)
            quota.throttle(topic, replicas, broker_id)
