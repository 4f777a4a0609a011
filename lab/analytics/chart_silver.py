"""Silver: typed tables, each a pure function of the bronze events."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from lab.analytics.bronze import number, of_kind, text
from lab.analytics.contract import conform

OFFSETS = "seq bigint, at_us bigint, replica string, measure string, value bigint, lowered boolean"
STATES = "seq bigint, at_us bigint, partition string, leader int, isr array<int>"
ASSIGNMENTS = "partition string, broker int"
PRODUCES = "sent_seq bigint, sent_us bigint, acks int, replica string, end_offset bigint"
COMMITS = "at_us bigint, replica string, from_offset bigint, to_offset bigint"
MESSAGES = "seq bigint, at_us bigint, api string, source string, destination string"

_OFFSET_KINDS = ("BatchAppended", "LogTruncated", "HighWatermarkAdvanced", "HighWatermarkLowered", "LogOpened")
#: of the events that all these tables are made of
KINDS = (*_OFFSET_KINDS, "RpcSent", "RpcDelivered", "ZnodeCreated", "ZnodeChanged", "ZnodeDeleted")

LOG_END_OFFSET = "log_end_offset"
HIGH_WATERMARK = "high_watermark"

_STATE_PATH = r"^/brokers/topics/([^/]+)/partitions/(\d+)/state$"
_TOPIC_PATH = r"^/brokers/topics/([^/]+)$"


def offsets(bronze: DataFrame) -> DataFrame:
    """Each change of a replica's log end offset or high watermark (OFFSETS). `lowered`: it decreased."""
    kind = F.col("kind")
    log_end_offset = (
        F.when(kind == "BatchAppended", number("BatchAppended", "last_offset") + 1)
        .when(kind == "LogTruncated", number("LogTruncated", "to_offset"))
        .when(kind == "LogOpened", number("LogOpened", "log_end_offset"))
    )
    high_watermark = (
        F.when(kind == "LogOpened", number("LogOpened", "high_watermark"))
        .when(kind == "HighWatermarkAdvanced", number("HighWatermarkAdvanced", "to_offset"))
        .when(kind == "HighWatermarkLowered", number("HighWatermarkLowered", "to_offset"))
    )
    both = F.array(
        F.struct(F.lit(LOG_END_OFFSET).alias("measure"), log_end_offset.alias("value")),
        F.struct(F.lit(HIGH_WATERMARK).alias("measure"), high_watermark.alias("value")),
    )
    table = of_kind(bronze, *_OFFSET_KINDS).select(
        "seq",
        "at_us",
        F.get("fields", F.lit(0)).alias("replica"),
        kind.isin("LogTruncated", "HighWatermarkLowered").alias("lowered"),
        F.inline(both),
    )
    return conform(table.where(F.col("value").isNotNull()), OFFSETS)


def states(bronze: DataFrame) -> DataFrame:
    """Each state of a partition as ZooKeeper holds it (STATES); a deleted one has leader -1 and an empty ISR."""
    changes = of_kind(bronze, "ZnodeCreated", "ZnodeChanged", "ZnodeDeleted").withColumn(
        "path", F.get("fields", F.lit(0))
    )
    states = changes.where(F.col("path").rlike(_STATE_PATH))
    deleted = F.col("kind") == "ZnodeDeleted"
    state = F.from_json(F.when(deleted, F.lit("{}")).otherwise(F.get("fields", F.lit(1))), "leader int, isr array<int>")
    table = states.select(
        "seq",
        "at_us",
        F.regexp_replace("path", _STATE_PATH, "$1-$2").alias("partition"),
        F.coalesce(state["leader"], F.lit(-1)).alias("leader"),
        F.coalesce(state["isr"], F.array().cast("array<int>")).alias("isr"),
    )
    return conform(table, STATES)


def assignments(bronze: DataFrame) -> DataFrame:
    """Which brokers have ever been to hold a replica of a partition (ASSIGNMENTS)."""
    topics = of_kind(bronze, "ZnodeCreated", "ZnodeChanged").where(F.get("fields", F.lit(0)).rlike(_TOPIC_PATH))
    data = F.from_json(F.get("fields", F.lit(1)), "partitions map<string, array<int>>")
    each = topics.select(
        F.regexp_extract(F.get("fields", F.lit(0)), _TOPIC_PATH, 1).alias("topic"), F.explode(data["partitions"])
    )
    table = each.select(F.concat_ws("-", "topic", "key").alias("partition"), F.explode("value").alias("broker"))
    return conform(table.distinct(), ASSIGNMENTS)


def produces(bronze: DataFrame) -> DataFrame:
    """Each batch that a Produce request brought to a leader's log (PRODUCES); a retry counts as a request of its own.

    `end_offset`: the high watermark that covers it.
    """
    requests = (
        of_kind(bronze, "RpcSent")
        .where((text("RpcSent", "api") == "Produce") & (text("RpcSent", "kind") == "request"))
        .select(
            F.col("seq").alias("sent_seq"),
            F.col("at_us").alias("sent_us"),
            text("RpcSent", "rpc").alias("rpc"),
            F.regexp_extract(text("RpcSent", "fields"), r'\["acks",(-?\d+)\]', 1).try_cast("int").alias("acks"),
        )
    )
    arrivals = of_kind(bronze, "RpcDelivered").select(
        F.col("seq").alias("arrived_seq"), text("RpcDelivered", "rpc").alias("rpc")
    )
    appends = of_kind(bronze, "BatchAppended").select(
        F.col("cause_seq").alias("arrived_seq"),
        text("BatchAppended", "replica").alias("replica"),
        (number("BatchAppended", "last_offset") + 1).alias("end_offset"),
    )
    return conform(requests.join(arrivals, "rpc").join(appends, "arrived_seq"), PRODUCES)


def commits(bronze: DataFrame) -> DataFrame:
    """Each advance of a high watermark (COMMITS): from `from_offset` on, below `to_offset`, is committed now."""
    table = of_kind(bronze, "HighWatermarkAdvanced").select(
        "at_us",
        text("HighWatermarkAdvanced", "replica").alias("replica"),
        number("HighWatermarkAdvanced", "from_offset").alias("from_offset"),
        number("HighWatermarkAdvanced", "to_offset").alias("to_offset"),
    )
    return conform(table, COMMITS)


def messages(bronze: DataFrame) -> DataFrame:
    """Each request and each watch that was sent (MESSAGES); responses mirror them and are left out."""
    table = (
        of_kind(bronze, "RpcSent")
        .where(text("RpcSent", "kind") != "response")
        .select("seq", "at_us", *(text("RpcSent", name).alias(name) for name in ("api", "source", "destination")))
    )
    return conform(table, MESSAGES)
