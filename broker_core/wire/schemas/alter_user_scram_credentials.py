"""AlterUserScramCredentials (KIP-554)."""

from broker_core.wire.codec import Api, Schema

request = Schema(
    "AlterUserScramCredentialsRequest",
    flexible_from=0,
    fields="""
    deletions          [ScramCredentialDeletion]
      name             string
      mechanism        int8
    upsertions         [ScramCredentialUpsertion]
      name             string
      mechanism        int8
      iterations       int32
      salt             bytes
      salted_password  bytes
    """,
)

response = Schema(
    "AlterUserScramCredentialsResponse",
    flexible_from=0,
    fields="""
    throttle_time_ms  int32
    results           [AlterUserScramCredentialsResult]
      user            string
      error_code      int16
      error_message   string?
    """,
)

API = Api(51, "AlterUserScramCredentials", request, response, 0, 0)
