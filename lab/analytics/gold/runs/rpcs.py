"""Messages over time: counts and latencies by API."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from lab.analytics.gold.runs.parts import begins_at, bucket, reached, with_width
from lab.analytics.silver.parts import broker_id
from lab.analytics.tables import BIGINT, BRANCH, STRING, Table, Tables, c

RPC_MIX_COLUMNS = (
    c("api", STRING, "the API; a Fetch of a consumer is Fetch (consumer)"),
    c("bucket", BIGINT, "the number of the span of time"),
    c("seq", BIGINT, "the first event of the span"),
    c("at_us", BIGINT, "when the span begins"),
    c("bucket_us", BIGINT, "its length"),
    c("messages", BIGINT, "requests and watches sent; responses mirror them and are left out"),
)


def _named(rpcs: DataFrame) -> DataFrame:
    """Requests and watches; fetches of consumers and of followers are distinguished."""
    of_consumer = (F.col("api") == "Fetch") & broker_id(F.col("source")).isNull()
    return rpcs.where("message != 'response'").withColumn(
        "api", F.when(of_consumer, "Fetch (consumer)").otherwise(F.col("api"))
    )


def rpc_mix(t: Tables) -> DataFrame:
    """Number of messages sent in each interval, by API."""
    sent = with_width(_named(t.rpcs).withColumn("at_us", F.col("sent_us")), t)
    return (
        sent.groupBy(BRANCH, "api", bucket().alias("bucket"), "bucket_us")
        .agg(F.count("*").alias("messages"), F.min("sent_seq").alias("seq"))
        .withColumn("at_us", begins_at())
    )


RPC_MIX = Table(
    name="gold.rpc_mix", unit="branch", key=("api", "bucket"), columns=RPC_MIX_COLUMNS, needs=("silver.rpcs",),
    make=rpc_mix, small=True, doc="Messages of an API in a span of time.",
)  # fmt: skip

RPC_TIMING_COLUMNS = (
    c("api", STRING, "the API; a Fetch of a consumer is Fetch (consumer)"),
    c("bucket", BIGINT, "the number of the span of time in which the requests were sent"),
    c("seq", BIGINT, "the event that sent the slowest of them"),
    c("at_us", BIGINT, "when the span begins"),
    c("bucket_us", BIGINT, "its length"),
    c("messages", BIGINT, "messages that arrived"),
    c("network_p50_us", BIGINT, "median time in flight"),
    c("network_p99_us", BIGINT, "99th percentile of the time in flight"),
    c("parked_p50_us", BIGINT, "median time in a purgatory, of those that waited"),
    c("parked_p99_us", BIGINT, "99th percentile of the time in a purgatory, of those that waited"),
    c("sketch", "binary", "KLL sketch of the times in flight in µs"),
)


def rpc_timings(t: Tables) -> DataFrame:
    """How long messages were in flight, and how long requests waited at their destination."""
    arrived = _named(t.rpcs).where("arrived_us is not null").select(
        BRANCH, "api", F.col("sent_seq").alias("seq"), F.col("sent_us").alias("at_us"),
        (F.col("arrived_us") - F.col("sent_us")).alias("network_us"),
        (F.col("completed_us") - F.col("parked_us")).alias("parked_us"),
    )  # fmt: skip
    each = with_width(arrived, t)
    quantiles = {
        f"{name}_{label}_us": reached(f"{name}_us", share)
        for name in ("network", "parked")
        for label, share in (("p50", 0.5), ("p99", 0.99))
    }
    return (
        each.groupBy(BRANCH, "api", bucket().alias("bucket"), "bucket_us")
        .agg(
            F.max_by("seq", F.col("network_us") + F.coalesce("parked_us", F.lit(0))).alias("seq"),
            F.count("*").alias("messages"),
            *(value.alias(name) for name, value in quantiles.items()),
            F.kll_sketch_agg_bigint("network_us").alias("sketch"),
        )
        .withColumn("at_us", begins_at())
    )


RPC_TIMINGS = Table(
    name="gold.rpc_timings", unit="branch", key=("api", "bucket"), columns=RPC_TIMING_COLUMNS, needs=("silver.rpcs",),
    make=rpc_timings, small=True, doc="Latency of the messages of an API in a span of time.",
)  # fmt: skip
