"""Runs the function of one table on a few rows, without a build.

    rows = made(session, FAILOVERS, events=[(1, 0, "b1", 0, BrokerStopped(...))], tables={"silver.faults": [{...}]})

Whatever is not given is empty; columns that a row leaves out are null.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import Any, cast

import msgspec
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from broker_core.events import Envelope
from lab.analytics.build.events import field_types
from lab.analytics.tables import BRANCH, BRANCH_COLUMNS, Table, Tables
from lab.analytics.tables.registry import TABLES

Rows = Sequence[Mapping[str, Any]]

_HEAD = f"{BRANCH} int, seq bigint, at_us bigint, node string, cause_seq bigint"


def given(
    spark: SparkSession,
    table: Table,
    *,
    events: Sequence[Envelope] = (),
    tables: Mapping[str, Rows] | None = None,
    branch: Mapping[str, Any] | None = None,
) -> Tables:
    """What the function of a table gets. `events` and rows belong to branch 0 unless they say `branch_no`.

    Args:
        spark: the shared session.
        table: the table.
        events: events of its kinds, and others.
        tables: rows of the tables that it needs, by full name.
        branch: columns of `Tables.branches` that are not as usual.
    """
    rows = tables or {}
    frames = {name: _needed(spark, table, TABLES[name], rows.get(name, ())) for name in table.needs}
    last_seq, last_at_us = (events[-1][0], events[-1][1]) if events else (0, 0)
    usual = {"run": "run", "branch": "branch", "parent_seq": 0, "last_seq": last_seq, "last_at_us": last_at_us}
    branches = frame(
        spark, BRANCH_COLUMNS, [{BRANCH: 0, **usual, "era": "3.9", "seed": 1, "brokers": 3, **(branch or {})}]
    )
    return Tables(table, frames, lambda *kinds: together(lambda kind: of_kind(spark, kind, events), kinds), branches)


def made(spark: SparkSession, table: Table, **what: Any) -> list[Row]:
    """The rows of a table, in its order, with the declared columns only. `what`: as for `given`."""
    rows = table.make(given(spark, table, **what)).select(*(column.name for column in table.columns))
    return [*rows.orderBy(*table.sort).collect()]


def frame(spark: SparkSession, schema: str, rows: Rows) -> DataFrame:
    """A DataFrame of rows that need not name all columns. Variants are given as JSON text."""
    columns = cast(StructType, StructType.fromDDL(schema))
    variants = {field.name for field in columns if field.dataType.simpleString() == "variant"}
    plain = ", ".join(
        f"`{field.name}` {'string' if field.name in variants else field.dataType.simpleString()}" for field in columns
    )
    data = [tuple(row.get(field.name) for field in columns) for row in rows]
    text = spark.createDataFrame(data, plain)
    return text.select(
        *(F.parse_json(name).alias(name) if name in variants else F.col(name) for name in columns.fieldNames())
    )


def together(of: Callable[[str], DataFrame], kinds: Sequence[str]) -> DataFrame:
    """The events of one kind, or of several with their kind, out of those of each."""
    if len(kinds) == 1:
        return of(kinds[0])
    frames = [of(kind).withColumn("kind", F.lit(kind)) for kind in kinds]
    return reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), frames)


def of_kind(spark: SparkSession, kind: str, events: Sequence[Envelope]) -> DataFrame:
    """The events of a kind, typed as in a build."""
    fields = field_types(kind)
    shown = [
        (0, *envelope[:4], msgspec.json.encode(msgspec.to_builtins(envelope[4])[1:]).decode())
        for envelope in events
        if type(envelope[4]).__name__ == kind
    ]
    text = spark.createDataFrame(shown, f"{_HEAD}, payload string")
    values = (
        F.try_variant_get(F.parse_json("payload"), f"$[{place}]", type).alias(name)
        for place, (name, type) in enumerate(fields.items())
    )
    head = (name for name in (BRANCH, "seq", "at_us", "node", "cause_seq") if name not in fields)
    return text.select(*head, *values)


def _needed(spark: SparkSession, table: Table, need: Table, rows: Rows) -> DataFrame:
    """A needed table: of the same unit as it is in the build, of another one as it is stored."""
    if need.unit == table.unit == "branch":
        return frame(spark, f"{BRANCH} int, {need.schema}", [{BRANCH: 0, **row} for row in rows])
    schema = ", ".join(f"`{column.name}` {column.type}" for column in need.stored)
    return frame(spark, schema, rows)
