"""A table: its rows, its inputs, and the function that makes it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

from lab.analytics.tables.checks import Check
from lab.analytics.tables.columns import BIGINT, STRING, Column, c

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from lab.analytics.tables.given import Tables

Unit = Literal["branch", "log", "class", "study", "all"]
Layer = Literal["bronze", "silver", "gold"]

UNIT_COLUMNS: dict[Unit, tuple[Column, ...]] = {
    "branch": (c("run", STRING, "the run's identity"), c("branch", STRING, "the branch's identity")),
    "log": (),
    "class": (),
    "study": (),
    "all": (),
}
"""Columns that the build puts before those that a table declares."""
_DECLARED_UNITS: dict[Unit, str] = {"log": "log", "class": "class", "study": "study"}


class TableError(ValueError):
    """An inconsistent declaration of a table: a bug that is detected at import."""


@dataclass(frozen=True)
class Table:
    """A table of the pipeline.

    Attributes:
        name: layer and name, as `gold.failovers`.
        unit: what is built and replaced as a whole.
        key: columns that are unique within a unit.
        order: columns that the rows of a file are sorted by; the key unless given.
        columns: what `make` returns, in this order.
        needs: tables that `make` reads.
        kinds: kinds of events that `make` reads.
        small: few rows per unit, however long the run was: written through the driver.
        per_event: made of new events, row by row, and appended to.
        checks: what holds of each row, besides the key.
        doc: what a row is, as a sentence; columns are described by phrases.
    """

    name: str
    unit: Unit
    key: tuple[str, ...]
    columns: tuple[Column, ...]
    make: "Callable[[Tables], DataFrame]"
    needs: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    order: tuple[str, ...] = ()
    small: bool = False
    per_event: bool = False
    checks: tuple[Check, ...] = ()
    doc: str = ""

    def __post_init__(self) -> None:
        layer, dot, short = self.name.partition(".")
        names = [column.name for column in self.columns]
        self._insist(bool(dot and short) and layer in get_args(Layer), "its name is not layer.name")
        self._insist(len(set(names)) == len(names), "a column is declared twice")
        for name in (*self.key, *self.order):
            self._insist(name in names, f"{name} is in its key or order, but not among its columns")
        self._insist(bool(self.key), "it has no key")
        own = _DECLARED_UNITS.get(self.unit)
        self._insist(own is None or own in names, f"its unit is {self.unit}, so it must declare a column {own}")
        self._insist(not {"run", "branch"} & set(names) or self.unit != "branch", "run and branch are not declared")
        self._insist(not self.per_event or {"seq", "at_us"} <= set(names), "it is per event, but has no seq and at_us")
        self._insist(not self.kinds or self.unit == "branch", "only tables of branches read events of runs")

    def _insist(self, condition: bool, why: str) -> None:
        if not condition:
            raise TableError(f"{self.name}: {why}")

    @property
    def layer(self) -> str:
        """Bronze, silver or gold."""
        return self.name.partition(".")[0]

    @property
    def schema(self) -> str:
        """The declared columns in Spark's DDL."""
        return ", ".join(f"`{column.name}` {column.type}" for column in self.columns)

    @property
    def stored(self) -> tuple[Column, ...]:
        """The columns in the files: those of the unit, then the declared ones."""
        return (*UNIT_COLUMNS[self.unit], *self.columns)

    @property
    def sort(self) -> tuple[str, ...]:
        """The order of the rows within a unit."""
        return self.order or self.key


SEQ = c("seq", BIGINT, "the event's place in its branch")
AT_US = c("at_us", BIGINT, "simulated time since the run began")
"""The first columns of tables that are per event."""
