"""The preferred read replica of a consumer (KIP-392; `ReplicaManager.findPreferredReadReplica`)."""

from collections.abc import Mapping

from broker_core.replication.partition import Partition

LEADER = -1


def preferred_read_replica(
    partition: Partition, rack: str, fetch_offset: int, racks: Mapping[int, str], *, only_in_sync: bool
) -> int:
    """The broker of the replica in the client's rack that has the offset, as far as the leader knows; LEADER if the
    leader is in that rack, or no such replica is. Of several the one with the greatest log end offset, then the one
    that was caught up last, then the one with the greatest id (`RackAwareReplicaSelector`).

    `racks`: those of the live brokers. `only_in_sync`: the replica must be in the ISR.
    """
    if not rack or racks.get(partition.broker_id) == rack:
        return LEADER
    found = [
        (remote.log_end_offset, remote.last_caught_up_us // 1_000, broker_id)
        for broker_id, remote in partition.remotes.items()
        if racks.get(broker_id) == rack
        and (broker_id in partition.isr or not only_in_sync)
        and remote.log_start_offset <= fetch_offset <= remote.log_end_offset
    ]
    return max(found)[2] if found else LEADER
