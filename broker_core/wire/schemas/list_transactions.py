"""ListTransactions (KIP-664, KIP-994)."""

from broker_core.wire.codec import Api, Schema

request = Schema(
    "ListTransactionsRequest",
    flexible_from=0,
    fields="""
    state_filters        [string]
    producer_id_filters  [int64]
    duration_filter      int64     1+ = -1
    """,
)

response = Schema(
    "ListTransactionsResponse",
    flexible_from=0,
    fields="""
    throttle_time_ms       int32
    error_code             int16
    unknown_state_filters  [string]
    transaction_states     [TransactionState]
      transactional_id     string
      producer_id          int64
      transaction_state    string
    """,
)

API = Api(66, "ListTransactions", request, response, 0, 1)
