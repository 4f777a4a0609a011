"""How long produced batches take to be committed."""

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from lab.analytics.gold.runs.parts import FEW_BUCKETS, begins_at, bucket, reached, with_width
from lab.analytics.tables import BIGINT, BRANCH, DOUBLE, INT, STRING, Table, Tables, between, c

POINTS = 200

COMMIT_LATENCY_COLUMNS = (
    c("acks", INT, "acks of the request: 0, 1, or -1 for all"),
    c("share", DOUBLE, "share of the batches with at most this latency"),
    c("latency_us", BIGINT, "from the Produce request to the advance of that leader's high watermark over the batch"),
    c("batches", BIGINT, "batches with these acks that were committed"),
    c("seq", BIGINT, "the event that sent a batch of this latency"),
    c("at_us", BIGINT, "when it was sent"),
)


def commit_latency(t: Tables) -> DataFrame:
    """The distribution of the commit latency by acks, in at most 200 points, each with another latency.

    A batch that its leader did not see committed has no latency.
    """
    times = t.appends.where("committed_us is not null").select(
        BRANCH, "acks", F.col("sent_seq").alias("seq"), F.col("sent_us").alias("at_us"), F.col("seq").alias("append"),
        (F.col("committed_us") - F.col("sent_us")).alias("latency_us"),
    )  # fmt: skip
    of_acks = Window.partitionBy(BRANCH, "acks")
    ranked = times.select(
        "*",
        F.row_number().over(of_acks.orderBy("latency_us", "seq", "append")).alias("rank"),
        (F.rank().over(of_acks.orderBy("latency_us")) - 1).alias("faster"),
        F.count("*").over(of_acks.orderBy("latency_us")).alias("not_slower"),
        F.count("*").over(of_acks).alias("batches"),
    )
    last_of_latency = ranked.where("rank = not_slower")
    point = F.floor(F.col("not_slower") * POINTS / F.col("batches"))
    before = F.floor(F.col("faster") * POINTS / F.col("batches"))
    share = (F.col("not_slower") / F.col("batches")).alias("share")
    return last_of_latency.where(point > before).select(BRANCH, "acks", share, "latency_us", "batches", "seq", "at_us")


COMMIT_LATENCY = Table(
    name="gold.commit_latency", unit="branch", key=("acks", "share"), columns=COMMIT_LATENCY_COLUMNS,
    needs=("silver.appends",), make=commit_latency, small=True,
    checks=(between("share", 0, 1), between("latency_us", 0, 2**62)),
    doc="A point of the distribution of commit latencies.",
)  # fmt: skip

RUN_SKETCH_COLUMNS = (
    c("acks", INT, "acks of the request: 0, 1, or -1 for all"),
    c("batches", BIGINT, "batches in it"),
    c("sketch", "binary", "KLL sketch of the commit latencies in µs, to be merged with those of other runs"),
)


def run_sketches(t: Tables) -> DataFrame:
    """The distribution of the commit latency by acks, as a sketch."""
    times = t.appends.where("committed_us is not null")
    latency_us = F.col("committed_us") - F.col("sent_us")
    return times.groupBy(BRANCH, "acks").agg(
        F.count("*").alias("batches"), F.kll_sketch_agg_bigint(latency_us).alias("sketch")
    )


RUN_SKETCHES = Table(
    name="gold.run_sketches", unit="branch", key=("acks",), columns=RUN_SKETCH_COLUMNS, needs=("silver.appends",),
    make=run_sketches, small=True, doc="The distribution of commit latencies, in a mergeable form.",
)  # fmt: skip

STAGE_COLUMNS = (
    c("stage", STRING, "accumulator, wire, replication, or answer"),
    c("stage_no", INT, "its place in the order of stages"),
    c("acks", INT, "0, 1, or -1 for all"),
    c("bucket", BIGINT, "the number of the span of time in which the batches were sent"),
    c("seq", BIGINT, "the event that sent the slowest of them"),
    c("at_us", BIGINT, "when the span begins"),
    c("bucket_us", BIGINT, "its length"),
    c("batches", BIGINT, "batches that went through the stage"),
    c("p50_us", BIGINT, "median time"),
    c("p99_us", BIGINT, "99th percentile of the time"),
)


def produce_stages(t: Tables) -> DataFrame:
    """Latency of acknowledged batches by stage: in the producer, on the wire, in replication, and for the response.

    With acks=all the leader responds when the batch is committed, otherwise when it is appended.
    """
    waits_for = F.when(F.col("acks") == -1, F.col("committed_us")).otherwise(F.col("appended_us"))
    stages = F.array(
        *(
            F.struct(F.lit(number).alias("stage_no"), F.lit(name).alias("stage"), (to - begun).alias("took_us"))
            for number, (name, begun, to) in enumerate(
                (
                    ("accumulator", F.coalesce("gathered_us", "started_us"), F.col("started_us")),
                    ("wire", F.col("started_us"), F.col("appended_us")),
                    ("replication", F.col("appended_us"), waits_for),
                    ("answer", waits_for, F.col("acknowledged_us")),
                )
            )
        )
    )
    sent = t.produces.where("state = 'acknowledged' and acks != 0").select(
        BRANCH, "acks", F.col("started_seq").alias("seq"), F.col("started_us").alias("at_us"),
        F.inline(stages),
    )  # fmt: skip
    each = with_width(sent.where("took_us >= 0"), t, FEW_BUCKETS)
    median, slow = (reached("took_us", share) for share in (0.5, 0.99))
    return (
        each.groupBy(BRANCH, "stage", "stage_no", "acks", bucket().alias("bucket"), "bucket_us")
        .agg(
            F.max_by("seq", "took_us").alias("seq"), F.count("*").alias("batches"), median.alias("p50_us"),
            slow.alias("p99_us"),
        )
        .withColumn("at_us", begins_at())
    )  # fmt: skip


PRODUCE_STAGES = Table(
    name="gold.produce_stages", unit="branch", key=("acks", "stage", "bucket"), columns=STAGE_COLUMNS,
    needs=("silver.produces",), make=produce_stages, small=True,
    doc="Time of acknowledged batches in a stage, by span of time.",
)  # fmt: skip
