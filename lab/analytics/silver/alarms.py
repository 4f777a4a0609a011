"""Violated guarantees, and lost acknowledged records."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from lab.analytics.silver.parts import of_partition, rows, stacked, word
from lab.analytics.tables import BIGINT, INT, STRING, Table, Tables, c
from lab.analytics.tables.table import AT_US, SEQ

ALARM_COLUMNS = (
    SEQ,
    AT_US,
    c("invariant", STRING, "the violated invariant; records lost: acknowledged records that the leader lacks"),
    c("subject", STRING, "its subject"),
    c("explained_by", STRING, "what explains it, as a code; empty: nothing"),
    c("setting", STRING, "the settings that allow it"),
    c("cause", BIGINT, "the event that probably caused it; 0: unknown"),
    c("promise", STRING, "the acknowledgement that it breaks"),
    c("topic", STRING, "of lost records: the topic"),
    c("partition", INT, "of lost records: the partition's number"),
    c("first_offset", BIGINT, "of lost records: the first one"),
    c("records", BIGINT, "number of lost acknowledged records"),
    c("committed_records", BIGINT, "number of them that were committed"),
)

LOST = "records lost"


def alarms(t: Tables) -> DataFrame:
    """Violations of guarantees, and losses."""
    broken = rows(
        t.kind("InvariantViolated"), ALARM_COLUMNS,
        **{name: F.col(name) for name in ("invariant", "subject", "explained_by", "setting", "cause", "promise")},
    )  # fmt: skip
    lost = rows(
        t.kind("AcknowledgedRecordsLost"), ALARM_COLUMNS, **of_partition(F.col("partition")), invariant=word(LOST),
        subject=F.col("partition"), explained_by=F.col("why"), cause=F.col("acknowledged_seq"),
        first_offset=F.col("first_offset"), records=F.col("count"), committed_records=F.col("committed"),
    )  # fmt: skip
    return stacked([broken, lost])


ALARMS = Table(
    name="silver.alarms", unit="branch", key=("seq",), columns=ALARM_COLUMNS, per_event=True, make=alarms,
    kinds=("InvariantViolated", "AcknowledgedRecordsLost"), doc="A violated guarantee, or lost records.",
)  # fmt: skip
