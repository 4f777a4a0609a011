"""ConsumerGroupHeartbeat: the group protocol of KIP-848."""

from broker_core.wire.codec import Api, Schema

request = Schema(
    "ConsumerGroupHeartbeatRequest",
    flexible_from=0,
    fields="""
    group_id                string
    member_id               string
    member_epoch            int32
    instance_id             string?              = null
    rack_id                 string?              = null
    rebalance_timeout_ms    int32                = -1
    subscribed_topic_names  [string]?            = null
    server_assignor         string?              = null
    topic_partitions        [TopicPartitions]?   = null
      topic_id              uuid
      partitions            [int32]
    """,
)

response = Schema(
    "ConsumerGroupHeartbeatResponse",
    flexible_from=0,
    fields="""
    throttle_time_ms       int32
    error_code             int16
    error_message          string?             = null
    member_id              string?             = null
    member_epoch           int32
    heartbeat_interval_ms  int32
    assignment             Assignment?         = null
      topic_partitions     [TopicPartitions]
        topic_id           uuid
        partitions         [int32]
    """,
)

API = Api(68, "ConsumerGroupHeartbeat", request, response, 0, 0)
