"""DescribeDelegationToken (KIP-48)."""

from broker_core.wire.codec import Api, Schema

request = Schema(
    "DescribeDelegationTokenRequest",
    flexible_from=2,
    fields="""
    owners            [DescribeDelegationTokenOwner]?
      principal_type  string
      principal_name  string
    """,
)

response = Schema(
    "DescribeDelegationTokenResponse",
    flexible_from=2,
    fields="""
    error_code                        int16
    tokens                            [DescribedDelegationToken]
      principal_type                  string
      principal_name                  string
      token_requester_principal_type  string                             3+
      token_requester_principal_name  string                             3+
      issue_timestamp                 int64
      expiry_timestamp                int64
      max_timestamp                   int64
      token_id                        string
      hmac                            bytes
      renewers                        [DescribedDelegationTokenRenewer]
        principal_type                string
        principal_name                string
    throttle_time_ms                  int32
    """,
)

API = Api(41, "DescribeDelegationToken", request, response, 0, 3)
