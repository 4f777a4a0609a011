"""DescribeGroups: state and members of groups."""

from broker_core.wire.codec import Api, Schema

request = Schema(
    "DescribeGroupsRequest",
    flexible_from=5,
    fields="""
    groups                         [string]
    include_authorized_operations  bool      3+
    """,
)

response = Schema(
    "DescribeGroupsResponse",
    flexible_from=5,
    fields="""
    throttle_time_ms         int32                   1+
    groups                   [DescribedGroup]
      error_code             int16
      group_id               string
      group_state            string
      protocol_type          string
      protocol_data          string
      members                [DescribedGroupMember]
        member_id            string
        group_instance_id    string?                 4+ = null
        client_id            string
        client_host          string
        member_metadata      bytes
        member_assignment    bytes
      authorized_operations  int32                   3+ = -2147483648
    """,
)

API = Api(15, "DescribeGroups", request, response, 0, 5)
