"""AlterPartition: a leader asks the controller for another ISR (KIP-497, KIP-903)."""

from broker_core.wire.codec import Api, Schema

request = Schema(
    "AlterPartitionRequest",
    flexible_from=0,
    fields="""
    broker_id                  int32
    broker_epoch               int64                = -1
    topics                     [TopicData]
      topic_name               string           0-1 ignorable
      topic_id                 uuid             2+  ignorable
      partitions               [PartitionData]
        partition_index        int32
        leader_epoch           int32
        new_isr                [int32]          0-2
        new_isr_with_epochs    [BrokerState]    3+
          broker_id            int32
          broker_epoch         int64                = -1
        leader_recovery_state  int8             1+
        partition_epoch        int32
    """,
)

response = Schema(
    "AlterPartitionResponse",
    flexible_from=0,
    fields="""
    throttle_time_ms           int32
    error_code                 int16
    topics                     [TopicData]
      topic_name               string           0-1
      topic_id                 uuid             2+
      partitions               [PartitionData]
        partition_index        int32
        error_code             int16
        leader_id              int32
        leader_epoch           int32
        isr                    [int32]
        leader_recovery_state  int8             1+
        partition_epoch        int32
    """,
)

API = Api(56, "AlterPartition", request, response, 0, 3)
