"""Positions of partition leaders in their logs, and the lag of groups."""

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from lab.analytics.silver.offsets import HIGH_WATERMARK, LOG_END
from lab.analytics.silver.parts import last, spans
from lab.analytics.silver.topics import with_incarnation
from lab.analytics.tables import BIGINT, BRANCH, INT, STRING, Table, Tables, c, ordered

_PARTITION = (BRANCH, "topic", "incarnation", "partition")

LEADER_POSITION_COLUMNS = (
    c("topic", STRING, "the topic"),
    c("incarnation", INT, "number among the topics of that name"),
    c("partition", INT, "the partition's number"),
    c("from_seq", BIGINT, "the event with which this starts"),
    c("from_us", BIGINT, "start"),
    c("to_us", BIGINT, "end; null: not ended"),
    c("broker", INT, "the leader in ZooKeeper; -1: none"),
    c("log_end", BIGINT, "its log end offset; null: its log is not open"),
    c("high_watermark", BIGINT, "its high watermark; the last one while its log is not open"),
)


def leader_positions(t: Tables) -> DataFrame:
    """Spans in which leader, log end offset and high watermark of a partition stay the same."""
    changes = t.replica_offsets.where(F.col("measure").isin(LOG_END, HIGH_WATERMARK))
    offsets = with_incarnation(changes, t.topics).select(
        *_PARTITION, "broker", "seq", "at_us",
        F.when(F.col("measure") == LOG_END, F.struct("value")).alias("log_end"),
        F.when(F.col("measure") == HIGH_WATERMARK, F.struct("value")).alias("high_watermark"),
        F.lit(None).cast("int").alias("leader"),
    )  # fmt: skip
    states = t.partition_states.where("source != 'controller'")
    leaders = with_incarnation(states, t.topics).select(*_PARTITION, "seq", "at_us", "leader")
    # A leader may not have opened its log, and there may be none: -1.
    brokers = leaders.select(*_PARTITION, F.col("leader").alias("broker")).distinct()
    nothing = F.lit(None).cast("struct<value:bigint>")
    each = leaders.join(brokers, [*_PARTITION]).select(
        *_PARTITION, "broker", "seq", "at_us", nothing.alias("log_end"), nothing.alias("high_watermark"), "leader"
    )
    own = Window.partitionBy(*_PARTITION, "broker").orderBy("seq")
    known = offsets.union(each).select(
        *_PARTITION, "broker", "seq", "at_us",
        *(last(name).over(own).alias(name) for name in ("log_end", "high_watermark", "leader")),
    )  # fmt: skip
    return spans(
        known.where("broker = leader").select(
            *_PARTITION, "seq", "at_us", "broker", F.col("log_end.value").alias("log_end"),
            F.col("high_watermark.value").alias("high_watermark"),
        ),
        *_PARTITION,
    )  # fmt: skip


LEADER_POSITIONS = Table(
    name="silver.leader_positions", unit="branch", key=("topic", "incarnation", "partition", "from_seq"),
    columns=LEADER_POSITION_COLUMNS, needs=("silver.replica_offsets", "silver.partition_states", "silver.topics"),
    make=leader_positions, checks=(ordered("from_us", "to_us"),),
    doc="A span of time in which a partition's leader, its log end offset and its high watermark stay the same.",
)  # fmt: skip

LAG_COLUMNS = (
    c("group", STRING, "the group"),
    c("topic", STRING, "the topic"),
    c("incarnation", INT, "number among the topics of that name"),
    c("partition", INT, "the partition's number"),
    c("from_seq", BIGINT, "the event with which this starts"),
    c("from_us", BIGINT, "start"),
    c("to_us", BIGINT, "end; null: not ended"),
    c("committed", BIGINT, "the offset that the group reads next"),
    c("log_end", BIGINT, "the leader's log end offset"),
    c("high_watermark", BIGINT, "the leader's high watermark; the last one while its log is not open"),
    c("lag", BIGINT, "from the committed offset to the high watermark; negative if the log has lost records",
      unit="records"),
)  # fmt: skip


def lag(t: Tables) -> DataFrame:
    """Changes of the number of committed records that a group has not processed."""
    steps = with_incarnation(t.offset_commits.where("step in ('committed', 'removed')"), t.topics)
    stated = steps.select(
        *_PARTITION, "group", "seq", "at_us", F.struct(F.col("offset").alias("value")).alias("committed")
    )
    commits = stated.union(_loaded(t, stated))
    groups = commits.select(*_PARTITION, "group").distinct()
    nothing = F.lit(None).cast("struct<value:bigint>")
    leaders = t.leader_positions.join(F.broadcast(groups), [*_PARTITION]).select(
        *_PARTITION, "group", F.col("from_seq").alias("seq"), F.col("from_us").alias("at_us"),
        nothing.alias("committed"), F.struct("log_end", "high_watermark").alias("leader"),
    )  # fmt: skip
    each = commits.withColumn("leader", F.lit(None).cast(leaders.schema["leader"].dataType)).union(leaders)
    own = Window.partitionBy(*_PARTITION, "group").orderBy("seq")
    known = each.select(
        *_PARTITION, "group", "seq", "at_us", *(last(name).over(own).alias(name) for name in ("committed", "leader"))
    )
    high_watermark = F.col("leader.high_watermark")
    states = known.select(
        *_PARTITION, "group", "seq", "at_us", F.col("committed.value").alias("committed"),
        F.col("leader.log_end").alias("log_end"), high_watermark.alias("high_watermark"),
        (high_watermark - F.col("committed.value")).alias("lag"),
    )  # fmt: skip
    return spans(states, *_PARTITION, "group").where("lag is not null")


def _loaded(t: Tables, stated: DataFrame) -> DataFrame:
    """Where a coordinator loads its partition: only the offsets that it finds there, which it states next, count."""
    place = t.kind("GroupTransitioned").select(BRANCH, "group", F.col("partition").alias("stored_in")).distinct()
    known = stated.select(*_PARTITION, "group").distinct().join(F.broadcast(place), [BRANCH, "group"])
    loads = t.kind("GroupsLoaded").select(BRANCH, F.col("partition").alias("stored_in"), "seq", "at_us")
    nothing = F.struct(F.lit(None).cast("bigint").alias("value"))
    return known.join(F.broadcast(loads), [BRANCH, "stored_in"]).select(
        *_PARTITION, "group", "seq", "at_us", nothing.alias("committed")
    )


LAG = Table(
    name="silver.lag", unit="branch", key=("group", "topic", "incarnation", "partition", "from_seq"),
    columns=LAG_COLUMNS, needs=("silver.offset_commits", "silver.leader_positions", "silver.topics"),
    kinds=("GroupTransitioned", "GroupsLoaded"), make=lag, checks=(ordered("from_us", "to_us"),),
    doc="A span of time in which the lag of a group on a partition stays the same.",
)  # fmt: skip
