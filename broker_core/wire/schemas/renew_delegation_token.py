"""RenewDelegationToken (KIP-48)."""

from broker_core.wire.codec import Api, Schema

request = Schema(
    "RenewDelegationTokenRequest",
    flexible_from=2,
    fields="""
    hmac             bytes
    renew_period_ms  int64
    """,
)

response = Schema(
    "RenewDelegationTokenResponse",
    flexible_from=2,
    fields="""
    error_code           int16
    expiry_timestamp_ms  int64
    throttle_time_ms     int32
    """,
)

API = Api(39, "RenewDelegationToken", request, response, 0, 2)
