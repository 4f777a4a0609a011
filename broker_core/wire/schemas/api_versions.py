"""ApiVersions: what a broker speaks, and features of the cluster (KIP-35, KIP-511, KIP-584)."""

from broker_core.wire.codec import Api, Schema

request = Schema(
    "ApiVersionsRequest",
    flexible_from=3,
    fields="""
    client_software_name     string  3+ ignorable
    client_software_version  string  3+ ignorable
    """,
)

response = Schema(
    "ApiVersionsResponse",
    flexible_from=3,
    fields="""
    error_code                int16
    api_keys                  [ApiVersion]
      api_key                 int16
      min_version             int16
      max_version             int16
    throttle_time_ms          int32                  1+
    supported_features        [SupportedFeatureKey]  3+ tag 0
      name                    string
      min_version             int16
      max_version             int16
    finalized_features_epoch  int64                  3+ tag 1 = -1
    finalized_features        [FinalizedFeatureKey]  3+ tag 2
      name                    string
      max_version_level       int16
      min_version_level       int16
    zk_migration_ready        bool                   3+ tag 3
    """,
)

API = Api(18, "ApiVersions", request, response, 0, 4)
