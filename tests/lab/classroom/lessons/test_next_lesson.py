"""An instructor begins the next lesson of a class on the lab's own server: everyone has a new lab, whoever is away,
late or refused, and whenever the server ends.
"""

from collections.abc import Iterator
from html import unescape
from typing import Any

import pytest

from lab.actions import give_state
from lab.actions.classes.lessons import begin
from lab.actions.classes.live_class import LiveClass
from lab.actions.start_run import MAX_GUEST_RUNS
from lab.classroom.acts import Given, facts
from lab.classroom.room import Room
from lab.models import Class, ExerciseProgress, Participant, Run
from lab.recordings.folder import BranchFolder
from lab.runtime.classes.handouts import copy_handout
from lab.runtime.host import Host
from tests.support.classroom.lesson_room import FIRST, SECOND, THIRD, LessonRoom, begin_lesson, given, lesson_room
from tests.support.lab_server import LabServer, Visitor


@pytest.fixture
def room(lab_server: LabServer, visitor: Visitor, request: pytest.FixtureRequest) -> Iterator[LessonRoom]:
    with lesson_room(lab_server, visitor, getattr(request, "param", FIRST.slug)) as made:
        yield made


def test_everyone_goes_on_in_new_labs_and_earlier_ones_are_kept(room: LessonRoom) -> None:
    """Ada is in her lab, Bob is away, Carol comes after the server has started again."""
    old = {p: room.lab(p) for p in ("p1", "p2", "p3")}
    with room.page(room.teacher) as teacher, room.page(room.ada) as ada:
        teacher.until("snap")
        ada.until("snap")
        assert teacher.act("take_lead", lab=old["p1"])["k"] == "done"
        room.check("p2", old["p2"], FIRST)
        teacher.until_held("/people/p2 step", 2)
        assert begin_lesson(ada, SECOND)["status"] == 403
        assert begin_lesson(teacher, SECOND, id="once")["k"] == "done"
        assert begin_lesson(teacher, SECOND, id="once")["k"] == "done", "sent again"
        assert begin_lesson(teacher, SECOND)["k"] == "done", "as the other member of staff wants it"
        assert begin_lesson(teacher, THIRD)["status"] == 409
        teacher.until_held("/class chapter", SECOND.slug)
        assert teacher.held["/class"]["steps"] == len(SECOND.exercise.steps)
        new = {"p2": given(ada, "/mine", "own_lab", old["p2"]), "p3": given(teacher, "/people/p3", "lab", old["p3"])}
        new["p1"] = given(teacher, "/lead", "lab", old["p1"])
        assert new == {p: room.lab(p) for p in old}
        # The lab of before is still hers; its steps are those of the lesson before.
        room.check("p2", old["p2"], FIRST, 2)
        room.check("p2", new["p2"], SECOND)
        teacher.until_held("/people/p2 signs", {"1": "done"})
        # In that lab she is told where the class is.
        earlier = {"lab": old["p2"], "seq": 1, "at_us": 1}
        question = {"text": "Why?", "lang": "en", "named": False}
        for refused in (ada.act("raise_hand", at=earlier), ada.act("ask", at=earlier, **question)):
            assert refused["status"] == 409 and "the class has moved on" in refused["what"]
    runs = Run.objects.count()
    told = room.ada.post(f"/course/{FIRST.slug}/start", run=old["p2"].split("/")[0])
    assert told.status == 409 and "the class has moved on" in told.text and Run.objects.count() == runs
    assert Run.objects.filter(participant__number=2, classroom=room.model).count() == 2
    assert Run.objects.get(slug=new["p2"].split("/")[0]).name == f"Replication · {SECOND.exercise.title.en}"
    room.restart()
    carol = room.join("Carol")
    progress = ExerciseProgress.objects.get(branch__run__participant__number=4, branch__run__classroom=room.model)
    assert (progress.exercise, progress.branch.run.classroom) == (SECOND.slug, room.model)
    with room.page(carol) as page:
        page.until("snap")
        assert page.held["/class"]["chapter"] == SECOND.slug
    # Starting over begins the lesson that the class is at.
    assert room.ada.post(f"/course/{SECOND.slug}/start", run=new["p2"].split("/")[0]).status == 200
    assert room.lab("p2") not in (old["p2"], new["p2"])
    found = unescape(room.teacher.get(f"/classes/{room.model.slug}/summary/").text)
    assert [found.count(f"Learners and steps: {one.number} {one.exercise.title.en}<") for one in (FIRST, SECOND)] == [
        1,
        1,
    ]
    found = unescape(room.ada.get(f"/classes/{room.model.slug}/summary/").text)
    assert all(f"{one.number} {one.exercise.title.en}" in found for one in (FIRST, SECOND))


@pytest.mark.parametrize("ends", ["before the class knows", "before there are labs"])
def test_a_server_that_ends_meanwhile_brings_the_class_back_at_the_lesson(
    room: LessonRoom, monkeypatch: pytest.MonkeyPatch, ends: str
) -> None:
    old = room.lab("p2")
    do = Room.do

    async def fail(self: Room, act: Given, *more: Any) -> int:
        if isinstance(act.do, facts.BeginLesson):
            raise ZeroDivisionError
        return await do(self, act, *more)

    async def nothing(host: Host, live: LiveClass) -> None:
        pass

    with monkeypatch.context() as patched, room.page(room.teacher) as teacher:
        teacher.until("snap")
        if ends == "before the class knows":
            patched.setattr(Room, "do", fail)
        else:
            patched.setattr(begin, "_give_labs", nothing)
        assert begin_lesson(teacher, SECOND)["k"] == ("no" if ends == "before the class knows" else "done")
    room.restart()
    with room.page(room.ada) as ada, room.page(room.teacher) as teacher:
        assert given(ada, "/mine", "own_lab", old) == room.lab("p2") != old
        assert ada.held["/class"]["chapter"] == SECOND.slug
        teacher.until("snap")
        assert begin_lesson(teacher, THIRD, teacher.held["/class"]["handout"], id="another")["k"] == "done"
        teacher.until_held("/class chapter", THIRD.slug)


