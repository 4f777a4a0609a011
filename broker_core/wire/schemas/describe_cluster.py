"""DescribeCluster (KIP-700)."""

from broker_core.wire.codec import Api, Schema

request = Schema(
    "DescribeClusterRequest",
    flexible_from=0,
    fields="""
    include_cluster_authorized_operations  bool
    endpoint_type                          int8  1+ = 1
    """,
)

response = Schema(
    "DescribeClusterResponse",
    flexible_from=0,
    fields="""
    throttle_time_ms               int32
    error_code                     int16
    error_message                  string?                     = null
    endpoint_type                  int8                     1+ = 1
    cluster_id                     string
    controller_id                  int32                       = -1
    brokers                        [DescribeClusterBroker]
      broker_id                    int32
      host                         string
      port                         int32
      rack                         string?                     = null
    cluster_authorized_operations  int32                       = -2147483648
    """,
)

API = Api(60, "DescribeCluster", request, response, 0, 1)
