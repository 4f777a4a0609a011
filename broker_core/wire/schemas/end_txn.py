"""EndTxn: commit or abort (KIP-98)."""

from broker_core.wire.codec import Api, Schema

request = Schema(
    "EndTxnRequest",
    flexible_from=3,
    fields="""
    transactional_id  string
    producer_id       int64
    producer_epoch    int16
    committed         bool
    """,
)

response = Schema(
    "EndTxnResponse",
    flexible_from=3,
    fields="""
    throttle_time_ms  int32
    error_code        int16
    """,
)

API = Api(26, "EndTxn", request, response, 0, 4)
