"""The store of tables: builds are published completely or not at all, despite concurrent builds and killed
processes.
"""

import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lab.analytics.store import attempts, quarantine
from lab.analytics.store.builds import Build, Store, StoredFile, TableState
from lab.analytics.store.ledger import BranchEntry, Damage, ReadRange
from lab.analytics.store.publish import Changes, ConflictError, TableChange, publish
from lab.analytics.store.reading import rows
from lab.analytics.store.vacuum import vacuum

TABLE = "gold.steps"


STATE = TableState((), "branch", ("seq",), ("seq",), ())


def written(store: Store, name: str, units: dict[str, list[int]]) -> StoredFile:
    """A file with the given seqs of each branch."""
    path = f"{TABLE}/{name}.parquet"
    target = Path(store.for_spark(StoredFile(path, 0, 0, {}, 0)))
    target.parent.mkdir(parents=True, exist_ok=True)
    pairs = [(unit, seq) for unit, seqs in units.items() for seq in seqs]
    table = pa.table({"branch": [unit for unit, _ in pairs], "seq": [seq for _, seq in pairs]})
    pq.write_table(table, target)
    made_to = {unit: max(seqs) for unit, seqs in units.items()}
    return StoredFile(path, len(pairs), target.stat().st_size, made_to, len(units))


def change(store: Store, name: str, units: dict[str, list[int]]) -> Changes:
    """A build that makes some branches again."""
    table = TableChange(STATE, [written(store, name, units)], set(units))
    return Changes({TABLE: table}, {unit: BranchEntry(unit, "run", "place") for unit in units}, touched=set(units))


def found(store: Store, build: Build | None, units: set[str] | None = None) -> set[tuple[str, int]]:
    assert build is not None
    table = rows(store, build, TABLE, units)
    return set() if table is None else {(row["branch"], row["seq"]) for row in table.to_pylist()}


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store.at(str(tmp_path / "tables"))


def test_rebuilt_unit_replaces_its_rows_in_a_shared_file(store: Store) -> None:
    assert store.newest() is None
    first = publish(store, None, change(store, "one", {"a": [1, 2], "b": [1]}))
    second = publish(store, first, change(store, "two", {"a": [1, 2, 3]}))
    assert found(store, second) == {("a", 1), ("a", 2), ("a", 3), ("b", 1)}
    assert found(store, second, {"b"}) == {("b", 1)}
    assert second.made_to(TABLE) == {"a": 3, "b": 1}
    # A reader of the first build continues to read it.
    assert found(store, first) == {("a", 1), ("a", 2), ("b", 1)}


def test_unit_without_rows_is_recorded_as_built(store: Store) -> None:
    table = TableChange(STATE, [StoredFile("", 0, 0, {"a": 9}, 1)])
    build = publish(store, None, Changes({TABLE: table}, touched={"a"}))
    assert (build.made_to(TABLE), build.files(TABLE), build.file.files) == ({"a": 9}, [], 0)


def test_concurrent_builds_are_published_on_top_of_each_other(store: Store) -> None:
    def one(number: int) -> int:
        return publish(store, None, change(store, f"f{number}", {f"branch-{number}": [number]})).number

    with ThreadPoolExecutor(8) as pool:
        assert sorted(pool.map(one, range(8))) == list(range(1, 9))
    assert found(store, store.newest()) == {(f"branch-{number}", number) for number in range(8)}
    newest = store.newest()
    assert newest is not None
    assert len(newest.ledger()) == 8


def test_of_concurrent_builds_of_a_unit_one_is_published(store: Store) -> None:
    def one(number: int) -> bool:
        try:
            publish(store, None, change(store, f"f{number}", {"a": [number]}))
        except ConflictError:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(one, range(8))) == 1
    assert len(found(store, store.newest())) == 1


def test_units_of_different_code_are_distinguished(store: Store) -> None:
    files = [
        StoredFile("", 0, 0, {"a": 3, "b": 3}, 2, code="old"),
        StoredFile("", 0, 0, {"a": 9, "c": 9}, 2, code="new"),
    ]
    build = publish(store, None, Changes({TABLE: TableChange(STATE, files)}))
    assert build.made_to(TABLE) == {"a": 9, "b": 3, "c": 9}
    # Of a branch whose earlier rows other code has made nothing is taken for made.
    assert build.made_to(TABLE, "new") == {"c": 9}


def test_chunks_that_have_not_changed_are_shared(store: Store) -> None:
    first = publish(store, None, change(store, "one", {"a": [1]}))
    ledger = {"b": BranchEntry("b", "run", "place")}
    second = publish(store, first, Changes({}, ledger, touched={"b"}))
    assert second.file.tables[TABLE].chunks == first.file.tables[TABLE].chunks
    assert sorted(second.ledger()) == ["a", "b"]


@pytest.mark.parametrize("step", ["chunks written", "ledger written", "about to publish"])
def test_process_that_dies_before_publishing_leaves_the_old_build(store: Store, step: str) -> None:
    first = publish(store, None, change(store, "one", {"a": [1]}))
    with pytest.raises(ZeroDivisionError):
        publish(store, first, change(store, "two", {"a": [2]}), _die_at(step))
    assert found(store, store.newest()) == {("a", 1)}
    assert found(store, publish(store, first, change(store, "three", {"a": [3]}))) == {("a", 3)}


