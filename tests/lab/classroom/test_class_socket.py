"""The socket of a class: access, acts and their answers, floods, presence, and reconnecting."""

import asyncio
import errno
import json
import threading
from collections.abc import Collection, Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth import get_user_model
from websockets.exceptions import ConnectionClosed

from lab import rights
from lab.actions.classes import people
from lab.actions.classes.live_class import LiveClass, class_folder, live_classes
from lab.classroom.acts import Given
from lab.classroom.acts.facts import AnyFact
from lab.classroom.decide import room as deciding_room
from lab.classroom.journal import ClassJournal
from lab.classroom.notices import Notice, tell
from lab.classroom.room import Room
from lab.models import ClassText, Participant, Presence, Role
from lab.rights import rights_changed
from lab.runtime.sharing.load import load
from lab.web.classes.class_socket import ClassSocket
from tests.support.classroom.class_pages import Classroom, Page
from tests.support.lab_server import PATIENCE_S, LabServer


def test_only_participants_get_a_socket(classroom: Classroom) -> None:
    with classroom.page("p5") as page:
        assert page.closed() == 4404
    Participant.objects.filter(number=2).update(presence=Presence.KICKED)
    with classroom.page("p2") as page:
        assert page.closed() == 4403, "a removed participant is told that they were removed"
    with classroom.page("p3", schema="0123") as page:
        assert page.closed() == 4400
    with classroom.page("p3") as page:
        assert page.until("welcome")["you"] == {"p": "p3", "role": "learner", "name": "Name 3"}


def test_act_is_answered_and_sent_to_others(classroom: Classroom) -> None:
    with classroom.page("p1") as teacher, classroom.page("p2") as ada, classroom.page("p3") as bob:
        for page in (teacher, ada, bob):
            page.until("snap")
        answer = ada.act("ask", text="why <b>45</b>?", lang="en", at={"lab": "none/main"})
        assert (answer["k"], answer["status"]) == ("no", 403)
        assert ClassText.objects.count() == 0, "the text of a question that is refused is not kept"
        lab = classroom.lab_to_lead()
        assert teacher.act("take_lead", lab=lab)["k"] == "done"
        answer = ada.act("ask", text="why <b>45</b>?", lang="en", at={"lab": lab, "seq": 7})
        assert answer["k"] == "done"
        for page in (teacher, bob):
            page.until_held("/questions/1 text", "why <b>45</b>?")
        assert teacher.held["/questions/1"]["name"] == "Name 2"
        assert bob.held["/questions/1"]["name"] == ""
        assert bob.act("back", question=1)["k"] == "done"
        teacher.until_held("/questions/1 backers", 1)


def test_lab_that_does_not_exist_cannot_lead(classroom: Classroom) -> None:
    lab = classroom.lab_to_lead()
    with classroom.page("p1") as teacher, classroom.page("p2") as ada:
        for page in (teacher, ada):
            page.until("snap")
        for missing in ("none/main", lab.replace("main", "other")):
            answer = teacher.act("take_lead", lab=missing)
            assert (answer["k"], answer["status"]) == ("no", 404)
            assert answer["what"] and answer["expected"] and answer["todo"]
        assert ada.act("take_lead", lab=lab)["status"] in (403, 404)
        assert teacher.act("take_lead", lab=lab)["k"] == "done"
        ada.until_held("/lead lab", lab)


def test_captions_of_staff_are_sent_to_every_page(classroom: Classroom) -> None:
    address = f"/api/classes/{classroom.slug}/recording/captions/zh-CN/cues"
    spoken = {"from_us": 0, "to_us": 1_000_000, "text": "<b>高水位</b>"}
    with classroom.page("p2") as ada, classroom.page("p4") as observer:
        ada.until("snap")
        observer.until("snap")
        assert classroom.visitors["p2"].post_json(address, spoken).status == 403
        assert classroom.visitors["p1"].post_json(address, spoken).status == 200
        for page in (ada, observer):
            frame = page.until("caption")
            assert (frame["lang"], frame["text"], frame["from_us"]) == ("zh-CN", "<b>高水位</b>", 0)


