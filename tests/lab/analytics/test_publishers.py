"""All that publishes builds, while other processes delete what no build lists."""

from pathlib import Path

import pytest
from django.core.management import call_command

from lab.analytics.cli.making import forget_run
from lab.analytics.store.builds import Store
from lab.analytics.store.erase import erase
from lab.analytics.store.files import LocalFiles
from lab.analytics.store.reading import rows
from lab.analytics.store.vacuum import vacuum
from tests.support.analytics.hand_made import publish_rows
from tests.support.analytics.studies import SMALL

ACTS = {"log": "class:kite", "seq": 1, "kind": "Voted"}
SUMMARIES = [{"run": name, "branch": f"{name}/main", "events": 1} for name in ("r1", "r2")]
PEOPLE = ("a" * 26, "b" * 26)


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
