"""`manage.py analytics`: each verb reports what it did, or what was wrong and what to do."""

import json
import os
import time
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from django.contrib.auth import get_user_model
from django.core.management import CommandError, call_command
from django.test import override_settings
from pyspark.sql import SparkSession

from lab.analytics.cli import making, reading
from lab.analytics.failures import explained
from lab.analytics.session import Spark
from lab.models import Branch, Run
from tests.support.recorded_runs import busy_run


def said(*words: str, **options: Any) -> str:
    out = StringIO()
    call_command("analytics", *words, stdout=out, **options)
    return out.getvalue()


class Shared:
    """A Spark that stays when a command ends."""

    def __init__(self, session: SparkSession) -> None:
        self.session = session
        self.is_stopped = False

    def stop(self) -> None:
        self.is_stopped = True


@pytest.fixture(scope="module")
def built(session: SparkSession, tmp_path_factory: pytest.TempPathFactory, database: None) -> Iterator[Path]:
    """A lab with one run, its tables built. Spark is that of the tests. The last test takes the run away."""
    data = tmp_path_factory.mktemp("lab")
    recording, live = busy_run(data / "runs", 1_000)
    recording.flush()
    live.abandon()
    recording.close()
    owner = get_user_model().objects.create_user("reader of tables")
    run = Run.objects.create(slug="r1", owner=owner, name="One", seed=5, brokers=3, era="3.9")
    Branch.objects.create(run=run, name="main")
    places = {"DATA": data, "RUNS": data / "runs", "TABLES": data / "tables"}
    with pytest.MonkeyPatch.context() as patched, override_settings(**places):
        patched.setattr(Spark, "start", lambda log, *flags, **options: Shared(session))
        assert "Published build 1" in said("build", "--tables", "silver.batches")
        yield data
    owner.delete()


def test_verbs_build_once_and_read_existing_tables(built: Path) -> None:
    assert said("build", "--tables", "silver.batches").strip() == "The tables are up to date."
    found = json.loads(said("status", "--json"))
    assert found["build"] == 1 and found["branches"][0]["branch"] == "r1/main" and found["branches"][0]["damage"] == []
    batches = json.loads(said("show", "silver.batches", "--json", "--limit", "100000"))
    assert len(batches) == found["tables"]["silver.batches"]["rows"] > 10
    (row,) = json.loads(said("sql", "select count(*) n, sum(records) r from silver.batches", "--json"))
    assert row == {"n": len(batches), "r": sum(one["records"] for one in batches)}
    asked = said("sql", "select count(*) n, sum(records) r from silver.batches", "--no-spark", "--csv")
    assert asked.split() == ["n,r", f"{row['n']},{row['r']}"]
    assert "silver.batches <- events" in said("explain", "silver.batches")
    assert "size_bytes" not in said("tables") and "size_bytes" in said("tables", "--columns")


def test_tables_are_exported_as_csv_and_parquet(built: Path) -> None:
    assert said("export", "silver.batches", "--to", str(built / "b.csv")).startswith("Wrote ")
    said("export", "silver.batches", "--to", str(built / "b.parquet"))
    table = pq.read_table(built / "b.parquet")
    lines = (built / "b.csv").read_bytes().decode().split("\r\n")
    assert lines[0].split(",") == table.column_names and len(lines) == table.num_rows + 2


def test_events_are_a_table_for_every_verb(built: Path, session: SparkSession) -> None:
    """A build reads them, whatever tables it makes; asked for alone, it makes no others."""
    place = ("--tables-at", str(built / "events"))
    assert "Published build 1" in said(*place, "build", "--tables", "bronze.events")
    assert said(*place, "build", "--tables", "bronze.e*").strip() == "The tables are up to date."
    status = json.loads(said(*place, "status", "--json"))
    count = status["branches"][0]["events"]
    assert {name: size["rows"] for name, size in status["tables"].items()} == {"bronze.events": count}
    (first,) = json.loads(said(*place, "show", "bronze.events", "--json", "--limit", "1"))
    assert json.loads(first["payload"])[0] == first["kind"]
    asked = "select count(*) n, count(distinct kind) kinds from bronze.events"
    (row,) = json.loads(said(*place, "sql", asked, "--json"))
    assert row["n"] == count and row["kinds"] > 10
    (same,) = json.loads(said(*place, "sql", asked, "--no-spark", "--json"))
    assert same == row
    shown = said(*place, "sql", "select kind, payload from events order by kind, seq limit 1", "--no-spark", "--json")
    assert json.loads(json.loads(shown)[0]["payload"])[0] == json.loads(shown)[0]["kind"] == first["kind"]
    assert "payload" in said("explain", "bronze.events") and "bronze.events" in said("tables")
    path = built / "events.csv"
    said(*place, "export", "bronze.events", "--to", str(path), "--no-people")
    # Lines of the console may name people.
    assert "payload" not in path.read_text().splitlines()[0]


