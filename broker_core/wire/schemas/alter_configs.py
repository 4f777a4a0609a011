"""AlterConfigs: replaces all overrides of a resource (KIP-133)."""

from broker_core.wire.codec import Api, Schema

request = Schema(
    "AlterConfigsRequest",
    flexible_from=2,
    fields="""
    resources        [AlterConfigsResource]
      resource_type  int8
      resource_name  string
      configs        [AlterableConfig]
        name         string
        value        string?
    validate_only    bool
    """,
)

response = Schema(
    "AlterConfigsResponse",
    flexible_from=2,
    fields="""
    throttle_time_ms  int32
    responses         [AlterConfigsResourceResponse]
      error_code      int16
      error_message   string?
      resource_type   int8
      resource_name   string
    """,
)

API = Api(33, "AlterConfigs", request, response, 0, 2)
