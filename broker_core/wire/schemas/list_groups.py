"""ListGroups: the groups of a broker, by state (KIP-518) and type (KIP-848)."""

from broker_core.wire.codec import Api, Schema

request = Schema(
    "ListGroupsRequest",
    flexible_from=3,
    fields="""
    states_filter  [string]  4+
    types_filter   [string]  5+
    """,
)

response = Schema(
    "ListGroupsResponse",
    flexible_from=3,
    fields="""
    throttle_time_ms  int32          1+
    error_code        int16
    groups            [ListedGroup]
      group_id        string
      protocol_type   string
      group_state     string         4+
      group_type      string         5+
    """,
)

API = Api(16, "ListGroups", request, response, 0, 5)
