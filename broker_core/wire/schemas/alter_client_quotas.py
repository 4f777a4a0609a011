"""AlterClientQuotas (KIP-546)."""

from broker_core.wire.codec import Api, Schema

request = Schema(
    "AlterClientQuotasRequest",
    flexible_from=1,
    fields="""
    entries          [EntryData]
      entity         [EntityData]
        entity_type  string
        entity_name  string?
      ops            [OpData]
        key          string
        value        float64
        remove       bool
    validate_only    bool
    """,
)

response = Schema(
    "AlterClientQuotasResponse",
    flexible_from=1,
    fields="""
    throttle_time_ms  int32
    entries           [EntryData]
      error_code      int16
      error_message   string?
      entity          [EntityData]
        entity_type   string
        entity_name   string?
    """,
)

API = Api(49, "AlterClientQuotas", request, response, 0, 1)
