"""SaslHandshake: which mechanism a client will authenticate with (KIP-43)."""

from broker_core.wire.codec import Api, Schema

request = Schema(
    "SaslHandshakeRequest",
    fields="""
    mechanism  string
    """,
)

response = Schema(
    "SaslHandshakeResponse",
    fields="""
    error_code  int16
    mechanisms  [string]
    """,
)

API = Api(17, "SaslHandshake", request, response, 0, 1)
