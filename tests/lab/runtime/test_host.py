"""Labs of one process: they take turns, and stop without watchers."""

import asyncio
import threading
from pathlib import Path
from typing import Any, cast

import pytest

from lab.protocol.frames import Done
from lab.runtime import engine
from lab.runtime import host as host_module
from lab.runtime import lab as lab_module
from lab.runtime.host import Host
from lab.runtime.live_run import LiveRun, PublishedUpdate
from lab.runtime.policy import IN_CLASS, LabPolicy
from lab.runtime.sharing.load import Load
from lab.runtime.streaming.audience import FOLLOWERS_AT_ONCE, Audience
from lab.runtime.streaming.watcher import MAX_WAITING_ANSWERS, BranchClosed, TooManyWaiting, Watcher
from lab.texts.refusal import Refusal
from tests.support.lab_server import PATIENCE_S
from tests.support.labs import LOOKER, VISITOR, Page, Reader, connected, play, set_mode, submit, until
from tests.support.recorded_runs import CONFIG, TOPIC


def test_new_run_has_its_brokers_up_and_plays(tmp_path: Path) -> None:
    async def scene(host: Host) -> None:
        lab = await host.start("r1", "main", CONFIG)
        snapshot = await lab.snapshot()
        assert snapshot.state.count(b'"state":"up"') >= 3
        before_us = lab.clock().at_us
        await until(lambda: lab.clock().at_us > before_us + 100_000)
        assert lab.clock().mode == "play"

    play(tmp_path, scene)


def test_busy_lab_does_not_delay_others(tmp_path: Path) -> None:
    async def scene(host: Host) -> None:
        busy, other = await host.start("r1", "main", CONFIG), await host.start("r2", "main", CONFIG)
        began, ends = threading.Event(), threading.Event()
        heavy = asyncio.create_task(busy.act(lambda live: began.set() or ends.wait(PATIENCE_S)))
        await until(began.is_set)
        await other.act(submit(TOPIC))
        assert not heavy.done()
        ends.set()
        assert await heavy

    play(tmp_path, scene)


def test_labs_of_a_class_run_one_slice_at_a_time_and_none_waits_for_an_act_of_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    playing, most = threading.Semaphore(1), []
    run_slice = LiveRun.play_due

    def observed(live: LiveRun) -> None:
        most.append(playing.acquire(blocking=False))
        try:
            run_slice(live)
        finally:
            if most[-1]:
                playing.release()

    async def scene(host: Host) -> None:
        labs = []
        for run in ("r1", "r2", "r3"):
            host.set_policy(run, IN_CLASS)
            labs.append(await host.start(run, "main", CONFIG))
        monkeypatch.setattr(LiveRun, "play_due", observed)
        began, ends = threading.Event(), threading.Event()
        heavy = asyncio.create_task(labs[0].act(lambda live: began.set() or ends.wait(PATIENCE_S)))
        await until(began.is_set)
        from_us = [lab.clock().at_us for lab in labs]
        await until(lambda: all(labs[n].clock().at_us > from_us[n] + 200_000 for n in (1, 2)))
        assert not heavy.done()
        ends.set()
        await heavy
        await until(lambda: labs[0].clock().at_us > from_us[0] + 200_000)
        assert most and all(most)

    play(tmp_path, scene)


def test_files_of_brokers_are_there_when_the_engine_is_built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, goes_on, build = threading.Event(), threading.Event(), engine.wake

    def held(*given: Any, **named: Any) -> LiveRun:
        begun.set()
        assert goes_on.wait(PATIENCE_S)
        return build(*given, **named)

    async def scene(host: Host) -> None:
        lab = await host.start("r1", "main", CONFIG)
        await lab.sleep()
        monkeypatch.setattr(engine, "wake", held)
        waking = asyncio.create_task(lab.wake())
        await until(begun.is_set)
        reading = asyncio.create_task(lab.ensure_files())
        await asyncio.wait([reading], timeout=0.1)
        is_too_early = reading.done()
        goes_on.set()
        await asyncio.gather(waking, reading)
        assert not is_too_early

    play(tmp_path, scene)


