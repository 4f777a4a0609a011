"""What pages get: the lanes of a socket (answers first, no queue of events, the newest of what is volatile), and of a
class no more than they show, at once.
"""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lab.classroom import room as rooms
from lab.classroom.acts import At, Given, facts, ops
from lab.classroom.audience import Viewer
from lab.classroom.board import MAX_UNSEEN, Board, Published, now_of, sections_of
from lab.classroom.lanes import WINDOW_FRAMES, Outbox, TooManyAnswers
from lab.classroom.views import paths
from lab.classroom.wall_rows import NO_ROW, OTHERS_EVERY, WallRows
from lab.protocol.frames import encode
from lab.runtime.classes.tiles import LabTile, Mode, ReplicaTile
from tests.support.classroom.memory_class import ADA, BOB, SCREEN, TEACHER, MemoryClass, NoWords
from tests.support.classroom.open_rooms import Chair, begun, hand, run

MOVING: tuple[Mode, Mode] = ("play", "event_paced")
"""The modes of labs that change with every picture."""


class CountingBoard:
    """A board whose frames are as large as wanted."""

    def __init__(self, size: int) -> None:
        self.last_seq = 0
        self.size = size

    def has_since(self, seq: int) -> bool:
        return seq >= self.last_seq - 50

    def has_news(self, viewer: Viewer, after: int) -> bool:
        return after < self.last_seq

    def frame(self, viewer: Viewer, after: int) -> bytes:
        return b"e%d" % after + b" " * self.size

    def snap(self, viewer: Viewer) -> bytes:
        return b"snap"


def drained(outbox: Outbox) -> Iterator[bytes]:
    while (frame := outbox._next()) is not None:
        yield frame


@pytest.mark.parametrize(("size", "sent"), [(10, WINDOW_FRAMES), (40_000, 4)])
def test_page_that_acknowledges_nothing_gets_no_more_than_its_window(size: int, sent: int) -> None:
    async def test() -> None:
        board = CountingBoard(size)
        outbox = Outbox(board, Viewer("p1", "observer"), 0)
        frames = []
        for _ in range(40):
            board.last_seq += 1
            outbox.notify()
            frames += list(drained(outbox))
        assert len(frames) == sent
        outbox.acknowledge(sent)
        (frame,) = drained(outbox)
        assert frame.startswith(b"e%d" % sent), "then in one frame what it missed"
        board.last_seq += 100
        outbox.notify()
        assert list(drained(outbox)) == [b"snap"], "too far behind: a snapshot"

    asyncio.run(test())


def test_newest_volatile_frame_wins_and_answers_go_first() -> None:
    async def test() -> None:
        board = CountingBoard(1)
        outbox = Outbox(board, Viewer("p1", "observer"), 0)
        for number in range(9):
            outbox.set("tiles", b"tiles %d" % number)
        outbox.answer(b"done")
        board.last_seq = 1
        outbox.notify()
        assert [frame[:5] for frame in drained(outbox)] == [b"done", b"e0 ", b"tiles"]
        outbox.set("tiles", b"newest")
        assert list(drained(outbox)) == [b"newest"]
        with pytest.raises(TooManyAnswers):
            for _ in range(65):
                outbox.answer(b"no")

    asyncio.run(test())


def test_tiles_that_were_not_sent_are_sent_with_later_ones() -> None:
    async def test() -> None:
        outbox = Outbox(CountingBoard(1), Viewer("p1", "instructor"), 0)
        outbox.set_tiles(5, {"p2": b"[2]", "p3": b"[3]"})
        outbox.set_tiles(9, {"p3": b"[33]", "p4": NO_ROW})
        (frame,) = drained(outbox)
        assert json.loads(frame) == {"k": "tiles", "class_us": 9, "tiles": {"p2": [2], "p3": [33], "p4": None}}
        assert list(drained(outbox)) == []

    asyncio.run(test())


class Wall:
    """A page that shows the wall."""

    def __init__(self, *sight: str) -> None:
        self.sight = frozenset(sight)


def test_page_gets_all_rows_first_and_then_changed_ones() -> None:
    rows, first, second = WallRows[Wall](), Wall(), Wall()
    assert list(rows.due({"p2": b"[2]", "p3": b"[3]"}, [first])) == [(first, {"p2": b"[2]", "p3": b"[3]"})]
    assert list(rows.due({}, [first])) == []
    rows_by_reader = dict(rows.due({"p3": b"[33]"}, [first, second]))
    assert rows_by_reader == {first: {"p3": b"[33]"}, second: {"p2": b"[2]", "p3": b"[33]"}}
    rows_by_reader = dict(rows.due({"p2": NO_ROW}, [first]))
    assert rows_by_reader == {first: {"p2": NO_ROW}}
    assert dict(rows.due({}, [Wall()])).popitem()[1] == {"p3": b"[33]"}


