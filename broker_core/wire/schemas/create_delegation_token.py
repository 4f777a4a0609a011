"""CreateDelegationToken (KIP-48)."""

from broker_core.wire.codec import Api, Schema

request = Schema(
    "CreateDelegationTokenRequest",
    flexible_from=2,
    fields="""
    owner_principal_type  string?              3+
    owner_principal_name  string?              3+
    renewers              [CreatableRenewers]
      principal_type      string
      principal_name      string
    max_lifetime_ms       int64
    """,
)

response = Schema(
    "CreateDelegationTokenResponse",
    flexible_from=2,
    fields="""
    error_code                      int16
    principal_type                  string
    principal_name                  string
    token_requester_principal_type  string  3+
    token_requester_principal_name  string  3+
    issue_timestamp_ms              int64
    expiry_timestamp_ms             int64
    max_timestamp_ms                int64
    token_id                        string
    hmac                            bytes
    throttle_time_ms                int32
    """,
)

API = Api(38, "CreateDelegationToken", request, response, 0, 3)
