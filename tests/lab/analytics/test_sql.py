"""SQL queries: visible rows, rejected queries, and limits of time and memory."""

import asyncio
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from lab.analytics.build.events import STORED
from lab.analytics.serve import sql_box, sql_child
from lab.analytics.serve.sql_box import Answer, ask
from lab.analytics.serve.visible import EVERYTHING, Visible, may_ask, visible_to
from lab.analytics.store.builds import Build, Store
from lab.models import Class, Role, Run
from lab.texts.refusal import Refusal
from tests.support.analytics.hand_made import publish_rows
from tests.support.classroom.people import make_class, make_member, make_user
from tests.support.lab_server import LabServer, Visitor

Made = tuple[Store, Build]
ENDLESS = "with recursive n(i) as (select 1 union all select i + 1 from n) select max(i) from n"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    store = Store.at(str(tmp_path_factory.mktemp("tables")))
    summaries = [
        {"run": run, "branch": f"{run}/main", "era": "3.9", "records": count, "settings": [("acks", "all")]}
        for run, count in (("mine", 1), ("taught", 10), ("others", 100))
    ]
    acts = [
        {"log": "learner:ada", "learner": "ada", "class": "kite", "step": "s1", "scope": "class"},
        {"log": "learner:ada", "learner": "ada", "class": "", "step": "s2", "scope": "private"},
        {"log": "learner:bo", "learner": "bo", "class": "owl", "step": "s3", "scope": "class"},
        {"log": "learner:lin", "learner": "lin", "class": "", "step": "s4", "scope": "private"},
    ]
    items = [{"class": "kite", "step": "s1", "n": 7}, {"class": "owl", "step": "s1", "n": 9}]
    lessons = [{"lesson": "first", "step": "s1", "learners": 16}]
    tables: dict[str, Any] = {
        "gold.run_summary": summaries, "silver.acts": acts, "gold.item_statistics": items, "gold.lesson_steps": lessons,
    }  # fmt: skip
    return store, publish_rows(store, tables)


INSTRUCTOR = Visible(
    branches=frozenset({"mine/main", "taught/main"}),
    classes=frozenset({"kite"}),
    logs=frozenset({"class:kite", "learner:lin"}),
)


def answer(made: Made, query: str, visible: Visible = INSTRUCTOR) -> Answer:
    return asyncio.run(ask(*made, query, visible))


def test_only_rows_of_own_runs_and_classes_are_seen(made: Made) -> None:
    seen = answer(
        made,
        """select (select group_concat(run) from gold.run_summary), (select group_concat(step) from silver.acts),
             (select group_concat(class) from item_statistics), (select count(*) from gold.lesson_steps),
             (select settings['acks'] from gold.run_summary limit 1)""",
    )
    assert seen.rows == [["mine,taught", "s1,s4", "kite", 0, "all"]] and seen.build == made[1].number
    everything = answer(made, "select count(*), sum(records) from gold.run_summary", EVERYTHING)
    assert everything.rows == [[3, 111]]
    assert "learner" in answer(made, "select * from silver.acts", EVERYTHING).columns
    # Also without a list of columns.
    assert answer(made, "from run_summary order by run limit 1").rows[0][:2] == ["mine", "mine/main"]
    kept = answer(made, "select settings, settings is null, records > 5 from run_summary order by records")
    assert kept.rows == [['{"acks": "all"}', False, False], ['{"acks": "all"}', False, True]]
    assert not {"learner", "log", "lab"} & set(answer(made, "select * from silver.acts limit 1").columns)


@pytest.mark.parametrize(
    ("query", "line", "problem"),
    [
        ("select 1 union all\nselec 2", "2", "selec"),
        ("select run\nfrom gold.run_summary -- run, nope\nwhere nope > 1", "3", 'column "nope" not found'),
        ("select learner\nfrom silver.acts", "1", 'column "learner" not found'),
        ("select count(*)\n\nfrom gold.nowhere", "3", "Table with name nowhere does not exist"),
    ],
)
def test_mistakes_are_reported_with_their_line(made: Made, query: str, line: str, problem: str) -> None:
    with pytest.raises(Refusal) as refused:
        answer(made, query)
    assert refused.value.field == line and problem in refused.value.as_json()["what"]


