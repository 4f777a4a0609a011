"""Tables of learning: what a class of six did, against answers worked out by hand and the lab's own folds."""

import os
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from django.contrib.auth import get_user_model
from django.test import override_settings
from pyspark.sql import SparkSession

from lab.analytics.build.gone import erase_gone
from lab.analytics.build.live import ACTS, LIVE, LiveClasses
from lab.analytics.build.log_run import WantedLogs, build_logs
from lab.analytics.build.logs import class_log, learner_log, logs
from lab.analytics.build.people import forget, pseudonym
from lab.analytics.cli.making import expire
from lab.analytics.standing import StandingQueries
from lab.analytics.store.builds import Store
from lab.analytics.store.erase import erase
from lab.analytics.store.reading import rows
from lab.analytics.tables.registry import TABLES
from lab.classroom.events import help, lead, pace, poll, room, work
from lab.classroom.journal import FORMAT, ClassJournal, Header
from lab.learning.events import (
    AnswerGiven,
    HintShown,
    LessonFinished,
    LessonStarted,
    PredictionGiven,
    PredictionSettled,
    StepChecked,
    StepSkipped,
    WrongStateShown,
)
from lab.learning.log import append, close_all, delete_history, learner_id, summary_of
from lab.models import Class, Participant, Run

NOON_MS = 1_780_000_000_000
TAG = "hw-is-leo"
OTHER = "acks-wait-for-all"
RIGHT = (True, True, False, False, False)
SURE = (0.9, 0.7, 0.9, 0.5, 0.25)
"""The answers of five learners; the sixth skipped the question."""


class Lesson:
    """A class with its learners on disk and in the database, and the tables of them."""

    def __init__(self, session: SparkSession, data: Path) -> None:
        self.session, self.data = session, data
        self.store = Store.at(str(data / "tables"))
        users = get_user_model().objects
        self.teacher = users.create_user("teaches the tables")
        self.users = [users.create_user(f"learns {number}") for number in range(6)]
        # A viewer has a log without acts, followed by the logs of others.
        summary_of(self.users[0].pk)
        self.idle = users.create_user("looks on")
        summary_of(self.idle.pk)
        self.room = Class.objects.create(slug="kite", owner=self.teacher, title="Kite", link_key="k" * 32)
        for number, user in enumerate(self.users, 1):
            Participant.objects.create(classroom=self.room, number=number, user=user, skeleton=f"s{number}")
            Run.objects.create(slug=f"r{number}", owner=user, name="x", seed=1, brokers=3, classroom=self.room)
        Participant.objects.create(classroom=self.room, number=9, user=self.idle, skeleton="s9")
        self.journal = ClassJournal(data / "classes" / "kite", Header(FORMAT, "kite", NOON_MS))
        self.seq = 0
        self.write(1, "room", room.ClassOpened("first-steps", 2, 10, (0, 1)))

    def write(self, class_s: float, who: str, event: Any) -> None:
        self.seq += 1
        self.journal.append([(self.seq, int(class_s * 1_000_000), who, "", event)])

    def person(self, number: int) -> str:
        return pseudonym(self.data, self.users[number].pk)

    def build(self) -> list[int]:
        return build_logs(lambda: self.session, self.store, WantedLogs(logs())).published

    def rows(self, table: str, **where: Any) -> list[dict[str, Any]]:
        build = self.store.newest()
        assert build is not None
        found = rows(self.store, build, table)
        listed = [] if found is None else found.to_pylist()
        return [row for row in listed if all(row[name] == value for name, value in where.items())]

    def delete(self) -> None:
        self.journal.close()
        close_all()
        for user in (*self.users, self.idle, self.teacher):
            user.delete()


