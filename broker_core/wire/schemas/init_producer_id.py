"""InitProducerId: a producer's id and epoch (KIP-98, KIP-360)."""

from broker_core.wire.codec import Api, Schema

request = Schema(
    "InitProducerIdRequest",
    flexible_from=2,
    fields="""
    transactional_id        string?
    transaction_timeout_ms  int32
    producer_id             int64    3+ = -1
    producer_epoch          int16    3+ = -1
    """,
)

response = Schema(
    "InitProducerIdResponse",
    flexible_from=2,
    fields="""
    throttle_time_ms  int32
    error_code        int16
    producer_id       int64   = -1
    producer_epoch    int16
    """,
)

API = Api(22, "InitProducerId", request, response, 0, 5)
