"""SQL queries: visible rows, rejected queries, and limits of time and memory."""

import asyncio
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from lab.analytics.serve import sql_box, sql_child
from lab.analytics.serve.questions import QUESTIONS
from lab.analytics.serve.sql_box import Answer, ask
from lab.analytics.serve.visible import EVERYTHING, Visible, may_ask, visible_to
from lab.analytics.store.builds import Build, Store
from lab.analytics.tables.registry import TABLES
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
             (select json_extract(settings, '$.acks') from gold.run_summary limit 1)""",
    )
    assert seen.rows == [["mine,taught", "s1,s4", "kite", 0, "all"]] and seen.build == made[1].number
    everything = answer(made, "select count(*), sum(records) from gold.run_summary", EVERYTHING)
    assert everything.rows == [[3, 111]]
    assert "learner" in answer(made, "select * from silver.acts", EVERYTHING).columns
    assert not {"learner", "log", "lab"} & set(answer(made, "select * from silver.acts limit 1").columns)


@pytest.mark.parametrize(
    ("query", "line", "problem"),
    [
        ("select 1 union all\nselec 2", "2", "selec"),
        ("select run\nfrom gold.run_summary -- run, nope\nwhere nope > 1", "3", "no such column: nope"),
        ("select learner\nfrom silver.acts", "1", "no such column: learner"),
        ("select count(*)\n\nfrom gold.nowhere", "3", "no such table"),
    ],
)
def test_mistakes_are_told_with_their_line(made: Made, query: str, line: str, problem: str) -> None:
    with pytest.raises(Refusal) as refused:
        answer(made, query)
    assert refused.value.field == line and problem in refused.value.as_json()["what"]


def test_all_rows_are_asked_however_many_are_copied_at_a_time(tmp_path: Path) -> None:
    store = Store.at(str(tmp_path))
    count = 2 * sql_child.ROWS_AT_ONCE + 3
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
    first = sql_child.ROWS_AT_ONCE + 1
    assert len(answer(found, f"select step from gold.lesson_steps limit {first}", EVERYTHING).rows) == first


ORDER: dict[str, Any] = {
    "tables": [{"layer": "gold", "name": "run_summary", "columns": [["run", "text"]], "files": []}],
    "memory_bytes": 64 << 20, "cpu_s": 5,
}  # fmt: skip

NOT_READING = (
    "insert into gold.run_summary values ('x')", "update gold.run_summary set run = ''", "delete from gold.run_summary",
    "drop table gold.run_summary", "create table gold.t(a)", "create table t as select 1", "create temp table t(a)",
    "create view v as select 1", "create index gold.i on run_summary(run)", "alter table gold.run_summary add x",
    "create trigger gold.t after insert on run_summary begin select 1; end",
    "replace into gold.run_summary values ('')",
    "attach '/etc/passwd' as x", "detach gold", "vacuum", "vacuum into '/tmp/answer.db'", "reindex", "analyze",
    "pragma database_list", "pragma hard_heap_limit = 0", "select * from pragma_database_list", "begin", "commit",
    "rollback", "savepoint a", "select load_extension('x')", "create virtual table t using fts5(a)",
    "create virtual table temp.t using rtree(a, b, c)", "select * from sqlite_master",
    "select name from sqlite_temp_schema",
    "select fts3_tokenizer('a')", "with x as (select 1) insert into gold.run_summary select * from x",
)  # fmt: skip


@pytest.mark.parametrize("query", NOT_READING)
def test_whatever_does_not_read_rows_is_refused(query: str) -> None:
    connection = sql_child.opened(ORDER)
    connection.set_authorizer(sql_child.allows)
    assert sql_child.checked(connection, "select run, upper(run) from gold.run_summary") is None
    assert sql_child.checked(connection, query) == {"error": "refused"}


def test_the_process_opens_nothing_once_it_answers() -> None:
    """Whatever SQLite would let through: the operating system says no."""
    code = f"""
import json, socket, sys
sys.path.insert(0, {str(Path(sql_child.__file__).parent)!r})
import sql_child
sql_child.confine({ORDER!r})
def failed(what):
    try:
        what()
    except OSError as error:
        return error.errno
print([failed(lambda: open("/etc/passwd")), failed(lambda: open("/tmp/answer", "w")), failed(socket.socket)])
"""
    said = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True, env={})
    assert said.stdout.strip() == "[24, 24, 24]", said.stderr
    assert socket.socket().fileno() > 0


def test_a_question_without_end_or_too_large_is_ended_and_said(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(Refusal) as large:
        answer(made, "select hex(zeroblob(900000000))")
    assert large.value.id == "refusal.sql_memory"
    monkeypatch.setattr(sql_box, "LIMIT_S", 1.0)
    began_s = time.monotonic()

    async def two() -> Any:
        first = asyncio.create_task(ask(*made, ENDLESS, INSTRUCTOR, asker=1))
        await asyncio.sleep(0)
        with pytest.raises(Refusal) as busy:
            await ask(*made, "select 1", INSTRUCTOR, asker=1)
        assert busy.value.id == "refusal.sql_busy"
        return await first

    with pytest.raises(Refusal) as ended:
        asyncio.run(two())
    assert ended.value.id == "refusal.sql_endless" and ended.value.as_json()["todo"]
    assert time.monotonic() - began_s > 1.0
    monkeypatch.undo()
    assert answer(made, "select 1").rows == [[1]]


def test_long_answers_are_cut_and_several_statements_refused(made: Made) -> None:
    many = "with recursive n(i) as (select 1 union all select i + 1 from n limit 20000) select i from n"
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


def test_the_first_questions_are_right_about_the_tables() -> None:
    tables = [
        {"layer": table.layer, "name": table.name.partition(".")[2], "columns": sql_box.columns_of(table, INSTRUCTOR)}
        for table in TABLES.values()
    ]
    connection = sql_child.opened({**ORDER, "tables": tables})
    connection.set_authorizer(sql_child.allows)
    assert len(QUESTIONS) == 10
    for name, query in QUESTIONS.items():
        assert sql_child.checked(connection, query) is None, name
        assert connection.execute(query).fetchall() == [], name


def test_the_page_lists_tables_and_answers_instructors(lab_server: LabServer, made: Made, settings: Any) -> None:
    settings.TABLES = Path(made[0].files.address)
    make_user("sql-instructor", is_staff=True)
    instructor = Visitor(lab_server).sign_in_as("sql-instructor")
    learner = Visitor(lab_server).sign_in_as("sql-reader")
    for visitor, asks in ((instructor, True), (learner, False)):
        page = visitor.get("/tables/").text
        assert 'id="gold.failovers"' in page and "truncated_records" in page and ("<hw-sql" in page) is asks
    found = instructor.post_json("/api/sql", {"query": "select learners, '=1' as a, 1 as a from gold.lesson_steps"})
    assert found.json["rows"] == [[16, "=1", 1]] and found.json["columns"] == ["learners", "a", "a"]
    file = instructor.post("/api/sql.csv", query="select learners, '=1' as a, 1 as a from gold.lesson_steps")
    assert file.text == "learners,a,a\r\n16,'=1,1\r\n"
    refused = instructor.post_json("/api/sql", {"query": "select\nnope from gold.lesson_steps"})
    assert (refused.status, refused.json["line"]) == (400, "2")
    assert instructor.post_json("/api/sql", {"nothing": 1}).status == 400
    assert learner.post_json("/api/sql", {"query": "select 1"}).status == 403


def test_who_may_ask_and_what_they_see(database: None, made: Made) -> None:
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
