"""Offsets of groups in ZooKeeper, as stored by consumers before 0.9 and by version 0 of OffsetCommit and OffsetFetch
(`KafkaZkClient.setOrCreateConsumerOffset`, `getConsumerOffset`).
"""

from broker_core.partitions import parse_requested
from broker_core.sim.zookeeper import ZkClient
from broker_core.zk.store import NoNode

CONSUMERS = "/consumers"
NO_OFFSET = -1


def offset_path(group: str, partition: str) -> str:
    """The znode of a group's offset."""
    topic, number = parse_requested(partition)
    return f"{CONSUMERS}/{group}/offsets/{topic}/{number}"


def read_offset(zk: ZkClient, group: str, partition: str) -> int | None:
    """The stored offset; None if there is none, or it is not a number."""
    try:
        data, _ = zk.get(offset_path(group, partition))
        return int(data)
    except (NoNode, ValueError):
        return None


def write_offset(zk: ZkClient, group: str, partition: str, offset: int) -> None:
    """Writes an offset, whichever member wrote it last."""
    path = offset_path(group, partition)
    data = str(offset).encode()
    try:
        zk.set(path, data)
    except NoNode:
        make_parents(zk, path)
        zk.create(path, data)


def make_parents(zk: ZkClient, path: str) -> None:
    """The empty znodes above a path."""
    parent = path.rpartition("/")[0]
    if parent and zk.exists(parent) is None:
        zk.create(parent, b"", makepath=True)
