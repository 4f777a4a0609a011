"""A class on disk: what is answered is written, what is written is restored, and pages are updated."""

import asyncio
import json
import random
import shutil
import threading
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any

import msgspec
import pytest

from broker_core.records.record_batch import iterate, iterate_batches
from broker_core.refusals import KafkaException
from lab.classroom.acts import At, Given, facts, ops
from lab.classroom.clock import ClassClock
from lab.classroom.events import CLASS, lead, room
from lab.classroom.frames import LookedAt, PointFrame
from lab.classroom.journal import FORMAT, KEYFRAME_EVENTS, ClassJournal, Header
from lab.classroom.presence import Sockets
from lab.journals.journal import Journal
from lab.management.commands import dump_log
from lab.texts.refusal import Refusal
from tests.support.classroom.memory_class import ADA, BOB, SCREEN, TEACHER, US
from tests.support.classroom.open_rooms import HEADER, Chair, HandClocks, begun, hand, opened, run


def batches_of(data: bytes) -> list[int]:
    return [position for position, _ in iterate_batches(data)]


def test_act_is_in_the_log_when_it_is_answered(tmp_path: Path) -> None:
    async def test() -> None:
        room_ = await begun(tmp_path)
        seq = await room_.do(hand(ADA, "a1"))
        copy = tmp_path.with_name("killed")
        shutil.copytree(tmp_path, copy)
        journal = ClassJournal(copy)
        assert journal.last_seq >= seq
        (raised,) = journal.events(seq, seq)
        assert raised[2:4] == (ADA, "a1")
        await room_.close()

    run(test)


def test_repeated_act_is_executed_once_even_after_a_restart(tmp_path: Path) -> None:
    async def test() -> None:
        room_ = await begun(tmp_path)
        seq = await room_.do(hand(ADA, "a1"))
        await room_.do(Given(ADA, ops.LowerHand(), "a2"))
        assert await room_.do(hand(ADA, "a1")) == seq
        assert await room_.read(lambda state: state.people[ADA].hand) is None
        assert await room_.do(hand(BOB, "a1")) > seq, "ids are each person's own"
        await room_.close()
        room_ = await opened(tmp_path)
        assert await room_.do(hand(ADA, "a1")) == seq
        await room_.close()

    run(test)


def test_id_of_an_act_is_remembered_for_ten_minutes(tmp_path: Path) -> None:
    async def test() -> None:
        clocks = HandClocks()
        room_ = await begun(tmp_path, clocks)
        first = await room_.do(hand(ADA, "a1"))
        clocks.us += 599 * US
        await room_.do(Given(ADA, ops.LowerHand(), "a2"))
        assert await room_.do(hand(ADA, "a1")) == first
        clocks.us += 2 * US
        await room_.do(hand(BOB, "b1"))
        assert await room_.do(hand(ADA, "a1")) > first
        await room_.close()

    run(test)


def test_class_is_restored_after_a_restart(tmp_path: Path) -> None:
    async def test() -> None:
        room_ = await begun(tmp_path)
        await room_.do(Given(TEACHER, ops.TakeLead("run-p1/main")))
        await room_.do(hand(ADA, "a1"))
        before = await room_.read(msgspec.json.encode)
        seq = room_.board.last_seq
        boot = room_.boot
        await room_.close()
        room_ = await opened(tmp_path)
        assert room_.boot != boot
        (resumed,) = await room_.events(seq + 1, seq + 1)
        assert isinstance(resumed[4], room.ClassResumed)
        after = json.loads(await room_.read(msgspec.json.encode))
        for name in ("last_seq", "last_us", "clock_seq"):
            after[name] = json.loads(before)[name]
        for person in after["people"].values():
            person["stopped_us"] = 0
        assert after == json.loads(before)
        await room_.close()

    run(test)


