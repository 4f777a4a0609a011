"""Floods of one page: each kind of frame is limited per person, writes little, and leaves the others alone."""

from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed

from lab.actions.classes.live_class import live_classes
from lab.classroom import room as rooms
from lab.classroom.acts import Given, ops
from lab.classroom.acts.facts import GiveState, TakeState
from lab.classroom.buckets import ActLimits, Bucket
from lab.classroom.events.pace import LabShown
from lab.classroom.frames import LookedAt
from lab.classroom.room import Room
from lab.protocol.frames import encode
from tests.support.classroom.class_pages import Classroom
from tests.support.classroom.memory_class import ADA, TEACHER, US
from tests.support.classroom.open_rooms import Chair, HandClocks, begun, run

VIEW = {
    "branch": "some/main", "seq": 1, "at_us": 1, "mode": "pause", "rate": 1.0, "screen": "log", "partition": "",
    "selection": "", "ranges": {},
}  # fmt: skip
FRAMES: dict[str, Any] = {
    "here": lambda n: {"k": "here", "hidden": bool(n % 2), "lab": f"lab-{n}/main"},
    "time": lambda n: {"k": "time", "ms": float(n)},
    "view": lambda n: {"k": "view", "view": VIEW},
    "point": lambda n: {"k": "point", "anchor": "broker:b1", "u": n % 1000, "v": 0},
    "ack": lambda n: {"k": "ack", "upto": n},
    "hello": lambda n: {"k": "hello", "v": 1, "schema": ""},
}


@pytest.mark.parametrize("kind", FRAMES)
def test_flood_of_any_frame_is_refused_once_a_second_and_then_closed(classroom: Classroom, kind: str) -> None:
    with classroom.page("p1") as teacher, classroom.page("p2") as ada:
        ada.until("snap")
        # As fast as it is on a slow machine.
        room_of(classroom).limits("p2")._buckets["frame"] = Bucket(1, ActLimits.FRAME_BURST)
        with suppress(ConnectionClosed):
            for number in range(ActLimits.FRAME_BURST + 400):
                ada.send(**FRAMES[kind](number))
        assert ada.closed() == 4429
        refused = [frame for frame in ada.frames if frame["k"] == "no"]
        # Of the answers to `time`, 64 wait at most.
        assert (kind == "time" or refused) and len(refused) <= 15, "not one for each frame"
        with classroom.page("p2") as again:
            assert again.closed() == 4429, "the server, not only the page, waits"
        assert teacher.act("pause_all")["k"] == "done", "others go on"
        with classroom.page("p3") as bob:
            bob.until("snap")


def test_frames_of_all_pages_of_a_person_count_together(classroom: Classroom) -> None:
    with classroom.page("p2") as one, classroom.page("p2") as other, classroom.page("p3") as bob:
        for page in (one, other, bob):
            page.until("snap")
        room_of(classroom).limits("p2")._buckets["frame"] = Bucket(1 / 3_600, 3)
        for number in range(3):
            one.send(k="time", ms=number)
            assert one.until("time")["ms"] == number
        other.send(k="time", ms=3)
        assert other.until("no")["status"] == 429
        bob.send(k="time", ms=4)
        assert bob.until("time")["ms"] == 4, "another person has their own"


def test_acknowledgements_of_frames_that_were_sent_are_not_limited(classroom: Classroom) -> None:
    """A page answers each frame of events, however many there are."""
    with classroom.page("p1") as teacher:
        teacher.until("snap")
        room = room_of(classroom)
        bucket = room.limits("p1")._buckets["frame"] = Bucket(1 / 3_600, 1)
        for seconds in range(1, 25):
            assert teacher.act("set_timer", seconds=seconds)["k"] == "done"
            teacher.until_held("/timer seconds", seconds)
        assert not any(frame["k"] == "no" for frame in teacher.frames)
        assert bucket.take(room.now_us()), "none of them took the token"
        teacher.send(k="ack", upto=1)
        assert teacher.until("no")["status"] == 429, "one of nothing does"


