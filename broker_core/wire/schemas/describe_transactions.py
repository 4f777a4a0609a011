"""DescribeTransactions (KIP-664)."""

from broker_core.wire.codec import Api, Schema

request = Schema(
    "DescribeTransactionsRequest",
    flexible_from=0,
    fields="""
    transactional_ids  [string]
    """,
)

response = Schema(
    "DescribeTransactionsResponse",
    flexible_from=0,
    fields="""
    throttle_time_ms             int32
    transaction_states           [TransactionState]
      error_code                 int16
      transactional_id           string
      transaction_state          string
      transaction_timeout_ms     int32
      transaction_start_time_ms  int64
      producer_id                int64
      producer_epoch             int16
      topics                     [TopicData]
        topic                    string
        partitions               [int32]
    """,
)

API = Api(65, "DescribeTransactions", request, response, 0, 0)
