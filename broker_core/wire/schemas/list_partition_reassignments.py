"""ListPartitionReassignments: reassignments in progress (KIP-455)."""

from broker_core.wire.codec import Api, Schema

request = Schema(
    "ListPartitionReassignmentsRequest",
    flexible_from=0,
    fields="""
    timeout_ms           int32                                 = 60000
    topics               [ListPartitionReassignmentsTopics]?   = null
      name               string
      partition_indexes  [int32]
    """,
)

response = Schema(
    "ListPartitionReassignmentsResponse",
    flexible_from=0,
    fields="""
    throttle_time_ms       int32
    error_code             int16
    error_message          string?
    topics                 [OngoingTopicReassignment]
      name                 string
      partitions           [OngoingPartitionReassignment]
        partition_index    int32
        replicas           [int32]
        adding_replicas    [int32]
        removing_replicas  [int32]
    """,
)

API = Api(46, "ListPartitionReassignments", request, response, 0, 0)