@pytest.mark.parametrize(
    ("wall_passed_s", "gap_s"), [(30, 30), (-3600, 0), (25 * 3600, 0)], ids=["down", "back", "forward"]
)
def test_class_time_includes_a_gap_of_the_wall_clock(tmp_path: Path, wall_passed_s: int, gap_s: int) -> None:
    async def test() -> None:
        clocks = HandClocks()
        room_ = await begun(tmp_path, clocks)
        clocks.us += 100 * US
        clocks.ms += 100_000
        await room_.do(hand(ADA, "a1"))
        await room_.close()
        clocks.us = 17
        clocks.ms += wall_passed_s * 1000
        room_ = await opened(tmp_path, clocks)
        assert room_.now_us() / US == pytest.approx(100 + gap_s, abs=0.1)
        await room_.close()
        clocks.us, clocks.ms = 0, clocks.ms + 10_000
        room_ = await opened(tmp_path, clocks)
        assert room_.now_us() / US == pytest.approx(110 + gap_s, abs=0.1), "from the clock that was noted last"
        await room_.close()

    run(test)


def test_who_was_present_before_a_restart_has_longer_to_come_back() -> None:
    sockets, page = Sockets(), object()
    for p in (ADA, BOB):
        sockets.expect(p, 0)
    assert list(sockets.take_away(60 * US)) == [], "a hidden page tries again once a minute"
    sockets.opened(ADA, page)
    assert list(sockets.take_away(80 * US)) == [(BOB, 0)]
    sockets.closed(ADA, page, 90 * US)
    assert list(sockets.take_away(101 * US)) == [(ADA, 90 * US)], "who came back has ten seconds again"


def test_class_clock_never_decreases() -> None:
    clocks = HandClocks()
    clock = ClassClock(clocks, last_us=50)
    at = clock.now_us()
    clocks.us -= 1_000_000
    assert clock.now_us() == at


def test_log_is_a_kafka_log_of_json_with_class_time(tmp_path: Path) -> None:
    async def test() -> None:
        room_ = await begun(tmp_path)
        await room_.do(hand(ADA, "a1"))
        await room_.close()
        (path,) = (tmp_path / "class-0").glob("*.log")
        records = list(iterate(path.read_bytes()))
        assert json.loads(records[0].value or b"")["slug"] == "k7f3"
        for record in records[1:]:
            at_us, who, act, (kind, *_) = json.loads(record.value or b"")
            assert record.timestamp == at_us
            assert kind in CLASS.kinds
        assert [record.offset for record in records] == list(range(len(records)))
        assert (who, act, kind) == (ADA, "a1", "HandRaised")
        out, err = StringIO(), StringIO()
        assert dump_log.run(["--deep-iteration", "--print-data-log", "--files", str(path)], out, err) == 0
        lines = [line for line in out.getvalue().splitlines() if line.startswith("| offset: ")]
        assert len(lines) == len(records)
        assert '"HandRaised","p3"' in lines[-1]
        assert out.getvalue().count("isvalid: true") == len({*batches_of(path.read_bytes())})

    run(test)


def test_disk_full_refuses_what_writes_and_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from broker_core.errors import Errors

    async def test() -> None:
        room_ = await begun(tmp_path)
        await room_.do(hand(ADA, "a1"))
        state = await room_.read(msgspec.json.encode)

        def full(*_: object) -> int:
            raise KafkaException(Errors.KAFKA_STORAGE_ERROR, "no space left on device")

        with monkeypatch.context() as patch:
            patch.setattr(Journal, "append", full)
            acts = [room_.do(hand(BOB, "b1")), room_.do(Given(ADA, ops.LowerHand(), "a2"))]
            for outcome in await asyncio.gather(*acts, return_exceptions=True):
                assert isinstance(outcome, Refusal)
                assert outcome.status == 507
            assert await room_.read(msgspec.json.encode) == state
        seq = await room_.do(hand(BOB, "b1"))
        await room_.close()
        journal = ClassJournal(tmp_path)
        assert journal.last_seq == seq

    run(test)


