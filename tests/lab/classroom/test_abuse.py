"""Frames that no page of the lab sends: too large, about another class, with deceptive texts or wrong clocks."""

import asyncio
import typing
from pathlib import Path
from typing import Any

import msgspec
import pytest
import websockets.exceptions
from msgspec import inspect

from lab.classroom import presence
from lab.classroom import room as rooms
from lab.classroom.acts import AnyAct, Given, ops
from lab.classroom.decide import decide
from lab.classroom.events import help
from lab.classroom.frames import MAX_FRAME_BYTES, parse
from lab.classroom.room import Room
from lab.classroom.views import section
from lab.management.commands.lab import MAX_SOCKET_FRAME_BYTES
from lab.models import Class, Participant
from lab.protocol.frames import InvalidFrame
from lab.texts.refusal import Refusal
from tests.support.classroom.class_pages import Classroom
from tests.support.classroom.memory_class import (
    ADA,
    ASSISTANT,
    ROLES,
    SCREEN,
    TEACHER,
    US,
    WATCHER,
    MemoryClass,
    NoWords,
)
from tests.support.classroom.open_rooms import Chair, begun, run
from tests.support.lab_server import LabServer

FOREIGN: dict[str, Any] = {
    "p": "p77", "poll": 77, "question": 77, "chapter": 77, "handout": 77, "lab": "another/main",
    "at": ops.At("another/main", 1, 1), "inks": (77,),
}  # fmt: skip
"""Ids of another class, by the field that holds them."""
CLAIMED = {"ask", "raise_hand", "reveal", "take_lead"}
"""What staff may name a lab in: a link that asks for the right to it, or, for the lead, the server asks before."""
ACTS: tuple[type[ops.Op], ...] = typing.get_args(AnyAct)
NAMING = [kind for kind in ACTS if set(kind.__struct_fields__) & set(FOREIGN) - {"inks"}]


def foreign_act(kind: type[ops.Op]) -> Any:
    """An act of a kind with an id of another class."""
    info = inspect.type_info(kind)
    assert isinstance(info, inspect.StructType)
    values: dict[str, Any] = {}
    for field in info.fields:
        if field.name in FOREIGN:
            values[field.name] = FOREIGN[field.name]
        elif field.required:
            match field.type:
                case inspect.StrType():
                    values[field.name] = "0"
                case inspect.BoolType():
                    values[field.name] = True
                case inspect.LiteralType():
                    values[field.name] = field.type.values[0]
                case _:
                    values[field.name] = 1
    return kind(**values)


@pytest.mark.parametrize("p", [TEACHER, ASSISTANT, ADA, WATCHER, SCREEN])
@pytest.mark.parametrize("kind", NAMING, ids=lambda kind: str(kind.__struct_config__.tag))
def test_no_act_in_any_role_reaches_another_class(kind: type[ops.Op], p: str) -> None:
    room_ = MemoryClass()
    room_.do(TEACHER, ops.TakeLead("lead/main"))
    before = msgspec.json.encode(room_.state)
    try:
        found = decide(room_.state, Given(p, foreign_act(kind), "", (1,) * 7), US)
    except Refusal as refusal:
        assert refusal.status in (403, 404, 409)
    else:
        is_claim = kind.__struct_config__.tag in CLAIMED and p in (TEACHER, ASSISTANT)
        assert found == [] or is_claim, found
    assert msgspec.json.encode(room_.state) == before


@pytest.mark.parametrize("role", ["co-instructor", "learner", "observer", "projector"])
def test_acts_at_the_door_are_refused_on_the_socket_of_each_role(classroom: Classroom, role: str) -> None:
    """Every pair of role, act and person is in tests/lab/door/test_rights.py; this is the way of a page to them."""
    others = Participant.objects.filter(classroom=classroom.model).exclude(number=3)
    Participant.objects.filter(classroom=classroom.model, number=3).update(role=role)
    before = list(others.values())
    more = {"name": "Grace", "role": "observer"}
    kinds: tuple[type[ops.Op], ...] = typing.get_args(ops.DoorAct)
    with classroom.page("p3") as page:
        page.until("snap")
        for kind in kinds:
            op, fields = str(kind.__struct_config__.tag), kind.__struct_fields__
            if op == "leave" or (role == "co-instructor" and "p" not in fields and op != "end_class"):
                continue
            sent = {name: value for name, value in more.items() if name in fields}
            answer = page.act(op, **sent, **({"p": "p1"} if "p" in fields else {}))
            assert (answer["k"], answer["status"]) == ("no", 403), op
            if "p" in fields:
                answer = page.act(op, **sent, p="p77")
                assert answer["status"] == (404 if role == "co-instructor" else 403), op
    assert list(others.values()) == before
    assert Class.objects.get(pk=classroom.model.pk).state == Class.State.OPEN


