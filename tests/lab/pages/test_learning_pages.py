"""Reviews and a learner's own data, as a browser without a screen sees them."""

import csv
import io
import json
import re
from pathlib import Path

import pytest
from django.conf import settings as places
from django.contrib.auth import get_user_model
from pytest_django.fixtures import Settings

from lab.actions import keep_tables
from lab.analytics.build.logs import learner_log
from lab.analytics.build.people import pseudonym
from lab.analytics.session import Spark
from lab.analytics.store.builds import Store
from lab.learning import append, history_of, summary_of
from lab.learning.cards import question_seed
from lab.learning.events import LessonFinished, LessonStarted, PredictionSettled, ReviewAnswered, ReviewAsked
from lab.learning.log import delete_history, learner_id, wall_ms
from lab.models import Branch, ChallengeEntry, ExerciseProgress
from lab.reviews.registry import question_of
from lab.web.sign_in import local_user
from tests.support.analytics.hand_made import bytes_of, publish_acts
from tests.support.lab_server import Visitor

LESSON, OTHER = "017-segments-roll", "001-high-watermark-two-fetches"
DAY_MS = 86_400_000


@pytest.fixture
def learner(visitor: Visitor) -> int:
    """A visitor who finished two lessons ten days ago."""
    user_id = local_user().pk
    delete_history(user_id)
    then_ms = wall_ms() - 10 * DAY_MS
    for slug in (LESSON, OTHER):
        settled = PredictionSettled(
            lesson=slug, step="name", choice="a", choices=4, p=0.7, outcome="a", right=True, brier=0.12
        )
        append(user_id, settled, then_ms)
        append(user_id, LessonFinished(lesson=slug), then_ms)
    return user_id


def folder_of(user_id: int) -> Path:
    return Path(places.DATA) / "learning" / learner_id(user_id) / "learning-0"


def asked(visitor: Visitor) -> tuple[str, str]:
    """The slug and the count of the question that is shown."""
    page = visitor.get("/review/").text
    found = re.search(r'action="/review/([\w-]+)/answer".*?name="count" value="(\d+)"', page, re.S)
    assert found, "no question is shown"
    return found[1], found[2]


def right_answer(user_id: int, slug: str, count: str) -> str:
    return question_of(slug, question_seed(learner_id(user_id), slug, int(count))).right


def test_question_preselects_nothing_and_does_not_change_on_reload(visitor: Visitor, learner: int) -> None:
    first = visitor.get("/review/")
    assert " checked" not in first.text
    assert len(re.findall(r'name="p" value', first.text)) >= 4
    assert asked(visitor) == asked(visitor)
    shown = [stored for stored in history_of(learner) if isinstance(stored.event, ReviewAsked)]
    assert len(shown) == 1


@pytest.mark.parametrize("language", ["en", "zh-CN"])
def test_right_answer_gets_its_reason_and_moves_the_card(visitor: Visitor, learner: int, language) -> None:
    visitor.get(f"/review/?language={language}")
    slug, count = asked(visitor)
    answer = visitor.post(f"/review/{slug}/answer", count=count, choice=right_answer(learner, slug, count), p="0.7")
    assert answer.status == 200
    assert answer.url.endswith("/review/verdict/")
    assert {"en": "Right.", "zh-CN": "正确。"}[language] in answer.text
    assert f"/course/{slug}/" in answer.text or slug == LESSON
    assert asked(visitor)[0] != slug
    summary = summary_of(learner)
    assert summary.answered_today == 1
    assert [card.lesson for card in summary.due] == [({LESSON, OTHER} - {slug}).pop()]


def test_confident_error_shows_the_misconception_behind_it(visitor: Visitor, learner: int) -> None:
    visitor.get("/review/?language=en")
    slug, count = asked(visitor)
    question = question_of(slug, question_seed(learner_id(learner), slug, int(count)))
    wrong = next(choice for choice in question.choices if choice.misconception)
    answer = visitor.post(f"/review/{slug}/answer", count=count, choice=wrong.id, p="0.99")
    assert "Not right." in answer.text
    assert "You were 99 % sure" in answer.text
    stored = history_of(learner)[-1].event
    assert isinstance(stored, ReviewAnswered)
    assert (stored.right, stored.rating, stored.misconception) == (False, 1, wrong.misconception)


def test_answer_from_a_second_tab_is_refused(visitor: Visitor, learner: int) -> None:
    visitor.get("/review/?language=en")
    slug, count = asked(visitor)
    choice = right_answer(learner, slug, count)
    visitor.post(f"/review/{slug}/answer", count=count, choice=choice, p="0.7")
    second = visitor.post(f"/review/{slug}/answer", count=count, choice=choice, p="0.99")
    assert second.status == 409
    assert "already been answered" in second.text
    answers = [stored for stored in history_of(learner) if isinstance(stored.event, ReviewAnswered)]
    assert len(answers) == 1


@pytest.mark.parametrize(
    ("form", "status"),
    [
        ({"choice": "no such"}, 400),
        ({"choice": ""}, 400),
        ({"p": "0.42"}, 400),
        ({"p": "7"}, 400),
        ({"p": "nan"}, 400),
        ({"p": ""}, 400),
        ({"count": "99"}, 409),
        ({"count": "-1"}, 409),
        ({"count": "9" * 40}, 409),
    ],
)
def test_answer_out_of_range_is_refused_and_not_stored(visitor: Visitor, learner: int, form, status) -> None:
    slug, count = asked(visitor)
    sent = {"count": count, "choice": right_answer(learner, slug, count), "p": "0.7", **form}
    answer = visitor.post(f"/review/{slug}/answer", **sent)
    assert answer.status == status
    assert 'role="alert"' in answer.text
    assert not any(isinstance(stored.event, ReviewAnswered) for stored in history_of(learner))


