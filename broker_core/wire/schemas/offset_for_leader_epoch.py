"""OffsetForLeaderEpoch: where a leader epoch ends (KIP-101, KIP-320)."""

from broker_core.wire.codec import Api, Schema

request = Schema(
    "OffsetForLeaderEpochRequest",
    flexible_from=4,
    fields="""
    replica_id                int32                       3+ ignorable = -2
    topics                    [OffsetForLeaderTopic]
      topic                   string
      partitions              [OffsetForLeaderPartition]
        partition             int32
        current_leader_epoch  int32                       2+ ignorable = -1
        leader_epoch          int32
    """,
)

response = Schema(
    "OffsetForLeaderEpochResponse",
    flexible_from=4,
    fields="""
    throttle_time_ms  int32                         2+
    topics            [OffsetForLeaderTopicResult]
      topic           string
      partitions      [EpochEndOffset]
        error_code    int16
        partition     int32
        leader_epoch  int32                         1+ = -1
        end_offset    int64                            = -1
    """,
)

API = Api(23, "OffsetForLeaderEpoch", request, response, 0, 4)