def test_table_of_roles_is_complete() -> None:
    assert set(ROLES.values()) == {"instructor", "co-instructor", "learner", "observer", "projector"}
    assert len(NAMING) > 20


def test_frame_larger_than_a_page_sends_is_refused_unread() -> None:
    with pytest.raises(InvalidFrame) as refused:
        parse('{"k":"act","id":"a","do":{"op":"ask","text":"' + "x" * MAX_FRAME_BYTES + '"}}')
    assert refused.value.id == "refusal.frame_too_large"


TRICKS = [
    "<script>alert(1)</script>",
    "\u202egnp.exe",
    "\u2066x\u2069",
    "{{ 7*7 }}",
    "%s%n",
    "\u0000",
    "💣" * 400,
    "' OR 1=1 --",
]


@pytest.mark.parametrize("trick", TRICKS, ids=range(len(TRICKS)))
def test_free_texts_are_in_no_event_and_are_returned_unchanged(trick: str) -> None:
    class Words(NoWords):
        def text(self, number: int) -> tuple[str, str]:
            return trick, "en"

    room_ = MemoryClass()
    room_.do(TEACHER, ops.TakeLead("lead/main"))
    room_.do(ADA, ops.Ask(trick, "en", ops.At(f"run-{ADA}/main")), texts=(1,))
    room_.do(TEACHER, ops.SendNote(ADA, trick, "en"), texts=(2,))
    room_.do(TEACHER, ops.AddChapter(trick, "en"), texts=(3,))
    room_.do(TEACHER, ops.MakePoll("choice", trick, "en", (trick, trick)), texts=(4, 5, 6))
    room_.do(ADA, ops.MarkNow(trick), texts=(7,))
    logged = msgspec.json.encode([event for *_, event in room_.log]).decode()
    assert trick not in msgspec.json.decode(logged.encode()).__repr__()
    for path in ("questions/1", "notes/1", "chapters/1", "polls/1"):
        shown = msgspec.json.decode(msgspec.json.encode(section(room_.state, Words(), "staff", path)))
        assert shown["text"] == trick, "shown as text, which pages do not interpret"


@pytest.mark.parametrize("trick", [*TRICKS, "Ada"], ids=range(len(TRICKS) + 1))
def test_hand_and_question_keep_no_free_text_in_their_instant(trick: str) -> None:
    """Events outlive the texts of a person who was erased."""
    room_ = MemoryClass()
    for act in (ops.RaiseHand, lambda at: ops.Ask("why?", "en", at)):
        for selection, screen, kept in [
            (trick, trick, ("", "")),
            (f"client:{trick} ", "disk", ("", "disk")),
            ("znode:/brokers", "table", ("znode:/brokers", "table")),
        ]:
            (event,) = room_.do(ADA, act(ops.At(f"run-{ADA}/main", 1, 1, selection, screen)), texts=(1,))
            assert isinstance(event, help.HandRaised | help.Asked)
            assert (event.selection, event.screen) == kept
            room_.do(ADA, ops.LowerHand())


@pytest.mark.parametrize("op", ["ask", "send_note", "add_chapter", "make_poll", "mark", "rename"])
def test_ten_thousand_characters_are_refused_by_every_input(op: str) -> None:
    more = {"p": "p3", "lang": "en", "form": "choice", "at": {"lab": "a/main"}, "name": "x" * 10_000}
    kinds: list[type[ops.Op]] = [*ACTS, ops.Rename]
    fields = next(kind for kind in kinds if kind.__struct_config__.tag == op).__struct_fields__
    sent = {name: value for name, value in (more | {"text": "x" * 10_000}).items() if name in fields}
    with pytest.raises(InvalidFrame):
        parse(msgspec.json.encode({"k": "act", "id": "a", "do": {"op": op, **sent}}).decode())


