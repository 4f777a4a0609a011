"""JoinGroup: becoming a member of a group, and its next generation (KIP-62, KIP-345, KIP-394)."""

from broker_core.wire.codec import Api, Schema

request = Schema(
    "JoinGroupRequest",
    flexible_from=6,
    fields="""
    group_id              string
    session_timeout_ms    int32
    rebalance_timeout_ms  int32                       1+ ignorable = -1
    member_id             string
    group_instance_id     string?                     5+ = null
    protocol_type         string
    protocols             [JoinGroupRequestProtocol]
      name                string
      metadata            bytes
    reason                string?                     8+ ignorable = null
    """,
)

response = Schema(
    "JoinGroupResponse",
    flexible_from=6,
    fields="""
    throttle_time_ms     int32                      2+
    error_code           int16
    generation_id        int32                         = -1
    protocol_type        string?                    7+ = null
    protocol_name        string?7
    leader               string
    skip_assignment      bool                       9+
    member_id            string
    members              [JoinGroupResponseMember]
      member_id          string
      group_instance_id  string?                    5+ = null
      metadata           bytes
    """,
)

API = Api(11, "JoinGroup", request, response, 0, 9)
