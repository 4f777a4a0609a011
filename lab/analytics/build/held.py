"""In-memory events and rows of a small build, so that Spark neither reads nor writes files for each of its tables.

A Spark job that scans or writes a Parquet file costs more than ten thousand rows do. For a run that is being viewed,
the events that are read and the rows that are written pass through the driver, and later tables are made from these.
Files are written as well: the next build may start without anything in memory.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from lab.analytics.build.lineage import Part
from lab.analytics.build.segments import ROWS, Chunk, SpanOf, candidates, chunks, rows_of
from lab.analytics.store.ledger import BranchEntry, ReadRange
from lab.analytics.tables import BRANCH

MAX_EVENTS = 250_000
"""Events of all branches of a build, including those that are read already."""
MAX_ROWS = 100_000
"""Rows of one file."""

_Read = tuple[tuple[str, int, int, str], ...]


@dataclass
class _Events:
    """The events of a branch after `after_seq`, in order, and the ranges of bytes that they are read from. `rows` are
    those that have been parsed: all of them, or only those of some kinds, and then `unparsed` are all.
    """

    branch: str
    run: str
    after_seq: int
    ranges: _Read
    unparsed: Sequence[Chunk]
    rows: pa.Table = field(default_factory=ROWS.empty_table)

    def parse(self, kinds: Collection[str] | None) -> None:
        """Parses those of some kinds, or all."""
        if not self.unparsed:
            return
        chunks = self.unparsed if kinds is None else [candidates(chunk, kinds) for chunk in self.unparsed]
        batches = [rows_of(self.branch, self.run, chunk) for chunk in chunks if chunk.seqs]
        self.rows = pa.Table.from_batches(batches, ROWS)
        if kinds is None:
            self.unparsed = ()


@dataclass
class Held:
    """Events by branch and rows by file, shared by consecutive builds."""

    _events: dict[str, _Events] = field(default_factory=dict)
    _rows: dict[str, pa.Table] = field(default_factory=dict)

    def read(
        self, entry: BranchEntry, spans: Sequence[SpanOf], *, is_restarted: bool, kinds: Collection[str] | None = None
    ) -> None:
        """Reads the new events of a branch, or all of them again, and holds them. With `kinds`, only those of these
        kinds are parsed until others are read again.
        """
        new = [one for one in entry.ranges if not one.build]
        after_seq = min((one.from_seq - 1 for one in new), default=entry.last_seq)
        after_seq = entry.own_from_seq if is_restarted else max(after_seq, entry.own_from_seq)
        before = self._events.get(entry.branch)
        if before is None or (before.after_seq, before.ranges) != (after_seq, places(new)):
            found = [chunk for one in spans for chunk in chunks(one.own_from_seq, one.span, one.vocabularies)]
            before = _Events(entry.branch, entry.run, after_seq, places(new), found)
            self._events[entry.branch] = before
        # Else the build before this one has not written them.
        before.parse(kinds)

    def read_of(self, branches: Iterable[str]) -> pa.Table:
        """The events read of some branches, in the form of `segments.read`."""
        return pa.concat_tables(self._events[branch].rows for branch in sorted(branches))

    def kinds(self, branch: str) -> dict[str, int]:
        """Number of events of each kind that have been read of a branch."""
        rows = self._events[branch].rows
        counted = rows.group_by("kind").aggregate([([], "count_all")]).to_pylist()
        return {row["kind"]: row["count_all"] for row in counted}

    def of_kinds(
        self, kinds: Collection[str], parts: Mapping[int, Sequence[Part]], ledger: Mapping[str, BranchEntry]
    ) -> tuple[pa.Table | None, dict[int, list[Part]]]:
        """The held events of some kinds that branches see, with the branches' numbers; and what is not held."""
        found = []
        others: dict[int, list[Part]] = {}
        for number, part in ((number, part) for number, some in parts.items() for part in some):
            held = self._events.get(part.owner)
            if held is None or not _ends_with(ledger[part.owner], held.ranges):
                others.setdefault(number, []).append(part)
                continue
            if part.from_seq < held.after_seq:
                others.setdefault(number, []).append(part._replace(to_seq=min(part.to_seq, held.after_seq)))
            seq = pc.field("seq")
            rows = held.rows.filter(pc.field("kind").isin(list(kinds)) & (seq > part.from_seq) & (seq <= part.to_seq))
            found.append(rows.append_column(BRANCH, pa.array([number] * rows.num_rows, pa.int32())))
        return (pa.concat_tables(found) if found else None), others

    def hold(self, path: str, rows: pa.Table) -> None:
        """Holds the rows of a file that has just been written."""
        if path and rows.num_rows <= MAX_ROWS:
            self._rows[path] = rows

    def rows(self, path: str) -> pa.Table | None:
        """The rows of a file, if held."""
        return self._rows.get(path)


def is_few(entries: Iterable[BranchEntry]) -> bool:
    """Whether some branches have few enough events to be held in memory."""
    return sum(entry.last_seq for entry in entries) <= MAX_EVENTS


def places(ranges: Iterable[ReadRange]) -> _Read:
    """The ranges of bytes, with the digests of what is in them."""
    return tuple((one.segment, one.from_byte, one.to_byte, one.digest) for one in ranges)


def _ends_with(entry: BranchEntry, ranges: _Read) -> bool:
    """Whether the events read of a branch are the newest according to the ledger."""
    return not ranges or places(entry.ranges)[-len(ranges) :] == ranges
