"""The front page, the pages of lessons, and runs that begin there."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.utils import timezone

from lab.actions import start_run
from lab.course.hero import HERO, hero_run
from lab.course.loader import course
from lab.learning.events import LessonFinished, LessonStarted
from lab.learning.log import append, delete_history
from lab.models import Branch, ExerciseProgress
from lab.templatetags.prose import breakable, prose
from tests.support.lab_server import LabServer, Visitor
from tests.support.paths import ROOT

LOST = "006-the-lost-record"
WATERMARK = "001-high-watermark-two-fetches"
GROUPS = "004-three-members-ten-partitions"


def cards(text: str) -> dict[str, str]:
    """The lessons that the front page lists, each with the class of its card."""
    found = re.findall(r'<li class="lesson-card ([\w ]+)"><a href="/course/([^/"]+)/"', text)
    return {slug: look for look, slug in found}


def started(visitor: Visitor, slug: str) -> str:
    """Starts a lesson; returns its run."""
    answer = visitor.post(f"/course/{slug}/start")
    assert answer.status == 200
    return re.findall(r"/r/([a-z0-9]+)/main", answer.url)[0]


@pytest.fixture
def newcomer(lab_server: LabServer) -> Visitor:
    """A new learner."""
    get_user_model().objects.filter(username="newcomer").delete()
    return Visitor(lab_server).sign_in_as("newcomer")


# The front page


def test_front_page_lists_every_lesson_once_with_its_address(visitor: Visitor) -> None:
    text = visitor.get("/").text
    assert list(cards(text)) == list(course().lessons)
    for lesson in course().lessons.values():
        assert lesson.exercise.title.en in text.replace("&#x27;", "'").replace("<wbr>", "")
    chinese = visitor.get("/?language=zh-CN").text.replace("<wbr>", "")
    for lesson in course().lessons.values():
        assert lesson.exercise.title.zh in chinese
    visitor.get("/?language=en")


def test_front_page_orders_lessons_by_note_and_as_a_map(visitor: Visitor) -> None:
    by_note = visitor.get("/?view=note").text
    assert 'lang="zh-CN">消费者与分区数' in by_note
    assert 'lang="zh-CN">HW&amp;LEO' in by_note
    assert set(cards(by_note)) <= set(course().lessons)
    drawn = visitor.get("/?view=map").text
    assert re.findall(r'<a class="map-node \w+" href="/course/([^/"]+)/"', drawn) == list(course().lessons)
    assert visitor.get("/?view=nonsense").text.count("by-chapter") == 1


def test_newcomer_is_offered_the_first_lesson_and_no_form(newcomer: Visitor) -> None:
    text = newcomer.get("/").text
    first = (course().first_path or list(course().lessons.values()))[0]
    hero = text[text.index('<section class="hero">') : text.index('class="course-head"')]
    assert f'action="/course/{first.slug}/start"' in hero
    assert set(re.findall(r'<input type="(\w+)"', hero)) == {"hidden", "range"}
    assert set(cards(text).values()) == {"new", "current"}
    assert "No runs yet." in text and "The curve starts" in text


def test_front_page_shows_the_first_path_with_its_next_lesson_until_it_is_done(newcomer: Visitor) -> None:
    path = [lesson.slug for lesson in course().first_path]
    learner = get_user_model().objects.get(username="newcomer").pk

    def shown() -> tuple[str, dict[str, str]]:
        text = newcomer.get("/").text
        section = text[text.index('class="chapter first-path"') : text.index('class="by-chapter"')]
        found = re.findall(r'<li class="(\w+(?: next)?)"><a href="/course/([^/"]+)/"', section)
        return section, {slug: look for look, slug in found}

    try:
        section, steps = shown()
        assert list(steps) == path and f"{len(path)} lessons" in section
        assert steps == {path[0]: "new next", **dict.fromkeys(path[1:], "new")}
        for slug in path[:2]:
            append(learner, LessonFinished(lesson=slug))
        section, steps = shown()
        assert "2 finished" in section and course().first_path[2].exercise.title.en in section
        assert [steps[slug] for slug in path[:4]] == ["done", "done", "new next", "new"]
        for slug in path[2:]:
            append(learner, LessonFinished(lesson=slug))
        assert "first-path" not in newcomer.get("/").text
    finally:
        delete_history(learner)


def test_open_lab_starts_a_cluster_in_which_records_move(visitor: Visitor) -> None:
    answer = visitor.post("/open-lab")
    run = re.findall(r"/r/([a-z0-9]+)/main\?p=orders-0", answer.url)[0]
    with visitor.socket(run) as client:
        state = client.of_kind("snap")["state"]
        assert sorted(state["partitions"]) == ["orders-0", "orders-1", "orders-2"]
        clock = client.of_kind("clock")
        assert clock["mode"] == "event_paced"
        assert clock["at_us"] < 10_000_000, "its topic was waited for in vain"
        assert "p1" in state["nodes"]


@pytest.mark.parametrize("at", ["", "nonsense", "99999999999999", "lost"])
def test_recording_is_taken_over_at_its_instant(visitor: Visitor, at: str) -> None:
    hero = hero_run()
    page = json.loads((ROOT / HERO).read_text(encoding="utf-8"))
    instants = {id: at_us for at_us, id in page["captions"]}
    given = str(instants["lost"]) if at == "lost" else at
    answer = visitor.post("/take-over", at=given)
    run = re.findall(r"/r/([a-z0-9]+)/main\?p=ledger-0", answer.url)[0]
    with visitor.socket(run) as client:
        state = client.of_kind("snap")["state"]
        clock = client.of_kind("clock")
        assert clock["mode"] == "pause" and hero.at_us <= clock["at_us"] <= hero.end_us
    leader = state["partitions"]["ledger-0"]["leader"]
    assert leader == (3 if at in ("lost", "99999999999999") else 1)
    if at == "lost":
        assert state["replicas"]["ledger-0@b3"]["log_end_offset"] == 5
        assert state["alarms"]


# Lessons


def test_lesson_page_describes_the_lesson_without_the_answer(lab_server: LabServer) -> None:
    lesson = course().lessons[LOST]
    text = Visitor(lab_server).sign_in_as("lesson-newcomer").get(f"/course/{LOST}/").text
    assert "era 0.10" in text and "Start</button>" in text
    assert text.count('<li class="prediction">') == sum(step.kind == "prediction" for step in lesson.exercise.steps)
    for step in lesson.exercise.steps[2:]:
        assert step.text.en[:60] not in text
    assert "must not decide where a log is truncated" not in text


def test_unknown_lesson_is_not_found(visitor: Visitor) -> None:
    assert visitor.get("/course/999-nothing/").status == 404
    assert visitor.post("/course/999-nothing/start").status == 404


def test_analytics_of_a_lesson_show_own_attempts_and_all_learners_to_instructors(
    visitor: Visitor, newcomer: Visitor
) -> None:
    page = f"/course/{LOST}/analytics/"
    assert f'href="{page}"' in visitor.get(f"/course/{LOST}/").text
    assert "Only you can see this page" in newcomer.get(page).text
    shown = newcomer.get(f"/api{page}tables.json").json
    assert (shown["figures"], shown["as_of_ms"], shown["withheld"]) == ({}, 0, False)
    # Without a history there is nothing to wait for, and what others did is not revealed.
    assert newcomer.post_json(f"/api{page}tables/start", {}).json["job"] is None
    assert newcomer.get(f"/api{page}tables/own_steps.csv").text.startswith("attempt_no,")
    assert newcomer.get(f"/api{page}tables/lesson_stops.csv").status == 404
    assert newcomer.get(f"/api{page}tables/j1.json").status == 404
    assert newcomer.get("/api/course/999-nothing/analytics/tables.json").status == 404
    assert Visitor(visitor.server).get(f"/api{page}tables.json").status == 401


def test_start_creates_a_run_of_the_lessons_era(visitor: Visitor) -> None:
    before = visitor.new_run(name="Untouched")
    first, second = started(visitor, LOST), started(visitor, LOST)
    assert len({before, first, second}) == 3
    with visitor.socket(first) as client:
        assert client.of_kind("exercise")["slug"] == LOST
        assert "ledger-0" in client.of_kind("snap")["state"]["partitions"]
    page = visitor.get(f"/r/{first}/main").text
    assert "era 0.10" in page and f'href="/course/{LOST}/"' in page


def test_attempts_are_listed_and_continued(visitor: Visitor) -> None:
    run = started(visitor, GROUPS)
    lesson = visitor.get(f"/course/{GROUPS}/").text
    assert f'href="/r/{run}/main">Continue at step 1' in lesson
    assert "Start again" in lesson
    assert cards(visitor.get("/").text)[GROUPS] == "current"
    assert f'href="/r/{run}/main">Continue' in visitor.get("/").text


def test_finished_lesson_shows_its_steps_and_its_concept(visitor: Visitor) -> None:
    run = started(visitor, LOST)
    progress = ExerciseProgress.objects.get(branch=Branch.objects.get(run__slug=run, name="main"))
    steps = course().lessons[LOST].exercise.steps
    asked = next(step for step in steps if step.kind == "prediction")
    done: dict[str, dict[str, Any]] = {step.id: {"phase": "done"} for step in steps}
    done[asked.id]["given"] = {"choice": "unchanged", "confidence": 0.9, "outcome": "at its high watermark"}
    progress.state, progress.started_at = {"steps": done, "hints_shown": 0}, timezone.now()
    progress.save()
    text = visitor.get(f"/course/{LOST}/").text
    assert "must not decide where a log is truncated" in text
    assert 'aria-label="1 prediction: 0 right, 1 wrong"' in text
    assert cards(visitor.get("/").text)[LOST] == "done"


@pytest.fixture
def learner(visitor: Visitor) -> Iterator[int]:
    """The visitor's user, whose learning log is empty before and after."""
    user = get_user_model().objects.get(username="learner")
    delete_history(user.pk)
    yield user.pk
    delete_history(user.pk)