def test_failure_of_a_row_is_reported_without_a_line(made: Made) -> None:
    with pytest.raises(Refusal) as refused:
        answer(made, "select records * 9223372036854775807\nfrom gold.run_summary")
    assert refused.value.id == "refusal.sql_failed" and "Overflow" in refused.value.as_json()["what"]


def test_aggregates_cover_all_rows_and_pages_do_not_overlap(tmp_path: Path) -> None:
    store = Store.at(str(tmp_path / "folder [a] *"))
    count = 2_003
    rows = [
        {"lesson": f"l{place % 7}" if place % 3 else None, "step": f"s{place}", "learners": place}
        for place in range(count)
    ]
    found = store, publish_rows(store, {"gold.lesson_steps": rows})
    query = (
        "select count(*), count(lesson), count(distinct lesson), count(distinct step), sum(learners) from lesson_steps"
    )
    seen = answer(found, query, EVERYTHING).rows
    assert seen == [[count, sum(place % 3 > 0 for place in range(count)), 7, count, sum(range(count))]]
    parts = [answer(found, f"select step from lesson_steps limit 7 offset {at}", EVERYTHING).rows for at in (0, 1_999)]
    assert [len(part) for part in parts] == [7, 4]
    assert not {step for (step,) in parts[0]} & {step for (step,) in parts[1]}


@pytest.mark.parametrize(
    ("query", "columns", "rows"),
    [
        ("select count(*) from run_summary", [], None),
        ("select run from run_summary where records > 1", ["records", "run"], None),
        ("select era, run from run_summary limit 5", ["era", "run"], 5),
        ("select era || run from (select * from run_summary limit 9) limit 5 offset 3", ["era", "run"], 8),
        ("select run from run_summary order by era limit 5", ["run", "era"], None),
        ("select distinct era from run_summary limit 5", ["era"], None),
        ("select unnest(map_keys(settings)) from run_summary limit 5", ["settings"], None),
        ("from run_summary", ["run", "era", "records", "settings"], 11),
        ("select columns('r.*') from run_summary", ["run", "era", "records"], 11),
        ("select r from run_summary r where false", ["run", "era", "records", "settings"], None),
        ("select map_keys(settings) from run_summary group by all having max(era) > ''", ["settings", "era"], None),
    ],
)
def test_columns_that_a_query_reads_are_copied_and_no_others(query: str, columns: list[str], rows: int | None) -> None:
    found = sql_child.planned({**ORDER, "query": query})
    assert set(found["columns"]["gold.run_summary"]) == set(columns) and found["rows"] == rows


COLUMNS = [["run", "varchar"], ["era", "varchar"], ["records", "bigint"], ["settings", "map(varchar, varchar)"]]
ORDER: dict[str, Any] = {
    "tables": [{"layer": "gold", "name": "run_summary", "columns": COLUMNS, "files": []}],
    "memory_bytes": 64 << 20, "cpu_s": 5, "max_rows": 10,
}  # fmt: skip

NOT_READING = (
    "insert into gold.run_summary (run) values ('x')", "update gold.run_summary set run = ''",
    "delete from gold.run_summary", "truncate gold.run_summary", "drop table gold.run_summary",
    "create table gold.t(a int)", "create table t as select 1", "create temp table t(a int)",
    "create view v as select 1",
    "create index i on gold.run_summary(run)", "alter table gold.run_summary add x int", "create macro f(a) as a",
    "create type t as enum('a')", "create sequence s", "create secret (type s3)", "comment on table run_summary is 'x'",
    "merge into gold.run_summary using (select 1) on true when matched then delete",
    "attach '/etc/passwd' as x", "detach memory", "use memory", "vacuum", "analyze", "checkpoint", "explain select 1",
    "pragma database_list", "pragma memory_limit='9GB'", "set memory_limit='9GB'", "reset memory_limit",
    "set enable_external_access = true", "set variable a = 1", "call pragma_version()", "call enable_logging()",
    "begin", "commit", "rollback", "prepare p as select 1", "execute p", "install httpfs", "load httpfs",
    "copy gold.run_summary to '/tmp/answer.csv'", "copy gold.run_summary from '/etc/passwd'",
    "export database '/tmp/answer'", "import database '/tmp'", "pivot gold.run_summary on era",
)  # fmt: skip

