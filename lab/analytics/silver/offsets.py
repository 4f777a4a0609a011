"""Start and end of replicas' logs, high watermarks, last stable offsets, and batches."""

from pyspark.sql import Column as Value
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from lab.analytics.silver.parts import broker_id, of_replica, rows, stacked, word
from lab.analytics.tables import BIGINT, BOOLEAN, INT, STRING, Table, Tables, between, c, not_null, one_of, ordered
from lab.analytics.tables.table import AT_US, SEQ

LOG_START, LOG_END, HIGH_WATERMARK, FIRST_UNSTABLE = "log_start", "log_end", "high_watermark", "first_unstable"
NO_OFFSET = -1

REPLICA_OFFSET_COLUMNS = (
    SEQ,
    AT_US,
    c("topic", STRING, "the topic"),
    c("partition", INT, "the partition's number"),
    c("broker", INT, "the broker of the replica"),
    c("measure", STRING, "log_start, log_end, high_watermark, or first_unstable"),
    c("value", BIGINT, "the offset; null: the log was closed or deleted; -1: there is no unstable offset"),
    c("previous", BIGINT, "the previous offset, if the event has it"),
    c("lowered", BOOLEAN, "it decreased"),
    c("why", STRING, "opened, appended, closed, deleted, or the reason of a truncation or of a new log start offset"),
)


def replica_offsets(t: Tables) -> DataFrame:
    """Each change of an offset of a replica."""
    opened = [
        _changes(t, "LogOpened", measure, F.col(field), why=word("opened"))
        for measure, field in (
            (LOG_START, "log_start_offset"), (LOG_END, "log_end_offset"), (HIGH_WATERMARK, "high_watermark"),
        )
    ]  # fmt: skip
    to, before = F.col("to_offset"), F.col("from_offset")
    gone = F.lit(None)
    return stacked(
        [
            *opened,
            _changes(
                t, "BatchAppended", LOG_END, F.col("last_offset") + 1, previous=F.col("base_offset"),
                why=word("appended"),
            ),
            _changes(t, "LogTruncated", LOG_END, to, previous=before, lowered=to < before, why=F.col("why")),
            _changes(t, "LogStartOffsetIncremented", LOG_START, to, previous=before, why=F.col("why")),
            _changes(t, "HighWatermarkAdvanced", HIGH_WATERMARK, to, previous=before),
            _changes(t, "HighWatermarkLowered", HIGH_WATERMARK, to, previous=before, lowered=F.lit(True)),
            _changes(t, "FirstUnstableOffsetChanged", FIRST_UNSTABLE, to, previous=before),
            _changes(t, "LogClosed", LOG_END, gone, why=word("closed")),
            *(
                _changes(t, "LogDeleted", measure, gone, why=word("deleted"))
                for measure in (LOG_START, LOG_END, HIGH_WATERMARK)
            ),
        ]
    )  # fmt: skip


def _changes(t: Tables, kind: str, measure: str, value: Value, **more: Value) -> DataFrame:
    usual = {"lowered": F.lit(False), **more}
    return rows(
        t.kind(kind),
        REPLICA_OFFSET_COLUMNS,
        **of_replica(F.col("replica")),
        measure=word(measure),
        value=value,
        **usual,
    )


REPLICA_OFFSETS = Table(
    name="silver.replica_offsets", unit="branch", key=("seq", "measure"), order=("topic", "partition", "broker", "seq"),
    columns=REPLICA_OFFSET_COLUMNS, per_event=True,
    kinds=(
        "LogOpened", "BatchAppended", "LogTruncated", "LogStartOffsetIncremented", "HighWatermarkAdvanced",
        "HighWatermarkLowered", "FirstUnstableOffsetChanged", "LogClosed", "LogDeleted",
    ),
    make=replica_offsets,
    checks=(one_of("measure", LOG_START, LOG_END, HIGH_WATERMARK, FIRST_UNSTABLE), not_null("topic", "broker")),
    doc="A change of an offset of a replica.",
)  # fmt: skip