def test_names_of_tables_in_texts_and_comments_of_a_query_stay(built: Path) -> None:
    query = """select 'silver.batches' as one, "it's \\" gold.x" as two -- of silver.batches
        from silver.batches /* not
        gold.nope */ limit 1"""
    assert json.loads(said("sql", query, "--json")) == [{"one": "silver.batches", "two": "it's \" gold.x"}]


#: one lab for all tests, since refused commands change nothing
REFUSED = {
    ("build", "--runs", "nope"): "There is no recording of run nope",
    ("build", "--tables", "gold.nope"): "There is no table gold.nope",
    ("show", "nope"): "There is no table nope",
    ("sql", "select nothing from silver.batches"): "Spark rejects the query",
    ("sql", "select nothing\nfrom silver.batches", "--no-spark"): "Line 1: .* Correct line 1",
    ("show", "silver.batches", "--runs", "nope"): "The tables know no run nope",
    ("export", "silver.batches", "--to", "x.xlsx"): "ends in .csv or .parquet",
    ("export", "silver.batches", "--to", "no-folder/x.csv"): "no-folder/x.csv cannot be written: No such file",
    ("export", "silver.batches", "--to", "no-folder/x.parquet"): "no-folder/x.parquet cannot be written: No such file",
    ("pin", "99"): "There is no build 99",
    ("forget", "--run", "nope"): "The tables know no run nope",
}


def test_impossible_request_is_one_clear_message(built: Path) -> None:
    before = said("status")
    for words, problem in REFUSED.items():
        with pytest.raises(CommandError, match=problem):
            said(*words)
    assert said("status") == before


class OfJvm(Exception):
    """As py4j has them: the JVM says what they are, as long as it runs."""

    def __init__(self, shared: "Shared") -> None:
        super().__init__()
        self._shared = shared

    def __str__(self) -> str:
        if self._shared.is_stopped:
            raise ConnectionRefusedError
        return "java.io.IOException: No space left on device"


def test_failure_of_spark_is_explained_although_spark_ends_with_it(
    built: Path, session: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared = Shared(session)

    def fails(session: Any, *_: Any) -> None:
        session()
        raise OfJvm(shared)

    monkeypatch.setattr(Spark, "start", lambda log, *flags, **options: shared)
    monkeypatch.setattr(making, "build", fails)
    with pytest.raises(CommandError, match="disk"):
        said("build")
    assert explained(OfJvm(shared), "", Path()).id == "refusal.analysis_failed"


def test_without_tables_the_command_to_build_them_is_shown(tmp_path: Path, settings: Any) -> None:
    settings.TABLES = tmp_path / "none"
    with pytest.raises(CommandError, match=r"`manage\.py analytics build` makes them"):
        said("status")


def test_runs_without_events_for_the_retention_time_are_removed_from_the_tables(built: Path, settings: Any) -> None:
    def age(days: float) -> None:
        then_s = time.time() - days * 86_400
        for path in (built / "runs" / "r1").rglob("*.log"):
            os.utime(path, (then_s, then_s))

    def count() -> int:
        return reading.show("silver.batches", None, None).num_rows

    before = count()
    settings.TABLE_DAYS = 30
    age(29)
    assert "Took" not in said("vacuum") and count() == before
    age(31)
    assert "Took 1 branches and logs out, of which nothing was recorded for 30 days" in said("vacuum")
    assert count() == 0
    # The next build leaves it out, too, unless it is asked for.
    said("build", "--tables", "silver.batches")
    assert count() == 0
    said("build", "--tables", "silver.batches", "--runs", "r1")
    assert count() == before
    said("build", "--tables", "silver.batches")
    assert count() == 0
    settings.TABLE_DAYS = 0
    said("build", "--tables", "silver.batches")
    assert count() == before and "Took" not in said("vacuum")


def test_deleted_and_forgotten_runs_are_removed_from_the_tables(built: Path) -> None:
    assert "Took 1 branches" in said("forget", "--run", "r1")
    assert reading.show("silver.batches", None, None).num_rows == 0
    assert "Published" in said("build", "--tables", "silver.batches")
    assert reading.show("silver.batches", None, None).num_rows > 0
    Run.objects.filter(slug="r1").delete()
    said("build", "--tables", "silver.batches")
    assert reading.show("silver.batches", None, None).num_rows == 0
    assert "Deleted" in said("vacuum")
    said("pin", "1")
