"""Failovers: from the moment a leader stops answering to the first append at its successor."""

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from lab.analytics.silver.parts import broker_id
from lab.analytics.silver.topics import with_incarnation
from lab.analytics.tables import BIGINT, BOOLEAN, BRANCH, INT, STRING, Table, Tables, c, not_null, ordered

FAILOVER_COLUMNS = (
    c("topic", STRING, "the topic"),
    c("incarnation", INT, "number among the topics of that name"),
    c("partition", INT, "the partition's number"),
    c("leader_epoch", INT, "the epoch of the new leader"),
    c("strategy", STRING, "election strategy of the controller"),
    c("from_broker", INT, "the previous leader"),
    c("to_broker", INT, "the new leader"),
    c("fault_seq", BIGINT, "the event that stopped the previous leader; null: it did not stop"),
    c("seq", BIGINT, "the election"),
    c("at_us", BIGINT, "when it was elected"),
    c("lost_us", BIGINT, "when the old leader stopped responding"),
    c("noticed_us", BIGINT, "when its ZooKeeper session ended"),
    c("elected_us", BIGINT, "when the controller elected the new leader"),
    c("leads_us", BIGINT, "when the new leader took over"),
    c("first_append_us", BIGINT, "the first batch in its epoch; null: none"),
    c("unavailable_us", BIGINT, "from the loss, or the election without one, until the new leader took over"),
    c("unclean", BOOLEAN, "the new leader was not in the ISR"),
    c("truncated_records", BIGINT, "records truncated by replicas until the next election"),
)

_PARTITION = (BRANCH, "topic", "incarnation", "partition")
_STOPS = ("stopped", "exiting", "frozen")
_KEY = (*_PARTITION, "leader_epoch")


def failovers(t: Tables) -> DataFrame:
    """Each election of a leader for a partition that had one before."""
    elections = _elections(t)
    return (
        elections.join(_losses(t, elections), [*_KEY], "left")
        .join(_takes_over(t, elections), [*_KEY], "left")
        .join(_truncated(t, elections), [*_KEY], "left")
        .withColumn("elected_us", F.col("at_us"))
        .withColumn("unavailable_us", F.col("leads_us") - F.coalesce("lost_us", "at_us"))
        .withColumn("truncated_records", F.coalesce("truncated_records", F.lit(0)))
    )


def _elections(t: Tables) -> DataFrame:
    """Elections that chose a leader, with the previous leader, and the time until the next election.

    `went_seq` and `went_us`: the first decision after the leader before was elected. Where that found no leader, the
    partition has had none since.
    """
    elected = with_incarnation(t.leader_epochs.where("role = 'elected'"), t.topics)
    in_order = Window.partitionBy(*_PARTITION).orderBy("seq")
    next_one = F.struct("seq", "at_us")
    decided = elected.withColumn("next", F.lead(next_one).over(in_order)).where("broker >= 0")
    own = Window.partitionBy(BRANCH, "topic").orderBy("incarnation")
    ends = t.topics.select(BRANCH, "topic", "incarnation", F.lead("created_seq").over(own).alias("end_seq"))
    return decided.join(F.broadcast(ends), [BRANCH, "topic", "incarnation"], "left").select(
        *_KEY, "strategy", "seq", "at_us", "unclean", F.col("broker").alias("to_broker"),
        F.lag("broker").over(in_order).alias("from_broker"), F.lag("seq").over(in_order).alias("since_seq"),
        F.lag("next.seq").over(in_order).alias("went_seq"), F.lag("next.at_us").over(in_order).alias("went_us"),
        F.coalesce(F.lead("seq").over(in_order), "end_seq", F.lit(2**62)).alias("until_seq"),
    ).where("from_broker is not null")  # fmt: skip