def test_lesson_stays_done_when_its_run_is_deleted(visitor: Visitor, learner: int) -> None:
    append(learner, LessonStarted(lesson=WATERMARK))
    append(learner, LessonFinished(lesson=WATERMARK))
    assert cards(visitor.get("/").text)[WATERMARK] == "done"


def test_refused_start_is_explained_on_the_lessons_page(visitor: Visitor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(start_run, "MAX_RUNS", 0)
    for path in (f"/course/{LOST}/start", "/open-lab", "/take-over"):
        answer = visitor.post(path)
        assert answer.status == 409 and "You already have" in answer.text
        assert 'role="alert"' in answer.text


# Search and glossary


def test_search_finds_lessons_runs_and_terms_of_the_visitor_alone(visitor: Visitor, other_visitor: Visitor) -> None:
    run = visitor.new_run(name="Find me")
    found = visitor.get("/api/find.json").json
    kinds = {kind: [one for one in found if one["kind"] == kind] for kind in ("lesson", "run", "term")}
    assert [one["address"] for one in kinds["lesson"]] == [f"/course/{slug}/" for slug in course().lessons]
    assert f"/r/{run}/main" in [one["address"] for one in kinds["run"]]
    term = next(one for one in kinds["term"] if one["title"] == "high watermark")
    anchor = term["address"].partition("#")[2]
    assert f'id="{anchor}"' in visitor.get("/glossary/").text
    visitor.get("/?language=zh-CN")
    chinese = next(one for one in visitor.get("/api/find.json").json if one["title"] == "high watermark")
    assert chinese["detail"] in visitor.get("/glossary/").text and chinese["detail"] != term["detail"]
    visitor.get("/?language=en")
    assert "Find me" not in [one["title"] for one in other_visitor.get("/api/find.json").json]
    assert Visitor(visitor.server).get("/api/find.json").status == 401


def test_chain_of_an_event_comes_in_parts(visitor: Visitor) -> None:
    run = visitor.new_run()
    address = f"/api/runs/{run}/main/chain"
    with visitor.socket(run) as client:
        client.run("kafka-topics.sh --create --topic mine --partitions 1 --replication-factor 1")
        created = client.event("ZnodeCreated", "/brokers/topics/mine")
    (chain,) = visitor.get(f"{address}?seq={created[0]}").json
    assert chain[0]["seq"] == created[0]
    assert "kafka-topics.sh --create --topic mine" in chain[-1]["sentence"]
    assert [one["seq"] for one in chain] == sorted((one["seq"] for one in chain), reverse=True)
    for query in ("", "?seq=0", "?seq=999999", "?seq=x", "?seq=1&via=999999", "?seq=1&via=-1"):
        assert 400 <= visitor.get(f"{address}{query}").status < 500, query


def test_markup_in_a_text_of_a_lesson_is_escaped() -> None:
    said = str(prose("<script>alert(1)</script> and `<b>` and **<i>**\n\n```\n<img src=x>\n```\n\n- <a href=x>"))
    assert not re.findall(r"<(?:script|i|img|a)\b", said)
    assert "&lt;script&gt;" in said and "<code>&lt;b&gt;</code>" in said


def test_key_of_a_control_has_its_symbol_beside_it() -> None:
    said = str(prose("Open it (`` ` ``), **play (`Space`)** 或单步（`Enter`）, and read `Space` as code."))
    for symbol, key in (("console", "`"), ("play", "Space"), ("step", "Enter")):
        assert re.search(
            rf'<span class="key">.<svg [^>]*><use href="[^"]*#{symbol}"/></svg><kbd>{key}</kbd>.</span>', said
        )
    assert said.endswith("and read <code>Space</code> as code.</p>")


def test_long_names_in_titles_break_between_their_parts() -> None:
    assert breakable("What min.insync.replicas promises") == "What min.<wbr>insync.<wbr>replicas promises"
    assert breakable("KafkaConsumerDemo → 35") == "Kafka<wbr>Consumer<wbr>Demo → 35"
    assert breakable("a <b>. And c.") == "a &lt;b&gt;. And c."


@pytest.mark.parametrize(("folder", "part"), [("/course/", "course"), ("/challenges/", "break-it-prove-it")])
def test_address_without_a_name_leads_to_the_list(visitor: Visitor, folder: str, part: str) -> None:
    answer = visitor.get(folder)
    assert answer.status == 200 and answer.url.endswith(f"/#{part}") and f'id="{part}"' in answer.text
