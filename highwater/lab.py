"""The tables of one lab."""

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from highwater.colours import coloured
from highwater.errors import LabError
from lab.analytics.compare import Difference, compare
from lab.analytics.figures.parts import Figure
from lab.analytics.serve.duckdb_types import duckdb_type
from lab.analytics.store.builds import Build, Store
from lab.analytics.store.reading import rows

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

SUMMARY = "gold.run_summary"


class Lab:
    """The newest build of a lab's tables when it was opened. Later builds are seen by opening it again."""

    def __init__(self, store: Store, build: Build) -> None:
        self._store = store
        self._build = build

    @property
    def build(self) -> int:
        """The number of the build."""
        return self._build.number

    def tables(self) -> dict[str, str]:
        """The meaning of a row, by table name."""
        return {name: state.doc for name, state in sorted(self._build.file.tables.items())}

    def columns(self, table: str) -> dict[str, str]:
        """The description of each column with its unit, by name. Raises LabError for an unknown table."""
        state = self._build.file.tables[self._known(table)]
        return {one.name: f"{one.doc}{f' ({one.unit})' if one.unit else ''}" for one in state.columns}

    def table(self, name: str, *, run: str | None = None, branch: str | None = None) -> pa.Table:
        """The stored rows, those of a run or of one of its branches if asked for. `branch` is a name within the run, as
        `main`, or with the run's name before it.

        Raises LabError for an unknown table, run or branch.
        """
        state = self._build.file.tables[self._known(name)]
        found = rows(self._store, self._build, name)
        if found is None:
            return pa.table({one.name: [] for one in state.columns})
        if run is not None:
            self._insist_on_run(run)
            found = found.filter(pc.equal(found["run"], run))
        if branch is not None:
            found = found.filter(pc.equal(found["branch"], self._known_branch(run, branch)))
        return found

    def runs(self, **having: Any) -> pa.Table:
        """A row for each branch, from gold.run_summary: all, or those with these values in its columns or settings.

        A setting is named with underscores for its dots and dashes, as `min_insync_replicas="2"`.
        """
        found = self.table(SUMMARY)
        for name, value in having.items():
            if name in found.column_names:
                found = found.filter(pc.equal(found[name], value))
            else:
                kept = [_setting(dict(one or {}), name) == str(value) for one in found["settings"].to_pylist()]
                found = found.filter(pa.array(kept, pa.bool_()))
        return found

    def figure(self, name: str, run: str, branch: str | None = None, language: str = "en") -> Figure | None:
        """The chart that the lab's page shows, as Plotly's JSON, in the colours of the light theme.

        None: there is nothing to draw. Raises LabError for an unknown chart, run or branch, and for a run with several
        branches if none is named: the charts of each include what they share.
        """
        from lab.analytics.figures.parts import Words
        from lab.analytics.figures.stored import STORED, figure_of

        stored = STORED.get(name)
        if stored is None:
            raise LabError(f"There is no chart {name}. There are: {', '.join(STORED)}.")
        unit = self._only_branch(run, branch)
        own, *beside = (
            # Where a click leads is in no table beside a chart.
            self._rows_of(table, unit, [*dict.fromkeys((*columns, "seq"))])
            for table, columns in ((stored.table, stored.columns), *stored.beside)
        )
        figure = figure_of(stored, own, Words(language), *beside, internal=False)
        return None if figure is None else coloured(figure)

    def events(self, run: str, kind: str, branch: str | None = None) -> pa.Table:
        """The events of a kind that a branch sees, those before its fork included, in order: `seq`, `at_us`, `node`,
        `cause_seq`, and the fields of the kind by name. A field that its recording does not have is null; a field
        with values of several types is JSON.

        Raises LabError for an unknown run, branch or kind, and for a run with several branches if none is named.
        """
        # Imports PySpark, of which it needs only the names of types.
        from highwater.events import events_of

        if "bronze.events" not in self._build.tables:
            raise LabError("The tables have no events. `manage.py analytics build` reads them.")
        return events_of(self._store, self._build, self._only_branch(run, branch), kind)

    def sql(self, query: str) -> pa.Table:
        """The result of a query in DuckDB's dialect of SQL on all tables: `select * from gold.run_summary`.

        It runs in this process with the rights of its user; only the tables that the query names are read. Raises
        LabError for a mistake in the query.
        """
        import duckdb

        words = {word.lower() for word in re.findall(r"\w+", query)}
        with duckdb.connect(":memory:") as connection:
            for layer in dict.fromkeys(name.partition(".")[0] for name in sorted(self._build.tables)):
                connection.execute(f"create schema {layer}")
            for name in self._build.tables:
                if name.partition(".")[2] in words:
                    self._register(connection, name)
            try:
                found = connection.sql(query)
                if found is None:
                    raise LabError("The query has no rows. Expected a select.")
                return found.to_arrow_table()
            except duckdb.Error as error:
                raise LabError(str(error)) from None

    def _register(self, connection: "DuckDBPyConnection", name: str) -> None:
        """Makes a table known to DuckDB, without a copy of its rows. The types of one without rows are as declared."""
        columns = self._build.file.tables[name].columns
        declared = ", ".join(f'"{one.name}" {duckdb_type(one.type)}' for one in columns)
        found = self.table(name)
        if found.num_rows:
            view = name.replace(".", "_of_")
            connection.register(view, found)
            connection.execute(f"create view {name} as select * from {view}")
        else:
            connection.execute(f"create table {name} ({declared})")

    def compare(self, left: pa.Table, right: pa.Table, pair_by: str | None = None) -> list[Difference]:
        """The differences between two sets of runs from `runs`: see `lab.analytics.compare`."""
        return compare(left.to_pylist(), right.to_pylist(), pair_by)

    def _only_branch(self, run: str, branch: str | None) -> str:
        """The identity of a branch of a run, which has to be named if there are several."""
        self._insist_on_run(run)
        if branch is not None:
            return self._known_branch(run, branch)
        branches = self._branches(run)
        if len(branches) > 1:
            raise LabError(f"Run {run} has {len(branches)} branches. Name one of them: {', '.join(branches)}.")
        return branches[0]

    def _rows_of(self, table: str, unit: str, columns: list[str]) -> list[dict[str, Any]]:
        found = rows(self._store, self._build, self._known(table), {unit}, ["branch", *columns])
        listed: list[dict[str, Any]] = [] if found is None else found.to_pylist()
        return listed

    def _known(self, table: str) -> str:
        if table not in self._build.tables:
            raise LabError(f"There is no table {table}. `tables()` lists the {len(self._build.tables)} that there are.")
        return table

    def _branches(self, run: str | None) -> list[str]:
        """The identities of a run's branches, or of all."""
        entries = self._build.ledger().values()
        return sorted(one.branch for one in entries if one.unit == "branch" and run in (None, one.run))

    def _known_branch(self, run: str | None, branch: str) -> str:
        known = self._branches(run)
        for name in (branch, f"{run}/{branch}"):
            if name in known:
                return name
        raise LabError(f"The tables know no branch {branch}. They know: {', '.join(known) or 'none'}.")

    def _insist_on_run(self, run: str) -> None:
        known = {entry.run for entry in self._build.ledger().values()}
        if run not in known:
            raise LabError(f"The tables know no run {run}. They know: {', '.join(sorted(known)) or 'none'}.")


def open_lab(place: str | Path) -> Lab:
    """The tables below a lab's data folder, or in a folder of tables; also in an object store, `s3://bucket/folder`.

    Raises LabError where there are none, PlaceError for an object store that cannot be used.
    """
    for folder in (f"{place}/tables", str(place)):
        store = Store.at(folder)
        build = store.newest()
        if build is not None:
            return Lab(store, build)
    raise LabError(f"There are no tables in {place}. `manage.py analytics build` makes them.")


def _setting(settings: dict[str, str], name: str) -> str | None:
    return next((value for key, value in settings.items() if key.replace(".", "_").replace("-", "_") == name), None)
