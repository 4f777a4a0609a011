"""LeaveGroup: members leave a group (several: KIP-345)."""

from broker_core.wire.codec import Api, Schema

request = Schema(
    "LeaveGroupRequest",
    flexible_from=4,
    fields="""
    group_id             string
    member_id            string            0-2
    members              [MemberIdentity]  3+
      member_id          string
      group_instance_id  string?               = null
      reason             string?           5+  ignorable = null
    """,
)

response = Schema(
    "LeaveGroupResponse",
    flexible_from=4,
    fields="""
    throttle_time_ms     int32             1+
    error_code           int16
    members              [MemberResponse]  3+
      member_id          string
      group_instance_id  string?
      error_code         int16
    """,
)

API = Api(13, "LeaveGroup", request, response, 0, 5)