def learn(user_id: int, number: int) -> None:
    """A lesson with a prediction and a goal: if the learner was wrong, the cluster was in a wrong state as well."""
    at_ms = NOON_MS + number * 1_000

    def add(event: Any, after_s: int) -> None:
        append(user_id, event, at_ms + after_s * 1_000)

    where: dict[str, Any] = {"lesson": "first-steps", "run": f"r{number + 1}", "branch": "main", "at_us": 5_000}
    add(LessonStarted(**where, seq=1), 0)
    if number < 5:
        right, p = RIGHT[number], SURE[number]
        if number in (1, 2):
            add(HintShown(**where, step="guess", hint=1), 5)
        add(PredictionGiven(**where, step="guess", choice="a" if right else "b", choices=4, p=p), 10)
        settled = PredictionSettled(
            **where, step="guess", choice="a" if right else "b", choices=4, p=p, outcome="a", right=right,
            brier=0.1 if right else 1.2, misconception="" if right else TAG, tags=(TAG, OTHER), seq=40 + number,
        )  # fmt: skip
        add(settled, 40)
    else:
        add(StepSkipped(**where, step="guess"), 10)
    if number == 2:
        add(WrongStateShown(**where, step="cut", wrong="split", misconception=OTHER, seq=60), 50)
        add(PredictionSettled(
            **where, step="again", choice="a", choices=4, p=0.9, outcome="a", right=True, brier=0.1, tags=(TAG,)), 60,
        )  # fmt: skip
    if number < 4:
        add(StepChecked(**where, step="cut", seq=70), 400)
        add(LessonFinished(**where), 401)


@pytest.fixture(scope="module")
def lesson(session: SparkSession, tmp_path_factory: pytest.TempPathFactory, database: None) -> Iterator[Lesson]:
    data = tmp_path_factory.mktemp("learning")
    with override_settings(DATA=data, TABLES=data / "tables"):
        close_all()
        made = Lesson(session, data)
        for number, user in enumerate(made.users):
            made.write(2, "room", room.Joined(f"p{number + 1}", "learner", False, "number"))
            learn(user.pk, number)
        append(made.users[0].pk, AnswerGiven(lesson="first-steps", step="cut", answer="x", right=False), NOON_MS)
        made.write(20, "room", work.StuckBegan("p3", "struggles", 1, "refused", 3, 20))
        made.write(50, "room", work.StuckEnded("p3"))
        made.write(55, "p4", help.HandRaised("p4", "r4/main", 3, 9, "", ""))
        made.write(60, "i1", poll.PollMade(1, "choice", 1, (1, 2), False, True, "", 0))
        for turn, answers in enumerate((("0", "0", "1"), ("1", "0", "1")), 1):
            made.write(60 + turn, "i1", poll.PollOpened(1, turn, 0))
            for number, answer in enumerate(answers, 1):
                made.write(60 + turn, f"p{number}", poll.Voted(1, turn, f"p{number}", answer, 70))
        made.write(65, "i1", poll.Revealed(1, "1", "", 0))
        assert made.build() == [1]
        yield made
        made.delete()


def test_attempts_match_the_log_of_the_learner(lesson: Lesson) -> None:
    for number, user in enumerate(lesson.users):
        mine = summary_of(user.pk).lessons["first-steps"]
        (row,) = lesson.rows("gold.attempts", learner=lesson.person(number))
        assert (row["state"] == "finished") == (mine.finished_at_ms is not None), number
        assert row["hints"] == sum(step.hints for step in mine.steps.values())
        assert row["steps_done"] == sum(step.checked_at_ms is not None for step in mine.steps.values())
        assert (row["class"], row["lab"]) == ("kite", f"r{number + 1}/main")
    # 400 s without an act do not count as work.
    assert lesson.rows("gold.attempts", learner=lesson.person(3))[0]["active_s"] == 41.0


def test_holds_pauses_and_following_do_not_count_as_work(lesson: Lesson) -> None:
    """Learner p2 acted after 1, 6, 11, 41, 401 and 402 s."""
    for class_s, event in (
        (3, lead.Held(9_000_000)), (4, lead.HoldLeft("p3")), (5, lead.Released("act")),
        (8, lead.LeadTaken(1, "i1", "r9/main")), (8.5, lead.Detached("p3")), (9, pace.AllPaused()),
        (10, pace.AllResumed()), (11.5, lead.LeadEnded(1, "i1", "act")), (16, lead.LeadTaken(2, "i1", "r9/main")),
        # Another presenter takes over.
        (16.5, lead.LeadTaken(3, "i2", "r9/main")), (17, lead.LeadEnded(3, "i2", "act")),
    ):  # fmt: skip
        lesson.write(class_s, "room", event)
    # In life these come before the acts of the learner.
    build_logs(lambda: lesson.session, lesson.store, WantedLogs(logs(), is_full=True))

    def away(number: int) -> list[tuple[int, int, str]]:
        found = lesson.rows("silver.away", learner=lesson.person(number))
        return sorted((row["from_ms"] - NOON_MS, row["to_ms"] - NOON_MS, row["why"]) for row in found)

    shared = [(9_000, 10_000, "paused"), (16_000, 17_000, "follows")]
    assert away(1) == sorted([*shared, (3_000, 5_000, "held"), (8_000, 9_000, "follows"), (10_000, 11_500, "follows")])
    assert away(2) == sorted([*shared, (3_000, 4_000, "held"), (8_000, 8_500, "follows")])
    (row,) = lesson.rows("gold.attempts", learner=lesson.person(1))
    assert row["active_s"] == pytest.approx(41 - 6.5)