def test_act_repeated_after_a_restart_is_executed_once(classroom: Classroom) -> None:
    with classroom.page("p1") as teacher:
        first = teacher.act("set_timer", "once", seconds=60)
        assert teacher.act("set_timer", "once", seconds=60) == first
    classroom.restart()
    with classroom.page("p1") as teacher:
        assert teacher.act("set_timer", "once", seconds=60) == first
        classroom.restart()
        assert teacher.until("bye")["again"] is True
    events = [type(one[4]).__name__ for one in ClassJournal(class_folder(classroom.slug)).after(0)]
    assert events.count("TimerSet") == 1
    assert events.count("ClassResumed") == 1


def test_page_that_comes_back_gets_what_it_missed(classroom: Classroom) -> None:
    with classroom.page("p1") as teacher:
        with classroom.page("p2") as ada:
            ada.until("snap")
            ada.until_held("/paused", False)
        teacher.act("pause_all")
        with classroom.page("p2", have=ada.upto, boot=ada.boot) as again:
            again.held = dict(ada.held)
            again.until_held("/paused", True)
            assert "snap" not in [frame["k"] for frame in again.frames]
            assert any(event[4][0] == "AllPaused" for frame in again.frames for event in frame.get("ev", ()))
        classroom.restart()
        with classroom.page("p2", have=ada.upto, boot=ada.boot) as again:
            again.until("snap")
            assert again.held["/paused"] is True


def test_flood_of_acts_is_refused_once_a_second_and_then_closed(classroom: Classroom) -> None:
    with classroom.page("p1") as teacher, classroom.page("p2") as ada:
        ada.until("snap")
        for number in range(260):
            ada.send(k="act", id=f"x{number}", do={"op": "detach"})
        assert ada.closed() == 4429
        done = [frame for frame in ada.frames if frame["k"] == "done"]
        refused = [frame for frame in ada.frames if frame["k"] == "no"]
        assert 30 <= len(done) < 100
        assert refused[0]["status"] == 429
        assert refused[0]["again_ms"] > 0
        assert len(refused) <= 15
        assert teacher.act("pause_all")["k"] == "done", "others go on"


@pytest.mark.parametrize(
    "frame",
    [
        "rubbish", "[1]", '{"k":"act","id":"1","do":{"op":"hack"}}',
        '{"k":"act","id":"1","do":{"op":"look","p":"../p1"}}',
        '{"k":"act","id":"1","do":{"op":"look"}}', '{"k":"act","id":"<b>","do":{"op":"detach"}}', "[" * 5_000,
        '{"k":"ask"}', '{"k":"act","id":"1","do":{"op":"set_pace","step":1e99}}', '{"k":"hello","v":1,"schema":""}',
    ],
)  # fmt: skip
def test_invalid_frame_is_refused_with_a_message(classroom: Classroom, frame: str) -> None:
    with classroom.page("p2") as ada:
        ada.until("snap")
        ada.connection.send(frame)
        refused = ada.until("no")
        assert refused["status"] == 400
        assert refused["what"]
        assert ada.act("detach")["k"] == "done", "the socket goes on"


