"""DescribeConfigs: settings, where they come from, what they mean (KIP-133, KIP-226, KIP-569)."""

from broker_core.wire.codec import Api, Schema

request = Schema(
    "DescribeConfigsRequest",
    flexible_from=4,
    fields="""
    resources              [DescribeConfigsResource]
      resource_type        int8
      resource_name        string
      configuration_keys   [string]?
    include_synonyms       bool                       1+
    include_documentation  bool                       3+
    """,
)

response = Schema(
    "DescribeConfigsResponse",
    flexible_from=4,
    fields="""
    throttle_time_ms   int32
    results            [DescribeConfigsResult]
      error_code       int16
      error_message    string?
      resource_type    int8
      resource_name    string
      configs          [DescribeConfigsResourceResult]
        name           string
        value          string?
        read_only      bool
        is_default     bool                             0
        config_source  int8                             1+ = -1
        is_sensitive   bool
        synonyms       [DescribeConfigsSynonym]         1+
          name         string
          value        string?
          source       int8
        config_type    int8                             3+
        documentation  string?                          3+
    """,
)

API = Api(32, "DescribeConfigs", request, response, 0, 4)
