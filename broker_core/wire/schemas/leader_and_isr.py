"""LeaderAndIsr: the controller sends a broker the partitions it leads and follows."""

from broker_core.wire.codec import Api, Schema

request = Schema(
    "LeaderAndIsrRequest",
    flexible_from=4,
    fields="""
    controller_id               int32
    is_k_raft_controller        bool                          7+
    controller_epoch            int32
    broker_epoch                int64                         2+  ignorable = -1
    type                        int8                          5+
    ungrouped_partition_states  [LeaderAndIsrPartitionState]  0-1
      topic_name                string                        0-1 ignorable
      partition_index           int32
      controller_epoch          int32
      leader                    int32
      leader_epoch              int32
      isr                       [int32]
      partition_epoch           int32
      replicas                  [int32]
      adding_replicas           [int32]                       3+  ignorable
      removing_replicas         [int32]                       3+  ignorable
      is_new                    bool                          1+  ignorable
      leader_recovery_state     int8                          6+
    topic_states                [LeaderAndIsrTopicState]      2+
      topic_name                string
      topic_id                  uuid                          5+  ignorable
      partition_states          [LeaderAndIsrPartitionState]
    live_leaders                [LeaderAndIsrLiveLeader]
      broker_id                 int32
      host_name                 string
      port                      int32
    """,
)

response = Schema(
    "LeaderAndIsrResponse",
    flexible_from=4,
    fields="""
    error_code          int16
    partition_errors    [LeaderAndIsrPartitionError]  0-4
      topic_name        string                        0-4
      partition_index   int32
      error_code        int16
    topics              [LeaderAndIsrTopicError]      5+
      topic_id          uuid
      partition_errors  [LeaderAndIsrPartitionError]
    """,
)

API = Api(4, "LeaderAndIsr", request, response, 0, 7)
