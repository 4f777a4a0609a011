"""TxnOffsetCommit: offsets that count when the transaction commits (KIP-98, KIP-447)."""

from broker_core.wire.codec import Api, Schema

request = Schema(
    "TxnOffsetCommitRequest",
    flexible_from=3,
    fields="""
    transactional_id            string
    group_id                    string
    producer_id                 int64
    producer_epoch              int16
    generation_id               int32                              3+ = -1
    member_id                   string                             3+
    group_instance_id           string?                            3+ = null
    topics                      [TxnOffsetCommitRequestTopic]
      name                      string
      partitions                [TxnOffsetCommitRequestPartition]
        partition_index         int32
        committed_offset        int64
        committed_leader_epoch  int32                              2+ ignorable = -1
        committed_metadata      string?
    """,
)

response = Schema(
    "TxnOffsetCommitResponse",
    flexible_from=3,
    fields="""
    throttle_time_ms     int32
    topics               [TxnOffsetCommitResponseTopic]
      name               string
      partitions         [TxnOffsetCommitResponsePartition]
        partition_index  int32
        error_code       int16
    """,
)

API = Api(28, "TxnOffsetCommit", request, response, 0, 4)