@pytest.mark.parametrize(
    "place", ["lab.web.classes.class_socket.texts_of", "lab.classroom.writer.decide", "lab.classroom.writer.fold"]
)
def test_internal_error_in_an_act_is_answered_and_the_class_continues(
    classroom: Classroom, place: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with classroom.page("p1") as teacher, classroom.page("p2") as ada:
        for page in (teacher, ada):
            page.until("snap")
        with monkeypatch.context() as broken:
            broken.setattr(place, _fails)
            answer = teacher.act("pause_all")
        assert (answer["k"], answer["status"]) == ("no", 500) and "The class continues" in answer["todo"]
        assert any(record.exc_info and isinstance(record.exc_info[1], ZeroDivisionError) for record in caplog.records)
        assert teacher.act("pause_all")["k"] == "done"
        ada.until_held("/paused", True)


def _fails(*given: object) -> None:
    raise ZeroDivisionError("planted")


def test_socket_that_keeps_sending_invalid_frames_is_closed(classroom: Classroom) -> None:
    with classroom.page("p2") as ada:
        ada.until("snap")
        for _ in range(11):
            ada.connection.send("rubbish")
        assert ada.closed() == 4429, "the page waits; it does not ask to be loaded again"


def test_kicked_page_is_closed_with_a_reason(classroom: Classroom) -> None:
    with classroom.page("p2") as ada:
        ada.until("snap")
        member = Participant.objects.get(number=2)
        member.presence = Presence.KICKED
        member.save()
        classroom.server.call(lambda _: sync_to_async(rights_changed)([member.user_id or 0]))
        assert ada.until("bye")["why"] == "kicked"
        assert ada.closed() == 4403


def test_participant_whom_a_full_class_refuses_and_who_admits_them_are_told(
    classroom: Classroom, monkeypatch: pytest.MonkeyPatch
) -> None:
    user = get_user_model().objects.get(username="user 5")
    waiting = Participant.objects.create(
        classroom=classroom.model, number=5, user=user, role=Role.LEARNER, presence=Presence.WAITING
    )
    monkeypatch.setattr(deciding_room, "MAX_PEOPLE", 4)
    with classroom.page("p1") as teacher:
        teacher.until("snap")
        answer = teacher.act("admit", p="p5")
        assert (answer["k"], answer["status"], answer["what"]) == ("no", 409, "The class is full.")
        assert teacher.act("admit")["k"] == "no"
        assert teacher.act("open_door", stays=False, admits=True)["k"] == "done", "it concerns none of them"
    waiting.refresh_from_db()
    assert waiting.presence == Presence.IN
    with classroom.page("p5") as page, pytest.raises(ConnectionClosed) as closed:
        page.until("snap")
    assert closed.value.rcvd is not None
    assert (closed.value.rcvd.code, closed.value.rcvd.reason) == (4403, "The class is full.")


def test_role_in_the_database_decides_what_a_page_receives(classroom: Classroom) -> None:
    with classroom.page("p2") as ada:
        ada.until("snap")
        assert "/people/p3" not in ada.held
        Participant.objects.filter(number=2).update(role=Role.CO_INSTRUCTOR)
        live = classroom.server.call(lambda _: live_classes().opened(classroom.slug))
        classroom.server.call(lambda _: live.mirror())
        assert ada.until("welcome")["you"]["role"] == "co-instructor"
        ada.until("snap")
        assert ada.held["/people/p3"]["name"] == "Name 3"


def test_door_is_opened_and_people_are_renamed_and_removed_from_a_page(classroom: Classroom) -> None:
    with classroom.page("p1") as teacher, classroom.page("p2") as ada, classroom.page("p3") as bob:
        for page in (teacher, ada, bob):
            page.until("snap")
        assert bob.act("open_door")["status"] == 403
        assert bob.act("kick", p="p2")["status"] == 403
        assert teacher.act("open_door", stays=True)["k"] == "done"
        bob.until_held("/door is_open", True)
        assert teacher.act("rename", p="p2", name="Ada")["k"] == "done"
        ada.until_held("/mine name", "Ada")
        teacher.until_held("/people/p2 name", "Ada")
        assert teacher.act("kick", p="p2")["k"] == "done"
        assert ada.closed() == 4403
        assert Participant.objects.get(number=2).presence == Presence.KICKED
        assert teacher.act("kick", p="p99")["status"] == 404
        assert teacher.act("end_class")["k"] == "done"
        bob.until_held("/class ended", "act")


def test_acts_at_the_door_are_sent_to_pages(classroom: Classroom) -> None:
    with classroom.page("p1") as teacher:
        teacher.until("snap")
        with classroom.page("p2") as ada:
            ada.until("snap")
            me, chosen = Participant.objects.get(number=1), Participant.objects.get(number=2)
            classroom.server.call(lambda _: sync_to_async(people.rename)(chosen, "Grace", me))
            teacher.until_held("/people/p2 name", "Grace")
            classroom.server.call(lambda _: sync_to_async(people.erase)(chosen, me))
            assert ada.closed() == 4403
        teacher.until_held("/people/p2 presence", "left")
        teacher.until_held("/people/p2 name", "")
        tell(Notice("under_attack", classroom.model.pk))
        assert teacher.until("alarm")["why"] == "wrong_codes"


def test_change_of_one_participant_reads_no_other(classroom: Classroom, monkeypatch: pytest.MonkeyPatch) -> None:
    """When hundreds join within seconds, each is read once, and not all for each."""
    read, facts = [], LiveClass._facts

    def noted(live: LiveClass, numbers: Collection[int] | None) -> list[AnyFact]:
        read.append(numbers)
        return facts(live, numbers)

    with classroom.page("p1") as teacher:
        teacher.until("snap")
        monkeypatch.setattr(LiveClass, "_facts", noted)
        me, chosen = Participant.objects.get(number=1), Participant.objects.get(number=2)
        classroom.server.call(lambda _: sync_to_async(people.give_role)(chosen, Role.OBSERVER, me))
        teacher.until_held("/people/p2 role", "observer")
        assert teacher.act("give_role", p="p3", role="observer")["k"] == "done"
        teacher.until_held("/people/p3 role", "observer")
        assert teacher.act("close_door")["k"] == "done"
    assert all(numbers in ({2}, {3}, None) for numbers in read) and read[0] == {2} and {3} in read and None in read


def test_time_is_answered_with_class_time(classroom: Classroom) -> None:
    with classroom.page("p2") as ada:
        at_us = ada.until("welcome")["class_us"]
        ada.send(k="time", ms=12.5)
        answer = ada.until("time")
        assert answer["ms"] == 12.5
        assert answer["class_us"] >= at_us


def test_frames_of_a_page_do_not_wait_for_the_database(classroom: Classroom) -> None:
    free = threading.Event()
    with classroom.page("p1") as teacher, classroom.page("p2") as ada:
        teacher.until("snap")
        ada.until("snap")

        async def keep_busy(_: object) -> "asyncio.Task[bool]":
            return asyncio.create_task(sync_to_async(free.wait)(PATIENCE_S))

        busy = classroom.server.call(keep_busy)
        try:
            assert teacher.act("set_timer", seconds=60)["k"] == "done"
            ada.until_held("/timer seconds", 60)
            ada.send(k="time", ms=12.5)
            assert ada.until("time")["ms"] == 12.5
            assert not busy.done()
        finally:
            free.set()


def test_only_the_view_of_the_presenter_reaches_followers(classroom: Classroom) -> None:
    lab = classroom.lab_to_lead()
    view = {
        "branch": lab, "seq": 41, "at_us": 7, "mode": "pause", "rate": 1.0, "screen": "log",
        "partition": "orders-0", "selection": "", "ranges": {"orders-0": [24, 45]},
    }  # fmt: skip
    with classroom.page("p1") as teacher, classroom.page("p2") as ada, classroom.page("p3") as bob:
        for page in (teacher, ada, bob):
            page.until("snap")
        assert teacher.act("take_lead", lab=lab)["k"] == "done"
        bob.send(k="view", term=1, view=view | {"seq": 1})
        teacher.send(k="view", term=7, view=view | {"seq": 2})
        teacher.send(k="view", term=1, view=view | {"seq": 3, "branch": "other/main"})
        teacher.send(k="view", term=1, view=view)
        shown = ada.until("view")
        assert (shown["p"], shown["term"], shown["view"]["seq"]) == ("p1", 1, 41)
        ada.until_held("/view", shown["view"])
        assert [frame["view"]["seq"] for frame in ada.frames if frame["k"] == "view"] == [41]
        # A page that shows the beginning of a run has some time before it in sight.
        teacher.send(k="view", term=1, view=view | {"seq": 1, "window": [-250_000, 1_000_000]})
        assert ada.until("view")["view"]["window"] == [-250_000, 1_000_000]


def test_stalled_page_does_not_delay_others(classroom: Classroom) -> None:
    """Acceptance statement 8: the figure is that of the class bench."""
    with ExitStack() as stack:
        stalled = stack.enter_context(classroom.page("p4"))
        stalled.until("snap")
        teacher = stack.enter_context(classroom.page("p1"))
        teacher.until("snap")
        reading = stack.enter_context(classroom.page("p3"))
        reading.until("snap")
        for number in range(25):
            assert teacher.act("set_timer", seconds=number + 1)["k"] == "done"
            # Told before the next one, so each is a frame of its own.
            reading.until_held("/timer seconds", number + 1)
        # It acknowledged only the snapshot, and gets at most its window until it acknowledges more.
        sent = [json.loads(frame) for frame in _waiting(stalled)]
        assert len([frame for frame in sent if frame["k"] == "e"]) <= 16


def _waiting(page: Page) -> Iterator[str | bytes]:
    while True:
        try:
            yield page.connection.recv(timeout=0.3)
        except TimeoutError:
            return


def test_overloaded_server_notifies_staff_and_delays_new_observers(
    classroom: Classroom, monkeypatch: pytest.MonkeyPatch
) -> None:
    with classroom.page("p1") as teacher, classroom.page("p4") as observer:
        teacher.until("snap")
        observer.until("snap")
        room = classroom.server.call(lambda _: shed_to(classroom.slug, 8))
        assert teacher.until("shed")["step"] == room == 8
        monkeypatch.setattr(load, "step", 8)
        with classroom.page("p4") as late:
            assert late.closed() == 4429
        with classroom.page("p2") as ada:
            ada.until("snap")
        assert observer.act("none")["k"] == "no", "who is in stays"
        assert not any(frame["k"] == "shed" for frame in observer.frames)


async def shed_to(slug: str, step: int) -> int:
    """Notifies the class of the server's load step."""
    live = live_classes().opened(slug)
    assert live is not None
    live.room.shed(step, 4)
    return step


def test_sockets_whose_page_is_gone_before_the_answer_are_not_kept(lab_server: LabServer) -> None:
    """The server cannot tell them that they are closed."""

    async def connect(_: object) -> None:
        async def receive() -> dict[str, str]:
            return {"type": "websocket.connect"}

        async def send(message: dict[str, object]) -> None:
            raise OSError("the page is gone")

        scope = {"type": "websocket", "path": "/ws/classes/nope/", "cookies": {}, "headers": []}
        with pytest.raises(OSError, match="gone"):
            socket: Any = ClassSocket.as_asgi()
            await socket({**scope, "url_route": {"kwargs": {"slug": "nope"}}}, receive, send)

    before = len(rights._holders)
    for _ in range(3):
        lab_server.call(connect)
    assert len(rights._holders) <= before


def test_a_change_that_could_not_be_recorded_is_recorded_later(
    classroom: Classroom, monkeypatch: pytest.MonkeyPatch
) -> None:
    failed = threading.Event()
    do = Room.do

    async def full(self: Room, given: Given, kept: object = None) -> None:
        failed.set()
        raise OSError(errno.ENOSPC, "No space left on device")

    def observe(number: int) -> None:
        me, other = Participant.objects.get(number=1), Participant.objects.get(number=number)
        classroom.server.call(lambda _: sync_to_async(people.give_role)(other, Role.OBSERVER, me))

    with classroom.page("p1") as teacher:
        teacher.until("snap")
        with monkeypatch.context() as patched:
            patched.setattr(Room, "do", full)
            observe(2)
            assert failed.wait(PATIENCE_S)
        assert Room.do is do
        observe(3)
        teacher.until_held("/people/p3 role", "observer")
        teacher.until_held("/people/p2 role", "observer")


@pytest.mark.parametrize("failing", ["mirror", "_tell"])
def test_page_does_not_wait_for_an_update_that_failed(
    classroom: Classroom, monkeypatch: pytest.MonkeyPatch, failing: str
) -> None:
    async def fail(*_: Any) -> None:
        raise OSError(errno.EIO, "no answer of the disk")

    async def wait(_: Any) -> bool:
        live = await live_classes().of(classroom.model)
        monkeypatch.setattr(live, failing, fail)
        following = asyncio.create_task(live.follow(Notice("joined", live.class_id, 2)))
        # Begins to wait before the update takes what is noticed.
        waiting = asyncio.create_task(live.followed())
        with pytest.raises(OSError, match="no answer"):
            await following
        await asyncio.wait({waiting}, timeout=PATIENCE_S / 10)
        return not waiting.cancel()

    assert classroom.server.call(wait)


def test_erased_person_is_removed_from_pages_even_if_the_class_cannot_state_it(
    classroom: Classroom, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(*_: Any) -> None:
        raise OSError(errno.ENOSPC, "no space left on device")

    async def patch(_: Any) -> None:
        monkeypatch.setattr(await live_classes().of(classroom.model), "mirror", fail)

    with classroom.page("p1") as teacher:
        teacher.until_held("/people/p2 name", "Name 2")
        classroom.server.call(patch)
        me, erased = (Participant.objects.get(classroom=classroom.model, number=number) for number in (1, 2))
        classroom.server.call(lambda _: sync_to_async(people.erase)(erased, me))
        teacher.until_held("/people/p2 name", "")
