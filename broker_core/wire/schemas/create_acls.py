"""CreateAcls (KIP-140)."""

from broker_core.wire.codec import Api, Schema

request = Schema(
    "CreateAclsRequest",
    flexible_from=2,
    fields="""
    creations                [AclCreation]
      resource_type          int8
      resource_name          string
      resource_pattern_type  int8           1+ = 3
      principal              string
      host                   string
      operation              int8
      permission_type        int8
    """,
)

response = Schema(
    "CreateAclsResponse",
    flexible_from=2,
    fields="""
    throttle_time_ms  int32
    results           [AclCreationResult]
      error_code      int16
      error_message   string?
    """,
)

API = Api(30, "CreateAcls", request, response, 0, 3)
