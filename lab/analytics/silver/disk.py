"""Operations of brokers on the files of their logs."""

from pyspark.sql import Column as Value
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from lab.analytics.silver.parts import broker_id, of_partition, of_replica, rows, stacked, word
from lab.analytics.tables import BIGINT, INT, STRING, Table, Tables, c
from lab.analytics.tables.table import AT_US, SEQ

DISK_OP_COLUMNS = (
    SEQ,
    AT_US,
    c("broker", INT, "the broker"),
    c("topic", STRING, "the topic; null: the broker's disk"),
    c("partition", INT, "the partition's number"),
    c("op", STRING, "rolled, index entry, time index entry, refused append, truncated, segments deleted, "
      "retention failed, marked deleted, unlinked, deleted, cleaned, uncleanable, checked, repaired, "
      "checkpoint written, checkpoint reset, directory failed, flushed, or power lost"),
    c("segment", BIGINT, "the base offset of the segment"),
    c("bytes", BIGINT, "bytes removed by the operation, otherwise the size of the segment"),
    c("log_bytes", BIGINT, "bytes of .log files among them"),
    c("records_before", BIGINT, "of a pass of the cleaner: records before"),
    c("records_after", BIGINT, "of a pass of the cleaner: records after"),
    c("from_offset", BIGINT, "of a range: its start"),
    c("to_offset", BIGINT, "of a range: its end; of a flush: offsets below are on disk"),
    c("files", BIGINT, "number of files or segments"),
    c("file", STRING, "the file"),
    c("why", STRING, "the reason, or the violated rule"),
)  # fmt: skip


_LOG = ".log"


def disk_ops(t: Tables) -> DataFrame:
    """Each operation on files other than appends."""
    return stacked([*_of_segments(t), *_removals(t), *_of_cleaner(t), *_of_recovery(t), *_of_brokers(t)])


def _of_replicas(t: Tables, kind: str, op: str, **values: Value) -> DataFrame:
    return rows(t.kind(kind), DISK_OP_COLUMNS, **of_replica(F.col("replica")), op=word(op), **values)


def _of_broker(t: Tables, kind: str, op: str, **values: Value) -> DataFrame:
    return rows(t.kind(kind), DISK_OP_COLUMNS, broker=broker_id(F.col("broker")), op=word(op), **values)


def _total(name: str, place: int, ending: str = "") -> Value:
    """The sum of the numbers at one place of each of a list of rows, of all or of files with this ending."""
    listed = F.try_variant_get(name, "$", "array<array<variant>>")
    if ending:
        listed = F.filter(listed, lambda one: F.try_variant_get(F.get(one, F.lit(0)), "$", "string").endswith(ending))
    numbers = F.transform(listed, lambda one: F.try_variant_get(F.get(one, F.lit(place)), "$", "bigint"))
    return F.aggregate(
        F.coalesce(numbers, F.array().cast("array<bigint>")), F.lit(0).cast("bigint"), lambda a, b: a + b
    )


def _of_segments(t: Tables) -> list[DataFrame]:
    segment, why = F.col("segment"), F.col("why")
    return [
        _of_replicas(t, "SegmentRolled", "rolled", segment=segment, bytes=F.col("previous_size")),
        _of_replicas(t, "OffsetIndexEntryAdded", "index entry", segment=segment, from_offset=F.col("offset")),
        _of_replicas(t, "TimeIndexEntryAdded", "time index entry", segment=segment, from_offset=F.col("offset")),
        _of_replicas(t, "RefusedAppendWritten", "refused append", segment=segment, bytes=F.col("size")),
        _of_replicas(t, "LogFlushed", "flushed", to_offset=F.col("offset"), files=F.size("segments")),
        _of_replicas(t, "SegmentsDeleted", "segments deleted", files=F.size("segments"), why=why),
        _of_replicas(t, "RetentionFailed", "retention failed", why=why),
    ]


def _removals(t: Tables) -> list[DataFrame]:
    """`cuts` and `files` contain the numbers of bytes."""
    folder = F.substring_index("folder", "/", -1)
    is_replica = ~folder.endswith("-delete")
    place = of_partition(F.when(is_replica, folder))
    return [
        _of_replicas(
            t, "LogTruncated", "truncated", from_offset=F.col("to_offset"), to_offset=F.col("from_offset"),
            bytes=_total("cuts", 2), log_bytes=_total("cuts", 2, _LOG), why=F.col("why"),
        ),
        _of_replicas(
            t, "FilesMarkedDeleted", "marked deleted", files=F.col("count"), bytes=_total("files", 1),
            log_bytes=_total("files", 1, _LOG),
        ),
        _of_broker(
            t, "FilesUnlinked", "unlinked", **place, files=F.col("count"), bytes=_total("cuts", 2), file=F.col("folder")
        ),
        _of_replicas(
            t, "LogDeleted", "deleted", bytes=_total("files", 1), log_bytes=_total("files", 1, _LOG),
            file=F.col("folder"),
        ),
    ]  # fmt: skip


def _of_cleaner(t: Tables) -> list[DataFrame]:
    same = ("records_before", "records_after", "from_offset", "to_offset")
    return [
        _of_replicas(
            t, "LogCleaned", "cleaned", bytes=F.col("bytes_before") - F.col("bytes_after"),
            log_bytes=F.col("bytes_before") - F.col("bytes_after"),
            **{name: F.col(name) for name in same},
        ),
        _of_replicas(t, "LogUncleanable", "uncleanable", why=F.col("why")),
    ]  # fmt: skip


def _of_recovery(t: Tables) -> list[DataFrame]:
    return [
        _of_replicas(t, "SegmentChecked", "checked", segment=F.col("segment"), bytes=F.col("size")),
        _of_replicas(
            t,
            "LogRepaired",
            "repaired",
            file=F.col("file"),
            bytes=F.col("length"),
            log_bytes=F.when(F.col("file").endswith(_LOG), F.col("length")),
            why=F.col("rule"),
        ),
    ]


def _of_brokers(t: Tables) -> list[DataFrame]:
    file, rule = F.col("file"), F.col("rule")
    entries = F.size(F.try_variant_get("entries", "$", "array<variant>"))
    return [
        _of_broker(t, "CheckpointWritten", "checkpoint written", file=file, files=entries),
        _of_broker(t, "CheckpointReset", "checkpoint reset", file=file, why=rule),
        _of_broker(t, "LogDirectoryFailed", "directory failed", file=file, why=rule),
        _of_broker(t, "PowerLost", "power lost", bytes=F.col("byte_count"), log_bytes=_total("cuts", 2, _LOG)),
    ]


DISK_OPS = Table(
    name="silver.disk_ops", unit="branch", key=("seq",), columns=DISK_OP_COLUMNS, per_event=True, make=disk_ops,
    kinds=(
        "SegmentRolled", "OffsetIndexEntryAdded", "TimeIndexEntryAdded", "RefusedAppendWritten", "LogTruncated",
        "SegmentsDeleted", "RetentionFailed", "FilesMarkedDeleted", "FilesUnlinked", "LogDeleted", "LogCleaned",
        "LogUncleanable", "SegmentChecked", "LogRepaired", "CheckpointWritten", "CheckpointReset",
        "LogDirectoryFailed", "LogFlushed", "PowerLost",
    ),
    doc="An operation of a broker on its files.",
)  # fmt: skip
