"""Gold: what a chart shows, few enough rows for a page however long the run was. Pure functions of silver tables."""

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from lab.analytics.contract import conform

OFFSETS = "replica string, measure string, at_us bigint, value bigint"
ISR = "partition string, broker int, role string, from_us bigint, to_us bigint"
LATENCY = "acks int, latency_us bigint, share double, batches bigint, at_us bigint"
RPCS = "api string, at_us bigint, messages bigint"

BUCKETS = 400
POINTS = 200
_OFFSETS_TOGETHER = 256


def bucket_us(end_us: int, buckets: int = BUCKETS) -> int:
    """The width that cuts a run of `end_us` into at most `buckets` spans."""
    return end_us // buckets + 1


def offsets(changes: DataFrame, end_us: int) -> DataFrame:
    """The steps of each replica's log end offset and high watermark (OFFSETS): per span of time the last value, and
    every value that something was lowered to.
    """
    bucket = (F.col("at_us") / bucket_us(end_us)).cast("bigint")
    step = F.struct("seq", "at_us", "value")
    spans = changes.groupBy("replica", "measure", bucket.alias("bucket")).agg(
        F.array(F.max(step)).alias("last"), F.collect_list(F.when(F.col("lowered"), step)).alias("lowered")
    )
    steps = spans.select("replica", "measure", F.inline(F.array_union("last", "lowered")))
    return conform(steps.orderBy("replica", "measure", "seq"), OFFSETS)


def isr(states: DataFrame, assignments: DataFrame, end_us: int) -> DataFrame:
    """Spans of time in which a broker led a partition, was in its ISR, or was out of it (ISR).

    `role` is leader, isr or outisr. A span ends with each change of the partition's state: neighbours may have the
    same role.
    """
    following = Window.partitionBy("partition").orderBy("seq")
    spans = states.select(
        "*",
        F.col("at_us").alias("from_us"),
        F.lead("at_us", 1, end_us).over(following).alias("to_us"),
    )
    role = (
        F.when(F.col("leader") == F.col("broker"), "leader")
        .when(F.array_contains("isr", F.col("broker")), "isr")
        .otherwise("outisr")
    )
    # A deleted partition has no ISR, and no roles.
    roles = spans.where(F.size("isr") > 0).join(assignments, "partition").withColumn("role", role)
    return conform(roles.where("to_us > from_us").orderBy("partition", "broker", "from_us"), ISR)


def latency(produces: DataFrame, commits: DataFrame) -> DataFrame:
    """From the Produce request to the advance of that leader's high watermark over its batch, as an ECDF by acks
    (LATENCY): `share` of `batches` took at most `latency_us`; `at_us` is when one with that latency was sent.

    A batch that its leader never saw committed (it lost its leadership before) has no latency.
    """
    together = F.lit(_OFFSETS_TOGETHER)
    advances = commits.select(
        "*",
        F.explode(
            F.sequence(F.floor(F.col("from_offset") / together), F.floor((F.col("to_offset") - 1) / together))
        ).alias("block"),
    )
    batches = produces.withColumn("block", F.floor((F.col("end_offset") - 1) / together))
    covered = (F.col("from_offset") < F.col("end_offset")) & (F.col("end_offset") <= F.col("to_offset"))
    committed = batches.join(advances, ["replica", "block"]).where(covered)
    # A leader that lowered its high watermark passes an offset twice: the first time counts.
    times = committed.groupBy("sent_seq", "replica", "end_offset").agg(
        F.first("acks").alias("acks"),
        F.first("sent_us").alias("at_us"),
        (F.min("at_us") - F.first("sent_us")).alias("latency_us"),
    )
    ranked = times.select(
        "*",
        F.row_number().over(Window.partitionBy("acks").orderBy("latency_us", "sent_seq")).alias("rank"),
        F.count("*").over(Window.partitionBy("acks")).alias("batches"),
    )
    point = F.floor(F.col("rank") * POINTS / F.col("batches"))
    before = F.floor((F.col("rank") - 1) * POINTS / F.col("batches"))
    points = ranked.where(point > before).withColumn("share", F.col("rank") / F.col("batches"))
    return conform(points.orderBy("acks", "share"), LATENCY)


def rpcs(messages: DataFrame, end_us: int) -> DataFrame:
    """How many messages of which API were sent in each span of time, `at_us` its beginning (RPCS).

    A fetch of a follower is `Fetch`, one of a consumer `Fetch (consumer)`.
    """
    width = bucket_us(end_us, BUCKETS // 4)
    api = F.when((F.col("api") == "Fetch") & ~F.col("source").rlike(r"^b\d+$"), "Fetch (consumer)").otherwise(
        F.col("api")
    )
    counted = messages.groupBy(api.alias("api"), (F.floor(F.col("at_us") / width) * width).alias("at_us")).agg(
        F.count("*").alias("messages")
    )
    return conform(counted.orderBy("api", "at_us"), RPCS)