OUTSIDE = (
    "select * from '/etc/passwd'", "select * from read_csv('/etc/passwd')", "select * from read_text('/etc/passwd')",
    "select * from read_blob('/etc/passwd')", "select * from read_parquet('/etc/passwd')", "select * from glob('/*')",
    "select * from read_json('/etc/passwd')", "select * from parquet_metadata('/etc/passwd')",
    "select * from sniff_csv('/etc/passwd')", "select * from 'https://127.0.0.1/answer.csv'",
    "select * from read_csv('https://127.0.0.1/answer.csv')", "select * from 's3://bucket/answer.parquet'",
    "select * from read_csv('/dev/stdin')", "select * from read_csv('/proc/self/environ')",
    "select * from sqlite_scan('/tmp/a', 'b')", "select * from enable_logging()",
    "select * from query('create table t(a int)')", "select * from query('select * from read_text(''/etc/passwd'')')",
    "select getenv('HOME')", "select * from order", "select * from found",
    "with x as (insert into gold.run_summary (run) values ('x') returning *) select * from x",
)  # fmt: skip


@pytest.mark.parametrize("query", NOT_READING)
def test_whatever_is_not_a_select_is_refused(query: str) -> None:
    assert sql_child.planned({**ORDER, "query": query}) == {"error": "refused"}


@pytest.mark.parametrize("query", OUTSIDE)
def test_a_query_reads_its_tables_and_changes_nothing(query: str) -> None:
    """Where the plan is right, running it is refused."""
    order = {**ORDER, "query": query}
    connection = sql_child.opened(order)
    sql_child.lock(connection)
    for found in (sql_child.planned(order), sql_child.ask(connection, query, 10, 1_000)):
        assert found.get("error") in ("refused", "mistake") or not found.get("columns")
        assert "root:" not in str(found)
    assert "error" in sql_child.ask(connection, query, 10, 1_000)
    again = sql_child.opened(order)
    assert again.execute("select count(*) from run_summary").fetchall() == [(0,)]


def test_confined_process_cannot_open_files_or_sockets() -> None:
    """Whatever DuckDB would let through is refused by the operating system."""
    code = f"""
import json, socket, sys
sys.path.insert(0, {str(Path(sql_child.__file__).parent)!r})
import sql_child
connection = sql_child.opened({ORDER!r})
sql_child.confine({ORDER!r})
def failed(what):
    try:
        what()
    except OSError as error:
        return error.errno
def read(path):
    return sql_child.ask(connection, f"select * from read_text('{{path}}')", 10, 1000)["error"]
print([failed(lambda: open("/etc/passwd")), failed(lambda: open("/tmp/answer", "w")), failed(socket.socket)])
print(read("/etc/passwd"))
"""
    said = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True, env={})
    assert said.stdout.split("\n")[:2] == ["[24, 24, 24]", "mistake"], said.stderr
    assert socket.socket().fileno() > 0


