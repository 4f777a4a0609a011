"""OffsetDelete: forgets offsets of a group (KIP-496)."""

from broker_core.wire.codec import Api, Schema

request = Schema(
    "OffsetDeleteRequest",
    fields="""
    group_id             string
    topics               [OffsetDeleteRequestTopic]
      name               string
      partitions         [OffsetDeleteRequestPartition]
        partition_index  int32
    """,
)

response = Schema(
    "OffsetDeleteResponse",
    fields="""
    error_code           int16
    throttle_time_ms     int32
    topics               [OffsetDeleteResponseTopic]
      name               string
      partitions         [OffsetDeleteResponsePartition]
        partition_index  int32
        error_code       int16
    """,
)

API = Api(47, "OffsetDelete", request, response, 0, 0)