def test_change_of_the_lab_in_front_is_written_at_most_once_a_second(classroom: Classroom) -> None:
    lab = classroom.give_lab("p2")
    with classroom.page("p1") as teacher, classroom.page("p2") as ada:
        teacher.until_held("/people/p2 lab", f"{lab}/main")
        ada.until("snap")
        room = room_of(classroom)
        given = [Given("p1", GiveState(1, "lead/main", 1, 1)), Given("p2", TakeState("p2", 1, "taken/main"))]
        for one in given:
            classroom.server.call(partial(_give, room, one))
        began_us = room.now_us()
        for number in range(25):
            # Hidden in between, so that each is another page in front.
            ada.send(k="here", hidden=True)
            ada.send(k="here", lab=f"taken/b{number}")
        assert ada.act("detach")["k"] == "done", "the frames before it were taken"
        seconds = (room.now_us() - began_us) / US
        # Left out, it is told by the next frame.
        room.limits("p2")._buckets.update(here=Bucket(1, 1), front=Bucket(1, 1))
        ada.send(k="here", lab="taken/last")
        teacher.until_held("/people/p2 lab", "taken/last")
        events = classroom.server.call(lambda _: room.events(1, room.board.last_seq))
        shown = [event.lab for *_, event in events if isinstance(event, LabShown)]
        assert 1 <= len(shown) <= 11 + seconds + 1
        assert shown[-1] == "taken/last"


async def _give(room: Room, given: Given, _: object) -> None:
    await room.do(given)


def room_of(classroom: Classroom) -> Room:
    live = classroom.server.call(lambda _: live_classes().opened(classroom.slug))
    assert live is not None
    room: Room = live.room
    return room


def test_view_is_encoded_only_for_those_who_see_it_and_ten_times_a_second(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    encoded: list[object] = []

    def noted(frame: Any) -> bytes:
        encoded.append(frame)
        return encode(frame)

    monkeypatch.setattr(rooms, "encode", noted)

    async def test() -> None:
        clocks = HandClocks()
        room = await begun(tmp_path, clocks)
        lin = Chair(room, TEACHER)
        view = LookedAt(f"run-{ADA}/main", None, None, "pause", 1, "cluster", "", "", {})
        for _ in range(100):
            room.view(ADA, 0, view)
        assert not [frame for frame in encoded if isinstance(frame, dict) and frame["k"] == "view"]
        await room.do(Given(TEACHER, ops.Look(ADA)))
        encoded.clear()
        for _ in range(100):
            room.view(ADA, 0, view)
        assert len(encoded) == 10
        clocks.us += US
        room.view(ADA, 0, view)
        assert len(encoded) == 11
        assert any(frame["k"] == "view" and frame["p"] == ADA for frame in await lin.frames())
        await room.close()

    run(test)


@pytest.mark.parametrize(("kind", "rate"), [("act", 10), ("vote", 2), ("draw", 20), ("frame", 60)])
def test_refusal_names_the_limit_of_its_kind(kind: str, rate: int) -> None:
    limits, taken = ActLimits(), 0
    while limits.take(kind, 0):
        taken += 1
    assert limits.rate(kind) == rate
    assert [limits.take(kind, US) for _ in range(min(rate, taken) + 1)] == [True] * min(rate, taken) + [False]


def test_person_is_held_off_for_thirty_seconds_after_a_flood() -> None:
    limits = ActLimits()
    assert not limits.is_held_off(5 * US)
    limits.hold_off(5 * US)
    assert limits.is_held_off(35 * US - 1)
    assert not limits.is_held_off(35 * US)


def test_page_too_many_of_a_person_ends_the_oldest(classroom: Classroom) -> None:
    """The oldest may have lost its network: the server notices that only after a while, and the person is back."""
    with ExitStack() as stack:
        pages = [stack.enter_context(classroom.page("p2")) for _ in range(ActLimits.MAX_SOCKETS)]
        for page in pages:
            page.until("snap")
        with classroom.page("p2") as more:
            more.until("snap")
            assert pages[0].closed() == 4429
            with classroom.page("p3") as bob:
                bob.until("snap")
            assert len(room_of(classroom)._seats["p2"]) == ActLimits.MAX_SOCKETS
            pages[1].connection.close()
            with classroom.page("p2") as instead:
                instead.until("snap")
                assert pages[2].act("detach")["k"] == "done", "those that are open stay"
                assert more.act("detach")["k"] == "done"


def test_pages_without_a_network_lock_nobody_out() -> None:
    limits, closed = ActLimits(), []

    class Lost:
        """The server learns nothing of its end."""

        def make_room(self) -> None:
            closed.append(self)

    pages = [Lost() for _ in range(100)]
    for page in pages:
        limits.open_socket(page)
    assert closed == pages[: -ActLimits.MAX_SOCKETS]
