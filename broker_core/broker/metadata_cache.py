"""What a broker knows of the cluster, as the controller last told it (`kafka.server.metadata.ZkMetadataCache`)."""

from broker_core.wire.messages import UpdateMetadataPartition, UpdateMetadataRequest

DELETED_LEADER = -2


class MetadataCache:
    """Live brokers with their epochs, the controller, partition states by topic-partition."""

    def __init__(self) -> None:
        self.live_brokers: dict[int, int] = {}
        self.controller_id = -1
        self.controller_epoch = 0
        self.partitions: dict[str, UpdateMetadataPartition] = {}
        self.topic_ids: dict[str, str] = {}

    def update(self, request: UpdateMetadataRequest) -> None:
        """Takes an UpdateMetadata: brokers are replaced as a whole, partitions one by one."""
        self.controller_id = request.controller_id
        self.controller_epoch = request.controller_epoch
        self.live_brokers = dict(request.live_brokers)
        for partition in request.partitions:
            topic = partition.partition.rpartition("-")[0]
            if partition.leader == DELETED_LEADER:
                self.partitions.pop(partition.partition, None)
                if not any(name.rpartition("-")[0] == topic for name in self.partitions):
                    self.topic_ids.pop(topic, None)
            else:
                self.partitions[partition.partition] = partition
                self.topic_ids[topic] = partition.topic_id

    def is_alive(self, broker_id: int) -> bool:
        """Whether the controller counts the broker among the living."""
        return broker_id in self.live_brokers
