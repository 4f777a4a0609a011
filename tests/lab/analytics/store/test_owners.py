"""What a lab takes out of tables by itself: only what is known to be its own."""

import asyncio
from pathlib import Path

import pytest
from pytest_django.fixtures import Settings

from lab.actions import keep_tables
from lab.analytics import limits
from lab.analytics.build.acts import FoundLog
from lab.analytics.limits import Known, is_own, remove_deleted
from lab.analytics.store.builds import Store
from lab.analytics.store.ledger import BranchEntry
from lab.analytics.store.owner import claim, owner
from lab.analytics.store.publish import Changes, publish
from tests.support.analytics.hand_made import bytes_of, publish_acts, publish_rows

ADA, BEN, CAM = "a" * 26, "b" * 26, "c" * 26
NOTHING = Known([], frozenset(), has_people=True)


@pytest.fixture
def store(tmp_path: Path, settings: Settings) -> Store:
    """Tables of one lab with a run and its commands, whose folder is below RUNS, and the log of a class."""
    settings.DATA, settings.RUNS = tmp_path, tmp_path / "runs"
    (settings.RUNS / "r1" / "main").mkdir(parents=True)
    store = Store.at(str(tmp_path / "tables"))
    line = {"run": "r1", "branch": "r1/main", "command": 1, "learner": ADA, "line": "# Zuleika"}
    publish_rows(store, {"silver.commands": [line]}, {"r1/main": settings.RUNS / "r1" / "main"})
    publish_acts(store, {"class:kite": BEN})
    return store


def lab(*people: str, branches: tuple[str, ...] = ("r1/main",)) -> Known:
    """What exists: the class with these people, if there are any, and branches."""
    entry = BranchEntry("class:kite", "", "", class_="kite", unit="log")
    logs = [FoundLog(Path("nowhere"), entry, {f"p{number}": one for number, one in enumerate(people)})]
    return Known(logs if people else [], frozenset(branches), has_people=True)


def test_tables_of_another_lab_are_left_alone(
    store: Store, tmp_path: Path, settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    assert is_own(store, lab(BEN))
    settings.DATA = tmp_path / "another"
    before = bytes_of(store)
    for _ in range(2):
        remove_deleted(store, NOTHING)
    assert bytes_of(store) == before
    assert sum("belong to another lab" in one.message for one in caplog.records) == 1
    # Who is erased there is known by a name that only that lab gives.
    remove_deleted(store, NOTHING, {BEN})
    assert BEN.encode() not in bytes_of(store) and b"Zuleika" in bytes_of(store)


def test_tables_without_an_owner_are_those_of_a_lab_that_has_everything_in_them(store: Store) -> None:
    assert not is_own(store, NOTHING) and not is_own(store, lab()) and not is_own(store, lab(BEN, branches=()))
    assert owner(store) == ""
    assert is_own(store, lab(BEN)) and is_own(store, NOTHING)
    assert not claim(store, "another")


def test_a_run_counts_as_deleted_without_its_folder_and_its_branch(store: Store, settings: Settings) -> None:
    assert is_own(store, lab(BEN))
    (settings.RUNS / "r1" / "main").rmdir()
    remove_deleted(store, lab(BEN))
    settings.RUNS.rename(settings.RUNS.with_name("unmounted"))
    remove_deleted(store, lab(BEN, branches=()))
    assert b"Zuleika" in bytes_of(store)
    settings.RUNS.mkdir()
    store.pin(1)
    remove_deleted(store, lab(BEN, branches=()))
    assert b"Zuleika" not in bytes_of(store) and BEN.encode() in bytes_of(store)


def test_people_are_found_among_the_senders_of_a_class_whose_tables_were_never_made(store: Store) -> None:
    lines = [
        {"run": "r2", "branch": "r2/main", "command": number, "learner": who, "line": f"line of {who[0]}"}
        for number, who in enumerate((ADA, CAM), 1)
    ]
    newest = publish_rows(store, {"silver.commands": lines})
    entry = BranchEntry("r2/main", "r2", "", class_="kite")
    publish(store, newest, Changes(ledger={"r2/main": entry}, dropped={"class:kite"}))
    remove_deleted(store, lab(ADA, BEN, CAM))
    assert b"line of c" in bytes_of(store)
    remove_deleted(store, lab(ADA, BEN))
    assert b"line of c" not in bytes_of(store) and b"Zuleika" in bytes_of(store)


def test_who_was_erased_is_known_after_a_failure(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(*_: object) -> None:
        raise FileNotFoundError("silver.acts/of-an-older-build.parquet")

    with monkeypatch.context() as patched, pytest.raises(FileNotFoundError):
        patched.setattr(limits, "erase_named", gone)
        remove_deleted(store, NOTHING, {BEN})
    assert BEN.encode() in bytes_of(store)
    remove_deleted(store, NOTHING)
    assert BEN.encode() not in bytes_of(store) and b"Zuleika" in bytes_of(store)


def test_erasures_take_turns(store: Store, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.TABLES = store.files.address
    free: list[bool] = []

    def removed(*_: object) -> None:
        free.append(keep_tables._WORK.acquire(blocking=False))

    monkeypatch.setattr(keep_tables, "known", lambda: NOTHING)
    monkeypatch.setattr(keep_tables, "remove_deleted", removed)

    async def both() -> None:
        await asyncio.gather(keep_tables.erase_from_tables(), keep_tables.erase_from_tables())

    asyncio.run(both())
    assert free == [False, False]


def test_logs_are_kept_while_the_database_is_empty(store: Store) -> None:
    assert is_own(store, lab(BEN))
    remove_deleted(store, Known([], frozenset({"r1/main"}), has_people=False))
    assert BEN.encode() in bytes_of(store)
    remove_deleted(store, lab())
    assert BEN.encode() not in bytes_of(store)