def test_who_becomes_a_learner_gets_a_lab_and_takes_states_on_the_open_page(room: LessonRoom) -> None:
    room.join("Carol")
    with room.page(room.teacher) as teacher, room.page(room.ada) as ada:
        teacher.until("snap")
        ada.until("snap")
        teacher.act("take_lead", lab=room.lab("p1"))
        assert teacher.act("give_role", p="p2", role="observer")["k"] == "done"
        assert begin_lesson(teacher, SECOND)["k"] == "done"
        given(teacher, "/people/p4", "lab", room.lab("p4"))
        ada.until_held("/mine own_lab", "")
        assert teacher.act("give_state")["k"] == "done"
        assert ada.act("take_state", handout=3)["status"] == 403
        assert teacher.act("give_role", p="p2", role="learner")["k"] == "done"
        assert given(ada, "/mine", "own_lab", "") == room.lab("p2")
        assert ada.act("take_state", handout=3)["k"] == "done"


def test_a_lesson_that_the_class_found_out_by_itself_gives_labs_when_it_is_begun_again(
    room: LessonRoom, monkeypatch: pytest.MonkeyPatch
) -> None:
    old, do = room.lab("p2"), Room.do

    async def fail(self: Room, act: Given, *more: Any) -> int:
        if isinstance(act.do, facts.BeginLesson):
            raise ZeroDivisionError
        return await do(self, act, *more)

    with room.page(room.teacher) as teacher, room.page(room.ada) as ada:
        teacher.until("snap")
        with monkeypatch.context() as patched:
            patched.setattr(Room, "do", fail)
            assert begin_lesson(teacher, SECOND)["k"] == "no"
        room.join("Carol")
        teacher.until_held("/class chapter", SECOND.slug)
        assert begin_lesson(teacher, SECOND)["k"] == "done"
        assert given(ada, "/mine", "own_lab", old) == room.lab("p2")


def test_who_has_too_many_runs_is_told_and_the_others_go_on(room: LessonRoom) -> None:
    ada = Participant.objects.get(classroom=room.model, number=2)
    assert ada.user is not None
    others = [
        Run(slug=f"full{number}", owner=ada.user, name="x", seed=1, brokers=1) for number in range(MAX_GUEST_RUNS - 1)
    ]
    Run.objects.bulk_create(others)
    old = room.lab("p3")
    with room.page(room.teacher) as teacher, room.page(room.ada) as page:
        teacher.until("snap")
        page.until("snap")
        assert begin_lesson(teacher, SECOND)["k"] == "done"
        page.until_held("/mine lab_refused", "runs")
        teacher.until_held("/people/p2 lab_refused", "runs")
        given(teacher, "/people/p3", "lab", old)
        Run.objects.filter(slug="full0").delete()
        assert room.ada.get(f"/classes/{room.model.slug}/").status == 200
        page.until_held("/mine lab_refused", "")
        assert page.held["/mine"]["own_lab"] == room.lab("p2") != ""
    Run.objects.filter(slug__startswith="full").delete()


def test_who_joins_while_the_lesson_begins_gets_a_lab_of_it(room: LessonRoom, monkeypatch: pytest.MonkeyPatch) -> None:
    before, old = room.model.settings, {p: room.lab(p) for p in ("p2", "p3")}
    with room.page(room.teacher) as teacher:
        teacher.until("snap")
        assert begin_lesson(teacher, SECOND)["k"] == "done"
        for p, lab in old.items():
            given(teacher, f"/people/{p}", "lab", lab)
    room.model.refresh_from_db()
    after = room.model.settings
    Class.objects.filter(pk=room.model.pk).update(settings=before)
    copied: list[BranchFolder] = []

    def copy(handout: BranchFolder, target: BranchFolder) -> None:
        copied.append(handout)
        copy_handout(handout, target)
        Class.objects.filter(pk=room.model.pk).update(settings=after)

    monkeypatch.setattr(give_state, "copy_handout", copy)
    room.join("Carol")
    (run,) = Run.objects.filter(participant__number=4, classroom=room.model)
    assert ExerciseProgress.objects.get(branch__run=run).exercise == SECOND.slug
    assert len(copied) == 2 and room.lab("p4") == f"{run.slug}/main"


@pytest.mark.parametrize("room", [""], indirect=True)
def test_a_class_without_a_lesson_begins_one(room: LessonRoom) -> None:
    with room.page(room.teacher) as teacher:
        teacher.until("snap")
        assert teacher.held["/class"]["steps"] == 0
        assert begin_lesson(teacher, SECOND)["k"] == "done"
        teacher.until_held("/class steps", len(SECOND.exercise.steps))


def test_a_lesson_that_cannot_begin_leaves_the_class_as_it_is(
    room: LessonRoom, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = set(Run.objects.all())

    def fail(*_: object) -> None:
        raise OSError("made up")

    with room.page(room.teacher) as teacher:
        teacher.until("snap")
        assert teacher.act("begin_lesson", lesson="no-such-lesson", after=1)["status"] == 404
        monkeypatch.setattr(begin, "_enter", fail)
        assert begin_lesson(teacher, SECOND)["k"] == "no"
        assert teacher.held["/class"]["chapter"] == FIRST.slug
    assert set(Run.objects.all()) == runs