def test_keyframe_is_the_fold_and_a_damaged_one_is_not_used(tmp_path: Path) -> None:
    journal = ClassJournal(tmp_path, HEADER)
    opened_ = room.ClassOpened(chapter="", steps=0, minutes=0, hints=())
    moved = lead.LabMoved(lab="a/b", seq=1, at_us=1, mode="play", rate_us=1_000_000)
    journal.append([(1, 1, "room", "", opened_)])
    for first in range(2, 2 * KEYFRAME_EVENTS + 100, 500):
        journal.append([(seq, seq, "room", "", moved) for seq in range(first, first + 500)])
        journal.keep_keyframe(journal.state())
    journal.close()
    whole = ClassJournal(tmp_path)
    state = whole.state()
    frames = sorted((tmp_path / "keyframes").iterdir())
    assert len(frames) == 2
    frames[-1].write_bytes(frames[-1].read_bytes()[:-5])
    assert whole.state() == state
    for frame in frames:
        frame.unlink()
    assert whole.state() == state


def test_log_of_another_kind_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Refusal):
        ClassJournal(tmp_path / "none")
    with pytest.raises(Refusal, match="format"):
        ClassJournal(tmp_path, Header(FORMAT + 1, "k7f3", 0))


# Pages


def test_page_gets_a_snapshot_and_then_changes(tmp_path: Path) -> None:
    async def test() -> None:
        room_ = await begun(tmp_path)
        teacher, bob = Chair(room_, TEACHER), Chair(room_, BOB)
        snap = next(frame for frame in await teacher.frames() if frame["k"] == "snap")
        held = dict(snap["patch"])
        assert held["/people/p3"]["lab"] == "run-p3/main"
        await bob.frames()
        seq = await room_.do(hand(ADA, "a1"))
        frame = next(frame for frame in await teacher.frames() if frame["k"] == "e")
        assert (frame["after"], frame["upto"]) == (seq - 1, seq)
        assert frame["ev"][0][2:] == [ADA, "a1", ["HandRaised", ADA, "run-p3/main", 0, 0, "", ""]]
        assert frame["patch"][0][0] == "/people/p3"
        assert [frame["k"] for frame in await bob.frames()] == [], "nothing is sent of what one may not see"
        paced = await room_.do(Given(TEACHER, ops.SetPace(1)))
        (frame,) = await bob.frames()
        assert (frame["after"], frame["upto"]) == (seq - 1, paced)
        assert [event[4] for event in frame["ev"]] == [["PaceSet", 1]]
        await room_.close()

    run(test)


def test_page_that_was_away_gets_what_it_missed_or_a_snapshot(tmp_path: Path) -> None:
    async def test() -> None:
        room_ = await begun(tmp_path)
        have = room_.board.last_seq
        for number in range(3):
            await room_.do(Given(TEACHER, ops.SetPace(number + 1)))
        frames = await Chair(room_, BOB, have).frames()
        (frame,) = (one for one in frames if one["k"] == "e")
        assert frame["after"] == have
        assert [event[4] for event in frame["ev"]] == [["PaceSet", 1], ["PaceSet", 2], ["PaceSet", 3]]
        assert ["/pace", 3] in frame["patch"]
        assert not Chair(room_, BOB, room_.board.last_seq + 5).outbox._board.has_since(room_.board.last_seq + 5)
        await room_.close()
        room_ = await opened(tmp_path)
        frames = await Chair(room_, BOB, have).frames()
        assert frames[0]["k"] == "snap", "events of before the restart are not kept in memory"
        await room_.close()

    run(test)


