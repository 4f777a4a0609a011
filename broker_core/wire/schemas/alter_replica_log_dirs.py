"""AlterReplicaLogDirs: moves replicas between a broker's directories (KIP-113)."""

from broker_core.wire.codec import Api, Schema

request = Schema(
    "AlterReplicaLogDirsRequest",
    flexible_from=2,
    fields="""
    dirs            [AlterReplicaLogDir]
      path          string
      topics        [AlterReplicaLogDirTopic]
        name        string
        partitions  [int32]
    """,
)

response = Schema(
    "AlterReplicaLogDirsResponse",
    flexible_from=2,
    fields="""
    throttle_time_ms     int32
    results              [AlterReplicaLogDirTopicResult]
      topic_name         string
      partitions         [AlterReplicaLogDirPartitionResult]
        partition_index  int32
        error_code       int16
    """,
)

API = Api(34, "AlterReplicaLogDirs", request, response, 0, 2)
