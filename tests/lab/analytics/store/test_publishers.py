"""All that publishes builds, while other processes delete what no build lists."""

from csv import DictReader
from pathlib import Path
from typing import Any

import msgspec
import pytest
from django.core.management import CommandError, call_command

from lab.analytics.cli.making import forget_run
from lab.analytics.limits import finish_erasures
from lab.analytics.store import erase as erasing
from lab.analytics.store.builds import Build, BuildFile, Store, StoredFile
from lab.analytics.store.erase import erase
from lab.analytics.store.files import LocalFiles
from lab.analytics.store.publish import Changes, TableChange, publish
from lab.analytics.store.reading import rows
from lab.analytics.store.vacuum import vacuum
from tests.support.analytics.hand_made import bytes_of, publish_rows
from tests.support.analytics.studies import SMALL

ACTS = {"log": "class:kite", "seq": 1, "kind": "Voted", "payload": "{}"}
SUMMARIES = [{"run": name, "branch": f"{name}/main", "events": 1} for name in ("r1", "r2")]
PEOPLE = ("a" * 26, "b" * 26)
COMMANDS = [
    {"run": name, "branch": f"{name}/main", "command": 1, "learner": who, "line": f"line of {name}"}
    for name, who in zip(("r1", "r2"), PEOPLE, strict=True)
]


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """Tables with two runs, and with acts of two people."""
    store = Store.at(str(tmp_path / "tables"))
    publish_rows(store, {"gold.run_summary": SUMMARIES})
    publish_rows(store, {"bronze.acts": [{**ACTS, "seq": 1 + place, "who": one} for place, one in enumerate(PEOPLE)]})
    return store


@pytest.fixture
def vacuumed(store: Store, monkeypatch: pytest.MonkeyPatch) -> Store:
    """The same; from now on another process deletes what no build lists as soon as it has been written."""
    create = LocalFiles.create

    def created(self: LocalFiles, name: str, data: bytes) -> None:
        create(self, name, data)
        vacuum(Store.at(store.files.address), keep=1, young_s=0)

    monkeypatch.setattr(LocalFiles, "create", created)
    return store


def stored(store: Store, table: str, column: str) -> list[str]:
    # As another process reads it: without what this one has in memory.
    again = Store.at(store.files.address)
    newest = again.newest()
    assert newest is not None
    newest.ledger()
    found = rows(again, newest, table)
    assert found is not None
    return sorted(set(found[column].to_pylist()))


def test_a_run_is_taken_out_of_tables_that_are_being_vacuumed(vacuumed: Store) -> None:
    assert forget_run("r1", vacuumed.files.address) == 1
    assert stored(vacuumed, "gold.run_summary", "run") == ["r2"]


def test_a_person_is_taken_out_of_tables_that_are_being_vacuumed(vacuumed: Store) -> None:
    newest = vacuumed.newest()
    assert newest is not None and erase(vacuumed, newest, {PEOPLE[0]}) == 1
    assert stored(vacuumed, "bronze.acts", "who") == [PEOPLE[1]]


def test_a_study_is_published_in_tables_that_are_being_vacuumed(vacuumed: Store, tmp_path: Path) -> None:
    file = tmp_path / "small.toml"
    file.write_text(SMALL)
    call_command("study", file, "--no-spark", "--tables-at", vacuumed.files.address)
    assert stored(vacuumed, "gold.study_cells", "study") == ["small"]
    assert stored(vacuumed, "gold.run_summary", "run") == ["r1", "r2"]