def test_card_that_is_not_due_and_lesson_without_questions_are_refused(visitor: Visitor, learner: int) -> None:
    assert visitor.post("/review/011-acks/answer", count="0", choice="a", p="0.7").status == 409
    assert visitor.post("/review/no-such-lesson/answer", count="0", choice="a", p="0.7").status == 404


def test_newcomer_sees_when_reviews_start(visitor: Visitor, learner: int) -> None:
    delete_history(learner)
    visitor.get("/review/?language=en")
    assert "nothing to review yet" in visitor.get("/review/").text
    assert visitor.get("/review/verdict/").url.endswith("/review/")
    assert visitor.get("/learning/").status == 200


def test_own_data_is_shown_exported_and_deleted(visitor: Visitor, learner: int) -> None:
    slug, count = asked(visitor)
    visitor.post(f"/review/{slug}/answer", count=count, choice=right_answer(learner, slug, count), p="0.9")
    page = visitor.get("/learning/?language=en")
    assert "The high watermark takes two fetches" in page.text
    exported = visitor.get("/learning/export.csv")
    assert "attachment" in exported.headers["Content-Disposition"]
    kinds = [row["kind"] for row in csv.DictReader(io.StringIO(exported.text))]
    assert kinds == ["prediction", "prediction", "review"]
    statements = [json.loads(line) for line in visitor.get("/learning/export.jsonl").text.splitlines()]
    verbs = [one["verb"]["display"]["en-US"] for one in statements]
    assert verbs == ["answered", "completed"] * 2 + ["answered", "mastered"]
    unconfirmed = visitor.post("/learning/delete")
    assert unconfirmed.status == 400
    assert len(history_of(learner)) > 0
    assert "deleted" in visitor.post("/learning/delete", confirm="yes").text
    assert history_of(learner) == []


def test_deletion_reaches_tables_at_once(
    visitor: Visitor, learner: int, tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.TABLES = tmp_path / "tables"
    store = Store.at(str(settings.TABLES))
    another = get_user_model().objects.create_user("reads on")
    append(another.pk, LessonStarted(lesson=LESSON, run="r", branch="main"))
    person, other = pseudonym(settings.DATA, learner), pseudonym(settings.DATA, another.pk)
    publish_acts(store, {learner_log(person): person, learner_log(other): other})
    store.pin(1)
    monkeypatch.setattr(Spark, "start", None)
    assert "deleted" in visitor.post("/learning/delete", confirm="yes").text
    assert person.encode() not in bytes_of(store) and other.encode() in bytes_of(store)
    delete_history(another.pk)
    another.delete()


def test_deletion_that_does_not_reach_tables_is_reported_and_tried_again(
    visitor: Visitor, learner: int, tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.TABLES = tmp_path / "tables"
    store = Store.at(str(settings.TABLES))
    person = pseudonym(settings.DATA, learner)
    # The page shows, and so begins, another history.
    publish_acts(store, {learner_log(person): person}, {learner_log(person): folder_of(learner)})

    def full(*_: object) -> None:
        raise OSError("No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(keep_tables, "remove_deleted", full)
        page = visitor.post("/learning/delete?language=en", confirm="yes")
        assert page.status == 503 and "tables may still contain it: No space left on device" in page.text
    assert history_of(learner) == [] and person.encode() in bytes_of(store)
    visitor.server.call(lambda _: keep_tables.keep_tables())
    assert person.encode() not in bytes_of(store)


def test_deletion_removes_progress_and_leaves_runs(visitor: Visitor, learner: int) -> None:
    address = visitor.new_run()
    branch = Branch.objects.get(run__slug=address.split("/")[0], name="main")
    ExerciseProgress.objects.create(user_id=learner, branch=branch, exercise=OTHER)
    ChallengeEntry.objects.create(user_id=learner, challenge="c1-lose-one-acknowledged-record")
    visitor.post("/learning/delete", confirm="yes")
    assert not ExerciseProgress.objects.filter(user_id=learner).exists()
    assert not ChallengeEntry.objects.filter(user_id=learner).exists()
    assert Branch.objects.filter(pk=branch.pk).exists()


def test_data_of_other_users_is_not_visible(other_visitor: Visitor, visitor: Visitor, learner: int) -> None:
    assert "two fetches" not in other_visitor.get("/learning/?language=en").text
    assert len(other_visitor.get("/learning/export.csv").text.splitlines()) == 1


def test_lesson_that_was_begun_is_shown_as_started_in_the_order_of_the_course(visitor: Visitor, learner: int) -> None:
    append(learner, LessonStarted(lesson="008-a-records-way"), wall_ms())
    page = visitor.get("/learning/?language=en").text
    rows = re.findall(r'href="/course/([\w-]+)/">.*?class="mastery (\w+)">([^<]+)<', page)
    assert [slug for slug, _, _ in rows] == ["008-a-records-way", LESSON, OTHER]
    assert rows[0][1:] == ("started", "started")
