"""Offsets over time: the steps of each replica, and the lag of high watermarks."""

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from lab.analytics.gold.runs.parts import BUCKETS, bucket, weighted_by_time, with_width
from lab.analytics.silver.parts import last, spans
from lab.analytics.silver.topics import with_incarnation
from lab.analytics.tables import BIGINT, BOOLEAN, BRANCH, DOUBLE, INT, STRING, Table, Tables, c

_PARTITION = (BRANCH, "topic", "incarnation", "partition")

OFFSET_STEP_COLUMNS = (
    c("topic", STRING, "the topic"),
    c("incarnation", INT, "number among the topics of that name"),
    c("partition", INT, "the partition's number"),
    c("broker", INT, "the broker of the replica"),
    c("measure", STRING, "log_end or high_watermark"),
    c("seq", BIGINT, "the event that changed it"),
    c("at_us", BIGINT, "when it changed"),
    c("value", BIGINT, "the offset"),
    c("lowered", BOOLEAN, "it decreased"),
)


def offset_steps(t: Tables) -> DataFrame:
    """The last value in each interval, and every value to which an offset was decreased."""
    offsets = t.replica_offsets.where("measure in ('log_end', 'high_watermark') and value is not null")
    changes = with_width(with_incarnation(offsets, t.topics), t, BUCKETS)
    step = F.struct("seq", "at_us", "value", "lowered")
    spans = changes.groupBy(*_PARTITION, "broker", "measure", bucket().alias("bucket")).agg(
        F.array(F.max(step)).alias("last"), F.collect_list(F.when(F.col("lowered"), step)).alias("lowered")
    )
    return spans.select(*_PARTITION, "broker", "measure", F.inline(F.array_union("last", "lowered")))


OFFSET_STEPS = Table(
    name="gold.offset_steps", unit="branch", key=("topic", "partition", "broker", "measure", "seq"),
    columns=OFFSET_STEP_COLUMNS, needs=("silver.replica_offsets", "silver.topics"), make=offset_steps, small=True,
    doc="A step of a replica's log end offset or high watermark: at most 400 a replica, and each lowered value.",
)  # fmt: skip

HW_LAG_COLUMNS = (
    c("topic", STRING, "the topic"),
    c("incarnation", INT, "number among the topics of that name"),
    c("partition", INT, "the partition's number"),
    c("broker", INT, "a follower; null: the leader, its log end offset minus its high watermark"),
    c("bucket", BIGINT, "the number of the span of time"),
    c("seq", BIGINT, "the first event of the span, or the last one before it"),
    c("at_us", BIGINT, "when the span begins"),
    c("bucket_us", BIGINT, "its length"),
    c("max", BIGINT, "maximum lag in records", unit="records"),
    c("mean", DOUBLE, "mean lag in records, weighted by time", unit="records"),
)


def hw_lag(t: Tables) -> DataFrame:
    """Number of the leader's records that are not committed, or that a follower does not have; for partitions with
    records.

    Followers that are down are included.
    """
    used = t.leader_positions.where("log_end > 0").select(*_PARTITION).distinct()
    leaders = t.leader_positions.join(F.broadcast(used), [*_PARTITION], "left_semi")
    own = leaders.where("log_end is not null").select(
        *_PARTITION, F.lit(None).cast("int").alias("broker"), "from_seq", "from_us", "to_us",
        (F.col("log_end") - F.coalesce("high_watermark", F.lit(0))).alias("lag"),
    )  # fmt: skip
    offsets = with_incarnation(t.replica_offsets, t.topics)
    lags = with_width(own.union(_followers(leaders, offsets)), t)
    weighted = weighted_by_time(lags.withColumn("lag", F.greatest("lag", F.lit(0))), *_PARTITION[1:], "broker")
    return weighted.drop("last")


def _followers(leaders: DataFrame, offsets: DataFrame) -> DataFrame:
    """Spans of the lag of each follower."""
    # A log that is closed stays behind; one that is deleted does not.
    ends = offsets.where("measure = 'log_end' and (value is not null or why = 'deleted')").select(
        *_PARTITION, "broker", "seq", "at_us", F.struct("value").alias("own"),
        F.lit(None).cast("struct<broker:int, log_end:bigint>").alias("leader"),
    )  # fmt: skip
    brokers = ends.select(*_PARTITION, "broker").distinct().withColumnRenamed("broker", "each")
    led = leaders.join(brokers, [*_PARTITION]).select(
        *_PARTITION, F.col("each").alias("broker"), F.col("from_seq").alias("seq"), F.col("from_us").alias("at_us"),
        F.lit(None).cast("struct<value:bigint>").alias("own"), F.struct("broker", "log_end").alias("leader"),
    )  # fmt: skip
    in_order = Window.partitionBy(*_PARTITION, "broker").orderBy("seq")
    known = ends.union(led).select(
        *_PARTITION, "broker", "seq", "at_us", *(last(name).over(in_order).alias(name) for name in ("own", "leader"))
    )
    is_behind = "leader.broker != broker and leader.log_end is not null and own.value is not null"
    return spans(known, *_PARTITION, "broker").where(is_behind).select(
        *_PARTITION, "broker", "from_seq", "from_us", "to_us",
        (F.col("leader.log_end") - F.col("own.value")).alias("lag"),
    )  # fmt: skip


HW_LAG = Table(
    name="gold.hw_lag", unit="branch", key=("topic", "incarnation", "partition", "broker", "bucket"),
    columns=HW_LAG_COLUMNS, needs=("silver.leader_positions", "silver.replica_offsets", "silver.topics"), make=hw_lag,
    small=True,
    doc="Lag of the high watermark behind the leader's log end offset, and of followers behind the leader, by span of "
    "time.",
)  # fmt: skip

CONSUMER_LAG_COLUMNS = (
    c("group", STRING, "the group"),
    c("topic", STRING, "the topic"),
    c("incarnation", INT, "number among the topics of that name"),
    c("partition", INT, "the partition's number"),
    c("bucket", BIGINT, "the number of the span of time"),
    c("seq", BIGINT, "the first event of the span, or the last one before it"),
    c("at_us", BIGINT, "when the span begins"),
    c("bucket_us", BIGINT, "its length"),
    c("max", BIGINT, "the greatest lag", unit="records"),
    c("mean", DOUBLE, "the lag, weighted by time", unit="records"),
    c("committed", BIGINT, "the committed offset at the end of the span"),
    c("log_end", BIGINT, "the leader's log end offset at the end of the span"),
)


def consumer_lag(t: Tables) -> DataFrame:
    """Lag of consumer groups by interval."""
    lags = with_width(t.lag, t)
    weighted = weighted_by_time(lags, "group", *_PARTITION[1:], kept=("committed", "log_end"))
    return weighted.select("*", "last.committed", "last.log_end").drop("last")


CONSUMER_LAG = Table(
    name="gold.consumer_lag", unit="branch", key=("group", "topic", "incarnation", "partition", "bucket"),
    columns=CONSUMER_LAG_COLUMNS, needs=("silver.lag",), make=consumer_lag, small=True,
    doc="The lag of a group on a partition in a span of time.",
)  # fmt: skip
