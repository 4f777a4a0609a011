"""AddPartitionsToTxn: a transaction will write to partitions; from version 4 on brokers ask for several (KIP-890)."""

from broker_core.wire.codec import Api, Schema

request = Schema(
    "AddPartitionsToTxnRequest",
    flexible_from=3,
    fields="""
    transactions                   [AddPartitionsToTxnTransaction]  4+
      transactional_id             string
      producer_id                  int64
      producer_epoch               int16
      verify_only                  bool
      topics                       [AddPartitionsToTxnTopic]
        name                       string
        partitions                 [int32]
    v3_and_below_transactional_id  string                           0-3
    v3_and_below_producer_id       int64                            0-3
    v3_and_below_producer_epoch    int16                            0-3
    v3_and_below_topics            [AddPartitionsToTxnTopic]        0-3
    """,
)

response = Schema(
    "AddPartitionsToTxnResponse",
    flexible_from=3,
    fields="""
    throttle_time_ms               int32
    error_code                     int16                                4+
    results_by_transaction         [AddPartitionsToTxnResult]           4+
      transactional_id             string
      topic_results                [AddPartitionsToTxnTopicResult]
        name                       string
        results_by_partition       [AddPartitionsToTxnPartitionResult]
          partition_index          int32
          partition_error_code     int16
    results_by_topic_v3_and_below  [AddPartitionsToTxnTopicResult]      0-3
    """,
)

API = Api(24, "AddPartitionsToTxn", request, response, 0, 5)
