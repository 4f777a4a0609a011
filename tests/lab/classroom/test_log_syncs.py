"""The log of a class is synced once a second, and acts do not wait for it."""

import asyncio
import errno
import os
import threading
from pathlib import Path

import pytest

from lab.classroom.journal import ClassJournal
from tests.support.classroom.memory_class import ADA, BOB, US
from tests.support.classroom.open_rooms import HandClocks, begun, hand, run


def test_acts_are_answered_while_the_disk_syncs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once a second what was written is synced, and the recovery point moves only then."""
    syncs, goes_on, fsync = threading.Event(), threading.Event(), os.fsync

    def slow(descriptor: int) -> None:
        syncs.set()
        assert goes_on.wait(60)
        fsync(descriptor)

    async def test() -> None:
        clocks = HandClocks()
        room_ = await begun(tmp_path, clocks)
        with monkeypatch.context() as patched:
            patched.setattr("lab.journals.journal.os.fsync", slow)
            clocks.us += 2 * US
            seq = await room_.do(hand(ADA, "a1"))
            assert await asyncio.to_thread(syncs.wait, 60)
            clocks.us += 2 * US
            assert await room_.do(hand(BOB, "b1")) > seq, "another second later it is still syncing"
            assert recovery_point(tmp_path) <= seq
            goes_on.set()
            await room_.close()
        assert recovery_point(tmp_path) == ClassJournal(tmp_path).last_seq + 1

    run(test)


def test_class_goes_on_when_a_sync_fails_and_syncs_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    failed = threading.Event()

    def full(_: int) -> None:
        failed.set()
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    async def test() -> None:
        clocks = HandClocks()
        room_ = await begun(tmp_path, clocks)
        with monkeypatch.context() as patched:
            patched.setattr("lab.journals.journal.os.fsync", full)
            clocks.us += 2 * US
            seq = await room_.do(hand(ADA, "a1"))
            assert await asyncio.to_thread(failed.wait, 60)
            assert await room_.do(hand(BOB, "b1")) > seq
            assert recovery_point(tmp_path) <= seq
        async with asyncio.timeout(60):
            while recovery_point(tmp_path) <= seq:
                # Although no event follows.
                clocks.us += 2 * US
                await room_.read(lambda _: None)
        await room_.close()

    run(test)


def recovery_point(folder: Path) -> int:
    """The offset of the class's log up to which it is safe from a power loss; 0 where there is none yet."""
    point = folder / "recovery-point-offset-checkpoint"
    return int(point.read_text().split()[-1]) if point.exists() else 0
