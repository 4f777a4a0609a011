"""Journals hold the number of a participant; pages join the names that their reader may know."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import settings

from lab.models import Class, Role, Run
from lab.rights import Grant, grants
from tests.support.classroom.people import make_class, make_member, make_user
from tests.support.lab_server import LabServer, Visitor

OWNER, HELPER = "Zacharias-Quill", "Philippa-Hargreaves"


@pytest.fixture
def owner(lab_server: LabServer) -> Iterator[Visitor]:
    yield Visitor(lab_server).sign_in_as(OWNER)
    lab_server.pause_labs()


def files_with(folder: Path, name: str) -> list[str]:
    return [str(path) for path in folder.rglob("*") if path.is_file() and name.encode() in path.read_bytes()]


def test_commands_of_a_run_outside_of_classes_are_those_of_p1(owner: Visitor, lab_server: LabServer) -> None:
    run = owner.new_run(brokers="1")
    with owner.socket(run) as socket:
        welcome = socket.of_kind("welcome")
        assert welcome["user"] == OWNER and welcome["names"] == {"p1": OWNER}
        socket.send({"k": "time", "id": "t", "op": "play"})
        socket.run("kafka-topics.sh --list")
        assert socket.event("CommandReceived")[4][3] == "p1"
    fork = owner.post_json(f"/api/runs/{run}/main/fork", {"seq": 5, "line": "kafka-topics.sh --list"}).json
    with owner.socket(run, fork["branch"]) as socket:
        assert socket.of_kind("snap")["state"]["console"]["1"]["source"] == "p1"
    lab_server.forget_labs()
    assert files_with(settings.RUNS / run, OWNER) == []


def test_commands_of_a_class_are_those_of_participants(owner: Visitor, lab_server: LabServer) -> None:
    slug = owner.new_run(brokers="1")
    run = Run.objects.get(slug=slug)
    room = make_class(make_user("numbers-staff", is_staff=True))
    helper = make_member(room, make_user(HELPER), Role.CO_INSTRUCTOR, nickname=HELPER)
    learner = make_member(room, run.owner, nickname="Zach")
    run.classroom, run.participant = room, learner
    run.save()
    grants.give(Grant(room.pk, slug, helper.number, frozenset({"see", "act"})))
    with owner.socket(slug) as own, Visitor(lab_server).sign_in_as(HELPER).socket(slug) as other:
        assert own.of_kind("welcome")["names"] == {"p2": HELPER, "p3": OWNER}
        assert other.of_kind("welcome")["names"] == {"p2": HELPER, "p3": "Zach"}
        own.send({"k": "time", "id": "t", "op": "play"})
        own.run("kafka-topics.sh --list")
        other.run("kafka-topics.sh --list")
        assert other.event("CommandReceived", 1)[4][3] == "p3"
        assert other.event("CommandReceived", 2)[4][3] == "p2"
    lab_server.forget_labs()
    assert files_with(settings.RUNS / slug, HELPER) == files_with(settings.RUNS / slug, OWNER) == []
    grants.end_class(room.pk)
    Class.objects.all().delete()
