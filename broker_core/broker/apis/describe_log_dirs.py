"""DescribeLogDirs (API key 35)."""

from broker_core.broker.apis.services import ReplicationServices
from broker_core.partitions import topic_of
from broker_core.replication.local_replica import Role
from broker_core.replication.partition import Partition
from broker_core.sim.kernel import Message
from broker_core.wire.messages import (
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    LogDirDescription,
    LogDirReplica,
)

DISK_BYTES = 1 << 40
"""The size of each broker's disk (KIP-827). It is modelled: the host's would make recordings differ when replayed."""

_NO_REPLICA = -1
"""The lag of a log that is there, although no controller has said since the start that it is a replica."""


def _offset_lag(partition: Partition) -> int:
    if partition.role is Role.OFFLINE:
        return _NO_REPLICA
    return max(partition.high_watermark - partition.log.log_end_offset, 0)


def _size(partition: Partition) -> int:
    return sum(segment.size for segment in partition.log.segments)


def handle(services: ReplicationServices, message: Message) -> None:
    """Returns the replicas in this broker's log directory, and their sizes."""
    body: DescribeLogDirsRequest = message.body
    replicas = tuple(
        LogDirReplica(
            name,
            _size(partition),
            _offset_lag(partition),
        )
        for name, partition in services.replicas.partitions.items()
        if body.topics is None or topic_of(name) in body.topics
    )
    fields = tuple((replica.partition, f"label.bytes?n={replica.size}") for replica in replicas)
    used = sum(map(_size, services.replicas.partitions.values()))
    directory = LogDirDescription(
        services.directory.path, replicas, total_bytes=DISK_BYTES, usable_bytes=max(DISK_BYTES - used, 0)
    )
    response = DescribeLogDirsResponse((directory,))
    services.kernel.respond(message, response, label=f"label.replicas?n={len(replicas)}", fields=fields)
