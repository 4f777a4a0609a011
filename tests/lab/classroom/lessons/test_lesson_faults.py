"""Faults while a lesson of a class begins: forks of the labs that it leaves, and a full disk."""

import asyncio
import errno
import os
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.db import OperationalError

from lab.actions import give_state
from lab.actions.classes.lessons import begin
from lab.classroom.acts import Given, facts
from lab.classroom.journal import ClassJournal
from lab.classroom.room import Room
from lab.models import Class, Participant, Run
from lab.runtime.host import Host
from lab.texts.refusal import Refusal
from tests.support.classroom.lesson_room import FIRST, SECOND, LessonRoom, begin_lesson, given, lesson_room
from tests.support.lab_server import PATIENCE_S, LabServer, Visitor

NO_SPACE = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.fixture
def room(lab_server: LabServer, visitor: Visitor) -> Iterator[LessonRoom]:
    with lesson_room(lab_server, visitor) as made:
        yield made


def of(room: LessonRoom, p: str) -> Visitor:
    return room.teacher if p == "p1" else room.ada


def fork(room: LessonRoom, p: str, lab: str) -> Any:
    """The learner or the instructor goes another way in a lab; the answer."""
    return of(room, p).post_json(f"/api/runs/{lab}/fork", {"seq": 5})


def held_lab(p: str) -> tuple[str, str]:
    """Where the instructor's page holds the lab of somebody."""
    return ("/mine", "lab") if p == "p1" else (f"/people/{p}", "lab")


def branches(lab: str) -> list[str]:
    return list(Run.objects.get(slug=lab.split("/")[0]).branches.values_list("name", flat=True))


@pytest.mark.parametrize("p", ["p1", "p2"])
def test_fork_that_is_made_while_a_lesson_begins_stays_in_the_earlier_lab(
    room: LessonRoom, monkeypatch: pytest.MonkeyPatch, p: str
) -> None:
    """It begins before the lesson, and is there only when all are in their new labs."""
    old, make = room.lab(p), Host.fork
    is_made, may_go_on = threading.Event(), threading.Event()

    async def slow(self: Host, *wanted: Any) -> Any:
        is_made.set()
        assert await asyncio.to_thread(may_go_on.wait, PATIENCE_S)
        return await make(self, *wanted)

    monkeypatch.setattr(Host, "fork", slow)
    answers: list[Any] = []
    forking = threading.Thread(target=lambda: answers.append(fork(room, p, old)))
    with room.page(room.teacher) as teacher:
        teacher.until("snap")
        assert teacher.act("take_lead", lab=room.lab("p1"))["k"] == "done"
        forking.start()
        assert is_made.wait(PATIENCE_S)
        assert begin_lesson(teacher, SECOND)["k"] == "done"
        new = given(teacher, *held_lab(p), old)
        may_go_on.set()
        forking.join()
        assert answers[0].status == 200 and branches(old) == ["main", "main-2"]
        assert new == room.lab(p) and branches(new) == ["main"]
        # What the class noted of it is told before this.
        assert teacher.act("set_timer", seconds=60)["k"] == "done"
        teacher.until_held("/timer seconds", 60)
        section, field = held_lab(p)
        assert teacher.held[section][field] == new
        assert teacher.held["/lead"]["lab"] == room.lab("p1")


@pytest.mark.parametrize("p", ["p1", "p2"])
def test_fork_between_the_database_and_the_class_does_not_bring_the_earlier_lab_back(
    room: LessonRoom, monkeypatch: pytest.MonkeyPatch, p: str
) -> None:
    old, do = room.lab(p), Room.do
    answers: list[Any] = []

    async def forked(self: Room, act: Given, *more: Any) -> int:
        if isinstance(act.do, facts.BeginLesson) and not answers:
            answers.append(await asyncio.to_thread(fork, room, p, old))
        return await do(self, act, *more)

    with room.page(room.teacher) as teacher:
        teacher.until("snap")
        assert teacher.act("take_lead", lab=room.lab("p1"))["k"] == "done"
        monkeypatch.setattr(Room, "do", forked)
        assert begin_lesson(teacher, SECOND)["k"] == "done"
        assert answers[0].status == 200
        new = given(teacher, *held_lab(p), old)
        assert new == room.lab(p) and branches(new) == ["main"]
        teacher.until_held("/lead lab", room.lab("p1"))


