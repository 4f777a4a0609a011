"""The tables of one lab."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from lab.analytics.compare import Difference, compare
from lab.analytics.figures.parts import Figure
from lab.analytics.store.builds import Build, Store
from lab.analytics.store.reading import rows

SUMMARY = "gold.run_summary"


class LabError(LookupError):
    """The tables do not contain what was requested; the message lists what they contain."""


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
        """The chart that the lab's page shows, as Plotly's JSON, with colours by the names of the theme.

        None: there is nothing to draw. Raises LabError for an unknown chart, run or branch, and for a run with several
        branches if none is named: the charts of each include what they share.
        """
        from lab.analytics.figures.parts import Words
        from lab.analytics.figures.stored import STORED, figure_of

        stored = STORED.get(name)
        if stored is None:
            raise LabError(f"There is no chart {name}. There are: {', '.join(STORED)}.")
        self._insist_on_run(run)
        branches = self._branches(run)
        if branch is None and len(branches) > 1:
            raise LabError(f"Run {run} has {len(branches)} branches. Name one of them: {', '.join(branches)}.")
        found = self.table(stored.table, run=run, branch=branch or branches[0])
        return figure_of(stored, found.to_pylist(), Words(language), internal=False)

    def compare(self, left: pa.Table, right: pa.Table, pair_by: str | None = None) -> list[Difference]:
        """The differences between two sets of runs from `runs`: see `lab.analytics.compare`."""
        return compare(left.to_pylist(), right.to_pylist(), pair_by)

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
