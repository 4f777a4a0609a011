"""UpdateFeatures (KIP-584)."""

from broker_core.wire.codec import Api, Schema

request = Schema(
    "UpdateFeaturesRequest",
    flexible_from=0,
    fields="""
    timeout_ms           int32                  = 60000
    feature_updates      [FeatureUpdateKey]
      feature            string
      max_version_level  int16
      allow_downgrade    bool                0
      upgrade_type       int8                1+ = 1
    validate_only        bool                1+
    """,
)

response = Schema(
    "UpdateFeaturesResponse",
    flexible_from=0,
    fields="""
    throttle_time_ms  int32
    error_code        int16
    error_message     string?
    results           [UpdatableFeatureResult]
      feature         string
      error_code      int16
      error_message   string?
    """,
)

API = Api(57, "UpdateFeatures", request, response, 0, 1)
