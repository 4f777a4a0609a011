"""Produce: record batches for the logs that a broker leads."""

from broker_core.wire.codec import Api, Schema

request = Schema(
    "ProduceRequest",
    flexible_from=9,
    fields="""
    transactional_id  string?                 3+ = null
    acks              int16
    timeout_ms        int32
    topic_data        [TopicProduceData]
      name            string
      partition_data  [PartitionProduceData]
        index         int32
        records       records?
    """,
)

response = Schema(
    "ProduceResponse",
    flexible_from=9,
    fields="""
    responses                        [TopicProduceResponse]
      name                           string
      partition_responses            [PartitionProduceResponse]
        index                        int32
        error_code                   int16
        base_offset                  int64
        log_append_time_ms           int64                        2+  = -1
        log_start_offset             int64                        5+  = -1
        record_errors                [BatchIndexAndErrorMessage]  8+
          batch_index                int32
          batch_index_error_message  string?                          = null
        error_message                string?                      8+  = null
        current_leader               LeaderIdAndEpoch             10+ tag 0
          leader_id                  int32                            = -1
          leader_epoch               int32                            = -1
    throttle_time_ms                 int32                        1+
    node_endpoints                   [NodeEndpoint]               10+ tag 0
      node_id                        int32
      host                           string
      port                           int32
      rack                           string?                          = null
    """,
)

API = Api(0, "Produce", request, response, 0, 11)
