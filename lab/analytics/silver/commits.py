"""Offsets that groups commit."""

from pyspark.sql import Column as Value
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from lab.analytics.silver.parts import of_partition, rows, stacked, word
from lab.analytics.tables import BIGINT, INT, STRING, Table, Tables, c, one_of
from lab.analytics.tables.table import AT_US, SEQ

OFFSET_COMMIT_COLUMNS = (
    SEQ,
    AT_US,
    c("group", STRING, "the group"),
    c("broker", STRING, "the coordinator's node; null: the offset is in ZooKeeper"),
    c("topic", STRING, "the topic; null for a decision, which applies to all pending offsets of a producer"),
    c("partition", INT, "the partition's number"),
    c("step", STRING, "accepted, committed, pending, decided, or removed"),
    c("offset", BIGINT, "the offset of the next record to read"),
    c("member", STRING, "of an accepted commit: the member; empty for clients that are not members"),
    c("generation_id", INT, "of an accepted commit: the generation; -1 for clients that are not members"),
    c("producer_id", BIGINT, "of offsets within a transaction: its producer"),
    c("result", STRING, "of a decision: COMMIT or ABORT"),
    c("why", STRING, "why an offset was removed"),
)


_WRITTEN = ("ZnodeCreated", "ZnodeChanged")
_OFFSET_DEPTH = 6
"""Parts of /consumers/GROUP/offsets/TOPIC/PARTITION, with the empty one before the first slash."""


def offset_commits(t: Tables) -> DataFrame:
    """Each change of a committed offset, one row per partition."""
    accepted = t.kind("OffsetCommitAccepted").withColumn(
        "one", F.explode(F.try_variant_get("offsets", "$", "array<array<variant>>"))
    )
    name = F.try_variant_get(F.get("one", F.lit(0)), "$", "string")
    return stacked(
        [
            _step(
                accepted, "accepted", of_partition(name), member=F.col("member"),
                generation_id=F.col("generation_id"),
                offset=F.try_variant_get(F.get("one", F.lit(1)), "$", "bigint"),
            ),
            _step(t.kind("OffsetCommitted"), "committed", offset=F.col("offset")),
            _step(
                t.kind("TransactionalOffsetPending"), "pending", offset=F.col("offset"),
                producer_id=F.col("producer_id"),
            ),
            _step(
                t.kind("TransactionalOffsetsDecided"), "decided", {}, producer_id=F.col("producer_id"),
                result=F.col("result"),
            ),
            _step(t.kind("OffsetRemoved"), "removed", why=F.col("why")),
            *_in_zookeeper(t),
        ]
    )  # fmt: skip


def _in_zookeeper(t: Tables) -> list[DataFrame]:
    """Offsets below /consumers, where consumers before 0.9 commit."""
    path = F.col("path")
    depth = F.size(F.split(path, "/"))
    is_offset = path.startswith("/consumers/") & (depth == _OFFSET_DEPTH)
    is_offset &= F.substring_index(F.substring_index(path, "/", 4), "/", -1) == "offsets"

    def part(place: int) -> Value:
        return F.substring_index(F.substring_index(path, "/", place), "/", -1)

    def stored(kind: str, step: str, **values: Value) -> DataFrame:
        number = part(_OFFSET_DEPTH).try_cast("int")
        return rows(
            t.kind(kind).where(is_offset & number.isNotNull()), OFFSET_COMMIT_COLUMNS, group=part(3), step=word(step),
            topic=part(5), partition=number, **values,
        )  # fmt: skip

    offset = F.col("data").try_cast("bigint")
    written = (stored(kind, "committed", offset=offset).where("offset is not null") for kind in _WRITTEN)
    return [*written, stored("ZnodeDeleted", "removed", why=word("deleted"))]


def _step(frame: DataFrame, step: str, where: dict[str, Value] | None = None, **values: Value) -> DataFrame:
    place = of_partition(F.col("partition")) if where is None else where
    return rows(
        frame,
        OFFSET_COMMIT_COLUMNS,
        group=F.col("group"),
        broker=F.col("broker"),
        step=word(step),
        **place,
        **values,
    )


OFFSET_COMMITS = Table(
    name="silver.offset_commits", unit="branch", key=("seq", "topic", "partition"), columns=OFFSET_COMMIT_COLUMNS,
    per_event=True, make=offset_commits,
    kinds=(
        "OffsetCommitAccepted", "OffsetCommitted", "OffsetRemoved", "TransactionalOffsetPending",
        "TransactionalOffsetsDecided", *_WRITTEN, "ZnodeDeleted",
    ),
    checks=(one_of("step", "accepted", "committed", "pending", "decided", "removed"),),
    doc="A step of an offset that a group commits.",
)  # fmt: skip
