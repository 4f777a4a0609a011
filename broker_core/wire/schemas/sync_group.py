"""SyncGroup: distributes the leader's assignment to the members."""

from broker_core.wire.codec import Api, Schema

request = Schema(
    "SyncGroupRequest",
    flexible_from=4,
    fields="""
    group_id           string
    generation_id      int32
    member_id          string
    group_instance_id  string?                       3+ = null
    protocol_type      string?                       5+ ignorable = null
    protocol_name      string?                       5+ ignorable = null
    assignments        [SyncGroupRequestAssignment]
      member_id        string
      assignment       bytes
    """,
)

response = Schema(
    "SyncGroupResponse",
    flexible_from=4,
    fields="""
    throttle_time_ms  int32    1+
    error_code        int16
    protocol_type     string?  5+ = null
    protocol_name     string?  5+ = null
    assignment        bytes
    """,
)

API = Api(14, "SyncGroup", request, response, 0, 5)
