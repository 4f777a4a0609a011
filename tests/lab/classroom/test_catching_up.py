"""Latecomers who replay a class while it goes on: what staff know of them, and when they hold no place any more."""

import asyncio
from pathlib import Path
from typing import Any, cast

import pytest
from asgiref.sync import sync_to_async

from lab.actions.classes import people
from lab.actions.classes.wall import ClassWall
from lab.classroom.acts import Given, facts, ops
from lab.classroom.frames import LookedAt, PointFrame
from lab.classroom.presence import Sockets
from lab.classroom.room import Room
from lab.models import Participant
from lab.runtime.classes.tiles import LabName, LabTile, Tiles
from lab.runtime.host import Host
from lab.runtime.sharing.load import Load
from tests.support.classroom.class_pages import Classroom
from tests.support.classroom.memory_class import ADA, BOB, TEACHER, US, WATCHER
from tests.support.classroom.open_rooms import Chair, HandClocks, begun, run


async def told(room_: Room, staff: Chair) -> dict[str, int] | None:
    """What a page of staff is told; None if it is told nothing."""
    room_._tell_replayed()
    frames = [frame for frame in await staff.frames() if frame["k"] == "catching_up"]
    return frames[-1]["people"] if frames else None


def test_staff_know_who_catches_up_and_where(tmp_path: Path) -> None:
    async def test() -> None:
        room_ = await begun(tmp_path, HandClocks())
        teacher, bob = Chair(room_, TEACHER), Chair(room_, BOB)
        assert await told(room_, teacher) == {}
        ada = Chair(room_, ADA, place="replay")
        assert await told(room_, teacher) is None, "she has not told where she is"
        room_.set_replayed(ADA, ada, 1)
        assert await told(room_, teacher) == {ADA: 1}
        assert await told(room_, teacher) is None, "nothing has changed"
        room_.set_replayed(ADA, ada, 10**12)
        assert (await told(room_, teacher) or {})[ADA] <= room_.now_us(), "nobody is ahead of the class"
        late = Chair(room_, TEACHER, place="replay")
        room_.set_replayed(TEACHER, late, 5)
        assert set(await told(room_, teacher) or {}) == {ADA}, "staff do not catch up; a new page of theirs is told all"
        assert "catching_up" not in [frame["k"] for frame in await bob.frames()]
        watcher = Chair(room_, WATCHER, place="replay")
        room_.set_replayed(WATCHER, watcher, 7)
        assert set(await told(room_, teacher) or {}) == {ADA, WATCHER}
        room_.leave(ADA, ada)
        assert set(await told(room_, teacher) or {}) == {WATCHER}
        await room_.close()

    run(test)


@pytest.mark.parametrize("standing", ["kicked", "left", "gone"])
def test_who_was_removed_holds_no_place(tmp_path: Path, standing: Any) -> None:
    async def test() -> None:
        room_ = await begun(tmp_path)
        teacher, ada = Chair(room_, TEACHER), Chair(room_, ADA, place="replay")
        room_.set_replayed(ADA, ada, 1)
        assert await told(room_, teacher) == {ADA: 1}
        await room_.do(Given(TEACHER, facts.SetPerson(ADA, "learner", standing)))
        assert await told(room_, teacher) == {}
        assert ada.ended == "kicked"
        room_.set_replayed(ADA, ada, 2)
        assert await told(room_, teacher) is None, "her socket may end a moment later"
        await room_.close()

    run(test)


def test_nobody_catches_up_with_a_class_that_has_ended(tmp_path: Path) -> None:
    async def test() -> None:
        room_ = await begun(tmp_path)
        teacher, ada = Chair(room_, TEACHER), Chair(room_, ADA, place="replay")
        room_.set_replayed(ADA, ada, 1)
        assert await told(room_, teacher) == {ADA: 1}
        await room_.do(Given("room", facts.EndClass()))
        assert await told(room_, teacher) == {}
        await room_.close()

    run(test)


def test_the_page_in_front_decides() -> None:
    sockets, lab, replay = Sockets(), object(), object()
    sockets.opened(ADA, replay)
    assert sockets.replayed_us(ADA) is None
    sockets.set_replayed(ADA, replay, 5)
    assert sockets.replayed_us(ADA) == 5
    sockets.opened(ADA, lab)
    assert sockets.replayed_us(ADA) is None, "the lab is in front, too"
    sockets.set_hidden(ADA, lab, True)
    assert sockets.replayed_us(ADA) == 5
    sockets.set_hidden(ADA, replay, True)
    assert sockets.replayed_us(ADA) is None
    sockets.closed(ADA, lab, 0)
    assert sockets.replayed_us(ADA) == 5, "the only page of hers"
    sockets.closed(ADA, replay, 0)
    assert sockets.replayed_us(ADA) is None


