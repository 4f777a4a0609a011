"""DescribeProducers: the producers that a partition remembers (KIP-664)."""

from broker_core.wire.codec import Api, Schema

request = Schema(
    "DescribeProducersRequest",
    flexible_from=0,
    fields="""
    topics               [TopicRequest]
      name               string
      partition_indexes  [int32]
    """,
)

response = Schema(
    "DescribeProducersResponse",
    flexible_from=0,
    fields="""
    throttle_time_ms                int32
    topics                          [TopicResponse]
      name                          string
      partitions                    [PartitionResponse]
        partition_index             int32
        error_code                  int16
        error_message               string?               = null
        active_producers            [ProducerState]
          producer_id               int64
          producer_epoch            int32
          last_sequence             int32                 = -1
          last_timestamp            int64                 = -1
          coordinator_epoch         int32
          current_txn_start_offset  int64                 = -1
    """,
)

API = Api(61, "DescribeProducers", request, response, 0, 0)
