"""Batches of the lab's own producers, from the first record to the response."""

from pyspark.sql import Column as Value
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from lab.analytics.silver.parts import of_partition, stacked, topic_of
from lab.analytics.silver.topics import with_incarnation
from lab.analytics.tables import BIGINT, BRANCH, INT, STRING, Table, Tables, c, one_of, ordered

_KINDS = (
    "NodeAdded", "RecordsGathered", "RecordPartitioned", "ProduceStarted", "ProduceRepeated", "ProduceRetried",
    "ProduceAcknowledged", "ProduceFailed", "BatchSplit", "AcknowledgedRecordsLost",
)  # fmt: skip

PRODUCE_COLUMNS = (
    c("client", STRING, "the producer"),
    c("client_no", INT, "number among the producers of that name, from 1"),
    c("topic", STRING, "the topic"),
    c("partition", INT, "the partition's number"),
    c("sequence", BIGINT, "the number of the batch within its producer"),
    c("records", INT, "records"),
    c("size_bytes", BIGINT, "size of the batch as it is sent"),
    c("acks", INT, "0, 1, or -1 for all"),
    c("attempts", INT, "number of sends"),
    c("gathered_seq", BIGINT, "the first event about it"),
    c("gathered_us", BIGINT, "start of its wait in the accumulator; null: it was sent at once"),
    c("started_seq", BIGINT, "the event with which it was closed and sent"),
    c("started_us", BIGINT, "when it was closed and sent"),
    c("appended_us", BIGINT, "when the leader first appended it"),
    c("committed_us", BIGINT, "when the leader that appended it committed it; null: it did not"),
    c("acknowledged_us", BIGINT, "when it was acknowledged to the producer"),
    c("latency_us", BIGINT, "from the batch's first record to the acknowledgement"),
    c("base_offset", BIGINT, "its first offset in the response; -1: none"),
    c("incarnation", INT, "number among the topics of that name"),
    c("state", STRING, "acknowledged, failed, split, or open"),
    c("error", STRING, "the last error"),
    c("lost_records", BIGINT, "acknowledged records of it that a later leader lacks"),
    c("rule", STRING, "rule of the partitioner for its last record: key, new, stays, next, or random"),
    c("wait_why", STRING, "what it waited for last"),
    c("linger_until_us", BIGINT, "end of linger.ms"),
)

_CLIENT = (BRANCH, "client", "client_no")
_KEY = (*_CLIENT, "name", "sequence")


def produces(t: Tables) -> DataFrame:
    """Each batch with its times at the producer, at the leader, and in the replicas."""
    is_attempt = _is("ProduceStarted", "ProduceRepeated") & (F.col("leader") != "")
    batches = (
        _steps(t)
        .where("sequence > 0")
        .groupBy(*_KEY)
        .agg(
            F.min("seq").alias("gathered_seq"),
            F.max(F.when(_is("ProduceStarted", "RecordsGathered"), F.col("count"))).alias("records"),
            F.coalesce(F.max(F.when(_is("ProduceStarted"), F.col("size"))), F.max("size")).alias("size_bytes"),
            F.max(F.when(_is("ProduceStarted"), F.col("acks"))).alias("acks"),
            F.count(F.when(is_attempt, 1)).alias("attempts"),
            F.collect_list(F.when(is_attempt, F.col("sent_seq"))).alias("sends"),
            F.min(_at("RecordsGathered")).alias("gathered_us"),
            F.min(F.when(_is("ProduceStarted"), F.col("seq"))).alias("started_seq"),
            F.min(_at("ProduceStarted")).alias("started_us"),
            F.min(_at("ProduceAcknowledged")).alias("acknowledged_us"),
            F.max("latency_us").alias("latency_us"),
            F.max("base_offset").alias("base_offset"),
            F.max(F.when(_is("ProduceFailed"), "failed").when(_is("BatchSplit"), "split")).alias("ended"),
            F.max_by("error", F.when(F.col("error").isNotNull(), F.col("seq"))).alias("error"),
            F.max_by("why", F.when(_is("RecordsGathered"), F.col("seq"))).alias("wait_why"),
            F.max(F.when(_is("RecordsGathered") & (F.col("due_us") > 0), F.col("due_us"))).alias("linger_until_us"),
            F.max_by("rule", F.when(F.col("rule").isNotNull(), F.col("seq"))).alias("rule"),
            F.max(F.when(_is("BatchSplit"), "MESSAGE_TOO_LARGE")).alias("too_large"),
        )
    )
    state = (
        F.when(F.col("acknowledged_us").isNotNull(), "acknowledged")
        .when(F.col("ended").isNotNull(), F.col("ended"))
        .otherwise("open")
    )
    return _with_lost(t, _with_appended(t, batches)).select(
        *_CLIENT, "topic", "partition", "sequence", "records",
        "size_bytes", "acks", "attempts", "gathered_seq", "gathered_us", "started_seq", "started_us", "appended_us",
        "committed_us", "acknowledged_us", "latency_us", "base_offset", "incarnation", state.alias("state"),
        F.coalesce("error", "too_large").alias("error"),
        F.coalesce("lost_records", F.lit(0)).alias("lost_records"), "rule", "wait_why", "linger_until_us",
    )  # fmt: skip


def _is(*kinds: str) -> Value:
    return F.col("step").isin(*kinds)


def _at(kind: str) -> Value:
    return F.when(_is(kind), F.col("at_us"))


