"""OffsetFetch: how far groups have read (several groups: KIP-709)."""

from broker_core.wire.codec import Api, Schema

request = Schema(
    "OffsetFetchRequest",
    flexible_from=6,
    fields="""
    group_id               string                       0-7
    topics                 [OffsetFetchRequestTopic]?2  0-7
      name                 string
      partition_indexes    [int32]
    groups                 [OffsetFetchRequestGroup]    8+
      group_id             string
      member_id            string?                      9+  ignorable = null
      member_epoch         int32                        9+  ignorable = -1
      topics               [OffsetFetchRequestTopics]?
        name               string
        partition_indexes  [int32]
    require_stable         bool                         7+
    """,
)

response = Schema(
    "OffsetFetchResponse",
    flexible_from=6,
    fields="""
    throttle_time_ms              int32                            3+
    topics                        [OffsetFetchResponseTopic]       0-7
      name                        string
      partitions                  [OffsetFetchResponsePartition]
        partition_index           int32
        committed_offset          int64
        committed_leader_epoch    int32                            5-7 = -1
        metadata                  string?
        error_code                int16
    error_code                    int16                            2-7
    groups                        [OffsetFetchResponseGroup]       8+
      group_id                    string
      topics                      [OffsetFetchResponseTopics]
        name                      string
        partitions                [OffsetFetchResponsePartitions]
          partition_index         int32
          committed_offset        int64
          committed_leader_epoch  int32                                = -1
          metadata                string?
          error_code              int16
      error_code                  int16
    """,
)

API = Api(9, "OffsetFetch", request, response, 0, 9)