def test_unwatched_lab_pauses_and_later_closes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host_module, "HOUSEKEEPING_S", 0.02)
    monkeypatch.setattr(host_module, "ALONE", LabPolicy(pause_s=0.3, sleep_s=0.8, has_ports=False))

    async def scene(host: Host) -> None:
        watched = await host.start("r1", "main", CONFIG)
        page = Page(watched)
        await watched.act(set_mode("play"))
        unwatched = await host.start("r2", "main", CONFIG)
        await until(lambda: unwatched.clock().rests)
        assert unwatched.clock().mode == "pause"
        assert watched.clock().mode == "play" and not watched.clock().rests
        await until(lambda: host.open_lab("r2", "main") is None)
        assert watched.clock().mode == "play"
        watched.leave(page)
        await until(lambda: host.open_lab("r1", "main") is None)
        again = await host.lab("r2", "main")
        assert again.core == "recorded" and again.ring.last_seq == unwatched.ring.last_seq
        assert again.clock().rests
        await again.act(submit(TOPIC))
        assert again.core == "live" and again.clock().mode == "pause" and not again.clock().rests
        # a lab paused by its owner stays paused, whether it is watched or not
        await until(lambda: host.open_lab("r2", "main") is None)
        assert not (await host.lab("r2", "main")).clock().rests

    play(tmp_path, scene)


def test_viewers_do_not_keep_a_lab_awake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host_module, "HOUSEKEEPING_S", 0.02)

    async def scene(host: Host) -> None:
        host.set_policy("r1", LabPolicy(pause_s=0.2, sleep_s=0.4, has_ports=False))
        lab = await host.start("r1", "main", CONFIG)
        own, looker = Reader(lab), Reader(lab, LOOKER)
        await until(lambda: lab.clock().at_us > 0)
        await asyncio.sleep(0.6)
        assert lab.core == "live"
        lab.leave(own)
        await until(lambda: lab.core == "recorded")
        assert host.open_lab("r1", "main") is lab  # it is still looked at
        await until(lambda: looker.clocks[-1]["core"] == "recorded")
        lab.leave(looker)
        await until(lambda: host.open_lab("r1", "main") is None)

    play(tmp_path, scene)


def test_ports_of_a_class_are_opened_when_they_are_asked_for(tmp_path: Path) -> None:
    async def scene(host: Host) -> None:
        host.set_policy("r1", IN_CLASS)
        lab = await host.start("r1", "main", CONFIG)
        assert lab.bootstrap == ""
        bootstrap = await lab.ask_for_ports()
        assert len(bootstrap.split(",")) == 3 and bootstrap == lab.bootstrap
        await connected(lab)
        await lab.sleep()
        await lab.wake()
        assert lab.bootstrap == bootstrap

    play(tmp_path, scene)


def test_arrivals_are_sent_to_the_owner_and_once_a_second(tmp_path: Path) -> None:
    async def scene(host: Host) -> None:
        lab = await host.start("r1", "main", CONFIG)
        await lab.act(set_mode("pause"))
        own = Reader(lab)
        await until(lambda: bool(own.frames))
        lookers = [Reader(lab, LOOKER) for _ in range(60)]
        await until(lambda: all(page.clocks for page in lookers))
        before = sum(len(page.frames) for page in lookers)
        await until(lambda: own.counts == [61])
        assert sum(len(page.frames) for page in lookers) == before
        assert all(len(page.frames) <= 3 for page in lookers), "welcome, snapshot, clock"

    play(tmp_path, scene)


def test_viewers_get_shared_frames_at_each_beat(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Load, "beat_s", 1e9)

    async def scene(host: Host) -> None:
        lab = await host.start("r1", "main", CONFIG)
        await lab.act(set_mode("pause"))
        own, lookers = Reader(lab), [Reader(lab, LOOKER) for _ in range(5)]
        await until(lambda: all(page.clocks for page in (own, *lookers)))
        seen = lookers[0].last_seq
        for line in (TOPIC, "producer open p1 --acks all", "producer stream p1 orders-0 400"):
            await lab.act(submit(line))
        await lab.act(lambda live: live.run.advance(live.run.now_us + 500_000))
        await until(lambda: own.last_seq == lab.ring.last_seq)
        assert {page.last_seq for page in lookers} == {seen}
        lab.audience.notify_followers()
        await until(lambda: all(page.last_seq == lab.ring.last_seq for page in lookers))
        first, *others = ([text for text in page.sent if '"k":"d"' in text] for page in lookers)
        assert all(one is same for other in others for one, same in zip(first, other, strict=True)), "encoded once"
        assert lookers[0].clocks[-1] == own.clocks[-1] and "clock" in lookers[0].frames[-1]

    play(tmp_path, scene)


