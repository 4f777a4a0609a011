"""Senders of commands in tables: pseudonyms, which an erasure reaches together with what was typed."""

from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from django.conf import settings
from django.contrib.auth import get_user_model
from pyspark.sql import SparkSession

from broker_core.records.record_batch import SimpleRecord, build_batch
from lab.analytics.build.event_columns import columns_of
from lab.analytics.build.found import Found
from lab.analytics.build.people import forget, pseudonym
from lab.analytics.build.recordings import recordings
from lab.analytics.build.run import Wanted, build
from lab.analytics.build.values import PRESENT, row_of
from lab.analytics.store import erase as erasing
from lab.analytics.store.builds import Store, StoredFile
from lab.analytics.store.erase import NotErasedError, erase
from lab.analytics.store.ledger import BranchEntry
from lab.analytics.store.reading import rows
from lab.models import Branch, Class, Participant, Run
from tests.support.analytics.hand_made import bytes_of

ADA, BEN = "a" * 26, "b" * 26
PEOPLE = {"p3": ADA, "p4": BEN}
SECRET = "kafka-topics.sh --create --topic zuleika"


def command(number: int, line: str, source: str) -> bytes:
    return msgspec.json.encode([number, "shell", 0, ["CommandReceived", number, line, source]])


@pytest.mark.parametrize(
    ("source", "people", "kept"),
    [
        ("p3", PEOPLE, [SECRET, ADA]),
        ("p9", PEOPLE, ["kafka-topics.sh", ""]),
        ("a name of before", PEOPLE, ["kafka-topics.sh", ""]),
        ("play", PEOPLE, [SECRET, "play"]),
        ("", PEOPLE, [SECRET, ""]),
        ("p3", None, [SECRET, "p3"]),
    ],
)
def test_senders_are_pseudonyms_and_lines_of_others_are_cut(
    source: str, people: dict[str, str] | None, kept: list[str]
) -> None:
    vocabulary = PRESENT[0]._replace(people=people)
    value = command(1, SECRET, source)
    payload = row_of(value, vocabulary)[5]
    assert msgspec.json.decode(payload) == ["CommandReceived", 1, *kept]
    assert columns_of([value], vocabulary)[5].to_pylist() == [payload]


def test_erasure_reaches_commands_in_tables_of_runs(session: SparkSession, tmp_path: Path) -> None:
    log = tmp_path / "r1" / "main" / "recording" / "events-0"
    log.mkdir(parents=True)
    values = [b'{"config":{}}', command(1, SECRET, "p3"), command(2, "broker kill 1", "p4")]
    (log / f"{0:020}.log").write_bytes(build_batch(SimpleRecord(0, None, value) for value in values))
    store = Store.at(str(tmp_path / "tables"))

    def built(people: dict[str, str]) -> list[dict[str, Any]]:
        entry = BranchEntry("r1/main", "r1", str(log), class_="kite", people=people)
        build(lambda: session, store, Wanted([Found(log, entry)], ["silver.commands"]))
        newest = store.newest()
        assert newest is not None and newest.ledger()["r1/main"].people is None
        found = rows(store, newest, "silver.commands", columns=["learner", "verb", "line"])
        assert found is not None
        return found.to_pylist()

    first = built(PEOPLE)
    assert first[0] == {"learner": ADA, "verb": "kafka-topics.sh", "line": SECRET}
    newest = store.newest()
    assert newest is not None
    erase(store, newest, {ADA})
    left = bytes_of(store)
    assert ADA.encode() not in left and b"zuleika" not in left
    again = built({"p4": BEN})
    assert again == [{"learner": None, "verb": "kafka-topics.sh", "line": "kafka-topics.sh"}, first[1]]
    assert b"zuleika" not in bytes_of(store)