@pytest.mark.parametrize(("learners", "in_sight", "kb_a_second"), [(40, 40, 11), (400, 60, 25)])
def test_wall_costs_few_kb_a_second_and_misses_nothing(learners: int, in_sight: int, kb_a_second: int) -> None:
    """Acceptance statement 9, if every lab changes with every picture: two a second, at most 60 tiles on the screen.
    Offsets have as many digits as those of a class, and a log was truncated.
    """
    rows, people = WallRows[Wall](), [f"p{number}" for number in range(2, learners + 2)]
    page = Wall(*people[:in_sight])
    seconds, sizes, held = 50, 0, dict[str, Any]()
    outbox = Outbox(CountingBoard(1), Viewer("p1", "instructor"), 0)
    list(rows.due(dict.fromkeys(people, b"[]"), [page]))
    replicas = [
        ReplicaTile(1, "l", 0, 10_000, 10_000, None),
        ReplicaTile(2, "i", 0, 10_000, 10_000, 9_999),
        ReplicaTile(3, "o", 0, 10_000, 10_000, None),
    ]
    for turn in range(2 * seconds):
        play, paced = (encode(LabTile(mode, turn + 100_000, 10**9 + turn, "rehearsal-0", replicas)) for mode in MOVING)
        changed = {p: play if number % 4 else paced for number, p in enumerate(people)}
        for _, due in rows.due(changed, [page]):
            outbox.set_tiles(turn, due)
        for frame in drained(outbox):
            sizes += len(frame)
            held |= json.loads(frame)["tiles"]
            assert held["p10"][1] == turn + 100_000
    assert sizes / seconds <= 1024 * kb_a_second
    assert min(row[1] for row in held.values()) >= 2 * seconds - OTHERS_EVERY + 100_000


def test_events_that_not_all_see_delay_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Frames to all have a minimum interval, here of an hour; an event of one participant does not begin it."""

    async def test() -> None:
        room_ = await begun(tmp_path)
        ada, bob = Chair(room_, ADA), Chair(room_, BOB)
        for page in (ada, bob):
            await page.frames()
        monkeypatch.setattr(rooms, "PUBLIC_PACE_S", 3_600.0)
        room_._public_told_s -= 3_600.0
        await room_.do(hand(ADA, "a1"))
        assert json.loads(await ada.outbox.next())["ev"][0][4][0] == "HandRaised"
        await room_.do(Given(TEACHER, ops.SetPace(1)))
        for page in (ada, bob):
            assert json.loads(await page.outbox.next())["ev"][0][4] == ["PaceSet", 1], "at once"
        await room_.do(Given(TEACHER, ops.SetPace(2)))
        await room_.do(hand(BOB, "b1"))
        frame = json.loads(await bob.outbox.next())
        assert [event[4][0] for event in frame["ev"]] == ["PaceSet", "HandRaised"], "one's own event waits for no other"
        assert ada.outbox._next() is None
        await room_.close()

    run(test)


def test_pages_of_learners_get_nothing_while_hundreds_join(tmp_path: Path) -> None:
    """Acceptance statement 4: the frames that others get."""

    async def test() -> None:
        room_ = await begun(tmp_path)
        ada, screen = Chair(room_, ADA), Chair(room_, SCREEN, place="projector")
        assert [frame["k"] for frame in await ada.frames()] == ["snap"]
        assert [frame["k"] for frame in await screen.frames()] == ["snap", "count"]
        joined = []
        for number in range(10, 310):
            await room_.do(Given("room", facts.SetPerson(f"p{number}", "learner", lab=f"run-{number}/main")))
            joined.append(Chair(room_, f"p{number}"))
            if number % 100 == 0:
                room_._tell_count()
        assert await ada.frames() == []
        (counted,) = await screen.frames()
        assert (counted["k"], counted["learners"]) == ("count", 292)
        assert [frame["k"] for frame in await joined[0].frames()] == ["snap"]
        await room_.close()

    run(test)


def test_page_that_sees_nothing_for_long_is_notified_of_the_position(tmp_path: Path) -> None:
    async def test() -> None:
        room_ = await begun(tmp_path)
        bob = Chair(room_, BOB)
        await bob.frames()
        for number in range(MAX_UNSEEN // 2):
            await room_.do(hand(ADA, f"a{number}"))
            await room_.do(Given(ADA, ops.LowerHand(), f"b{number}"))
        frame = json.loads(await bob.outbox.next())
        assert (frame["k"], frame["ev"]) == ("e", [])
        await room_.close()

    run(test)


def test_state_of_400_participants_is_below_200_kb() -> None:
    """An hour into a lesson of eight steps: all are somewhere in it, some are stuck, have a hand up or have asked."""
    room = MemoryClass(396, steps=8, minutes=40, hints=(2,) * 8)
    learners = [person.p for person in room.state.learners()]
    room.after(3_600)
    for number, p in enumerate(learners):
        lab, at = f"run-{p}/main", At(f"run-{p}/main", 4_500, 90_000_000, "record:orders-0@b1:42", "picture")
        room.fact(facts.ComeBack(p))
        for step in range(1, 1 + number % 9):
            room.fact(facts.ReachStep(p, "a-lesson", step, lab, 4_500, 90_000_000))
        if number % 10 == 0:
            room.fact(facts.NoteStuck(p, "struggles", "refused", 3, 500))
            room.do(p, ops.Ask("Why 45?", "en", at), texts=(number + 1,))
        if number % 20 == 0:
            room.do(p, ops.RaiseHand(at))
    board = Board(room.state)
    shown = sections_of(room.state, NoWords(), set(paths(room.state)))
    board.take(Published([], *shown, now_of(room.state)))
    assert len(room.state.people) == 400
    assert len(board.snap(Viewer(TEACHER, "instructor"))) < 200_000
    assert len(board.snap(Viewer(learners[0], "learner"))) < 20_000