def _losses(t: Tables, elections: DataFrame) -> DataFrame:
    """When the previous leader stopped, and when its session ended, between its election and the next decision.

    A stop that had ended by then, such as that of a broker resumed in time, is not a loss, unless the session ended
    after it.
    """
    faults = t.faults.select(
        BRANCH, broker_id(F.col("subject")).alias("from_broker"), "fault", "from_seq", "from_us", "to_us"
    ).where("from_broker is not null")
    fault = F.struct("from_seq", "from_us")
    is_closed = F.col("fault") == "session closed"
    closed_seq = F.max(F.when(is_closed, F.col("from_seq"))).over(Window.partitionBy(*_KEY))
    lasts = F.col("to_us").isNull() | (F.col("to_us") >= F.col("went_us")) | (F.col("closed_seq") > F.col("from_seq"))
    stopped = F.max(F.when(F.col("fault").isin(*_STOPS) & lasts, fault))
    closed = F.max(F.when(is_closed, fault))
    return (
        elections.select(*_KEY, "from_broker", "since_seq", "went_seq", "went_us")
        .join(F.broadcast(faults), [BRANCH, "from_broker"])
        .where("from_seq > since_seq and from_seq < went_seq")
        .withColumn("closed_seq", closed_seq)
        .groupBy(*_KEY)
        .agg(stopped.alias("stopped"), closed.alias("closed"))
        .select(
            *_KEY, F.col("stopped.from_seq").alias("fault_seq"),
            F.coalesce("stopped.from_us", "closed.from_us").alias("lost_us"),
            F.when(F.col("stopped").isNull() | (F.col("closed.from_seq") > F.col("stopped.from_seq")),
                   F.col("closed.from_us")).alias("noticed_us"),
        )
    )  # fmt: skip


def _takes_over(t: Tables, elections: DataFrame) -> DataFrame:
    """When the new leader leads, and when it first appends."""
    ours = ("topic", "partition", "leader_epoch")
    leads = t.leader_epochs.where("role = 'leads'").select(
        BRANCH, *ours, F.col("broker").alias("to_broker"), F.col("seq").alias("then_seq"),
        F.col("at_us").alias("leads_us"), F.lit(None).cast("bigint").alias("first_append_us"),
    )  # fmt: skip
    appends = t.batches.select(
        BRANCH, *ours, F.col("broker").alias("to_broker"), F.col("seq").alias("then_seq"),
        F.lit(None).cast("bigint").alias("leads_us"), F.col("at_us").alias("first_append_us"),
    )  # fmt: skip
    known = elections.select(*_KEY, "to_broker", "seq", "until_seq")
    return (
        leads.union(appends)
        .join(F.broadcast(known), [BRANCH, *ours, "to_broker"])
        .where("then_seq > seq and then_seq < until_seq")
        .groupBy(*_KEY)
        .agg(F.min("leads_us").alias("leads_us"), F.min("first_append_us").alias("first_append_us"))
    )


def _truncated(t: Tables, elections: DataFrame) -> DataFrame:
    """Number of records truncated by replicas between an election and the next one."""
    cuts = t.replica_offsets.where("measure = 'log_end' and lowered").select(
        BRANCH, "topic", "partition", F.col("seq").alias("then_seq"), (F.col("previous") - F.col("value")).alias("cut")
    )
    return (
        elections.select(*_KEY, "seq", "until_seq")
        .join(F.broadcast(cuts), [BRANCH, "topic", "partition"])
        .where("then_seq > seq and then_seq < until_seq")
        .groupBy(*_KEY)
        .agg(F.sum("cut").alias("truncated_records"))
    )


FAILOVERS = Table(
    name="gold.failovers", unit="branch", key=("topic", "incarnation", "partition", "leader_epoch"), small=True,
    columns=FAILOVER_COLUMNS, order=("seq", "topic", "partition"), make=failovers,
    needs=("silver.leader_epochs", "silver.faults", "silver.batches", "silver.replica_offsets", "silver.topics"),
    checks=(ordered("lost_us", "elected_us", "leads_us", "first_append_us"), not_null("elected_us", "from_broker")),
    doc="An election of a leader for a partition that had one before.",
)  # fmt: skip
