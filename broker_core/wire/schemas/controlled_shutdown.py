"""ControlledShutdown: a broker asks the controller to move its leaderships away."""

from broker_core.wire.codec import Api, Schema

request = Schema(
    "ControlledShutdownRequest",
    flexible_from=3,
    fields="""
    broker_id     int32
    broker_epoch  int64  2+ ignorable = -1
    """,
)

response = Schema(
    "ControlledShutdownResponse",
    flexible_from=3,
    fields="""
    error_code            int16
    remaining_partitions  [RemainingPartition]
      topic_name          string
      partition_index     int32
    """,
)

API = Api(7, "ControlledShutdown", request, response, 0, 3)
