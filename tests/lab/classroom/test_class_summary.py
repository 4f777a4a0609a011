"""The summary of a class: staff see all of it, learners only their own part, and others nothing."""

import re
from typing import Any

import pytest

from lab.analytics.jobs import analyst
from lab.classroom.events import CLASS
from lab.classroom.events.room import CameBack, ClassResumed, WentAway
from lab.classroom.events.work import StuckBegan, StuckEnded
from lab.classroom.results.summary import absences, own_votes, own_work, summary
from lab.classroom.state import Person, Poll, State, Vote
from lab.web.classes.element_names import element_name
from tests.support.classroom.class_pages import Classroom


def person(p: str, role: str = "learner", **more: object) -> Person:
    return Person(p, role, "number", 0, 0, **more)  # type: ignore[arg-type]


def poll(*, anonymous: bool, rounds: list[dict[str, Vote]], phase: str = "ended", right: str = "0") -> Poll:
    return Poll("choice", 1, (2, 3), anonymous, True, right, 0, phase=phase, rounds=rounds)  # type: ignore[arg-type]


def test_rows_match_the_state() -> None:
    people = {
        "p1": person("p1", "instructor"),
        "p12": person("p12", step=3, signs={1: "done", 2: "hinted"}, hints={2: 2}, settled=2, right=1),
        "p13": person("p13", step=4, signs={1: "skipped", 2: "done", 3: "skipped"}),
        "p2": person("p2", step=1, stuck_count=1),
        "p3": person("p3", waits=True),
    }
    state = State(last_us=9_000_000, opened_us=1_000_000, steps=4, people=people)
    found = summary(state, [])
    (lesson,) = found.lessons
    assert [row.work.p for row in lesson.learners] == ["p2", "p12", "p13"]
    work = lesson.learners[1].work
    assert work.signs == ["✓", "h", "·", ""]
    assert (work.done, work.hints, work.right) == (2, 2, 1)
    skipped = lesson.learners[2].work
    assert (skipped.signs, skipped.done) == (["–", "✓", "–", "·"], 1)
    assert own_work(state, "p12") == [("", work)] and own_work(state, "p1") == []
    assert not {"stuck_count", "away_us"} & set(work._fields), "of which a learner's own row knows nothing"
    assert found.lasted_us == 8_000_000


def test_a_learner_is_stuck_once_until_it_ends_whatever_the_reason() -> None:
    def began(p: str, why: str) -> StuckBegan:
        return StuckBegan(p=p, state="idle", step=2, why=why, count=240, working_s=300)

    happened = [
        began("p2", "nothing"),
        began("p2", "long"),
        StuckEnded(p="p2"),
        began("p2", "hand"),
        began("p3", "long"),
    ]
    log = [(seq, seq, "room", "", event) for seq, event in enumerate(happened, 1)]
    people = {p: person(p, stuck_count=240) for p in ("p2", "p3", "p4")}
    assert [row.stuck_count for row in summary(State(people=people), log).lessons[0].learners] == [2, 1, 0]


def test_few_anonymous_votes_are_only_counted_and_the_right_answer_is_withheld_until_the_end() -> None:
    votes = {f"p{n}": Vote("0" if n < 4 else "1", 60) for n in range(1, 6)}
    few = dict(list(votes.items())[:4])
    polls = {
        1: poll(anonymous=True, rounds=[few, votes]),
        2: poll(anonymous=False, rounds=[few], phase="open"),
    }
    state = State(polls=polls, people={p: person(p) for p in votes})
    first, second = summary(state, []).polls
    assert [one.answers for one in first.rounds] == [None, {"0": 3, "1": 2}]
    assert (first.rounds[1].right_percent, first.outcome) == (60, "0")
    assert (second.rounds[0].answers, second.rounds[0].right_percent, second.outcome) == ({"0": 3, "1": 1}, None, "")
    assert own_votes(state, "p4") == [(2, 1, "1", 60, None)]


def test_absences_begin_when_the_last_socket_closes() -> None:
    state = State(last_us=90, people={"p2": person("p2"), "p3": person("p3"), "p1": person("p1", "instructor")})
    log = [
        (1, 20, "room", "", WentAway(p="p2", since_us=10)),
        (2, 30, "room", "", WentAway(p="p1", since_us=25)),
        (3, 50, "room", "", CameBack(p="p2")),
        (4, 70, "room", "", WentAway(p="p3", since_us=60)),
    ]
    assert absences(state, log) == [("p2", 10, 50), ("p3", 60, 90)]
    assert CLASS.kinds["WentAway"] is WentAway


def test_time_in_which_the_server_did_not_run_is_nobodys_absence() -> None:
    state = State(last_us=9_000, people={"p2": person("p2"), "p3": person("p3")})
    log = [
        (1, 2_000, "room", "", WentAway(p="p2", since_us=1_000)),
        (2, 7_000, "room", "", ClassResumed(gap_ms=4, wall_ms=1)),
        (3, 8_000, "room", "", CameBack(p="p2")),
    ]
    assert absences(state, log) == [("p2", 1_000, 3_000), ("p2", 7_000, 8_000)]


