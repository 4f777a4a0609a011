"""CreatePartitions (KIP-195)."""

from broker_core.wire.codec import Api, Schema

request = Schema(
    "CreatePartitionsRequest",
    flexible_from=2,
    fields="""
    topics          [CreatePartitionsTopic]
      name          string
      count         int32
      assignments   [CreatePartitionsAssignment]?
        broker_ids  [int32]
    timeout_ms      int32
    validate_only   bool
    """,
)

response = Schema(
    "CreatePartitionsResponse",
    flexible_from=2,
    fields="""
    throttle_time_ms  int32
    results           [CreatePartitionsTopicResult]
      name            string
      error_code      int16
      error_message   string?                         = null
    """,
)

API = Api(37, "CreatePartitions", request, response, 0, 3)
