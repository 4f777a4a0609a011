"""Batches appended to a leader's log by Produce requests, and when they were committed."""

from pyspark.sql import Column as Value
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from lab.analytics.silver.offsets import HIGH_WATERMARK, LOG_END
from lab.analytics.silver.topics import with_incarnation
from lab.analytics.tables import BIGINT, BRANCH, INT, STRING, Table, Tables, c, ordered

APPEND_COLUMNS = (
    c("seq", BIGINT, "the event that appended it"),
    c("at_us", BIGINT, "when it was appended"),
    c("topic", STRING, "the topic"),
    c("incarnation", INT, "number among the topics of that name"),
    c("partition", INT, "the partition's number"),
    c("broker", INT, "the leader that appended it"),
    c("base_offset", BIGINT, "the offset of its first record"),
    c("end_offset", BIGINT, "the offset after its last record: the high watermark that covers it"),
    c("records", INT, "records"),
    c("size_bytes", BIGINT, "its size in the log"),
    c("rpc", STRING, "the Produce request"),
    c("client", STRING, "the sender"),
    c("acks", INT, "0, 1, or -1 for all"),
    c("sent_seq", BIGINT, "the event that sent the request"),
    c("sent_us", BIGINT, "when the request was sent"),
    c("arrived_us", BIGINT, "when the request arrived"),
    c("committed_seq", BIGINT, "the event with which the high watermark of this replica first covered it"),
    c("committed_us", BIGINT, "when it was committed; null: not while it was in this log"),
)

_REPLICA = (BRANCH, "topic", "partition", "broker")
#: of rows at one place of a replica's log: an advance that ends where a batch ends commits it
_ADVANCE, _BATCH = 0, 1


def appends(t: Tables) -> DataFrame:
    """Produced batches with the advance that committed them.

    A log is divided into stretches within which it only grows: truncation, a restart and a recreated topic start a new
    one. Within one, offsets order batches and advances alike, so that the first advance past a batch is the earliest
    one that reaches at least its end; a batch that survives its stretch may be committed in a later one.
    """
    batches = t.batches.select(
        *_REPLICA, "seq", "at_us", "base_offset", (F.col("last_offset") + 1).alias("end_offset"), "records",
        "size_bytes", "cause_seq",
    )  # fmt: skip
    produced = with_incarnation(batches.join(_requests(t.rpcs), [BRANCH, "cause_seq"]).drop("cause_seq"), t.topics)
    return _committed(produced, t.replica_offsets)


def _requests(rpcs: DataFrame) -> DataFrame:
    """Produce requests by the event with which their batches are appended: their arrival, or where the leader first
    asks whether the transaction contains the partition (KIP-890) the arrival of the answer.
    """
    produces = rpcs.where("api = 'Produce' and message = 'request' and arrived_seq is not null").select(
        BRANCH, F.col("arrived_seq").alias("cause_seq"), "rpc", F.col("source").alias("client"), "acks", "sent_seq",
        "sent_us", "arrived_us",
    )  # fmt: skip
    verifies = rpcs.where(F.col("api") == "AddPartitionsToTxn")
    asked = verifies.where("message = 'request'").select(BRANCH, "cause_seq", F.col("rpc_no").alias("correlation"))
    answered = verifies.where("message = 'response' and arrived_seq is not null").select(
        BRANCH, "correlation", F.col("arrived_seq").alias("told_seq")
    )
    verified = produces.join(asked.join(answered, [BRANCH, "correlation"]), [BRANCH, "cause_seq"])
    # One question may be about several requests: the first counts, so that a batch is never counted twice.
    whole = F.min(F.struct("sent_seq", *(name for name in produces.columns if name not in (BRANCH, "sent_seq"))))
    first = verified.withColumn("cause_seq", F.col("told_seq")).groupBy(BRANCH, "told_seq").agg(whole.alias("one"))
    return produces.union(first.select(BRANCH, "one.*").select(*produces.columns))


