"""Envelope: a request that a broker hands on to the controller (KIP-590)."""

from broker_core.wire.codec import Api, Schema

request = Schema(
    "EnvelopeRequest",
    flexible_from=0,
    fields="""
    request_data         bytes
    request_principal    bytes?
    client_host_address  bytes
    """,
)

response = Schema(
    "EnvelopeResponse",
    flexible_from=0,
    fields="""
    response_data  bytes?   = null
    error_code     int16
    """,
)

API = Api(58, "Envelope", request, response, 0, 0)