def test_difficulty_of_a_question_follows_from_first_answers(lesson: Lesson) -> None:
    (item,) = lesson.rows("gold.item_statistics", step="guess")
    assert (item["class"], item["learners"], item["n"], item["difficulty"]) == ("kite", 6, 5, 0.4)
    assert item["p_mean"] == pytest.approx(sum(SURE) / 5)
    assert item["gap"] == pytest.approx(sum(SURE) / 5 - 0.4)
    assert item["gave_up_share"] == pytest.approx(1 / 6)
    # One of the two learners with a hint was right, and one of the three others.
    assert (item["right_with_hint"], item["right_without_hint"]) == (0.5, pytest.approx(1 / 3))
    assert item["discrimination"] is None


def test_misconceptions_have_their_learners_and_their_outcome(lesson: Lesson) -> None:
    first, second = sorted(lesson.rows("gold.misconceptions"), key=lambda row: -row["learners"])
    assert (first["tag"], first["learners"], first["share"], first["asked"]) == (TAG, 3, 0.5, 6)
    assert first["p_mean"] == pytest.approx((0.9 + 0.5 + 0.25) / 3)
    assert first["sure"] == 1
    assert (first["by_choice"], first["by_state"], first["refuted"], first["returned"]) == (3, 0, 1, 0)
    assert (second["tag"], second["by_choice"], second["by_state"]) == (OTHER, 0, 1)
    pairs = {(row["tag"], row["other"]): row["learners"] for row in lesson.rows("gold.mistake_pairs")}
    assert pairs == {(TAG, TAG): 3, (TAG, OTHER): 1, (OTHER, TAG): 1, (OTHER, OTHER): 1}
    groups = {row["mistakes"]: row["members"] for row in lesson.rows("gold.mistake_groups")}
    assert groups[f"{OTHER} {TAG}"] == [lesson.person(2)]
    assert groups[TAG] == sorted([lesson.person(3), lesson.person(4)])
    last_ms = {row["mistakes"]: row["last_ms"] for row in lesson.rows("gold.mistake_groups")}
    assert last_ms == {TAG: NOON_MS + 44_000, f"{OTHER} {TAG}": NOON_MS + 52_000}


def test_confidence_polls_times_and_stuck_places(lesson: Lesson) -> None:
    stops = {row["stop"]: (row["answers"], row["was"]) for row in lesson.rows("gold.calibration")}
    assert stops == {"0.90": (3, pytest.approx(2 / 3)), "0.70": (1, 1), "0.50": (1, 0), "guess": (1, 0)}
    one, two = lesson.rows("gold.poll_rounds")
    assert (one["answers"], one["right"]) == (3, 1)
    assert (two["right"], two["changed_to_right"], two["changed_to_wrong"]) == (2, 1, 0)
    (stuck,) = lesson.rows("gold.stuck_points")
    assert (stuck["step"], stuck["learners"], stuck["median_s"]) == ("1", 1, 30.0)
    assert dict(stuck["by_reason"]) == {"refused": 1}
    assert {row["bucket_s"]: row["learners"] for row in lesson.rows("gold.step_times", step="guess")} == {30: 5}


