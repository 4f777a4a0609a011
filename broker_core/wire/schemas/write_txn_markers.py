"""WriteTxnMarkers: the coordinator ends a transaction in the logs (KIP-98)."""

from broker_core.wire.codec import Api, Schema

request = Schema(
    "WriteTxnMarkersRequest",
    flexible_from=1,
    fields="""
    markers                [WritableTxnMarker]
      producer_id          int64
      producer_epoch       int16
      transaction_result   bool
      topics               [WritableTxnMarkerTopic]
        name               string
        partition_indexes  [int32]
      coordinator_epoch    int32
    """,
)

response = Schema(
    "WriteTxnMarkersResponse",
    flexible_from=1,
    fields="""
    markers                [WritableTxnMarkerResult]
      producer_id          int64
      topics               [WritableTxnMarkerTopicResult]
        name               string
        partitions         [WritableTxnMarkerPartitionResult]
          partition_index  int32
          error_code       int16
    """,
)

API = Api(27, "WriteTxnMarkers", request, response, 0, 1)
