"""Shared parts of the gold tables of runs: time buckets of equal width, and percentiles."""

from pyspark.sql import Column as Value
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from lab.analytics.tables import BRANCH, Tables

BUCKETS = 400
"""Maximum number of intervals of a chart over a run."""
FEW_BUCKETS = 100


def with_end(frame: DataFrame, t: Tables) -> DataFrame:
    """Rows with `end_us`, the last instant of their run."""
    if t.only is not None:
        # A broadcast costs a job.
        return frame.withColumn("end_us", F.lit(t.only["last_at_us"] or 0).cast("bigint"))
    ends = t.branches.select(BRANCH, F.coalesce("last_at_us", F.lit(0)).alias("end_us"))
    return frame.join(F.broadcast(ends), BRANCH)


def with_width(frame: DataFrame, t: Tables, buckets: int = FEW_BUCKETS) -> DataFrame:
    """Rows with `bucket_us`, the width that divides their run into at most `buckets` intervals, and `end_us`, its
    end.
    """
    width = (F.floor(F.col("end_us") / buckets) + 1).cast("bigint")
    return with_end(frame, t).withColumn("bucket_us", width)


def bucket(at_us: str = "at_us") -> Value:
    """The number of the interval that contains an instant."""
    return F.floor(F.col(at_us) / F.col("bucket_us")).cast("bigint")


def begins_at(number: str = "bucket") -> Value:
    """The start of an interval."""
    return F.col(number) * F.col("bucket_us")


def reached(column: str, share: float) -> Value:
    """The discrete percentile of a column at `share`: a value that occurs, null without values."""
    return F.expr(f"percentile_disc({share}) within group (order by {column})")


def share_of(part: Value, whole: Value) -> Value:
    """A share in 0..1; null if the total is 0."""
    return F.when(whole > 0, part / whole)


def weighted_by_time(spans: DataFrame, *key: str, kept: tuple[str, ...] = ()) -> DataFrame:
    """The maximum (`max`) and the mean of `lag` in each bucket that overlaps a span `from_us` to `to_us`.

    `kept`: columns whose value at the end of the bucket is in the struct `last`.
    """
    to_us = F.greatest(F.coalesce("to_us", "end_us"), F.col("from_us"))
    touched = F.sequence(bucket("from_us"), F.floor((F.greatest(to_us - 1, F.col("from_us"))) / F.col("bucket_us")))
    each = spans.withColumn("to_us", to_us).select("*", F.explode(touched).alias("bucket"))
    begins = begins_at()
    lasts = F.least(F.col("to_us"), begins + F.col("bucket_us")) - F.greatest(F.col("from_us"), begins)
    total = F.sum("lasts")
    return (
        each.withColumn("lasts", lasts)
        .groupBy(BRANCH, *key, "bucket", "bucket_us")
        .agg(
            F.min("from_seq").alias("seq"),
            F.max("lag").alias("max"),
            F.coalesce(F.sum(F.col("lag") * F.col("lasts")) / F.when(total > 0, total), F.max("lag")).alias("mean"),
            F.max(F.struct("from_seq", *kept)).alias("last"),
        )
        .select(BRANCH, *key, "bucket", "seq", begins_at().alias("at_us"), "bucket_us", "max", "mean", "last")
    )
