"""DeleteAcls (KIP-140)."""

from broker_core.wire.codec import Api, Schema

request = Schema(
    "DeleteAclsRequest",
    flexible_from=2,
    fields="""
    filters                 [DeleteAclsFilter]
      resource_type_filter  int8
      resource_name_filter  string?
      pattern_type_filter   int8                1+ = 3
      principal_filter      string?
      host_filter           string?
      operation             int8
      permission_type       int8
    """,
)

response = Schema(
    "DeleteAclsResponse",
    flexible_from=2,
    fields="""
    throttle_time_ms     int32
    filter_results       [DeleteAclsFilterResult]
      error_code         int16
      error_message      string?
      matching_acls      [DeleteAclsMatchingAcl]
        error_code       int16
        error_message    string?
        resource_type    int8
        resource_name    string
        pattern_type     int8                      1+ = 3
        principal        string
        host             string
        operation        int8
        permission_type  int8
    """,
)

API = Api(31, "DeleteAcls", request, response, 0, 3)