def test_learner_who_catches_up_is_here_and_is_not_stuck(tmp_path: Path) -> None:
    async def test() -> None:
        clocks = HandClocks()
        room_ = await begun(tmp_path, clocks)
        ada = Chair(room_, ADA, place="replay")
        room_.set_replayed(ADA, ada, 1)
        bob = Chair(room_, BOB)
        for _ in range(3 * 120 + 10):
            clocks.us += US
            await room_.do(Given("room", facts.Tick()))

        def seen(p: str) -> Any:
            return room_.read(lambda state: (state.people[p].presence, state.people[p].stuck))

        assert await seen(ADA) == ("here", "")
        assert (await seen(BOB))[1] == "idle"
        room_.leave(ADA, ada)
        room_.leave(BOB, bob)
        await room_.close()

    run(test)


async def idle(room_: Room, clocks: HandClocks, p: str) -> bool:
    """Whether a learner who does nothing from now on is noticed."""
    for _ in range(3 * 120 + 10):
        clocks.us += US
        await room_.do(Given("room", facts.Tick()))
    return await room_.read(lambda state: state.people[p].stuck) == "idle"


def test_learner_whose_lab_is_in_front_again_after_the_replay_is_looked_after(tmp_path: Path) -> None:
    """The browser shows the lab's tab before the connection of the one that was closed has ended."""

    async def test() -> None:
        clocks = HandClocks()
        room_ = await begun(tmp_path, clocks)
        lab = Chair(room_, ADA)
        room_.set_hidden(ADA, lab, True)
        replay = Chair(room_, ADA, place="replay")
        room_.set_replayed(ADA, replay, 1)
        room_.set_hidden(ADA, lab, False)
        room_.leave(ADA, replay)
        assert await idle(room_, clocks, ADA)
        await room_.close()

    run(test)


def test_learner_whose_only_page_in_front_was_closed_is_not_idle(tmp_path: Path) -> None:
    async def test() -> None:
        clocks = HandClocks()
        room_ = await begun(tmp_path, clocks)
        lab, other = Chair(room_, ADA), Chair(room_, ADA)
        room_.set_hidden(ADA, other, True)
        room_.leave(ADA, lab)
        assert not await idle(room_, clocks, ADA)
        await room_.close()

    run(test)


def test_a_replay_gets_nothing_of_what_is_shown_now(tmp_path: Path) -> None:
    async def test() -> None:
        room_ = await begun(tmp_path)
        ada, bob = Chair(room_, ADA, place="replay"), Chair(room_, BOB)
        await room_.do(Given(TEACHER, ops.TakeLead("lead/main")))
        shown = LookedAt("lead/main", None, None, "pause", 1, "picture", "", "", {})
        room_.view(TEACHER, 1, shown)
        room_.point(TEACHER, PointFrame("broker:b1", 5, 5))
        room_.caption("en", 0, US, "so")
        volatile = {"view", "point", "caption"}
        assert volatile <= {frame["k"] for frame in await bob.frames()}
        assert volatile.isdisjoint(frame["k"] for frame in await ada.frames())
        await room_.close()

    run(test)


def test_labs_are_read_for_the_wall_only_while_staff_have_more_than_the_replay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def test() -> None:
        swept = asyncio.Event()

        async def sweep(_: Tiles) -> dict[LabName, LabTile]:
            swept.set()
            return {}

        monkeypatch.setattr(Tiles, "sweep", sweep)
        monkeypatch.setattr(Load, "tiles_s", 0)
        room_ = await begun(tmp_path)
        Chair(room_, TEACHER, place="replay")
        wall = ClassWall(room_, cast(Host, None))
        for _ in range(20):
            await asyncio.sleep(0)
        assert not swept.is_set()
        Chair(room_, TEACHER, place="board")
        await swept.wait()
        wall.close()
        await room_.close()

    run(test)


def test_place_of_a_replay_reaches_staff_until_its_viewer_is_removed(classroom: Classroom) -> None:
    with classroom.page("p1") as teacher, classroom.page("p2", place="replay") as ada, classroom.page("p3") as noah:
        for page in (teacher, ada, noah):
            page.until("snap")
        ada.send(k="here", at_us=7)
        assert teacher.until("catching_up", people={"p2": 7})["class_us"] > 7
        noah.send(k="here", at_us=7)
        ada.send(k="here", at_us=9)
        assert teacher.until("catching_up")["people"] == {"p2": 9}, "a page of a lab replays nothing"
        me, erased = (Participant.objects.get(classroom=classroom.model, number=number) for number in (1, 2))
        classroom.server.call(lambda _: sync_to_async(people.erase)(erased, me))
        teacher.until("catching_up", people={})
        assert ada.closed() == 4403
