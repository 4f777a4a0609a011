"""The schema contract between the layers: a table leaves its function with these columns and types, in this order."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F


def conform(table: DataFrame, schema: str) -> DataFrame:
    """Selects exactly the columns of a schema in Spark's DDL (`seq bigint, node string`), cast to its types."""
    columns = [column.strip().split(" ", 1) for column in schema.split(", ")]
    return table.select(*(F.col(name).cast(kind).alias(name) for name, kind in columns))