def test_page_that_comes_while_something_is_erased_starts_again_after_it(tmp_path: Path) -> None:
    """What it got until then may have what was erased, also if it is away when that is sent again."""

    async def test() -> None:
        room_ = await begun(tmp_path)
        goes_on = threading.Event()

        def wait() -> None:
            assert goes_on.wait(60)

        room_._writer.call(wait)
        room_.refresh()
        bob, boot = Chair(room_, BOB), room_.boot
        assert "snap" in [frame["k"] for frame in await bob.frames()]
        room_.leave(BOB, bob)
        goes_on.set()
        await room_.read(lambda _: None)
        await asyncio.sleep(0)
        assert room_.boot != boot, "it gets a snapshot when it is back"
        await room_.close()

    run(test)


def test_presence_counts_sockets(tmp_path: Path) -> None:
    async def test() -> None:
        room_ = await begun(tmp_path)

        async def presence() -> str:
            return await room_.read(lambda state: state.people[ADA].presence)

        async def pass_time(seconds: int) -> None:
            now_us = room_.now_us() + seconds * US
            for p, since_us in room_._sockets.take_away(now_us):
                await room_.do(Given("room", facts.GoAway(p, since_us)))

        old = Chair(room_, ADA)
        new = Chair(room_, ADA)
        room_.leave(ADA, old)
        await pass_time(60)
        assert await presence() == "here", "the close of an old socket removes nobody who has another one"
        room_.leave(ADA, new)
        await pass_time(9)
        assert await presence() == "here"
        await pass_time(11)
        assert await presence() == "away"
        before = room_.board.last_seq
        Chair(room_, ADA)
        assert await presence() == "here"
        Chair(room_, BOB)
        assert await room_.read(lambda state: state.last_seq) == before + 1, "only who was away comes back"
        await room_.close()

    run(test)


def test_kicked_page_is_closed_and_a_new_role_gets_a_new_snapshot(tmp_path: Path) -> None:
    async def test() -> None:
        room_ = await begun(tmp_path)
        ada, bob = Chair(room_, ADA), Chair(room_, BOB)
        await ada.frames()
        await bob.frames()
        await room_.do(Given(TEACHER, facts.SetPerson(ADA, "learner", "kicked")))
        await room_.do(Given(TEACHER, facts.SetPerson(BOB, "co-instructor")))
        frames = await bob.frames()
        assert ada.ended == "kicked"
        assert bob.welcomed == 1
        snap = next(frame for frame in frames if frame["k"] == "snap")
        assert "/people/p4" in [path for path, *_ in snap["patch"]]
        await room_.close()

    run(test)


def test_anonymous_votes_are_written_five_at_a_time_and_answered_then(tmp_path: Path) -> None:
    async def test() -> None:
        room_ = await begun(tmp_path)
        for number in range(7, 12):
            await room_.do(Given("room", facts.SetPerson(f"p{number}", "learner")))
        poll = ops.MakePoll("choice", "?", "en", ("a", "b"), True, True)
        await room_.do(Given(TEACHER, poll, "m", (1, 2, 3)))
        await room_.do(Given(TEACHER, ops.OpenPoll(1), "o"))
        kept: list[str] = []
        waiting = []
        voters = [ADA, BOB, "p7", "p8", "p9", "p10"]
        for p in voters[:4]:
            vote = Given(p, ops.CastVote(1, "0", 50), "v")
            waiting.append(asyncio.create_task(room_.do(vote, lambda: kept.append("."))))
        await asyncio.sleep(0)
        await room_.read(lambda _: None)
        assert len(kept) == 4
        assert not any(task.done() for task in waiting)
        for p in voters[4:]:
            waiting.append(asyncio.create_task(room_.do(Given(p, ops.CastVote(1, "1", 50), "v"))))
        await asyncio.gather(*waiting[:5])
        assert not waiting[5].done()
        await room_.do(Given(TEACHER, ops.ClosePoll(1), "c"))
        await waiting[5]
        assert (tmp_path / "polls" / "1.key").exists()
        await room_.do(Given(TEACHER, ops.EndPoll(1), "e"))
        await room_.close()
        assert not (tmp_path / "polls" / "1.key").exists()
        votes = [one for one in ClassJournal(tmp_path).after(0) if one[4].__class__.__name__ == "Voted"]
        assert len(votes) == 6
        assert {(one[2], one[3]) for one in votes} == {("", "")}
        assert all(not one[4].voter.startswith("p") for one in votes)  # type: ignore[attr-defined]

    run(test)


