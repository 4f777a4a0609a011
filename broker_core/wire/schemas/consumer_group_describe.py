"""ConsumerGroupDescribe (KIP-848)."""

from broker_core.wire.codec import Api, Schema

request = Schema(
    "ConsumerGroupDescribeRequest",
    flexible_from=0,
    fields="""
    group_ids                      [string]
    include_authorized_operations  bool
    """,
)

response = Schema(
    "ConsumerGroupDescribeResponse",
    flexible_from=0,
    fields="""
    throttle_time_ms            int32
    groups                      [DescribedGroup]
      error_code                int16
      error_message             string?             = null
      group_id                  string
      group_state               string
      group_epoch               int32
      assignment_epoch          int32
      assignor_name             string
      members                   [Member]
        member_id               string
        instance_id             string?             = null
        rack_id                 string?             = null
        member_epoch            int32
        client_id               string
        client_host             string
        subscribed_topic_names  [string]
        subscribed_topic_regex  string?             = null
        assignment              Assignment
          topic_partitions      [TopicPartitions]
            topic_id            uuid
            topic_name          string
            partitions          [int32]
        target_assignment       Assignment
      authorized_operations     int32               = -2147483648
    """,
)

API = Api(69, "ConsumerGroupDescribe", request, response, 0, 0)
