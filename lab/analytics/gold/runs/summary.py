"""A run in one row, and the marks of its alarms."""

from pyspark.sql import Column as Value
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from lab.analytics.gold.runs.parts import reached, with_end
from lab.analytics.silver.alarms import LOST
from lab.analytics.tables import BIGINT, BRANCH, DOUBLE, STRING, Table, Tables, c, map_of
from lab.analytics.tables.table import AT_US, SEQ

RUN_SUMMARY_COLUMNS = (
    c("events", BIGINT, "number of events, those shared with its parent included"),
    c("simulated_s", DOUBLE, "simulated time"),
    c("batches", BIGINT, "batches appended to logs, on leaders and followers"),
    c("records", BIGINT, "their records"),
    c("bytes", BIGINT, "their size", unit="bytes"),
    c("produced_records", BIGINT, "records that leaders appended for producers"),
    c("messages", BIGINT, "messages sent: requests, responses and watches"),
    c("elections", BIGINT, "elections of a leader, those of new partitions included"),
    c("unclean_elections", BIGINT, "elections of a leader that was not in the ISR"),
    c("truncated_records", BIGINT, "records that replicas removed from the end of their logs"),
    c("lost_records", BIGINT, "acknowledged records that a later leader lacked"),
    c("isr_shrinks", BIGINT, "number of times that leaders removed replicas from an ISR"),
    c("alarms", BIGINT, "violated guarantees"),
    c("faults", BIGINT, "faults, without brokers that were starting and sessions that closed"),
    c("rebalances", BIGINT, "rebalances of groups"),
    c(
        "stop_the_world_us",
        BIGINT,
        "the longest time in which a partition of a group had no owner, whether in a rebalance or not",
    ),
    c("unowned_us", BIGINT, "time in which partitions of groups had no owner, over all of them"),
    c("commit_p50_us", BIGINT, "median commit latency"),
    c("commit_p99_us", BIGINT, "99th percentile of the commit latency"),
    c("unavailable_us", BIGINT, "time in which partitions had no leader that responded, over all failovers"),
    c("settings", map_of(STRING, STRING), "settings of its brokers at its start"),
    c("era", STRING, "the era of Kafka"),
    c("seed", BIGINT, "its seed"),
)

_NO_FAULTS = ("starting", "session closed")


def run_summary(t: Tables) -> DataFrame:
    """The counts that lists and comparisons of runs show."""
    appends = t.appends.withColumn("latency_us", F.col("committed_us") - F.col("sent_us"))
    gaps = with_end(t.partition_owners.where("client is null"), t).withColumn(
        "lasted", F.coalesce("to_us", "end_us") - F.col("from_us")
    )
    parts = (
        _of(
            t.batches, batches=F.count("*"), records=F.sum("records"), bytes=F.sum("size_bytes"),
        ),
        _of(
            appends, produced_records=F.sum("records"), commit_p50_us=reached("latency_us", 0.5),
            commit_p99_us=reached("latency_us", 0.99),
        ),
        _of(t.rpcs, messages=F.count("*")),
        _of(
            t.leader_epochs.where("role = 'elected'"), elections=F.count("*"),
            unclean_elections=F.count(F.when(F.col("unclean"), 1)),
        ),
        _of(
            t.replica_offsets.where("measure = 'log_end' and lowered"),
            truncated_records=F.sum(F.col("previous") - F.col("value")),
        ),
        _of(t.isr_changes.where("change = 'shrunk'"), isr_shrinks=F.count("*")),
        _of(
            t.alarms, alarms=F.count(F.when(F.col("invariant") != LOST, 1)), lost_records=F.sum("records"),
        ),
        _of(t.faults.where(~F.col("fault").isin(*_NO_FAULTS)), faults=F.count("*")),
        _of(t.rebalances, rebalances=F.count("*")),
        _of(gaps, stop_the_world_us=F.max("lasted"), unowned_us=F.sum("lasted")),
        _of(t.failovers, unavailable_us=F.sum("unavailable_us")),
        _settings(t),
    )  # fmt: skip
    whole = t.branches.select(
        BRANCH, F.col("last_seq").alias("events"), "era", "seed",
        (F.coalesce("last_at_us", F.lit(0)) / 1_000_000).alias("simulated_s"),
    )  # fmt: skip
    for part in parts:
        whole = whole.join(F.broadcast(part), BRANCH, "left")
    known = ("events", "simulated_s", "commit_p50_us", "commit_p99_us", "settings", "era", "seed")
    counted = (column.name for column in RUN_SUMMARY_COLUMNS if column.name not in known)
    return whole.withColumns({name: F.coalesce(name, F.lit(0)) for name in counted})


def _of(frame: DataFrame, **values: Value) -> DataFrame:
    return frame.groupBy(BRANCH).agg(*(value.alias(name) for name, value in values.items()))


def _settings(t: Tables) -> DataFrame:
    brokers = t.nodes.where("node_kind = 'broker'").select(BRANCH, F.col("node").alias("entity"))
    started = t.settings.where("source = 'node'").select(BRANCH, "entity", "settings", "seq")
    own = started.join(F.broadcast(brokers), [BRANCH, "entity"])
    return own.groupBy(BRANCH).agg(F.min_by("settings", "seq").alias("settings"))


RUN_SUMMARY = Table(
    name="gold.run_summary", unit="branch", key=("events",), columns=RUN_SUMMARY_COLUMNS, small=True,
    needs=(
        "silver.batches", "silver.appends", "silver.rpcs", "silver.leader_epochs", "silver.replica_offsets",
        "silver.isr_changes", "silver.alarms", "silver.faults", "silver.nodes", "silver.settings",
        "silver.partition_owners", "gold.rebalances", "gold.failovers",
    ),
    make=run_summary, doc="A branch of a run; one row.",
)  # fmt: skip

ALARM_MARK_COLUMNS = (
    SEQ,
    AT_US,
    c("invariant", STRING, "the violated invariant; records lost: acknowledged records that the leader lacks"),
    c("subject", STRING, "its subject"),
    c("explained_by", STRING, "what explains it, as a code; empty: nothing"),
    c("setting", STRING, "the settings that allow it"),
    c("cause", BIGINT, "the event that probably caused it; 0: unknown"),
    c("records", BIGINT, "number of lost acknowledged records"),
)


def alarm_marks(t: Tables) -> DataFrame:
    """Instants at which charts mark a violated guarantee."""
    return t.alarms.select(BRANCH, *(column.name for column in ALARM_MARK_COLUMNS))


ALARM_MARKS = Table(
    name="gold.alarm_marks", unit="branch", key=("seq",), columns=ALARM_MARK_COLUMNS, needs=("silver.alarms",),
    make=alarm_marks, small=True, doc="A violated guarantee, or lost records.",
)  # fmt: skip
