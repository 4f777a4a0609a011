"""Volumes: produced, batched, stored and removed data."""

from pyspark.sql import Column as Value
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from lab.analytics.gold.runs.parts import begins_at, bucket, with_width
from lab.analytics.tables import BIGINT, BRANCH, DOUBLE, INT, STRING, Table, Tables, c

_SPAN = (
    c("bucket", BIGINT, "the number of the span of time"),
    c("seq", BIGINT, "the first event of the span"),
    c("at_us", BIGINT, "when the span begins"),
    c("bucket_us", BIGINT, "its length"),
)

THROUGHPUT_COLUMNS = (
    c("topic", STRING, "the topic; null of fetches, each of which is about several partitions"),
    c("incarnation", INT, "number among the topics of that name"),
    c("partition", INT, "the partition's number"),
    *_SPAN,
    c("records", BIGINT, "records that leaders appended for producers"),
    c("bytes", BIGINT, "their size in the log", unit="bytes"),
    c("batches", BIGINT, "batches"),
    c("produce_requests", BIGINT, "Produce requests that carried them"),
    c("fetch_requests", BIGINT, "Fetch requests that arrived, of followers and of consumers"),
)


def throughput(t: Tables) -> DataFrame:
    """Data appended by leaders for producers, and number of fetches, by interval."""
    partition = (BRANCH, "topic", "incarnation", "partition")
    appended = t.appends.select(*partition, "seq", "at_us", "records", "size_bytes", "sent_seq")
    fetched = t.rpcs.where("api = 'Fetch' and message = 'request' and arrived_us is not null").select(
        BRANCH, F.lit(None).cast("string").alias("topic"),
        *(F.lit(None).cast("int").alias(name) for name in ("incarnation", "partition")),
        F.col("arrived_seq").alias("seq"), F.col("arrived_us").alias("at_us"), F.lit(None).cast("int").alias("records"),
        F.lit(None).cast("bigint").alias("size_bytes"), F.lit(None).cast("bigint").alias("sent_seq"),
    )  # fmt: skip
    each = with_width(appended.union(fetched), t)
    is_batch = F.col("topic").isNotNull()
    return (
        each.groupBy(*partition, bucket().alias("bucket"), "bucket_us")
        .agg(
            F.min("seq").alias("seq"),
            F.coalesce(F.sum("records"), F.lit(0)).alias("records"),
            F.coalesce(F.sum("size_bytes"), F.lit(0)).alias("bytes"),
            F.count("records").alias("batches"),
            F.count_distinct("sent_seq").alias("produce_requests"),
            F.count(F.when(~is_batch, 1)).alias("fetch_requests"),
        )
        .withColumn("at_us", begins_at())
    )


THROUGHPUT = Table(
    name="gold.throughput", unit="branch", key=("topic", "incarnation", "partition", "bucket"),
    columns=THROUGHPUT_COLUMNS, needs=("silver.appends", "silver.rpcs"), make=throughput, small=True,
    doc="Bytes appended to a partition for producers in a span of time; fetches are in rows without a partition.",
)  # fmt: skip

BATCH_FILL_COLUMNS = (
    c("client", STRING, "the producer"),
    *_SPAN,
    c("batches", BIGINT, "batches that were closed"),
    c("mean_records", DOUBLE, "mean number of records in a batch", unit="records"),
    c("mean_bytes", DOUBLE, "mean size of a batch", unit="bytes"),
    c("linger_us", BIGINT, "mean time in the accumulator"),
    c("closed_by", STRING, "why they were sent: full, linger, or what they waited for last: pause, in flight, "
      "metadata, producer id, transaction, numbers; at once: without waiting"),
)  # fmt: skip


def batch_fill(t: Tables) -> DataFrame:
    """Fill level of batches when they are sent."""
    is_early = (F.col("wait_why") == "linger") & (F.col("started_us") < F.col("linger_until_us"))
    closed_by = F.when(is_early, "full").otherwise(F.coalesce("wait_why", F.lit("at once")))
    closed = t.produces.where("started_us is not null").select(
        BRANCH, "client", F.col("started_seq").alias("seq"), F.col("started_us").alias("at_us"), "records",
        "size_bytes", closed_by.alias("closed_by"),
        (F.col("started_us") - F.coalesce("gathered_us", "started_us")).alias("waited_us"),
    )  # fmt: skip
    return (
        with_width(closed, t)
        .groupBy(BRANCH, "client", "closed_by", bucket().alias("bucket"), "bucket_us")
        .agg(
            F.min("seq").alias("seq"), F.count("*").alias("batches"), F.mean("records").alias("mean_records"),
            F.mean("size_bytes").alias("mean_bytes"), F.mean("waited_us").cast("bigint").alias("linger_us"),
        )
        .withColumn("at_us", begins_at())
    )  # fmt: skip


