"""AddOffsetsToTxn: a transaction will commit offsets of a group (KIP-98)."""

from broker_core.wire.codec import Api, Schema

request = Schema(
    "AddOffsetsToTxnRequest",
    flexible_from=3,
    fields="""
    transactional_id  string
    producer_id       int64
    producer_epoch    int16
    group_id          string
    """,
)

response = Schema(
    "AddOffsetsToTxnResponse",
    flexible_from=3,
    fields="""
    throttle_time_ms  int32
    error_code        int16
    """,
)

API = Api(25, "AddOffsetsToTxn", request, response, 0, 4)
