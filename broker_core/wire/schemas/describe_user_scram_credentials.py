"""DescribeUserScramCredentials (KIP-554)."""

from broker_core.wire.codec import Api, Schema

request = Schema(
    "DescribeUserScramCredentialsRequest",
    flexible_from=0,
    fields="""
    users   [UserName]?
      name  string
    """,
)

response = Schema(
    "DescribeUserScramCredentialsResponse",
    flexible_from=0,
    fields="""
    throttle_time_ms    int32
    error_code          int16
    error_message       string?
    results             [DescribeUserScramCredentialsResult]
      user              string
      error_code        int16
      error_message     string?
      credential_infos  [CredentialInfo]
        mechanism       int8
        iterations      int32
    """,
)

API = Api(50, "DescribeUserScramCredentials", request, response, 0, 0)
