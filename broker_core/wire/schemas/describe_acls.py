"""DescribeAcls (KIP-140)."""

from broker_core.wire.codec import Api, Schema

request = Schema(
    "DescribeAclsRequest",
    flexible_from=2,
    fields="""
    resource_type_filter  int8
    resource_name_filter  string?
    pattern_type_filter   int8     1+ = 3
    principal_filter      string?
    host_filter           string?
    operation             int8
    permission_type       int8
    """,
)

response = Schema(
    "DescribeAclsResponse",
    flexible_from=2,
    fields="""
    throttle_time_ms     int32
    error_code           int16
    error_message        string?
    resources            [DescribeAclsResource]
      resource_type      int8
      resource_name      string
      pattern_type       int8                    1+ = 3
      acls               [AclDescription]
        principal        string
        host             string
        operation        int8
        permission_type  int8
    """,
)

API = Api(29, "DescribeAcls", request, response, 0, 3)