@pytest.mark.parametrize("what", ["page", "tables.json", "class_steps.csv", "j1.json", "j1/cancel", "start"])
def test_analytics_of_a_class_are_for_its_staff_and_start_nothing_without_an_act(
    classroom: Classroom, what: str
) -> None:
    page = f"/classes/{classroom.slug}/analytics/"
    address = page if what == "page" else f"/api{page}tables/{what}".replace("tables/tables", "tables")

    def ask(p: str) -> Any:
        visitor = classroom.visitors[p]
        return visitor.post_json(address, {}) if what in ("start", "j1/cancel") else visitor.get(address)

    # Another test of this process may have started one.
    worker = analyst()._worker
    assert [ask(p).status for p in ("p2", "p4", "p5")] == [403, 403, 404]
    answer = ask("p1")
    assert answer.status == (404 if what.startswith("j1") else 200), answer.text
    match what:
        case "page":
            assert "hw-learning-analytics" in answer.text
            assert f'href="{page}"' in classroom.visitors["p1"].get(f"/classes/{classroom.slug}/board/").text
        case "tables.json":
            assert (answer.json["figures"], answer.json["as_of_ms"], answer.json["people"]) == ({}, 0, 2)
        case "start":
            assert (answer.json["job"], answer.json["live"]) == (None, True) and answer.json["wait_s"] > 0
    assert analyst()._worker in (None, worker)


def test_page_of_the_summary_for_each_role(classroom: Classroom) -> None:
    address = f"/classes/{classroom.slug}/summary/"
    with classroom.page("p1") as teacher, classroom.page("p2") as ada, classroom.page("p3") as bob:
        for page in (teacher, ada, bob):
            page.until("snap")
        lab = classroom.lab_to_lead()
        assert teacher.act("take_lead", lab=lab)["k"] == "done"
        made: dict[str, Any] = {
            "form": "choice",
            "text": "Who <b>leads</b>?",
            "lang": "en",
            "choices": ["broker 1", "broker 2"],
        }
        assert teacher.act("make_poll", **made, anonymous=False, right="1")["k"] == "done"
        assert teacher.act("open_poll", poll=1)["k"] == "done"
        assert ada.act("vote", poll=1, answer="1", sure=80)["k"] == "done"
        assert bob.act("vote", poll=1, answer="0", sure=20)["k"] == "done"
        assert ada.act("ask", text="Why two fetches?", lang="en", at={"lab": lab, "seq": 7})["k"] == "done"
        assert ada.act("mark")["k"] == "done"
        for op in ("close_poll", "end_poll"):
            assert teacher.act(op, poll=1)["k"] == "done"
        assert teacher.act("end_class")["k"] == "done"
    staff = classroom.visitors["p1"].get(address)
    assert staff.status == 200 and "2 learners" in staff.text
    assert "Who &lt;b&gt;leads&lt;/b&gt;?" in staff.text and "50 % right" in staff.text
    assert "Why two fetches?" in staff.text and f"/r/{lab}?seq=7" in staff.text
    own = classroom.visitors["p2"].get(address).text
    assert re.search(r"broker 2</b> <span class=\"mono\">80 %</span> <span class=\"tag ok\">right", own)
    assert "Your marks" in own and "Why two fetches?" not in own and "Name 3" not in own
    other = classroom.visitors["p3"].get(address).text
    assert '<span class="tag bad">wrong' in other and "80 %" not in other
    assert classroom.visitors["p4"].get(address).status == 403
    assert classroom.visitors["p5"].get(address).status == 404
    assert f'href="{address}"' in classroom.visitors["p1"].get(f"/classes/{classroom.slug}/").text


def test_summary_names_the_elements_that_answered_a_poll(classroom: Classroom) -> None:
    with classroom.page("p1") as teacher, classroom.page("p2") as ada:
        teacher.until("snap")
        ada.until("snap")
        made: dict[str, Any] = {"form": "point", "text": "哪一条?", "lang": "zh-CN", "right": "replica:orders-0@b2"}
        assert teacher.act("make_poll", **made, anonymous=False)["k"] == "done"
        assert teacher.act("open_poll", poll=1)["k"] == "done"
        assert ada.act("vote", poll=1, answer="record:orders-0@b3:45", sure=80)["k"] == "done"
        for op in ("close_poll", "end_poll"):
            assert teacher.act(op, poll=1)["k"] == "done"
    address = f"/classes/{classroom.slug}/summary/"
    staff = classroom.visitors["p1"].get(address).text
    assert '<span lang="en">orders-0, offset 45, on broker 3</span>' in staff and "orders-0 on broker 2" in staff
    assert '<b lang="en">orders-0, offset 45, on broker 3</b>' in classroom.visitors["p2"].get(address).text


@pytest.mark.parametrize(
    ("anchor", "name"),
    [
        ("broker:b12", "broker 12"),
        ("client:c1", "client c1"),
        ("partition:orders-0", "partition orders-0"),
        ("link:b1|zk", "broker 1 – zk"),
        ("znode:/", "ZooKeeper"),
        ("znode:/config/brokers/<default>", "znode /config/brokers/<default>"),
        ("rpc:r12", "message r12"),
        ("parked:r12", "waiting request r12"),
        ("42", "42"),
        ("broker:elsewhere", "broker:elsewhere"),
    ],
)
def test_element_has_the_name_that_pages_show(anchor: str, name: str) -> None:
    assert element_name("en", anchor) == name
