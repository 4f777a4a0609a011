"""AlterPartitionReassignments: starts and cancels reassignments (KIP-455)."""

from broker_core.wire.codec import Api, Schema

request = Schema(
    "AlterPartitionReassignmentsRequest",
    flexible_from=0,
    fields="""
    timeout_ms           int32                     = 60000
    topics               [ReassignableTopic]
      name               string
      partitions         [ReassignablePartition]
        partition_index  int32
        replicas         [int32]?                  = null
    """,
)

response = Schema(
    "AlterPartitionReassignmentsResponse",
    flexible_from=0,
    fields="""
    throttle_time_ms     int32
    error_code           int16
    error_message        string?
    responses            [ReassignableTopicResponse]
      name               string
      partitions         [ReassignablePartitionResponse]
        partition_index  int32
        error_code       int16
        error_message    string?
    """,
)

API = Api(45, "AlterPartitionReassignments", request, response, 0, 0)