def _steps(t: Tables) -> DataFrame:
    """The events of all batches in one frame, with the number of the client's incarnation."""
    shown = {
        "count": "bigint", "size": "bigint", "acks": "bigint", "leader": "string", "request": "bigint",
        "base_offset": "bigint", "latency_us": "bigint", "error": "string", "why": "string", "rule": "string",
        "due_us": "bigint",
    }  # fmt: skip
    each = []
    for kind in _KINDS[1:-1]:
        found = t.kind(kind)
        known = set(found.columns)
        is_choice = kind == "RecordPartitioned"
        each.append(
            found.select(
                BRANCH, "seq", "at_us", "client", F.lit(kind).alias("step"), F.col("partition").alias("name"),
                (F.lit(None) if is_choice else F.col("sequence")).cast("bigint").alias("sequence"),
                *(
                    (F.col(name) if name in known else F.lit(None)).cast(type).alias(name)
                    for name, type in shown.items()
                ),
            )
        )  # fmt: skip
    added = t.kind("NodeAdded").select(
        BRANCH, "seq", "at_us", F.col("node").alias("client"), F.lit("NodeAdded").alias("step"),
        F.lit(None).cast("string").alias("name"), F.lit(None).cast("bigint").alias("sequence"),
        *(F.lit(None).cast(type).alias(name) for name, type in shown.items()),
    )  # fmt: skip
    sent = t.rpcs.where("api = 'Produce' and message = 'request'").select(
        BRANCH, F.col("sent_seq").alias("seq"), F.col("sent_us").alias("at_us"), F.col("source").alias("client"),
        F.lit("RpcSent").alias("step"), F.lit(None).cast("string").alias("name"),
        F.lit(None).cast("bigint").alias("sequence"),
        *(F.lit(None).cast(type).alias(name) for name, type in shown.items()),
    )  # fmt: skip
    backwards = Window.partitionBy(BRANCH, "client").orderBy(F.desc("seq"))
    until_next = Window.partitionBy(*_CLIENT, "name").orderBy(F.desc("seq"))
    # The request follows the batches that it carries, and the batch that a record joins follows the choice for it.
    request = F.last(F.when(_is("RpcSent"), F.col("seq")), ignorenulls=True).over(backwards)
    batch = F.last(F.when(_is("RecordsGathered", "ProduceStarted"), F.col("sequence")), ignorenulls=True)
    life = Window.partitionBy(BRANCH, "client").orderBy("seq")
    return (
        stacked([added, sent, *each])
        .withColumn("sent_seq", request)
        .withColumn("client_no", F.count(F.when(_is("NodeAdded"), 1)).over(life).cast("int"))
        .where("name is not null")
        .withColumn(
            "sequence",
            F.when(_is("RecordPartitioned"), batch.over(until_next)).otherwise(F.col("sequence")),
        )
    )


def _with_appended(t: Tables, batches: DataFrame) -> DataFrame:
    """Batches with when the leader first appended them, and when they were first committed, over all attempts: from
    `sends`, the events that sent their requests, so that the steps of batches are put in order only once.
    """
    columns = [name for name in batches.columns if name != "sends"]
    appends = t.appends.select(
        BRANCH, "sent_seq", "topic", "partition", "incarnation", F.col("at_us").alias("appended_us"), "committed_us"
    )
    return (
        batches.select(*columns, F.explode_outer("sends").alias("sent_seq"))
        .withColumns(of_partition(F.col("name")))
        .join(appends, [BRANCH, "sent_seq", "topic", "partition"], "left")
        .groupBy(*columns, "topic", "partition")
        .agg(
            F.min("appended_us").alias("appended_us"),
            F.min("committed_us").alias("committed_us"),
            F.max("incarnation").alias("incarnation"),
        )
    )


def _with_lost(t: Tables, batches: DataFrame) -> DataFrame:
    """Batches with the number of their acknowledged records that a later leader lacks; null: none."""
    losses = with_incarnation(
        t.kind("AcknowledgedRecordsLost").select(
            BRANCH, "seq", F.col("partition").alias("name"), topic_of(F.col("partition")).alias("topic"),
            "first_offset", (F.col("first_offset") + F.col("count")).alias("end_offset"),
        ),
        t.topics,
    )  # fmt: skip
    place = (BRANCH, "name", "incarnation")
    of_partitions = losses.groupBy(*place).agg(
        F.collect_list(F.struct(F.col("seq").alias("lost_seq"), "first_offset", "end_offset")).alias("losses")
    )

    def together(loss: Value) -> Value:
        end = F.least(F.col("base_offset") + F.col("records"), loss["end_offset"])
        return end - F.greatest(F.col("base_offset"), loss["first_offset"])

    lost = F.aggregate(
        F.filter("losses", lambda loss: (together(loss) > 0) & (F.col("started_seq") < loss["lost_seq"])),
        F.lit(0).cast("bigint"),
        lambda total, loss: total + together(loss),
    )
    is_known = F.col("losses").isNotNull() & (F.col("base_offset") >= 0)
    joined = batches.join(F.broadcast(of_partitions), [*place], "left")
    return joined.withColumn("lost_records", F.when(is_known, F.least(lost, F.col("records"))))


PRODUCES = Table(
    name="silver.produces", unit="branch", key=("client", "client_no", "topic", "partition", "sequence"),
    columns=PRODUCE_COLUMNS, kinds=_KINDS, needs=("silver.rpcs", "silver.appends", "silver.topics"), make=produces,
    checks=(
        one_of("state", "acknowledged", "failed", "split", "open"),
        ordered("gathered_us", "started_us", "appended_us", "committed_us"),
    ),
    doc="A batch of a producer of the lab.",
)  # fmt: skip
