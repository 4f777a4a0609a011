"""Removes branches from tables, and their rows from the files that they share with other branches. Uses no JVM."""

from collections.abc import Collection, Set

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from lab.analytics.store.builds import Build, Store, StoredFile
from lab.analytics.store.publish import Changes, TableChange


def remove_branches(store: Store, build: Build, branches: Set[str], changes: Changes, attempt: str) -> None:
    """Adds to `changes` the removal of branches from all tables of branches.

    Files that also hold rows of other branches are written again without these branches, because vacuum keeps a file
    as long as a build lists it.

    Args:
        store: the tables.
        build: the newest build.
        branches: the branches; rows that no longer count, because a branch was read again, are removed as well.
        changes: what is going to be published. The other branches of the written files are `touched`.
        attempt: the attempt that writes the files.
    """
    if not branches:
        return
    changes.touched |= branches
    changes.dropped |= branches
    for name, state in build.file.tables.items():
        if state.unit != "branch":
            continue
        change = changes.tables.setdefault(name, TableChange(state))
        change.replaced |= branches
        for number, file in enumerate(build.files(name)):
            left = {unit: seq for unit, seq in file.units.items() if unit not in branches}
            if left and not branches.isdisjoint(_held(store, file)):
                path = f"{name}/erased-{attempt}-{number}.parquet"
                rows, size = _written(store, file, left, path)
                change.removed.add(file.path)
                change.files.append(StoredFile(path if rows else "", rows, size, left, len(left), file.code))
                changes.touched |= left.keys()


def _held(store: Store, file: StoredFile) -> Collection[str]:
    """The branches with rows in a file, also those whose rows no longer count."""
    if file.is_whole:
        return file.units.keys()
    held: set[str] = set()
    with store.files.dataset(file.path) as found:
        for batch in found.to_batches(columns=["branch"]):
            held.update(batch.column(0).unique().to_pylist())
    return held


def _written(store: Store, file: StoredFile, units: Collection[str], path: str) -> tuple[int, int]:
    """Writes the rows of some branches to a file of its own. Returns their number, and the size of the file in bytes;
    without rows, nothing is written.
    """
    count, sink = 0, pa.BufferOutputStream()
    with store.files.dataset(file.path) as found, pq.ParquetWriter(sink, found.schema, compression="zstd") as writer:
        for batch in found.to_batches(filter=ds.field("branch").isin(sorted(units))):
            writer.write_batch(batch)
            count += batch.num_rows
    data = sink.getvalue()
    if count:
        store.files.create(path, data.to_pybytes())
    return count, data.size if count else 0