def test_endless_or_too_large_query_is_stopped_and_reported(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(Refusal) as large:
        answer(made, "select list(i) from range(900000000) t(i)")
    assert large.value.id == "refusal.sql_memory"
    monkeypatch.setattr(sql_box, "LIMIT_S", 1.0)
    began_s = time.monotonic()

    async def two() -> Any:
        first = asyncio.create_task(ask(*made, ENDLESS, INSTRUCTOR, requester_id=1))
        await asyncio.sleep(0)
        with pytest.raises(Refusal) as busy:
            await ask(*made, "select 1", INSTRUCTOR, requester_id=1)
        assert busy.value.id == "refusal.sql_busy"
        return await first

    with pytest.raises(Refusal) as ended:
        asyncio.run(two())
    assert ended.value.id == "refusal.sql_endless" and ended.value.as_json()["todo"]
    assert time.monotonic() - began_s > 1.0
    monkeypatch.undo()
    assert answer(made, "select 1").rows == [[1]]


def test_long_answers_are_cut_and_several_statements_refused(made: Made) -> None:
    many = "with recursive n(i) as (select 1 union all select i + 1 from n where i < 20000) select i from n"
    found = answer(made, many)
    assert len(found.rows) == sql_box.MAX_ROWS and found.is_cut
    for query, id in (
        ("select 1; select 2", "sql_several"),
        ("  -- nothing\n;", "sql_empty"),
        ("x" * 30_000, "sql_long"),
    ):
        with pytest.raises(Refusal) as refused:
            answer(made, query)
        assert refused.value.id == f"refusal.{id}"


def test_types_of_tables_are_types_of_the_database() -> None:
    columns = {kind for table in STORED.values() for _, kind in sql_box.columns_of(table, EVERYTHING)}
    assert {"varchar", "bigint", "int[]", "map(varchar, bigint)", "variant"} <= columns
    tables = [{"layer": "gold", "name": "t", "columns": [[kind, kind] for kind in sorted(columns)], "files": []}]
    found = sql_child.opened({**ORDER, "tables": tables}).execute("from gold.t").description
    assert len(found) == len(columns)


def test_the_page_lists_tables_and_answers_instructors(lab_server: LabServer, made: Made, settings: Any) -> None:
    settings.TABLES = Path(made[0].files.address)
    make_user("sql-instructor", is_staff=True)
    instructor = Visitor(lab_server).sign_in_as("sql-instructor")
    learner = Visitor(lab_server).sign_in_as("sql-reader")
    for visitor, asks in ((instructor, True), (learner, False)):
        page = visitor.get("/tables/").text
        listed = ('id="gold.failovers"', "truncated_records", 'id="bronze.events"')
        assert all(one in page for one in listed) and ("<hw-sql" in page) is asks
    found = instructor.post_json("/api/sql", {"query": "select learners, '=1' as a, 1 as a from gold.lesson_steps"})
    assert found.json["rows"] == [[16, "=1", 1]] and found.json["columns"] == ["learners", "a", "a"]
    file = instructor.post("/api/sql.csv", query="select learners, '=1' as a, 1 as a from gold.lesson_steps")
    assert file.text == "learners,a,a\r\n16,'=1,1\r\n"
    refused = instructor.post_json("/api/sql", {"query": "select\nnope from gold.lesson_steps"})
    assert (refused.status, refused.json["line"]) == (400, "2")
    assert instructor.post_json("/api/sql", {"nothing": 1}).status == 400
    assert learner.post_json("/api/sql", {"query": "select 1"}).status == 403


def test_query_is_limited_to_instructors_and_their_own_rows(database: None, made: Made) -> None:
    lin, helper, learner = (make_user(f"sql-{name}", is_staff=name == "lin") for name in ("lin", "helper", "learner"))
    kite = make_class(lin)
    make_member(kite, helper, Role.CO_INSTRUCTOR)
    member = make_member(kite, learner)
    for slug, owner, room in (("mine", lin, None), ("taught", learner, kite), ("others", learner, None)):
        Run.objects.create(
            slug=slug, owner=owner, name="asked", seed=1, brokers=1, era="3.9", classroom=room,
            participant=member if room else None,
        )  # fmt: skip
    try:
        assert [may_ask(one) for one in (lin, helper, learner)] == [True, True, False]
        ledger = made[1].ledger()
        seen = visible_to(lin, ledger)
        assert (seen.branches, seen.classes) == ({"mine/main", "taught/main"}, {kite.slug})
        assert f"class:{kite.slug}" in seen.logs and len(seen.logs) == 2 and seen.has_all
        seen = visible_to(helper, ledger)
        assert (seen.branches, seen.has_all) == ({"taught/main"}, False)
        assert visible_to(learner, ledger).branches == {"taught/main", "others/main"}
    finally:
        Run.objects.filter(name="asked").delete()
        Class.objects.filter(pk=kite.pk).delete()
