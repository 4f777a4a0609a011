"""ExpireDelegationToken (KIP-48)."""

from broker_core.wire.codec import Api, Schema

request = Schema(
    "ExpireDelegationTokenRequest",
    flexible_from=2,
    fields="""
    hmac                   bytes
    expiry_time_period_ms  int64
    """,
)

response = Schema(
    "ExpireDelegationTokenResponse",
    flexible_from=2,
    fields="""
    error_code           int16
    expiry_timestamp_ms  int64
    throttle_time_ms     int32
    """,
)

API = Api(40, "ExpireDelegationToken", request, response, 0, 2)
