"""SaslAuthenticate: the tokens of a mechanism (KIP-152)."""

from broker_core.wire.codec import Api, Schema

request = Schema(
    "SaslAuthenticateRequest",
    flexible_from=2,
    fields="""
    auth_bytes  bytes
    """,
)

response = Schema(
    "SaslAuthenticateResponse",
    flexible_from=2,
    fields="""
    error_code           int16
    error_message        string?
    auth_bytes           bytes
    session_lifetime_ms  int64    1+
    """,
)

API = Api(36, "SaslAuthenticate", request, response, 0, 2)
