"""Bronze: the events of a branch as they are, one row each, with `fields` as text."""

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from broker_core.events import KINDS
from lab.analytics.source import SCHEMA, read, spans

if TYPE_CHECKING:
    import pyarrow as pa


def events(spark: SparkSession, folder: Path, last_seq: int, kinds: Collection[str] | None = None) -> DataFrame:
    """The events 1 to `last_seq` of the log in `folder` (SCHEMA of source.py); only those of `kinds` if there are some.

    Raises FileNotFoundError if the log does not exist.
    """
    parts = spans(folder, last_seq, spark.sparkContext.defaultParallelism)

    def read_parts(numbers: "Iterator[pa.RecordBatch]") -> "Iterator[pa.RecordBatch]":
        for batch in numbers:
            for number in batch.column(0).to_pylist():
                yield from read(parts[number], last_seq, kinds)

    return spark.range(0, len(parts), 1, max(len(parts), 1)).mapInArrow(read_parts, SCHEMA)


def of_kind(bronze: DataFrame, *kinds: str) -> DataFrame:
    """The events of some kinds."""
    return bronze.where(F.col("kind").isin(*kinds))


def text(kind: str, name: str) -> Column:
    """A field of an event of `kind` out of `fields`; null in kinds that are shorter, for Spark may ask before it has
    looked at the kind. Raises ValueError for a field that the kind does not have.
    """
    return F.get("fields", F.lit(KINDS[kind].__struct_fields__.index(name)))


def number(kind: str, name: str) -> Column:
    """A field that is a number; null where it is none."""
    return text(kind, name).try_cast("bigint")
