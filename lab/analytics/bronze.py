"""Bronze: the events of a branch as they are, one row each, with `fields` as text."""

from pathlib import Path

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from broker_core.events import KINDS
from lab.analytics.source import NAME


def events(spark: SparkSession, folder: Path, last_seq: int) -> DataFrame:
    """The events 1 to `last_seq` of the log in `folder` (SCHEMA of source.py)."""
    reader = spark.read.format(NAME).option("folder", str(folder)).option("last_seq", str(last_seq))
    return reader.option("partitions", str(spark.sparkContext.defaultParallelism)).load()


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