def test_erasure_keeps_other_runs_in_the_same_files(session: SparkSession, tmp_path: Path) -> None:
    found = []
    for run, who in (("r1", "p3"), ("r2", "p4")):
        log = tmp_path / run / "main" / "recording" / "events-0"
        log.mkdir(parents=True)
        values = [b'{"config":{}}', command(1, f"# line of {run}", who), command(2, "broker kill 1", who)]
        (log / f"{0:020}.log").write_bytes(build_batch(SimpleRecord(0, None, value) for value in values))
        found.append(Found(log, BranchEntry(f"{run}/main", run, str(log), class_="kite", people=PEOPLE)))
    store = Store.at(str(tmp_path / "tables"))
    build(lambda: session, store, Wanted(found, ["silver.commands"]))
    newest = store.newest()
    assert newest is not None and any(len(file.units) == 2 for file in newest.files("bronze.events"))
    erase(store, newest, {ADA})
    left = bytes_of(store)
    assert ADA.encode() not in left and b"line of r1" not in left and b"line of r2" in left
    # Spark reads what pyarrow has written, and makes the tables again from it.
    with (found[1].folder / f"{0:020}.log").open("ab") as log_file:
        log_file.write(build_batch([SimpleRecord(0, None, command(3, "broker start 1", "p4"))], base_offset=3))
    build(lambda: session, store, Wanted(found[1:], ["silver.commands"], is_full=True))
    newest = store.newest()
    assert newest is not None
    again = rows(store, newest, "silver.commands", columns=["learner", "line"])
    assert again is not None
    assert [row["line"] for row in again.to_pylist()] == ["# line of r2", "broker kill 1", "broker start 1"]
    assert set(again["learner"].to_pylist()) == {BEN}


@pytest.mark.parametrize(
    "value",
    [ADA, {"a": ADA}, [ADA], [{"a": [f"of {ADA}"]}], f"of {ADA}".encode()],
)
def test_people_are_found_in_every_column_that_has_text(value: Any, tmp_path: Path) -> None:
    store = Store.at(str(tmp_path))
    pq.write_table(pa.table({"n": [1, 2], "column": [None, value]}), tmp_path / "some.parquet")
    file = StoredFile("some.parquet", 2, 1, {"all": 1}, 1)
    assert erasing._is_naming(store, file, ADA) and not erasing._is_naming(store, file, BEN)


def test_erasure_that_leaves_commands_fails(
    session: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tmp_path / "r1" / "main" / "recording" / "events-0"
    log.mkdir(parents=True)
    values = [b'{"config":{}}', command(1, SECRET, "p3")]
    (log / f"{0:020}.log").write_bytes(build_batch(SimpleRecord(0, None, value) for value in values))
    store = Store.at(str(tmp_path / "tables"))
    entry = BranchEntry("r1/main", "r1", str(log), people=PEOPLE)
    build(lambda: session, store, Wanted([Found(log, entry)], ["silver.commands"]))
    newest = store.newest()
    assert newest is not None
    monkeypatch.setattr(erasing, "_published", lambda *given: (0, set()))
    with pytest.raises(NotErasedError, match="commands of r1/main"):
        erase(store, newest, {ADA})


def test_recordings_name_participants_and_owners(tmp_path: Path, database: None) -> None:
    users = get_user_model().objects
    lin, ada, gone = (users.create_user(f"commands of {name}") for name in ("lin", "ada", "gone"))
    room = Class.objects.create(slug="cmnd", owner=lin, title="C", link_key="c" * 32)
    for number, user in ((1, lin), (3, ada), (4, gone), (5, None)):
        Participant.objects.create(classroom=room, number=number, user=user, skeleton=f"c{number}")
    for slug, owner, classroom in (("cmd1", ada, room), ("cmd2", ada, None)):
        run = Run.objects.create(slug=slug, owner=owner, name="x", seed=1, brokers=3, classroom=classroom)
        Branch.objects.create(run=run, name="main")
        (Path(settings.RUNS) / slug / "main" / "recording" / "events-0").mkdir(parents=True)
    forget(Path(settings.DATA), pseudonym(Path(settings.DATA), gone.pk))
    try:
        of_class, own = recordings(["cmd1", "cmd2"])
        hers = pseudonym(Path(settings.DATA), ada.pk)
        assert of_class.entry.people == {"p1": pseudonym(Path(settings.DATA), lin.pk), "p3": hers}
        assert own.entry.people == {"p1": hers}
    finally:
        for user in (ada, gone, lin):
            user.delete()
