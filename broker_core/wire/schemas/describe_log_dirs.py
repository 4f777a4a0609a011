"""DescribeLogDirs: the contents of a broker's log directories (KIP-113, KIP-827)."""

from broker_core.wire.codec import Api, Schema

request = Schema(
    "DescribeLogDirsRequest",
    flexible_from=2,
    fields="""
    topics        [DescribableLogDirTopic]?
      topic       string
      partitions  [int32]
    """,
)

response = Schema(
    "DescribeLogDirsResponse",
    flexible_from=2,
    fields="""
    throttle_time_ms       int32
    error_code             int16                       3+
    results                [DescribeLogDirsResult]
      error_code           int16
      log_dir              string
      topics               [DescribeLogDirsTopic]
        name               string
        partitions         [DescribeLogDirsPartition]
          partition_index  int32
          partition_size   int64
          offset_lag       int64
          is_future_key    bool
      total_bytes          int64                       4+ = -1
      usable_bytes         int64                       4+ = -1
    """,
)

API = Api(35, "DescribeLogDirs", request, response, 0, 4)
