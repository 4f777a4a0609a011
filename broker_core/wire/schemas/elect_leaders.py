"""ElectLeaders: preferred or unclean elections by hand (KIP-183, KIP-460)."""

from broker_core.wire.codec import Api, Schema

request = Schema(
    "ElectLeadersRequest",
    flexible_from=2,
    fields="""
    election_type     int8                1+
    topic_partitions  [TopicPartitions]?
      topic           string
      partitions      [int32]
    timeout_ms        int32                  = 60000
    """,
)

response = Schema(
    "ElectLeadersResponse",
    flexible_from=2,
    fields="""
    throttle_time_ms          int32
    error_code                int16                    1+
    replica_election_results  [ReplicaElectionResult]
      topic                   string
      partition_result        [PartitionResult]
        partition_id          int32
        error_code            int16
        error_message         string?
    """,
)

API = Api(43, "ElectLeaders", request, response, 0, 2)
