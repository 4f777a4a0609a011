"""IncrementalAlterConfigs: sets, deletes, appends, subtracts single settings (KIP-339)."""

from broker_core.wire.codec import Api, Schema

request = Schema(
    "IncrementalAlterConfigsRequest",
    flexible_from=1,
    fields="""
    resources             [AlterConfigsResource]
      resource_type       int8
      resource_name       string
      configs             [AlterableConfig]
        name              string
        config_operation  int8
        value             string?
    validate_only         bool
    """,
)

response = Schema(
    "IncrementalAlterConfigsResponse",
    flexible_from=1,
    fields="""
    throttle_time_ms  int32
    responses         [AlterConfigsResourceResponse]
      error_code      int16
      error_message   string?
      resource_type   int8
      resource_name   string
    """,
)

API = Api(44, "IncrementalAlterConfigs", request, response, 0, 1)
