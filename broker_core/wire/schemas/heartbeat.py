"""Heartbeat: a member of a group lives."""

from broker_core.wire.codec import Api, Schema

request = Schema(
    "HeartbeatRequest",
    flexible_from=4,
    fields="""
    group_id           string
    generation_id      int32
    member_id          string
    group_instance_id  string?  3+ = null
    """,
)

response = Schema(
    "HeartbeatResponse",
    flexible_from=4,
    fields="""
    throttle_time_ms  int32  1+
    error_code        int16
    """,
)

API = Api(12, "Heartbeat", request, response, 0, 4)
