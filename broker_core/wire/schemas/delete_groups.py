"""DeleteGroups (KIP-229)."""

from broker_core.wire.codec import Api, Schema

request = Schema(
    "DeleteGroupsRequest",
    flexible_from=2,
    fields="""
    groups_names  [string]
    """,
)

response = Schema(
    "DeleteGroupsResponse",
    flexible_from=2,
    fields="""
    throttle_time_ms  int32
    results           [DeletableGroupResult]
      group_id        string
      error_code      int16
    """,
)

API = Api(42, "DeleteGroups", request, response, 0, 2)
