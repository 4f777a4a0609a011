"""AllocateProducerIds: a broker asks the controller for a block of producer ids (KIP-730)."""

from broker_core.wire.codec import Api, Schema

request = Schema(
    "AllocateProducerIdsRequest",
    flexible_from=0,
    fields="""
    broker_id     int32
    broker_epoch  int64   = -1
    """,
)

response = Schema(
    "AllocateProducerIdsResponse",
    flexible_from=0,
    fields="""
    throttle_time_ms   int32
    error_code         int16
    producer_id_start  int64
    producer_id_len    int32
    """,
)

API = Api(67, "AllocateProducerIds", request, response, 0, 0)
