"""The lanes of a socket: answers first, no queue of events, the newest of what is volatile."""

import asyncio
from collections.abc import Iterator

import pytest

from lab.classroom.audience import Viewer
from lab.classroom.lanes import WINDOW_FRAMES, Outbox, TooManyAnswers


class CountingBoard:
    """A board whose frames are as large as wanted."""

    def __init__(self, size: int) -> None:
        self.last_seq = 0
        self.size = size

    def has_since(self, seq: int) -> bool:
        return seq >= self.last_seq - 50

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