class Follower:
    """A watcher who only looks, and counts."""

    is_own = False

    def __init__(self) -> None:
        self.notified = 0

    def time_moved(self) -> None:
        self.notified += 1

    def close(self) -> None:
        pass


def test_hundreds_of_viewers_are_notified_some_at_a_time() -> None:
    """What else the event loop does need not wait for all of them."""

    async def scene() -> None:
        audience, followers = Audience(), [Follower() for _ in range(FOLLOWERS_AT_ONCE * 2 + 3)]
        audience.watchers |= cast(set[Watcher], set(followers))
        audience.notify_followers()
        counts = [sum(one.notified for one in followers)]
        while counts[-1] < len(followers):
            await asyncio.sleep(0)
            counts.append(sum(one.notified for one in followers))
        assert counts == [FOLLOWERS_AT_ONCE, FOLLOWERS_AT_ONCE * 2, len(followers)]
        audience.notify_followers()
        audience.notify_followers()
        assert sum(one.notified for one in followers) == counts[-1] + FOLLOWERS_AT_ONCE, "the rest goes on"
        audience.close()
        await asyncio.sleep(0)
        assert sum(one.notified for one in followers) == counts[-1] + FOLLOWERS_AT_ONCE

    asyncio.run(scene())


class AtBeat(asyncio.SelectorEventLoop):
    """A loop that counts whole milliseconds, and whose time is just that of a beat."""

    NOW_S = 10.0

    def __init__(self) -> None:
        super().__init__()
        self.wanted_s: list[float] = []

    def time(self) -> float:
        return self.NOW_S

    def call_at(self, when: float, callback: Any, *args: Any, context: Any = None) -> asyncio.TimerHandle:  # type: ignore[override]
        self.wanted_s.append(when)
        return super().call_at(when, callback, *args, context=context)


def test_viewers_get_ten_frames_a_second_from_a_loop_that_counts_whole_milliseconds() -> None:
    async def scene() -> None:
        audience = Audience()
        audience.watchers |= cast(set[Watcher], {Follower()})
        audience.time_moved()
        (next_s,) = cast(AtBeat, asyncio.get_running_loop()).wanted_s
        assert next_s == pytest.approx(AtBeat.NOW_S + 0.1), "the beat of this instant is over"
        audience.close()

    with asyncio.Runner(loop_factory=AtBeat) as runner:
        runner.run(scene())


def test_page_that_does_not_read_its_answers_is_closed(tmp_path: Path) -> None:
    async def scene(host: Host) -> None:
        lab = await host.start("r1", "main", CONFIG)
        watcher = Watcher(lab, VISITOR, have=0, boot="")
        for number in range(MAX_WAITING_ANSWERS + 1):
            watcher.send(Done(f"u{number}", 1))
        with pytest.raises(TooManyWaiting):
            await watcher.next_frame()

    play(tmp_path, scene)


def test_action_during_close_is_served_or_refused(tmp_path: Path) -> None:
    async def scene(host: Host) -> None:
        lab = await host.start("r1", "main", CONFIG)
        seq = lab.ring.last_seq

        async def act_after(turns: int) -> int:
            for _ in range(turns):
                await asyncio.sleep(0)
            return await lab.act(submit("zk ls /"))

        outcomes = await asyncio.wait_for(
            asyncio.gather(host.close_run("r1"), *map(act_after, range(40)), return_exceptions=True), PATIENCE_S
        )
        assert {type(each) for each in outcomes[1:]} <= {int, Refusal}
        with pytest.raises(Refusal, match="has been closed"):
            await lab.act(submit("zk ls /"))
        with pytest.raises(BranchClosed):
            await Page(lab).next_frame()
        again = await host.lab("r1", "main")
        await again.act(submit(TOPIC))
        assert again.core == "live" and again.ring.last_seq > seq

    play(tmp_path, scene)


