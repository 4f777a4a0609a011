"""OffsetCommit: how far a group has read."""

from broker_core.wire.codec import Api, Schema

request = Schema(
    "OffsetCommitRequest",
    flexible_from=8,
    fields="""
    group_id                       string
    generation_id_or_member_epoch  int32                           1+  ignorable = -1
    member_id                      string                          1+  ignorable
    group_instance_id              string?                         7+  = null
    retention_time_ms              int64                           2-4 ignorable = -1
    topics                         [OffsetCommitRequestTopic]
      name                         string
      partitions                   [OffsetCommitRequestPartition]
        partition_index            int32
        committed_offset           int64
        committed_leader_epoch     int32                           6+  ignorable = -1
        commit_timestamp           int64                           1   = -1
        committed_metadata         string?
    """,
)

response = Schema(
    "OffsetCommitResponse",
    flexible_from=8,
    fields="""
    throttle_time_ms     int32                            3+
    topics               [OffsetCommitResponseTopic]
      name               string
      partitions         [OffsetCommitResponsePartition]
        partition_index  int32
        error_code       int16
    """,
)

API = Api(8, "OffsetCommit", request, response, 0, 9)
