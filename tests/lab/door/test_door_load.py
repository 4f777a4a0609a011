"""The door under load: many simultaneous joins, passes used twice at once, and limits without database access."""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import pytest
from django.contrib.auth.models import AnonymousUser, User
from django.db import connection, connections
from django.test import RequestFactory
from django.utils import timezone

from lab.actions.classes import join_class as join_class_
from lab.actions.classes.door import open_door
from lab.actions.classes.join_class import MAX_WAITING, join_class, leave_class, make_pass, use_pass
from lab.actions.classes.live_class import LiveClass, live_classes
from lab.classroom.decide import room as deciding_room
from lab.classroom.limits import JOINS_WINDOW_S, MAX_JOINS, Joins, WrongCodes
from lab.models import Class, Run
from lab.rights import Grant, grants
from lab.texts.refusal import Refusal
from lab.web.classes import door_pages
from tests.support.classroom.guest import Guest
from tests.support.classroom.people import make_class, make_user
from tests.support.lab_server import LabServer, Visitor


@pytest.fixture
def room(database) -> Iterator[Class]:
    made = make_class(make_user("load-lin", is_staff=True))
    open_door(made, timezone.now())
    yield made
    Class.objects.all().delete()
    User.objects.filter(username__startswith="guest-").delete()


def in_threads(count: int, job: Any) -> list[Any]:
    def closing(n: int) -> Any:
        try:
            return job(n)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(8) as pool:
        return list(pool.map(closing, range(count)))


def test_300_concurrent_joins_get_300_numbers_and_names(room: Class) -> None:
    """Acceptance statement 4, without pages."""

    def join(n: int) -> int:
        return join_class(Class.objects.get(pk=room.pk), None, "Ada", "number", "en", timezone.now()).participant.number

    assert sorted(in_threads(300, join)) == list(range(2, 302))
    names = list(room.participants.exclude(number=1).values_list("skeleton", flat=True))
    assert len(set(names)) == 300


def test_a_pass_used_by_eight_at_once_lets_one_in(room: Class) -> None:
    joined = join_class(room, None, "Ada", "number", "en", timezone.now())
    key = make_pass(joined.participant, timezone.now())

    def use(n: int) -> bool:
        try:
            use_pass(key, timezone.now())
        except Refusal:
            return False
        return True

    assert in_threads(8, use).count(True) == 1


def test_the_queue_at_the_door_is_bounded(room: Class) -> None:
    room.admits = True
    room.save()
    for _ in range(MAX_WAITING):
        join_class(room, None, "", "number", "en", timezone.now())
    with pytest.raises(Refusal) as refused:
        join_class(room, None, "", "number", "en", timezone.now())
    assert refused.value.id == "refusal.class_queue_full" and room.participants.count() == MAX_WAITING + 1


def test_those_who_have_left_count_at_the_door(room: Class, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each is known to the class for ever, and one script could join and leave."""
    monkeypatch.setattr(join_class_, "MAX_PEOPLE", 4)
    account = make_user("load-ada")
    known = join_class(room, account, "Ada", "number", "en", timezone.now()).participant
    for _ in range(2):
        leave_class(join_class(room, None, "", "number", "en", timezone.now()).participant)
    with pytest.raises(Refusal) as refused:
        join_class(room, None, "", "number", "en", timezone.now())
    assert refused.value.id == "refusal.class_many_joined" and room.participants.count() == 4
    assert join_class(room, account, "Ada", "number", "en", timezone.now()).participant == known


def test_class_with_too_many_participants_opens_without_them(
    room: Class, lab_server: LabServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deciding_room, "MAX_PEOPLE", 3)
    for n in range(5):
        joined = join_class(room, None, "", "number", "en", timezone.now()).participant
        if n < 3:
            leave_class(joined)
    try:
        for _ in range(2):
            live: LiveClass = lab_server.call(lambda _: live_classes().of(room))
            # p2 to p4 have left before it was opened, and need no place.
            assert set(live.room.board.now.roles) == {"p1", "p5", "p6"}
            join_class(room, None, "", "number", "en", timezone.now())
            lab_server.call(partial(mirrored, live))
            assert live.room._writer.state.door.is_open
            lab_server.call(lambda _: live_classes().close())
    finally:
        lab_server.call(lambda _: live_classes().close())


async def mirrored(live: LiveClass, _: object) -> None:
    await live.mirror()


def test_joins_from_one_address_are_limited(room: Class, monkeypatch: pytest.MonkeyPatch) -> None:
    """A class of a thousand fits within a quarter of an hour; a script cannot fill class after class."""
    limits, now_s = Joins(), time.monotonic()
    monkeypatch.setattr(door_pages, "joins", limits)

    def post(address: str) -> Any:
        request = RequestFactory().post(f"/join/{room.link_key}/", {"consent": "number"}, REMOTE_ADDR=address)
        request.user = AnonymousUser()
        return door_pages.join_by_link(request, room.link_key)

    assert {limits.begin("10.0.0.9", now_s) for _ in range(MAX_JOINS)} == {0.0}
    refused = post("10.0.0.9")
    assert refused.status_code == 429 and int(refused.headers["Retry-After"]) > 800
    assert "from this network" in refused.content.decode() and room.participants.count() == 1
    assert post("10.0.0.8").status_code == 302 and room.participants.count() == 2
    assert limits.begin("10.0.0.9", now_s + JOINS_WINDOW_S) == 0.0


def test_a_code_beyond_the_limit_is_refused_without_the_database(room: Class, monkeypatch: pytest.MonkeyPatch) -> None:
    limits = WrongCodes()
    monkeypatch.setattr(door_pages, "wrong_codes", limits)

    def no_query(execute: Any, sql: str, *more: Any) -> Any:
        raise AssertionError(f"the database was asked: {sql}")

    def post() -> Any:
        request = RequestFactory().post("/join/", {"code": "KITE-100"}, REMOTE_ADDR="10.0.0.9")
        return door_pages.join(request)

    assert post().status_code == 404
    for n in range(60):
        limits.begin(f"b{n}", "10.0.0.9", time.monotonic())
    with connection.execute_wrapper(no_query):
        answers = [post() for _ in range(50)]
    assert {each.status_code for each in answers} == {429}
    assert all(int(each.headers["Retry-After"]) >= 1 for each in answers)


def test_kicked_while_watching_ends_the_socket(room: Class, lab_server: LabServer) -> None:
    lin, ada = Visitor(lab_server).sign_in_as("load-lin"), Guest(lab_server)
    slug = lin.new_run(brokers="1")
    ada.join(room.link_key, "Ada")
    assert ada.get(f"/r/{slug}/main").status == 404
    grants.give(Grant(room.pk, slug, "all", frozenset({"see"})))
    try:
        with ada.socket(slug) as socket:
            socket.of_kind("welcome")
            assert ada.get(f"/r/{slug}/main").status == 200
            lin.post(f"/classes/{room.slug}/people/2", op="kick")
            assert socket.closed()[0] == 4403
        assert ada.get(f"/r/{slug}/main").status == 404
    finally:
        grants.end_class(room.pk)
        Run.objects.filter(slug=slug).update(classroom=None)
