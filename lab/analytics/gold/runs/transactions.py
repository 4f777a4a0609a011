"""Transactions from their first partition to their last marker."""

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from lab.analytics.gold.runs.parts import with_end
from lab.analytics.tables import BIGINT, BRANCH, INT, STRING, Table, Tables, c, ordered

TRANSACTION_SPAN_COLUMNS = (
    c("transactional_id", STRING, "the transactional id"),
    c("seq", BIGINT, "the event that began it"),
    c("at_us", BIGINT, "when it began"),
    c("begun_us", BIGINT, "when the coordinator added its first partition"),
    c("decided_us", BIGINT, "when the coordinator decided; null: not yet"),
    c("completed_us", BIGINT, "when all markers were written; null: not yet"),
    c("open_us", BIGINT, "from its start to the last marker, or to the end of the run"),
    c("result", STRING, "COMMIT, ABORT, or open"),
    c("partitions", INT, "partitions in it"),
    c("held_us", BIGINT, "the longest time in which it, or an earlier one, held back the readers of a partition"),
    c("why", STRING, "reason of the decision"),
)

_ID = (BRANCH, "transactional_id")
_KEY = (*_ID, "seq")


def transaction_spans(t: Tables) -> DataFrame:
    """Each transaction with its decision and its end."""
    found = with_end(_transactions(t), t)
    over_us = F.coalesce("completed_us", "end_us")
    whole = found.withColumn("open_us", over_us - F.col("begun_us")).withColumn("over_us", over_us)
    return (
        whole.join(_held(t, whole), [*_KEY], "left")
        .withColumn("at_us", F.col("begun_us"))
        .withColumn("partitions", F.size("in_it"))
        .withColumn("held_us", F.coalesce("held_us", F.lit(0)))
    )


def _transactions(t: Tables) -> DataFrame:
    steps = t.transactions.where("step = 'transitioned'")
    in_order = Window.partitionBy(*_ID).orderBy("seq")
    # A coordinator that takes over emits the states that it finds in the log: an open transaction continues.
    was_open = F.coalesce(F.col("before").isin("Ongoing", "PrepareCommit", "PrepareAbort"), F.lit(False))
    begins = (F.col("to_state") == "Ongoing") & ~was_open
    numbered = (
        steps.withColumn("before", F.lag("to_state").over(in_order))
        .withColumn("number", F.count(F.when(begins, 1)).over(in_order))
        .where("number > 0")
    )
    decided, completed = (F.col("to_state").startswith(prefix) for prefix in ("Prepare", "Complete"))
    result = (
        F.when(F.col("decision") == "PrepareCommit", "COMMIT")
        .when(F.col("decision").isNotNull(), "ABORT")
        .otherwise("open")
    )
    return (
        numbered.groupBy(*_ID, "number")
        .agg(
            F.min("seq").alias("seq"),
            F.min("at_us").alias("begun_us"),
            F.min(F.when(decided, F.col("at_us"))).alias("decided_us"),
            F.min(F.when(completed, F.col("at_us"))).alias("completed_us"),
            F.min_by("to_state", F.when(decided, F.col("seq"))).alias("decision"),
            F.min_by("why", F.when(decided, F.col("seq"))).alias("why"),
            F.array_distinct(F.flatten(F.collect_list("partitions"))).alias("in_it"),
        )
        .withColumn("result", result)
    )


def _held(t: Tables, transactions: DataFrame) -> DataFrame:
    """The longest time in which the last stable offset of a partition did not advance meanwhile."""
    in_order = Window.partitionBy(BRANCH, "topic", "partition", "broker").orderBy("seq")
    held = (
        t.replica_offsets.where("measure = 'first_unstable'")
        .select(
            BRANCH, F.concat_ws("-", "topic", "partition").alias("name"), F.col("at_us").alias("held_from"),
            F.lead("at_us").over(in_order).alias("held_to"), "value",
        )
        .where("value >= 0")
    )  # fmt: skip
    each = transactions.select(*_KEY, "begun_us", "over_us", F.explode("in_it").alias("name"))
    from_us, to_us = F.greatest("begun_us", "held_from"), F.least("over_us", F.coalesce("held_to", "over_us"))
    return (
        each.join(held, [BRANCH, "name"])
        .where(to_us > from_us)
        .groupBy(*_KEY)
        .agg(F.max(to_us - from_us).alias("held_us"))
    )


TRANSACTION_SPANS = Table(
    name="gold.transaction_spans", unit="branch", key=("transactional_id", "seq"), columns=TRANSACTION_SPAN_COLUMNS,
    needs=("silver.transactions", "silver.replica_offsets"), make=transaction_spans, small=True, order=("seq",),
    checks=(ordered("begun_us", "decided_us", "completed_us"),), doc="A transaction.",
)  # fmt: skip
