"""FindCoordinator: the coordinator of a group or a transactional id (several: KIP-699)."""

from broker_core.wire.codec import Api, Schema

request = Schema(
    "FindCoordinatorRequest",
    flexible_from=3,
    fields="""
    key               string    0-3
    key_type          int8      1+
    coordinator_keys  [string]  4+
    """,
)

response = Schema(
    "FindCoordinatorResponse",
    flexible_from=3,
    fields="""
    throttle_time_ms  int32          1+
    error_code        int16          0-3
    error_message     string?        1-3
    node_id           int32          0-3
    host              string         0-3
    port              int32          0-3
    coordinators      [Coordinator]  4+
      key             string
      node_id         int32
      host            string
      port            int32
      error_code      int16
      error_message   string?
    """,
)

API = Api(10, "FindCoordinator", request, response, 0, 6)
