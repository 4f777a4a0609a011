"""Learners are shown who looks into their lab, on every path into it."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed

from lab.models import Participant
from tests.support.classroom.class_pages import Classroom, Page
from tests.support.lab_server import Visitor


def look_from_wall(teacher: Page, ada: Page, run: str) -> Callable[[], object]:
    assert teacher.act("look", p="p2")["k"] == "done"
    return lambda: teacher.act("end_look", p="p2")


def open_question(teacher: Page, ada: Page, run: str) -> Callable[[], object]:
    """The link of a question leads to the instant of its author's lab, and begins a look."""
    assert ada.act("ask", text="Why?", lang="en", at={"lab": f"{run}/main", "seq": 3})["k"] == "done"
    until(teacher, lambda: "/questions/1" in teacher.held)
    question = teacher.held["/questions/1"]
    assert (question["at"]["lab"], question["at"]["seq"]) == (f"{run}/main", 3)
    asker = question["p"]
    assert teacher.act("look", p=asker)["k"] == "done"
    return lambda: teacher.act("end_look", p=asker)


def help_in_lab(teacher: Page, ada: Page, run: str) -> Callable[[], object]:
    assert teacher.act("begin_help", p="p2")["k"] == "done"

    def end() -> None:
        teacher.act("end_help", p="p2")
        teacher.act("end_look", p="p2")

    return end


def show_on_stage(teacher: Page, ada: Page, run: str) -> Callable[[], object]:
    assert teacher.act("ask_stage", p="p2")["k"] == "done"
    while not ada.held["/mine"]["stage_until_us"]:
        ada.read()
    assert ada.act("answer_stage", accepted=True, named=False)["k"] == "done"
    return lambda: teacher.act("clear_stage")


PATHS = {"wall": look_from_wall, "question": open_question, "help": help_in_lab, "stage": show_on_stage}
#: addresses that show a lab, or a part of it
ADDRESSES = (
    "/r/{run}/main", "/api/runs/{run}/main/index.json", "/api/runs/{run}/main/segments/0.json",
    "/api/runs/{run}/main/commands", "/api/runs/{run}/main/page.html", "/compare/?a={run}/main",
)  # fmt: skip


def is_shown(ada: Page) -> bool:
    mine = ada.held["/mine"]
    return bool(mine["looked_by"] or mine["on_stage"])


def sees(visitor: Visitor, run: str) -> bool:
    """Whether a person sees anything of a lab."""
    opened = [visitor.get(address.format(run=run)).status == 200 for address in ADDRESSES]
    with suppress(ConnectionClosed), visitor.socket(run) as socket:
        opened.append(socket.until(lambda frame: frame["k"] in ("welcome", "snap"))["k"] == "welcome")
    return any(opened)


@pytest.mark.parametrize("path", PATHS)
def test_staff_see_a_lab_only_while_its_learner_is_told(classroom: Classroom, path: str) -> None:
    """Acceptance statement 13: from the wall, a question, help and the stage. The class bench measures that it is shown
    within a second.
    """
    run = classroom.give_lab("p2")
    teacher_, others = classroom.visitors["p1"], [classroom.visitors[p] for p in ("p3", "p4")]
    with classroom.page("p1") as teacher, classroom.page("p2") as ada:
        for page in (teacher, ada):
            page.until("snap")
        teacher.until_held("/people/p2 lab", f"{run}/main")
        assert not is_shown(ada) and not sees(teacher_, run), "nobody looks without being shown"
        end = PATHS[path](teacher, ada, run)
        with teacher_.socket(run) as looking:
            assert looking.of_kind("welcome")["run"] == run
            until(ada, lambda: is_shown(ada))
            assert [sees(one, run) for one in others] == [path == "stage"] * 2
            # It is shown for as long as the lab can be seen, whatever else happens.
            assert teacher.act("set_timer", seconds=600)["k"] == "done"
            until(ada, lambda: ada.held.get("/timer") is not None)
            assert is_shown(ada)
            end()
            until(ada, lambda: not is_shown(ada))
            assert looking.closed()[0] == 4403
        assert not any(sees(one, run) for one in (teacher_, *others))


def test_a_look_ends_with_the_role_that_allows_it(classroom: Classroom) -> None:
    """Acceptance statement 13: it does not go on unseen when its learner is told that it has ended."""
    run = classroom.give_lab("p2")
    Participant.objects.filter(classroom=classroom.model, number=3).update(role="co-instructor")
    with classroom.page("p1") as teacher, classroom.page("p2") as ada, classroom.page("p3") as helper:
        for page in (teacher, ada, helper):
            page.until("snap")
        assert helper.act("look", p="p2")["k"] == "done"
        ada.until_held("/mine looked_by", ["p3"])
        with classroom.visitors["p3"].socket(run) as looking:
            looking.of_kind("welcome")
            assert teacher.act("give_role", p="p3", role="observer")["k"] == "done"
            ada.until_held("/mine looked_by", [])
            assert looking.closed()[0] == 4403


def test_helper_cannot_show_the_lab_of_a_learner_to_the_class(classroom: Classroom) -> None:
    """They may act in it; only its learner may show it, on the stage."""
    run = classroom.give_lab("p2")
    with classroom.page("p1") as teacher, classroom.page("p2") as ada, classroom.page("p3") as bob:
        for page in (teacher, ada, bob):
            page.until("snap")
        teacher.until_held("/people/p2 lab", f"{run}/main")
        for op in ("look", "begin_help"):
            assert teacher.act(op, p="p2")["k"] == "done"
            refused = teacher.act("take_lead", lab=f"{run}/main")
            assert (refused["k"], refused["status"]) == ("no", 403), op
            assert "your own lab" in refused["what"] and "on the stage" in refused["todo"]
        assert bob.held.get("/lead") is None
        assert not sees(classroom.visitors["p3"], run)
        # On the stage with their consent, everyone sees it; the staff still do not lead with it.
        assert teacher.act("end_help", p="p2")["k"] == "done"
        end = show_on_stage(teacher, ada, run)
        assert teacher.act("take_lead", lab=f"{run}/main")["status"] == 403
        end()
        assert teacher.act("take_lead", lab=classroom.lab_to_lead())["k"] == "done"


def until(page: Page, holds: Callable[[], Any]) -> None:
    while not holds():
        page.read()