def test_lessons_show_where_learners_stop_for_groups_of_five(lesson: Lesson) -> None:
    steps = {row["step"]: row for row in lesson.rows("gold.lesson_steps")}
    assert steps.keys() == {"guess"}
    guess = steps["guess"]
    assert (guess["learners"], guess["stopped"], guess["n"], guess["difficulty"]) == (6, 2, 5, 0.4)
    # Two had a hint, three had none: too few to say how many of them were right.
    assert (guess["with_hint"], guess["without_hint"]) == (2, 3)
    assert (guess["right_with_hint"], guess["right_without_hint"]) == (None, None)
    assert lesson.rows("gold.lesson_wrong_states") == []


def test_rounds_of_a_running_class_match_a_build(lesson: Lesson) -> None:
    assert lesson.build() == []
    live = LiveClasses(lesson.session)
    found = logs(["kite"])
    tables = live.tables("kite", found)
    insist_on_stored(lesson, tables)
    # Nothing new, then something of the class alone, which is in the tables of no lesson.
    assert live.tables("kite", found) == {}
    lesson.write(65, "room", pace.LessonBegan("acks", 3, 10, (1, 1, 1), 2))
    lesson.write(66, "room", work.StuckBegan("p5", "struggles", 1, "hints", 1, 20))
    changed = live.tables("kite", found)
    assert changed.keys() == {"gold.stuck_points"}
    # The class has gone on with another lesson, whose steps have the same numbers.
    stuck = {row["lesson"]: row["step"] for row in changed["gold.stuck_points"]}
    assert stuck == {"first-steps": "1", "acks": "1"}
    # A hint changes no table of answers.
    hint = HintShown(lesson="first-steps", run="r1", branch="main", step="cut", hint=1)
    append(lesson.users[0].pk, hint, NOON_MS + 500_000)
    hinted = live.tables("kite", found)
    assert hinted.keys() == {"gold.attempt_steps", "gold.item_statistics"}
    tables |= changed | hinted
    # The results of queries that Spark has already planned, on other rows.
    where: dict[str, Any] = {"lesson": "first-steps", "branch": "main"}
    split = WrongStateShown(**where, run="r1", step="cut", wrong="split", misconception=OTHER)
    append(lesson.users[0].pk, split, NOON_MS + 500_000)
    again = PredictionSettled(
        **where, run="r2", step="again", choice="b", choices=4, p=0.9, outcome="a", right=False, brier=1.2,
        misconception=TAG, tags=(TAG,),
    )  # fmt: skip
    append(lesson.users[1].pk, again, NOON_MS + 500_000)
    tables |= live.tables("kite", found)
    assert lesson.build() != []
    insist_on_stored(lesson, tables)
    # A class of one, and what is left of the first one without this learner.
    (one,) = (log for log in found if log.entry.learner == lesson.person(0))
    alone = live.tables("owl", [replace(one, rooms={"r1": "owl"})])
    assert {(row["learner"], row["class"]) for row in alone["gold.attempt_steps"]} == {(lesson.person(0), "owl")}
    assert [row["learners"] for row in alone["gold.misconceptions"]] == [1]
    left = live.tables("kite", [log for log in found if log is not one])
    assert {row["learner"] for row in left["gold.attempt_steps"]} == {lesson.person(number) for number in range(1, 6)}
    assert {row["learners"] for row in left["gold.item_statistics"] if row["step"] == "guess"} == {5}
    # A round plans nothing, and leaves no rows in files.
    assert live.queries.planned == {ACTS, *LIVE} and live.queries.folder is not None
    assert {path.read_bytes() for path in live.queries.folder.iterdir()} == {b"[]"}


def test_query_with_rows_that_spark_keeps_is_planned_again(session: SparkSession) -> None:
    table = TABLES["gold.calibration"]
    shuffled = replace(table, make=lambda t: table.make(t).repartition(2, "stop"))
    queries = StandingQueries(session)
    answer = {"class": "kite", "kind": "PredictionSettled", "learner": "ada", "choices": 4, "right": True, "at_ms": 1}
    for made in (table, shuffled):
        for p in (0.5, 0.9):
            queries.give("acts", pa.Table.from_pylist([answer | {"p": p}]))
            assert queries.rows(made, {ACTS: "acts"})["said"].to_pylist() == [p]
        assert queries.planned == ({table.name} if made is table else set())
        queries = StandingQueries(session)


