"""The input of a table's function: only the tables and events that it declared."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

BRANCH = "branch_no"
"""The branch in the frames of functions: a dense number within a build, in place of `run` and `branch`."""
BRANCH_COLUMNS = (
    f"{BRANCH} int, run string, branch string, parent string, parent_seq bigint, last_seq bigint, last_at_us bigint, "
    "era string, seed bigint, brokers int, config variant, learner string, class string, lesson string"
)
"""The schema of `Tables.branches`, in Spark's DDL."""


class Declaring(Protocol):
    """The declared inputs of a table."""

    @property
    def name(self) -> str: ...

    @property
    def needs(self) -> tuple[str, ...]: ...

    @property
    def kinds(self) -> tuple[str, ...]: ...


class Tables:
    """The needs of one table, as DataFrames."""

    def __init__(
        self,
        table: Declaring,
        frames: "Mapping[str, DataFrame]",
        kind: "Callable[..., DataFrame]",
        branches: "DataFrame",
        only: Mapping[str, Any] | None = None,
    ) -> None:
        """`frames` by full name; `kind` gives the events of one or several kinds; `branches` has BRANCH_COLUMNS, and
        `only` its row if there is but one.
        """
        self._table = table
        self._frames = frames
        self._kind = kind
        self.branches = branches
        self.only = only

    def __getitem__(self, name: str) -> "DataFrame":
        """A needed table by its full name. Raises KeyError for one that is not declared in `needs`."""
        if name not in self._table.needs:
            raise KeyError(f"{self._table.name} does not need {name}: add it to its needs")
        return self._frames[name]

    def __getattr__(self, name: str) -> "DataFrame":
        """A needed table by its short name. Raises AttributeError for one that is not declared."""
        for full in self._table.needs:
            if full.partition(".")[2] == name:
                return self._frames[full]
        raise AttributeError(f"{self._table.name} needs no table {name}: add it to its needs")

    def kind(self, *names: str) -> "DataFrame":
        """The events of a kind; those of several kinds with their `kind`, and with null where one lacks a field of the
        others. Raises KeyError for one that is not declared in `kinds`.
        """
        for name in names:
            if name not in self._table.kinds:
                raise KeyError(f"{self._table.name} does not read {name}: add it to its kinds")
        return self._kind(*names)