def _committed(produced: DataFrame, offsets: DataFrame) -> DataFrame:
    """Batches with `committed_seq` and `committed_us`."""
    log_end = F.col("measure") == LOG_END
    is_advance = (F.col("measure") == HIGH_WATERMARK) & F.col("why").isNull() & ~F.col("lowered")
    details = F.struct(*(name for name in produced.columns if name not in (*_REPLICA, "seq", "at_us")))
    batches = produced.select(
        *_REPLICA, "seq", "at_us", F.lit(_BATCH).alias("row"), F.col("end_offset").alias("value"),
        F.lit(False).alias("cuts"), details.alias("batch"),
    )  # fmt: skip
    # Nothing above the end of a log that is opened or truncated is in it any more; nothing at all of one that was
    # emptied to begin at a later offset.
    kept = F.when(F.col("value") > F.col("previous"), 0).otherwise(F.coalesce("value", F.lit(0)))
    marks = offsets.where(is_advance | (log_end & ~F.col("why").isin("appended", "closed"))).select(
        *_REPLICA, "seq", "at_us", F.lit(_ADVANCE).alias("row"),
        F.when(log_end, kept).otherwise(F.col("value")).alias("value"),
        log_end.alias("cuts"), F.lit(None).cast(batches.schema["batch"].dataType).alias("batch"),
    )  # fmt: skip
    return _first_advance(_carried(_stretches(marks.union(batches)), _reach(_stretches(marks)))).select(
        *_REPLICA, "seq", "at_us", "batch.*", F.col("first.seq").alias("committed_seq"),
        F.col("first.at_us").alias("committed_us"),
    )  # fmt: skip


def _stretches(rows: DataFrame) -> DataFrame:
    """Rows with the number of their stretch, which only marks count."""
    in_order = Window.partitionBy(*_REPLICA).orderBy("seq", "row")
    return rows.withColumn("stretch", F.count(F.when(F.col("cuts"), 1)).over(in_order))


def _reach(marks: DataFrame) -> DataFrame:
    """By replica with several stretches, how far each of them was cut and committed."""
    return (
        marks.groupBy(*_REPLICA, "stretch")
        .agg(
            F.min(F.when(F.col("cuts"), F.col("value"))).alias("cut_to"),
            F.max(F.when(~F.col("cuts"), F.col("value"))).alias("committed_to"),
        )
        .groupBy(*_REPLICA)
        .agg(F.sort_array(F.collect_list(F.struct("stretch", "cut_to", "committed_to"))).alias("reach"))
        .where(F.size("reach") > 1)
    )


def _carried(stretches: DataFrame, reach: DataFrame) -> DataFrame:
    """Batches assigned to the stretch in which they are committed."""
    home = F.expr("""
        aggregate(
            filter(reach, one -> one.stretch >= stretch),
            cast(null as bigint),
            (home, one) -> case
                when home is not null then home
                when one.stretch > stretch and one.cut_to < value then cast(-1 as bigint)
                when one.committed_to >= value then one.stretch
            end
        )
    """)
    joined = stretches.join(F.broadcast(reach), [*_REPLICA], "left")
    moved = F.when((F.col("row") == _BATCH) & F.col("reach").isNotNull(), home).otherwise(F.col("stretch"))
    return joined.withColumn("stretch", moved).drop("reach")


def _first_advance(placed: DataFrame) -> DataFrame:
    """Batches with the earliest advance (`first`) of their stretch that covers them."""
    advance: Value = F.when((F.col("row") == _ADVANCE) & ~F.col("cuts"), F.struct("seq", "at_us"))
    farther = (
        Window.partitionBy(*_REPLICA, "stretch")
        .orderBy(F.desc("value"), "row")
        .rowsBetween(Window.unboundedPreceding, Window.currentRow)
    )
    return placed.withColumn("first", F.min(advance).over(farther)).where(F.col("row") == _BATCH)


APPENDS = Table(
    name="silver.appends", unit="branch", key=("seq",), order=("topic", "partition", "seq"), columns=APPEND_COLUMNS,
    needs=("silver.rpcs", "silver.batches", "silver.replica_offsets", "silver.topics"), make=appends,
    checks=(ordered("sent_us", "arrived_us", "at_us", "committed_us"), ordered("seq", "committed_seq")),
    doc="A batch that a leader appended for a Produce request.",
)  # fmt: skip