def test_only_the_pointer_of_the_presenter_reaches_others(tmp_path: Path) -> None:
    async def test() -> None:
        room_ = await begun(tmp_path)
        bob = Chair(room_, BOB)
        await room_.do(Given(TEACHER, ops.TakeLead("run-p1/main")))
        room_.point(ADA, PointFrame("record orders-0 4", 1, 2))
        room_.point(TEACHER, PointFrame("record orders-0 5", 3, 4))
        points = [frame for frame in await bob.frames() if frame["k"] == "point"]
        assert [(one["anchor"], one["u"], one["v"]) for one in points] == [("record orders-0 5", 3, 4)]
        await room_.close()

    run(test)


def test_page_that_comes_gets_no_view_of_an_earlier_stage(tmp_path: Path) -> None:
    """Ada was named then, and is not now."""

    async def test() -> None:
        room_ = await begun(tmp_path)
        for is_named, seen in ((True, [ADA]), (False, [])):
            await room_.do(Given(TEACHER, ops.AskStage(ADA)))
            await room_.do(Given(ADA, ops.AnswerStage(True, named=is_named)))
            if is_named:
                room_.view(ADA, 0, LookedAt(f"run-{ADA}/main", None, None, "pause", 1, "cluster", "", "", {}))
            bob = Chair(room_, BOB)
            assert [frame["p"] for frame in await bob.frames() if frame["k"] == "view"] == seen
            room_.leave(BOB, bob)
            await room_.do(Given(TEACHER, ops.ClearStage()))
        await room_.close()

    run(test)


def test_patches_of_any_two_pages_agree_with_a_snapshot(tmp_path: Path) -> None:
    """A page that reads rarely, and one that reads each frame, hold what a new page gets."""

    async def test() -> None:
        draw = random.Random(5)
        room_ = await begun(tmp_path)
        chairs = {p: Chair(room_, p) for p in (TEACHER, ADA, SCREEN)}
        held: dict[str, dict[str, Any]] = {p: {} for p in chairs}
        acts: list[Callable[[str], Any]] = [
            lambda p: ops.RaiseHand(At(f"run-{p}/main")),
            lambda p: ops.LowerHand(),
            lambda p: ops.Ask("why?", "en", At(f"run-{p}/main")),
            lambda p: ops.SetPace(draw.randrange(4)),
            lambda p: ops.TakeLead("run-p1/main"),
            lambda p: ops.EndLead(),
            lambda p: ops.Draw("record orders-0 4", ((1, 2),)),
            lambda p: ops.Look(ADA),
            lambda p: ops.BackQuestion(1),
        ]

        async def read(reader: str) -> None:
            for frame in await chairs[reader].frames():
                if frame["k"] == "snap":
                    held[reader] = {}
                for path, *value in frame.get("patch", ()):
                    held[reader].pop(path, None)
                    if value:
                        held[reader][path] = value[0]

        for step in range(60):
            p = draw.choice([TEACHER, ADA, BOB])
            given = Given(p, draw.choice(acts)(p), f"x{step}", (1,))
            await asyncio.gather(room_.do(given), return_exceptions=True)
            for reader in chairs:
                if draw.random() < 0.1:
                    await read(reader)
        assert room_._ticker is not None
        room_._ticker.cancel()
        await room_.read(lambda _: None)
        for reader in chairs:
            await read(reader)
            new = Chair(room_, reader)
            (snap,) = (frame for frame in await new.frames() if frame["k"] == "snap")
            assert held[reader] == dict(snap["patch"])
        await room_.close()

    run(test)