def insist_on_stored(lesson: Lesson, tables: dict[str, list[dict[str, Any]]]) -> None:
    """Raises AssertionError if the tables of a class are not those of a build."""
    assert tables.keys() == set(LIVE)
    for name, found in tables.items():
        stored = lesson.rows(name, **{"class": "kite"})
        assert stored and sorted(map(repr, found)) == sorted(map(repr, stored)), name


def test_only_new_events_are_read_and_erased_learners_are_removed(lesson: Lesson) -> None:
    lesson.write(70, "p1", help.HandRaised("p1", "r1/main", 3, 9, "", ""))
    lesson.write(71, "p1", help.HandRaised("p2", "r2/main", 3, 9, "", ""))
    before = len(lesson.rows("bronze.acts"))
    assert lesson.build() != []
    assert len(lesson.rows("bronze.acts")) == before + 2
    # One was erased from the class, one deletes their history, one is to be forgotten.
    erased, deleted, forgotten = (lesson.person(number) for number in (4, 5, 3))
    Participant.objects.filter(number=5).update(user=None)
    delete_history(lesson.users[5].pk)
    erase_gone(lesson.store, logs(), is_all=True)
    forget(lesson.data, forgotten)
    newest = lesson.store.newest()
    assert newest is not None and erase(lesson.store, newest, {forgotten}) > 0
    lesson.build()
    names = ("bronze.acts", "silver.acts", "gold.attempts", "gold.mistake_groups")
    text = str([lesson.rows(name) for name in names])
    assert forgotten not in text and lesson.person(0) in text
    # A person erased from a class keeps their own history.
    of_class = str([lesson.rows(name, **{"class": "kite"}) for name in names])
    assert erased not in of_class and lesson.person(0) in of_class
    assert {row["class"] for row in lesson.rows("gold.attempts", learner=erased)} == {""}
    build = lesson.store.newest()
    assert build is not None
    assert learner_log(deleted) not in build.ledger() and class_log("kite") in build.ledger()
    # What several people did is made without them.
    (item,) = lesson.rows("gold.item_statistics", step="guess")
    assert (item["n"], item["difficulty"]) == (3, pytest.approx(2 / 3))
    assert lesson.rows("gold.lesson_steps") == []


def test_damaged_batch_is_quarantined_and_a_new_history_replaces_the_old(lesson: Lesson) -> None:
    lesson.write(80, "p1", help.HandRaised("p1", "r1/main", 3, 9, "", ""))
    lesson.write(81, "p2", help.HandRaised("p2", "r2/main", 3, 9, "", ""))
    (path,) = (lesson.data / "classes" / "kite" / "class-0").glob("*.log")
    data = bytearray(path.read_bytes())
    data[data.rindex(b"r1/main")] ^= 1
    path.write_bytes(bytes(data))
    user = lesson.users[0]
    delete_history(user.pk)
    append(user.pk, LessonStarted(lesson="second", run="r1", branch="main"), NOON_MS)
    lesson.build()
    build = lesson.store.newest()
    assert build is not None
    (damage,) = build.ledger()[class_log("kite")].damage
    assert (damage.reason, damage.from_seq, damage.to_seq) == ("crc", lesson.seq - 1, lesson.seq - 1)
    assert lesson.rows("bronze.acts", seq=lesson.seq, log=class_log("kite"))
    assert [row["lesson"] for row in lesson.rows("gold.attempts", learner=lesson.person(0))] == ["second"]
    assert learner_id(user.pk) not in str(build.ledger())


def test_history_without_acts_for_the_retention_time_is_removed(lesson: Lesson) -> None:
    person = lesson.person(1)
    assert lesson.rows("silver.acts", learner=person)
    then_s = time.time() - 40 * 86_400
    for path in (lesson.data / "learning" / learner_id(lesson.users[1].pk)).rglob("*.log"):
        os.utime(path, (then_s, then_s))
    with override_settings(TABLE_DAYS=0):
        assert expire(None) == 0
    with override_settings(TABLE_DAYS=50):
        assert expire(None) == 0
    with override_settings(TABLE_DAYS=30):
        assert expire(None) == 1
        lesson.build()
    own = learner_log(person)
    build = lesson.store.newest()
    assert build is not None and own not in build.ledger() and learner_log(lesson.person(0)) in build.ledger()
    assert lesson.rows("bronze.acts", log=own) == [] and lesson.rows("gold.attempts", learner=person) == []