_BATCH = (
    SEQ,
    AT_US,
    c("topic", STRING, "the topic"),
    c("partition", INT, "the partition's number"),
    c("broker", INT, "the broker of the replica"),
    c("base_offset", BIGINT, "the offset of its first record"),
    c("last_offset", BIGINT, "the offset of its last record"),
    c("records", INT, "offsets that it covers"),
)
BATCH_COLUMNS = (
    *_BATCH,
    c("size_bytes", BIGINT, "its size in the log"),
    c("leader_epoch", INT, "the leader epoch in its header"),
    c("segment", BIGINT, "the base offset of its segment"),
    c("position_bytes", BIGINT, "its position in the segment's .log"),
    c("cause_seq", BIGINT, "the event that led to it: the arrival of a request, or of a response to a fetch"),
)
PRODUCER_BATCH_COLUMNS = (
    *_BATCH,
    c("producer_id", BIGINT, "the producer's id"),
    c("producer_epoch", INT, "the producer's epoch"),
    c("first_sequence", INT, "the sequence number of its first record"),
    c("is_transactional", BOOLEAN, "it belongs to a transaction"),
)


def _covered() -> dict[str, Value]:
    count = F.col("last_offset") - F.col("base_offset") + 1
    return {
        **of_replica(F.col("replica")),
        **{name: F.col(name) for name in ("base_offset", "last_offset")},
        "records": count,
    }


def batches(t: Tables) -> DataFrame:
    """Each batch appended to a replica's log."""
    return rows(
        t.kind("BatchAppended"), BATCH_COLUMNS, **_covered(), size_bytes=F.col("size"),
        position_bytes=F.col("position"),
        **{name: F.col(name) for name in ("leader_epoch", "segment", "cause_seq")},
    )  # fmt: skip


BATCHES = Table(
    name="silver.batches", unit="branch", key=("seq",), order=("topic", "partition", "broker", "seq"),
    columns=BATCH_COLUMNS, per_event=True, kinds=("BatchAppended",), make=batches,
    checks=(ordered("base_offset", "last_offset"), between("records", 1, 2**31 - 1)),
    doc="A batch that was appended to the log of a replica.",
)  # fmt: skip


def producer_batches(t: Tables) -> DataFrame:
    """Producer state in logs for idempotent producers."""
    return rows(
        t.kind("ProducerBatchAppended"), PRODUCER_BATCH_COLUMNS, **_covered(),
        **{name: F.col(name) for name in ("producer_id", "producer_epoch", "first_sequence", "is_transactional")},
    )  # fmt: skip


PRODUCER_BATCHES = Table(
    name="silver.producer_batches", unit="branch", key=("seq",), order=("topic", "partition", "broker", "seq"),
    columns=PRODUCER_BATCH_COLUMNS, per_event=True, kinds=("ProducerBatchAppended",), make=producer_batches,
    doc="Producer id, epoch and sequence numbers of a batch; the batch itself is in silver.batches.",
)  # fmt: skip

BELIEF_COLUMNS = (
    SEQ,
    AT_US,
    c("topic", STRING, "the topic"),
    c("partition", INT, "the partition's number"),
    c("broker", INT, "the leader"),
    c("follower", INT, "a follower"),
    c("from_offset", BIGINT, "the previous log end offset known to the leader; -1: none"),
    c("log_end_offset", BIGINT, "the log end offset of the follower, from its fetch"),
    c("caught_up_us", BIGINT, "when the follower was last caught up, according to the leader"),
)


def beliefs(t: Tables) -> DataFrame:
    """The leaders' view of their followers."""
    return rows(
        t.kind("RemoteReplicaUpdated"), BELIEF_COLUMNS, **of_replica(F.col("replica")),
        follower=broker_id(F.col("follower")), from_offset=F.col("from_offset"),
        log_end_offset=F.col("log_end_offset"), caught_up_us=F.col("last_caught_up_us"),
    )  # fmt: skip


BELIEFS = Table(
    name="silver.beliefs", unit="branch", key=("seq",), columns=BELIEF_COLUMNS, per_event=True,
    kinds=("RemoteReplicaUpdated",), make=beliefs, doc="A follower's state as known to its leader.",
)  # fmt: skip