BATCH_FILL = Table(
    name="gold.batch_fill", unit="branch", key=("client", "closed_by", "bucket"), columns=BATCH_FILL_COLUMNS,
    needs=("silver.produces",), make=batch_fill, small=True, doc="The batches of a producer in a span of time.",
)  # fmt: skip

DISK_GROWTH_COLUMNS = (
    c("broker", INT, "the broker"),
    c("topic", STRING, "the topic; null: files of the broker"),
    *_SPAN,
    c("why", STRING, "appended, truncated, retention, compaction, deleted, power lost, repaired, or flushed"),
    c("appended_bytes", BIGINT, "bytes added to logs"),
    c("removed_bytes", BIGINT, "bytes removed from logs; files other than .log are not counted"),
    c("fsyncs", BIGINT, "flushes of a log"),
)

_REMOVALS = {
    "truncated": "truncated", "marked deleted": "retention", "cleaned": "compaction", "deleted": "deleted",
    "power lost": "power lost", "repaired": "repaired", "flushed": "flushed",
}  # fmt: skip


def disk_growth(t: Tables) -> DataFrame:
    """Bytes added to and removed from the disks of brokers, by reason."""
    added = t.batches.select(
        BRANCH, "broker", "topic", "seq", "at_us", F.lit("appended").alias("why"),
        F.col("size_bytes").alias("appended"), F.lit(0).cast("bigint").alias("removed"),
    )  # fmt: skip
    why = F.create_map(*(F.lit(text) for pair in _REMOVALS.items() for text in pair))
    removed = _removed(t).select(
        BRANCH, "broker", "topic", "seq", "at_us", F.try_element_at(why, F.col("op")).alias("why"),
        F.lit(0).cast("bigint").alias("appended"), F.coalesce("log_bytes", F.lit(0)).alias("removed"),
    )  # fmt: skip
    return (
        with_width(added.union(removed), t)
        .groupBy(BRANCH, "broker", "topic", "why", bucket().alias("bucket"), "bucket_us")
        .agg(
            F.min("seq").alias("seq"), F.sum("appended").alias("appended_bytes"),
            F.sum("removed").alias("removed_bytes"), F.count(F.when(F.col("why") == "flushed", 1)).alias("fsyncs"),
        )
        .withColumn("at_us", begins_at())
    )  # fmt: skip


def _removed(t: Tables) -> DataFrame:
    """Operations that remove something, each named by its reason.

    Whole segments are marked as deleted: by retention and by a truncation, which emit an event before; by a pass of the
    cleaner, which emits the reduction in size afterwards; and when a log is opened.
    """
    of_log = Window.partitionBy(BRANCH, "broker", "topic", "partition").orderBy("seq")
    beside = ("op", "at_us")
    each = t.disk_ops.where(F.col("op").isin(*_REMOVALS, "segments deleted")).select(
        "*",
        F.lag(F.struct(*beside)).over(of_log).alias("before"),
        F.lead(F.struct(*beside)).over(of_log).alias("after"),
    )

    def is_beside(name: str, op: str) -> Value:
        return (F.col(f"{name}.op") == op) & (F.col(f"{name}.at_us") == F.col("at_us"))

    marked = (
        F.when(is_beside("before", "segments deleted"), F.col("op"))
        .when(is_beside("before", "truncated"), "truncated")
        .when(is_beside("after", "cleaned"), None)
        .otherwise("repaired")
    )
    op = F.when(F.col("op") == "marked deleted", marked).otherwise(F.col("op"))
    return each.withColumn("op", op).where("op is not null and op != 'segments deleted'")


DISK_GROWTH = Table(
    name="gold.disk_growth", unit="branch", key=("broker", "topic", "why", "bucket"), columns=DISK_GROWTH_COLUMNS,
    needs=("silver.batches", "silver.disk_ops"), make=disk_growth, small=True,
    doc="Bytes added to the logs of a broker, or removed for one reason, in a span of time.",
)  # fmt: skip