def test_impossible_instants_are_refused() -> None:
    room_ = MemoryClass()
    room_.after(60)
    with pytest.raises(InvalidFrame):
        parse('{"k":"time","ms":1e300}')
    with pytest.raises(InvalidFrame):
        parse('{"k":"act","id":"a","do":{"op":"move_chapter","chapter":1,"begins_us":-1}}')
    room_.do(TEACHER, ops.AddChapter("now", "en"), texts=(1,))
    three_hours_ahead = room_.now_us + 3 * 3600 * US
    found = room_.refused(TEACHER, ops.AddChapter("later", "en", three_hours_ahead))
    if not found:
        room_.do(TEACHER, ops.AddChapter("later", "en", three_hours_ahead), texts=(2,))
        assert room_.state.chapters[2].begins_us <= room_.now_us, "cut to the time of the class"


def test_large_frames_tabs_and_devices_of_one_learner_do_not_affect_others(lab_server: LabServer) -> None:
    classroom = Classroom(lab_server)
    try:
        with classroom.page("p1") as teacher, classroom.page("p2") as tab, classroom.page("p2") as phone:
            teacher.until("snap")
            tab.until("snap")
            phone.until("snap")
            with classroom.page("p2") as flood:
                flood.until("snap")
                flood.connection.send("x" * (MAX_SOCKET_FRAME_BYTES // 2))
                assert flood.until("no")["status"] == 400
                with pytest.raises(websockets.exceptions.ConnectionClosed):
                    flood.connection.send("x" * (MAX_SOCKET_FRAME_BYTES + 1))
                    while True:
                        flood.read()
            made: dict[str, Any] = {
                "form": "choice",
                "text": "?",
                "lang": "en",
                "choices": ["a", "b"],
                "anonymous": False,
                "asks_sure": False,
            }
            assert teacher.act("make_poll", **made)["k"] == "done"
            assert teacher.act("open_poll", poll=1)["k"] == "done"
            assert tab.act("vote", poll=1, answer="0")["k"] == "done"
            assert phone.act("vote", poll=1, answer="1")["k"] == "done"
            tab.connection.close()
            assert phone.act("vote", poll=1, answer="0")["k"] == "done"
            with classroom.page("p3") as bob:
                assert bob.act("vote", poll=1, answer="0")["k"] == "done"
            teacher.until_held("/polls/1 votes", 2)
            assert teacher.act("close_poll", poll=1)["k"] == "done"
            teacher.until_held("/polls/1 phase", "closed")
            assert teacher.held["/polls/1"]["votes"] == 2, "one of each person"
    finally:
        classroom.close()


@pytest.mark.parametrize("p", [TEACHER, ADA])
def test_socket_that_ends_late_takes_nobody_away(p: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The old socket of a person who came back ends after the new one was opened: still here, still leads."""
    monkeypatch.setattr(presence, "AWAY_AFTER_US", 0)
    monkeypatch.setattr(rooms, "TICK_S", 0.001)

    async def test() -> None:
        room = await begun(tmp_path)
        old = Chair(room, p)
        if p == TEACHER:
            await room.do(Given(p, ops.TakeLead("lead/main")))
        new = Chair(room, p)
        room.leave(p, old)
        await ticked(room)
        assert await room.read(lambda state: state.people[p].presence) == "here"
        if p == TEACHER:
            assert room.board.now.lead == (TEACHER, 1) and await room.do(Given(p, ops.Hold(10))) > 0
        room.leave(p, new)
        await ticked(room)
        assert await room.read(lambda state: state.people[p].presence) == "away", "without a socket they are"
        await room.close()

    run(test)


async def ticked(room: Room) -> None:
    """Waits until the time limits were applied once more from now on."""
    events, done = room._tell_count, asyncio.Event()
    left = iter(range(2))

    def told() -> None:
        events()
        if next(left, None) is None:
            done.set()

    room._tell_count = told  # type: ignore[method-assign]
    await done.wait()
    room._tell_count = events  # type: ignore[method-assign]