def _die_at(step: str) -> Callable[[str], None]:
    def die(at: str) -> None:
        if at == step:
            raise ZeroDivisionError

    return die


def test_files_of_a_killed_process_are_deleted(store: Store, tmp_path: Path) -> None:
    first = publish(store, None, change(store, "one", {"a": [1]}))
    program = textwrap.dedent("""
        import os, signal, sys
        from lab.analytics.store import attempts
        from lab.analytics.store.builds import Store
        store = Store.at(sys.argv[1])
        attempt = attempts.begin(store)
        store.files.create(f"gold.steps/{attempt.id}.parquet", b"half")
        os.kill(os.getpid(), signal.SIGKILL)
    """)
    done = subprocess.run([sys.executable, "-c", program, store.files.address], check=False)
    assert done.returncode == -signal.SIGKILL
    mine = attempts.begin(store)
    store.files.create(f"{TABLE}/{mine.id}.parquet", b"being written")
    assert attempts.sweep(store) == 1
    left = store.files.names(TABLE)
    assert left == sorted([f"{TABLE}/{mine.id}.parquet", f"{TABLE}/one.parquet"])
    assert [attempt.pid for attempt in attempts.attempts(store)] == [os.getpid()]
    assert attempts.abandon(store, mine) == 1
    assert found(store, first) == {("a", 1)}


def test_vacuum_keeps_the_newest_builds_and_pinned_ones(store: Store) -> None:
    build: Build | None = None
    for number in range(1, 7):
        build = publish(store, build, change(store, f"f{number}", {"a": [number]}))
    store.pin(2)
    done = vacuum(store, keep=2, young_s=0)
    assert (store.numbers(), done.builds) == ([2, 5, 6], 3)
    assert found(store, store.build(2)) == {("a", 2)}
    assert store.files.names(TABLE) == [f"{TABLE}/f{number}.parquet" for number in (2, 5, 6)]
    with pytest.raises(FileNotFoundError):
        store.pin(3)
    store.pin(2, is_pinned=False)
    assert vacuum(store, keep=1, young_s=0).builds == 2
    assert found(store, store.newest()) == {("a", 6)}


def test_parts_that_spark_wrote_are_kept_with_their_folder(store: Store) -> None:
    mine = attempts.begin(store)
    changes = change(store, f"b1-{mine.id}/part-0", {"a": [1]})
    (file,) = changes.tables[TABLE].files
    folder = f"{TABLE}/b1-{mine.id}"
    changes.tables[TABLE].files = [msgspec.structs.replace(file, path=folder)]
    build = publish(store, None, changes)
    # As after a crash between publishing and its end.
    attempts.abandon(store, mine)
    vacuum(store, keep=1, young_s=0)
    assert found(store, build) == {("a", 1)}
    publish(store, build, change(store, "next", {"a": [2]}))
    vacuum(store, keep=1, young_s=0)
    assert store.files.names(folder) == []


def test_vacuum_keeps_young_builds_and_files_of_builds_that_are_being_made(store: Store) -> None:
    first = publish(store, None, change(store, "one", {"a": [1]}))
    young = change(store, "two", {"a": [2]})
    young.began_ms = 2**50
    publish(store, publish(store, first, young), change(store, "three", {"a": [3]}))
    mine = attempts.begin(store)
    store.files.create(f"{TABLE}/{mine.id}.parquet", b"being written")
    vacuum(store, keep=1)
    assert store.numbers() == [2, 3]
    assert f"{TABLE}/{mine.id}.parquet" in store.files.names(TABLE)


def test_dropped_units_are_removed_by_a_build(store: Store) -> None:
    first = publish(store, None, change(store, "one", {"a": [1], "b": [2]}))
    changes = Changes({TABLE: TableChange(first.file.tables[TABLE], replaced={"a"})}, dropped={"a"})
    second = publish(store, first, changes)
    assert found(store, second) == {("b", 2)}
    assert list(second.ledger()) == ["b"]


def test_the_ledger_and_what_could_not_be_read_are_kept(store: Store) -> None:
    copy = quarantine.keep(store, "a", b"x" * 2_000_000)
    assert quarantine.keep(store, "a", b"x" * 2_000_000) == copy
    assert store.files.size(copy) == quarantine.MAX_COPIED_BYTES
    entry = BranchEntry(
        "a", "run", "place", class_="KITE", damage=(Damage("0.log", 1, 9, 5, 7, "crc", "off by one", copy),),
        ranges=(ReadRange(1, 4, "0.log", 0, 1, "d", 1, {"LogOpened": 4}), ReadRange(8, 9, "0.log", 9, 20, "e", 1)),
    )  # fmt: skip
    build = publish(store, None, Changes(ledger={"a": entry}))
    again = store.build(build.number)
    assert again.ledger() == {"a": entry}
    assert (again.file.events, entry.kinds()) == (6, {"LogOpened": 4})
    assert quarantine.damaged(again) == {"a": entry.damage}