def test_other_builds_that_are_published_first_do_not_stop_the_removal_of_a_run(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One build of the same run is published in between; when there always is one, a sentence says so."""
    create, others = Store.create, iter(range(99))

    def overtaken(self: Store, file: BuildFile) -> Build:
        if next(others, None) is not None:
            newest = self.newest()
            assert newest is not None
            create(self, msgspec.structs.replace(newest.file, build=file.build, touched=("r1/main",)))
        return create(self, file)

    monkeypatch.setattr(Store, "create", overtaken)
    with pytest.raises(CommandError, match="Other builds"):
        call_command("analytics", "--tables-at", store.files.address, "forget", "--run", "r1")
    others = iter(range(1))
    call_command("analytics", "--tables-at", store.files.address, "forget", "--run", "r1")
    assert stored(store, "gold.run_summary", "run") == ["r2"]


def test_small_groups_are_left_out_with_the_people(store: Store, tmp_path: Path) -> None:
    item = {"class": "kite", "lesson": "acks", "difficulty": 0.5, "right_with_hint": 0.5}
    items = [
        {**item, "step": "small", "learners": 4, "n": 4, "with_hint": 2},
        {**item, "step": "large", "learners": 9, "n": 9, "with_hint": 2},
        {**item, "step": "half", "learners": 9, "n": 4, "with_hint": 2},
    ]
    polls = [{"class": "kite", "poll": 1, "round": round, "answers": answers} for round, answers in ((1, 4), (2, 5))]
    people = [{"class": "kite", "mistakes": "a", "learners": count, "members": [PEOPLE[0]]} for count in (5,)]
    publish_rows(store, {"gold.item_statistics": items, "gold.poll_rounds": polls, "gold.mistake_groups": people})

    def exported(table: str) -> list[dict[str, str]]:
        to = tmp_path / "table.csv"
        call_command("analytics", "--tables-at", store.files.address, "export", table, "--to", str(to), "--no-people")
        return list(DictReader(to.open()))

    found = {row["step"]: (row["difficulty"], row["right_with_hint"]) for row in exported("gold.item_statistics")}
    assert found == {"large": ("0.5", ""), "half": ("", "")}
    assert [row["round"] for row in exported("gold.poll_rounds")] == ["2"]
    assert "members" not in exported("gold.mistake_groups")[0]


def test_vacuum_keeps_what_a_build_published_while_it_looked(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = store.numbers

    def and_then_published() -> list[int]:
        found = numbers()
        monkeypatch.undo()
        publish_rows(Store.at(store.files.address), {"gold.run_summary": [{**SUMMARIES[0], "run": "r3"}]})
        return found

    monkeypatch.setattr(store, "numbers", and_then_published)
    vacuum(store, keep=1, young_s=0)
    assert stored(store, "gold.run_summary", "run") == ["r1", "r2", "r3"]


def test_rows_of_an_erased_person_leave_the_files_that_they_share_with_other_branches(store: Store) -> None:
    publish_rows(store, {"silver.commands": COMMANDS})
    newest = publish_rows(store, {"silver.commands": [{**COMMANDS[1], "command": 2}]})
    store.pin(newest.number)
    erase(store, newest, {PEOPLE[0]})
    left = bytes_of(store)
    assert PEOPLE[0].encode() not in left and b"line of r1" not in left
    again = Store.at(store.files.address).newest()
    assert again is not None and "r1/main" not in again.ledger() and "r2/main" in again.ledger()
    found = rows(store, again, "silver.commands", columns=["branch", "command"])
    assert found is not None
    assert sorted(found["command"].to_pylist()) == [1, 2] and set(found["branch"].to_pylist()) == {"r2/main"}
    assert all(file.is_whole for file in again.files("silver.commands"))


def test_rows_that_no_longer_count_leave_their_file_with_the_person(store: Store) -> None:
    """The branch was read again without the person, and another branch keeps the old file in the table."""
    publish_rows(store, {"silver.commands": COMMANDS})
    newest = store.newest()
    assert newest is not None
    state = newest.file.tables["silver.commands"]
    made = StoredFile("", 0, 0, {"r1/main": 2}, 1)
    newest = publish(store, newest, Changes({"silver.commands": TableChange(state, [made], {"r1/main"})}))
    assert PEOPLE[0].encode() in bytes_of(store)
    erase(store, newest, {PEOPLE[0]})
    assert PEOPLE[0].encode() not in bytes_of(store) and b"line of r2" in bytes_of(store)


def test_a_removed_run_leaves_shared_files(store: Store) -> None:
    publish_rows(store, {"silver.commands": COMMANDS})
    assert forget_run("r1", store.files.address) == 1
    vacuum(store, keep=1, young_s=0)
    assert b"line of r1" not in bytes_of(store) and b"line of r2" in bytes_of(store)


def test_erasure_begins_again_when_its_files_are_deleted_meanwhile(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[int] = []
    written = erasing._published

    def overtaken(of: Store, build: Build, *given: Any) -> Any:
        tried.append(build.number)
        if len(tried) == 1:
            publish_rows(store, {"gold.run_summary": [SUMMARIES[0]]})
            raise FileNotFoundError("bronze.acts/of-an-older-build.parquet")
        return written(of, build, *given)

    monkeypatch.setattr(erasing, "_published", overtaken)
    newest = store.newest()
    assert newest is not None and erase(store, newest, {PEOPLE[0]}) == 1
    assert tried == [newest.number, newest.number + 1]
    monkeypatch.setattr(erasing, "_published", lambda *given: (_ for _ in ()).throw(FileNotFoundError("gone")))
    newest = store.newest()
    assert newest is not None
    with pytest.raises(FileNotFoundError, match="gone"):
        erase(store, newest, {PEOPLE[1]})


def test_erasure_that_failed_before_older_builds_were_deleted_is_done_again(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    newest = store.newest()
    assert newest is not None
    with monkeypatch.context() as patched, pytest.raises(OSError, match="not reachable"):
        patched.setattr(erasing, "leave_newest", lambda store: (_ for _ in ()).throw(OSError("not reachable")))
        erase(store, newest, {PEOPLE[0]})
    assert PEOPLE[0].encode() in bytes_of(store)
    finish_erasures(store)
    assert PEOPLE[0].encode() not in bytes_of(store) and not store.files.names("_erasures")
