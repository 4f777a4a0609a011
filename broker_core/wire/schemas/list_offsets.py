"""ListOffsets: the offset of a timestamp, or of one of a log's ends (KIP-79)."""

from broker_core.wire.codec import Api, Schema

request = Schema(
    "ListOffsetsRequest",
    flexible_from=6,
    fields="""
    replica_id                int32
    isolation_level           int8                    2+
    topics                    [ListOffsetsTopic]
      name                    string
      partitions              [ListOffsetsPartition]
        partition_index       int32
        current_leader_epoch  int32                   4+ ignorable = -1
        timestamp             int64
        max_num_offsets       int32                   0  = 1
    """,
)

response = Schema(
    "ListOffsetsResponse",
    flexible_from=6,
    fields="""
    throttle_time_ms       int32                           2+
    topics                 [ListOffsetsTopicResponse]
      name                 string
      partitions           [ListOffsetsPartitionResponse]
        partition_index    int32
        error_code         int16
        old_style_offsets  [int64]                         0
        timestamp          int64                           1+ = -1
        offset             int64                           1+ = -1
        leader_epoch       int32                           4+ = -1
    """,
)

API = Api(2, "ListOffsets", request, response, 0, 9)
