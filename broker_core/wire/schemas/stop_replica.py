"""StopReplica: the controller makes a broker stop or delete replicas."""

from broker_core.wire.codec import Api, Schema

request = Schema(
    "StopReplicaRequest",
    flexible_from=2,
    fields="""
    controller_id         int32
    is_k_raft_controller  bool                         4+
    controller_epoch      int32
    broker_epoch          int64                        1+  ignorable = -1
    delete_partitions     bool                         0-2
    ungrouped_partitions  [StopReplicaPartitionV0]     0
      topic_name          string
      partition_index     int32
    topics                [StopReplicaTopicV1]         1-2
      name                string
      partition_indexes   [int32]
    topic_states          [StopReplicaTopicState]      3+
      topic_name          string
      partition_states    [StopReplicaPartitionState]
        partition_index   int32
        leader_epoch      int32                            = -1
        delete_partition  bool
    """,
)

response = Schema(
    "StopReplicaResponse",
    flexible_from=2,
    fields="""
    error_code         int16
    partition_errors   [StopReplicaPartitionError]
      topic_name       string
      partition_index  int32
      error_code       int16
    """,
)

API = Api(5, "StopReplica", request, response, 0, 4)
