"""DeleteTopics, by name or by id (KIP-4, KIP-516)."""

from broker_core.wire.codec import Api, Schema

request = Schema(
    "DeleteTopicsRequest",
    flexible_from=4,
    fields="""
    topics       [DeleteTopicState]  6+
      name       string?                 = null
      topic_id   uuid
    topic_names  [string]            0-5 ignorable
    timeout_ms   int32
    """,
)

response = Schema(
    "DeleteTopicsResponse",
    flexible_from=4,
    fields="""
    throttle_time_ms  int32                   1+
    responses         [DeletableTopicResult]
      name            string?6
      topic_id        uuid                    6+
      error_code      int16
      error_message   string?                 5+ = null
    """,
)

API = Api(20, "DeleteTopics", request, response, 0, 6)
