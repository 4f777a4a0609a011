"""Owners of partitions within a group, and times without an owner."""

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from lab.analytics.silver.parts import stacked
from lab.analytics.tables import BIGINT, BRANCH, INT, STRING, Table, Tables, c, ordered

PARTITION_OWNER_COLUMNS = (
    c("group", STRING, "the group"),
    c("topic", STRING, "the topic"),
    c("incarnation", INT, "number among the topics of that name"),
    c("partition", INT, "the partition's number"),
    c("from_seq", BIGINT, "the event with which this starts"),
    c("from_us", BIGINT, "start"),
    c("to_us", BIGINT, "end; null: not ended"),
    c(
        "client",
        STRING,
        "the consumer that owns it, according to the consumer; null: no owner since the last one revoked it",
    ),
)

_PARTITION = (BRANCH, "group", "topic", "incarnation", "partition")
_FOREVER = 2**62


def partition_owners(t: Tables) -> DataFrame:
    """Spans in which a consumer owns a partition, and those in between without an owner, while the topic exists.

    A consumer owns what it was assigned until its next change or its end. A frozen one keeps what it owns.
    """
    said = t.group_assignments.where("change = 'owned'")
    each = said.select(BRANCH, "client", "seq", "at_us").distinct()
    ended = t.nodes.where("node_kind = 'consumer'").select(
        BRANCH, F.col("node").alias("client"), "group", F.struct("from_seq", "from_us", "to_us").alias("life")
    )
    following = Window.partitionBy(BRANCH, "client").orderBy("seq")
    change = F.lead(F.struct(F.col("at_us").alias("us"), F.col("seq").alias("seq"))).over(following)
    until = each.withColumn("change", change)
    removed = (
        t.kind("NodeRemoved")
        .groupBy(BRANCH, F.col("node").alias("client"), F.col("at_us").alias("ended_us"))
        .agg(F.max(F.struct(F.col("at_us").alias("us"), F.col("seq").alias("seq"))).alias("removal"))
    )
    owned = (
        said.where(~F.col("is_empty"))
        .select(BRANCH, "client", "seq", "topic", "partition")
        .join(until, [BRANCH, "client", "seq"])
        .join(F.broadcast(ended), [BRANCH, "client"])
        .where((F.col("life.from_us") <= F.col("at_us")) & (F.coalesce("life.to_us", "at_us") >= F.col("at_us")))
        .withColumn("ended_us", F.col("life.to_us"))
        .join(F.broadcast(removed), [BRANCH, "client", "ended_us"], "left")
        .withColumn("begin", F.struct(F.col("at_us").alias("us"), F.col("seq").alias("seq")))
        .withColumn("end", F.least("change", "removal"))
    )
    within = _while_topics_exist(owned, t)
    shown = within.select(
        *_PARTITION, F.col("begin.seq").alias("from_seq"), F.col("begin.us").alias("from_us"),
        F.col("end.us").alias("to_us"), "client",
    )  # fmt: skip
    return stacked([shown, _gaps(within)]).where("to_us is null or to_us > from_us")


def _while_topics_exist(owned: DataFrame, t: Tables) -> DataFrame:
    """The parts of spans from `begin` to `end` in which their topic exists, each with its end: `gone`."""
    born = F.struct(F.col("created_us").alias("us"), F.col("created_seq").alias("seq"))
    gone = F.struct(F.col("deleted_us").alias("us"), F.col("deleted_seq").alias("seq"))
    lives = t.topics.select(
        BRANCH, "topic", "incarnation", born.alias("born"),
        F.when(F.col("deleted_seq").isNotNull(), gone).alias("gone"),
    )  # fmt: skip
    lasts = F.col("end").isNull() | (F.col("end.seq") > F.col("born.seq"))
    exists = F.col("gone").isNull() | (F.col("gone.seq") > F.col("begin.seq"))
    return owned.join(F.broadcast(lives), [BRANCH, "topic"]).where(lasts & exists).select(
        *_PARTITION, F.greatest("begin", "born").alias("begin"), F.least("end", "gone").alias("end"), "client", "gone"
    )  # fmt: skip


def _gaps(owned: DataFrame) -> DataFrame:
    """Spans without an owner, each after an owner, until the next one or the end of the topic."""
    forever = F.struct(F.lit(_FOREVER).alias("us"), F.lit(_FOREVER).alias("seq"))
    in_order = Window.partitionBy(*_PARTITION).orderBy("begin.us", "begin.seq")
    end = F.max(F.coalesce("end", forever)).over(in_order)
    next_us = F.least(F.lead("begin.us").over(in_order), "gone.us")
    timed = owned.select(*_PARTITION, end.alias("gap"), next_us.alias("next_us"))
    gaps = timed.where(F.col("gap.us") < F.coalesce("next_us", F.lit(_FOREVER)))
    return gaps.select(
        *_PARTITION, F.col("gap.seq").alias("from_seq"), F.col("gap.us").alias("from_us"),
        F.col("next_us").alias("to_us"),
        F.lit(None).cast("string").alias("client"),
    )  # fmt: skip


PARTITION_OWNERS = Table(
    name="silver.partition_owners", unit="branch",
    key=("group", "topic", "incarnation", "partition", "from_us", "client"), columns=PARTITION_OWNER_COLUMNS,
    needs=("silver.group_assignments", "silver.nodes", "silver.topics"), kinds=("NodeRemoved",), make=partition_owners,
    checks=(ordered("from_us", "to_us"),),
    doc="A span of time in which a consumer owns a partition, or in which it has no owner, while its topic exists.",
)  # fmt: skip
