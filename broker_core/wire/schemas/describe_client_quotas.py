"""DescribeClientQuotas (KIP-546)."""

from broker_core.wire.codec import Api, Schema

request = Schema(
    "DescribeClientQuotasRequest",
    flexible_from=1,
    fields="""
    components     [ComponentData]
      entity_type  string
      match_type   int8
      match        string?
    strict         bool
    """,
)

response = Schema(
    "DescribeClientQuotasResponse",
    flexible_from=1,
    fields="""
    throttle_time_ms  int32
    error_code        int16
    error_message     string?
    entries           [EntryData]?
      entity          [EntityData]
        entity_type   string
        entity_name   string?
      values          [ValueData]
        key           string
        value         float64
    """,
)

API = Api(48, "DescribeClientQuotas", request, response, 0, 1)