def test_maintenance_continues_while_another_lab_closes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host_module, "HOUSEKEEPING_S", 0.02)
    monkeypatch.setattr(lab_module, "SUMMARY_S", 0.0)

    async def scene(host: Host) -> None:
        first, second = await host.start("r1", "main", CONFIG), await host.start("r2", "main", CONFIG)
        pages = [Page(first), Page(second)]
        ends = threading.Event()
        busy = asyncio.create_task(first.act(lambda live: ends.wait(PATIENCE_S)))
        first.policy = second.policy = LabPolicy(pause_s=0.0, sleep_s=600.0, has_ports=False)
        first.leave(pages[0])
        await asyncio.sleep(0.2)  # by now it is to be paused, and takes its time
        await second.act(submit(TOPIC))
        await host.close_run("r2")
        ends.set()
        assert await busy
        await until(lambda: first.clock().rests)
        await first.act(set_mode("play"))
        await until(lambda: first.clock().rests)

    play(tmp_path, scene)


def test_concurrent_opens_of_a_branch_share_one_lab(tmp_path: Path) -> None:
    async def scene(host: Host) -> None:
        await host.start("r1", "main", CONFIG)
        await host.close_run("r1")
        labs = await asyncio.gather(*(host.lab("r1", "main") for _ in range(10)))
        assert len(set(map(id, labs))) == 1
        runs = await asyncio.gather(*(labs[0].wake() for _ in range(5)))
        assert len(set(map(id, runs))) == 1

    play(tmp_path, scene)


def test_missing_branch_is_refused_every_time(tmp_path: Path) -> None:
    async def scene(host: Host) -> None:
        for _ in range(2):
            with pytest.raises(Refusal, match="cannot be opened"):
                await host.lab("nosuch", "main")
            with pytest.raises(Refusal, match="There is no run or branch"):
                await host.lab("../etc", "main")

    play(tmp_path, scene)


def test_observer_of_a_run_that_plays_misses_no_event(tmp_path: Path) -> None:
    class Counting:
        def __init__(self, live: LiveRun | None) -> None:
            assert live is not None
            self.expected = live.run.seq + 1
            self.gaps = 0
            self.events = 0

        def happened(self, live: LiveRun, batch: PublishedUpdate) -> None:
            for envelope in batch.envelopes:
                self.gaps += envelope[0] != self.expected
                self.expected = envelope[0] + 1
                self.events += 1

        def stopped(self) -> None:
            raise AssertionError("it does not fail")

    async def scene(host: Host) -> None:
        lab = await host.start("r1", "main", CONFIG)
        await lab.act(set_mode("play"))
        lab.time_changed()
        for number in range(20):
            await lab.observe(number, Counting)
        observers = [cast(Counting, observer) for observer in lab.observers.values()]
        assert len(observers) == 20
        await until(lambda: all(observer.events for observer in observers))
        assert [observer.gaps for observer in observers] == [0] * 20
        first = lab.observers[0]
        await lab.observe(0, Counting)
        assert lab.observers[0] is first, "a user has one observer"

    play(tmp_path, scene)


def test_external_zookeeper_changes_are_inputs(tmp_path: Path, zookeeper: Any) -> None:
    from lab.runtime.zookeeper.client import ZookeeperClient

    async def scene(host: Host) -> None:
        lab = await host.start("r1", "main", CONFIG)
        before = lab.ring.last_seq
        with ZookeeperClient(lab.zookeeper) as outside:
            outside.delete("/controller")
        kinds: list[str] = []

        def elected_again() -> bool:
            events = lab.recording.events(before + 1, 10**6)
            kinds[:] = [type(event[4]).__name__ for event in events]
            return "ForeignZnodeChanged" in kinds and "ControllerElected" in kinds[kinds.index("ForeignZnodeChanged") :]

        await until(elected_again)
        await lab.act(set_mode("pause"))
        recorded = lab.recording.records(1, 10**6)
        # In its own ZooKeeper, without other writers, a fork makes the same events from the same input.
        forked = await host.fork("r1", "main", len(recorded), "main-2")
        assert forked.zookeeper.endswith("/r1/main-2")
        assert forked.recording.records(1, len(recorded)) == recorded
        with ZookeeperClient(forked.zookeeper) as outside:
            assert outside.get("/controller")[0] != b""

    play(tmp_path, scene, zookeeper.address)
