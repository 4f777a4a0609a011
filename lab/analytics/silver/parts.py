"""Shared parts of silver tables: parsing of names, and rows of different kinds in one table."""

from collections.abc import Sequence
from functools import reduce

from pyspark.sql import Column as Value
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from lab.analytics.tables import BRANCH, Column

BROKER_PREFIX = len("b")


def word(value: str) -> Value:
    """The same text in each row."""
    return F.lit(value)


def partition_of(partition: Value) -> Value:
    """The number of `orders-0`."""
    return F.substring_index(partition, "-", -1).try_cast("int")


def topic_of(partition: Value) -> Value:
    """The topic of `orders-0`."""
    number = F.substring_index(partition, "-", -1)
    return F.substring(partition, F.lit(1), F.length(partition) - F.length(number) - 1)


def broker_id(node: Value) -> Value:
    """The id of the broker on a node, null for other nodes: 1 of `b1`."""
    return F.when(F.substring(node, 1, 1) == "b", F.substring(node, F.lit(BROKER_PREFIX + 1), F.length(node))).try_cast(
        "int"
    )


def of_partition(name: Value) -> dict[str, Value]:
    """The columns topic and partition of `orders-0`; null where the name is null."""
    return {"topic": topic_of(name), "partition": partition_of(name)}


def of_replica(name: Value) -> dict[str, Value]:
    """The columns topic, partition and broker of `orders-0@b1`."""
    return {
        **of_partition(F.substring_index(name, "@", 1)),
        "broker": broker_id(F.substring_index(name, "@", -1)),
    }


def rows(frame: DataFrame, columns: Sequence[Column], **values: Value) -> DataFrame:
    """The columns of a table, cast to their types: as given, else as in `frame`, else null."""
    known = {"seq", "at_us"} & set(frame.columns)
    found = (
        values[column.name].cast(column.type).alias(column.name)
        if column.name in values
        else F.expr(f"cast({column.name if column.name in known else 'null'} as {column.type}) as `{column.name}`")
        for column in columns
    )
    return frame.select(BRANCH, *found)


def stacked(frames: Sequence[DataFrame]) -> DataFrame:
    """The rows of frames with the same columns, one below the other."""
    return reduce(DataFrame.union, frames)


def pairs(value: Value, of: str = "string") -> Value:
    """A list of pairs, as an array of arrays of one type."""
    return F.try_variant_get(value, "$", f"array<array<{of}>>")


def last(name: str) -> Value:
    """The last known value of a column over the preceding events."""
    return F.last(name, ignorenulls=True)


def spans(states: DataFrame, *key: str) -> DataFrame:
    """States (`seq`, `at_us`) as spans `from_seq, from_us, to_us` until the next one; empty ones are left out."""
    in_order = Window.partitionBy(*key).orderBy("seq")
    values = (name for name in states.columns if name not in (*key, "seq", "at_us"))
    timed = states.select(
        *key, F.col("seq").alias("from_seq"), F.col("at_us").alias("from_us"),
        F.lead("at_us").over(in_order).alias("to_us"), *values,
    )  # fmt: skip
    return timed.where("to_us is null or to_us > from_us")