class FullDisk:
    """No file can be extended from an instant on."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._monkeypatch = monkeypatch

    def begin(self) -> None:
        def full(*_: Any, **__: Any) -> Any:
            raise NO_SPACE

        for name in ("pwrite", "pwritev", "link", "mkdir"):
            self._monkeypatch.setattr(os, name, full)
        self._monkeypatch.setattr(Path, "write_bytes", full)
        self._monkeypatch.setattr(shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(10**12, 10**12 - 9, 9))

    def begin_at(self, module: Any, name: str) -> None:
        """The disk is full when a function is called."""
        called = getattr(module, name)

        def full(*given: Any, **named: Any) -> Any:
            self.begin()
            return called(*given, **named)

        self._monkeypatch.setattr(module, name, full)


@pytest.mark.parametrize("when", ["at once", "for the handout", "after the handout"])
def test_lesson_that_finds_the_disk_full_leaves_the_class_and_the_disk_as_they_are(room: LessonRoom, when: str) -> None:
    folders = settings.RUNS, settings.DATA / "classes" / room.model.slug / "handouts"
    before = [sorted(path.name for path in folder.iterdir()) for folder in folders]
    runs, labs = set(Run.objects.all()), {p: room.lab(p) for p in ("p1", "p2", "p3")}
    with room.page(room.teacher) as teacher:
        teacher.until("snap")
        with pytest.MonkeyPatch.context() as patched:
            disk = FullDisk(patched)
            if when == "at once":
                disk.begin()
            elif when == "for the handout":
                disk.begin_at(give_state, "make_handout")
            else:
                disk.begin_at(begin, "_enter")
                patched.setattr(Class, "save", lambda *_, **__: (_ for _ in ()).throw(NO_SPACE))
            refused = begin_lesson(teacher, SECOND)
        assert refused["status"] == 507, refused
        assert [sorted(path.name for path in folder.iterdir()) for folder in folders] == before
        assert set(Run.objects.all()) == runs
        assert {p: room.lab(p) for p in labs} == labs
        assert teacher.act("set_timer", seconds=60)["k"] == "done", "the class goes on"
        assert teacher.held["/class"]["chapter"] == FIRST.slug
        # There is space again.
        assert begin_lesson(teacher, SECOND)["k"] == "done"
        assert given(teacher, "/people/p2", "lab", labs["p2"]) == room.lab("p2")


def test_handout_of_a_lesson_that_cannot_begin_is_removed_although_its_run_cannot_be_deleted(
    room: LessonRoom, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The database needs space, too, to delete something."""

    def full(*_: Any, **__: Any) -> Any:
        raise OperationalError("database or disk is full")

    folder = settings.DATA / "classes" / room.model.slug / "handouts"
    before, runs = sorted(path.name for path in folder.iterdir()), list(Run.objects.values_list("pk", flat=True))
    with room.page(room.teacher) as teacher:
        teacher.until("snap")
        with monkeypatch.context() as patched:
            patched.setattr(Class, "save", full)
            patched.setattr(Run, "adelete", full)
            assert begin_lesson(teacher, SECOND)["status"] == 507
        assert sorted(path.name for path in folder.iterdir()) == before
    Run.objects.exclude(pk__in=runs).delete()


def test_lesson_that_the_full_log_of_the_class_cannot_hold_begins_when_there_is_space(
    room: LessonRoom, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The database is changed by then: everyone gets a lab of the lesson later, and nobody keeps one of before."""
    old = {p: room.lab(p) for p in ("p1", "p2", "p3")}

    def full(self: ClassJournal, envelopes: Any) -> Any:
        raise Refusal("class_act.not_saved", 507, problem="no space left on device")

    with room.page(room.teacher) as teacher, room.page(room.ada) as ada:
        teacher.until("snap")
        ada.until("snap")
        with monkeypatch.context() as patched:
            patched.setattr(ClassJournal, "append", full)
            assert begin_lesson(teacher, SECOND)["status"] == 507
        assert begin_lesson(teacher, SECOND)["k"] == "done"
        assert given(ada, "/mine", "own_lab", old["p2"]) == room.lab("p2") != old["p2"]
        new = {p: given(teacher, *held_lab(p), lab) for p, lab in old.items()}
        assert new == {p: room.lab(p) for p in old}


def test_learner_for_whose_lab_there_is_no_space_is_told_and_gets_it_later(
    room: LessonRoom, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada, old = Participant.objects.get(classroom=room.model, number=2), room.lab("p3")
    take = give_state.take_state_here

    def full(participant: Participant, *more: Any) -> Any:
        if participant == ada:
            raise NO_SPACE
        return take(participant, *more)

    with room.page(room.teacher) as teacher, room.page(room.ada) as page:
        teacher.until("snap")
        page.until("snap")
        with monkeypatch.context() as patched:
            patched.setattr("lab.actions.classes.give_labs.take_state_here", full)
            assert begin_lesson(teacher, SECOND)["k"] == "done"
            page.until_held("/mine lab_refused", "disk")
            assert given(teacher, "/people/p3", "lab", old) == room.lab("p3")
        assert room.ada.get(f"/classes/{room.model.slug}/").status == 200
        page.until_held("/mine lab_refused", "")
        assert page.held["/mine"]["own_lab"] == room.lab("p2") != ""
