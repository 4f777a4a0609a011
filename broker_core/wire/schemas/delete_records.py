"""DeleteRecords: a new start for logs (KIP-107)."""

from broker_core.wire.codec import Api, Schema

request = Schema(
    "DeleteRecordsRequest",
    flexible_from=2,
    fields="""
    topics               [DeleteRecordsTopic]
      name               string
      partitions         [DeleteRecordsPartition]
        partition_index  int32
        offset           int64
    timeout_ms           int32
    """,
)

response = Schema(
    "DeleteRecordsResponse",
    flexible_from=2,
    fields="""
    throttle_time_ms     int32
    topics               [DeleteRecordsTopicResult]
      name               string
      partitions         [DeleteRecordsPartitionResult]
        partition_index  int32
        low_watermark    int64
        error_code       int16
    """,
)

API = Api(21, "DeleteRecords", request, response, 0, 2)
