"""Checks the rows that a build has written against the rules of their table."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column
from pyspark.sql import functions as F

from lab.analytics.store.builds import CheckResult
from lab.analytics.tables import Check, Table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

KEY = "key"
SAMPLE = 5


class CheckError(Exception):
    """Rows of some units violate a rule with severity `stop`: these units keep their previous rows."""

    def __init__(self, results: Sequence[CheckResult], units: set[str]) -> None:
        self.results = tuple(results)
        self.units = units
        first = self.results[0]
        super().__init__(f"{first.table}: {first.rule} does not hold in {first.failed} of {first.rows} rows")


def failing(check: Check) -> Column:
    """Whether a row violates a rule; null conditions pass."""
    return ~F.coalesce(F.expr(check.condition), F.lit(True))


def broken_rows(table: Table, frame: "DataFrame", column: str | None, rows: int) -> list[tuple[CheckResult, set[str]]]:
    """The rules that rows of a table violate, each with the units concerned.

    Args:
        table: the table.
        frame: its stored rows.
        column: the column with the unit of a row.
        rows: how many there are.
    """
    unit = F.lit("all") if column is None else F.col(column)
    found = []
    for check in table.checks:
        broken = frame.where(failing(check)).groupBy(unit.alias("unit")).agg(F.count("*").alias("count"))
        counted = [(row["unit"], row["count"]) for row in broken.collect()]
        if counted:
            result = CheckResult(
                table.name, check.rule, check.severity, rows, sum(count for _, count in counted),
                tuple(sorted(unit for unit, _ in counted)[:SAMPLE]),
            )  # fmt: skip
            found.append((result, {unit for unit, _ in counted}))
    return found


def repeated_keys(table: Table, rows: pa.Table, unit: str | None) -> tuple[CheckResult, set[str]] | None:
    """The duplicate keys; None if there are none."""
    names = [*([unit] if unit is not None else []), *table.key]
    names = list(dict.fromkeys(names))
    counted = rows.select(names).group_by(names).aggregate([([], "count_all")])
    repeated = counted.filter(pc.field("count_all") > 1)
    if repeated.num_rows == 0:
        return None
    sample = tuple(str(row) for row in repeated.slice(0, SAMPLE).to_pylist())
    units = set(repeated.column(unit).to_pylist()) if unit is not None else {"all"}
    failed = pc.sum(repeated.column("count_all")).as_py()
    return CheckResult(table.name, KEY, "stop", rows.num_rows, failed, sample), units
