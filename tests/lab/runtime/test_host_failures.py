"""Labs of one process where something fails: an engine, an observer, the disk, ZooKeeper."""

import asyncio
import errno
import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from broker_core.run import Run
from lab.protocol.frames import No
from lab.recordings.logs import RecordedLogs, Stamped
from lab.recordings.recording import Recording
from lab.runtime import lab as lab_module
from lab.runtime.host import Host
from lab.runtime.lab import Lab
from lab.runtime.live_run import LiveRun
from lab.texts.refusal import Refusal
from tests.support.labs import Page, connected, play, set_mode, submit, until
from tests.support.recorded_runs import CONFIG, TOPIC, open_files


def test_failed_engine_notifies_pages_and_restarts_from_the_recording(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scene(host: Host) -> None:
        lab = await host.start("r1", "main", CONFIG)
        page = Page(lab)
        with monkeypatch.context() as patched:

            def fail(self: Run, until_us: int, *, max_events: int | None = None) -> int:
                raise RuntimeError("planted")

            patched.setattr(Run, "advance", fail)
            await until(lambda: lab.core == "recorded")
        await until(lambda: any(isinstance(frame, No) for frame in page.said))
        (sent,) = [frame for frame in page.said if isinstance(frame, No)]
        assert sent.what.startswith("The lab stopped: ") and "safe" in sent.todo
        assert not lab.clock().rests, "somebody watched"
        seq = lab.recording.last_seq
        await lab.act(set_mode("play"))
        await until(lambda: lab.ring.last_seq > seq)

    play(tmp_path, scene)


def test_command_that_fails_the_engine_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene(host: Host) -> None:
        lab = await host.start("r1", "main", CONFIG)
        with monkeypatch.context() as patched:

            def fail(self: Run, line: str, actor: str) -> int:
                raise RuntimeError("planted")

            patched.setattr(Run, "submit", fail)
            with pytest.raises(Refusal, match="see the terminal"):
                await lab.act(submit(TOPIC))
        assert lab.core == "recorded"
        await lab.act(submit(TOPIC))
        assert lab.core == "live"

    play(tmp_path, scene)


def test_time_advances_after_a_checkpoint_could_not_be_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def scene(host: Host) -> None:
        lab = await host.start("r1", "main", CONFIG)
        with monkeypatch.context() as patched:

            def fail(self: LiveRun) -> bool:
                raise ValueError("planted")

            patched.setattr(LiveRun, "is_checkpoint_due", property(fail))
            await until(lambda: "planted" in caplog.text)
        seq = lab.recording.last_seq
        await lab.act(submit(TOPIC))
        await lab.act(set_mode("play"))
        await until(lambda: lab.recording.last_seq > seq + 50)
        assert lab.core == "live"

    play(tmp_path, scene)


def test_observer_that_fails_is_removed_and_the_lab_continues(tmp_path: Path) -> None:
    class Broken:
        has_stopped = False

        def happened(self, live: LiveRun, batch: object) -> None:
            raise RuntimeError("planted")

        def stopped(self) -> None:
            self.has_stopped = True

    async def scene(host: Host) -> None:
        lab = await host.start("r1", "main", CONFIG)
        broken = Broken()
        lab.observers[1] = broken
        await lab.act(submit(TOPIC))
        assert lab.core == "live" and not lab.observers
        assert broken.has_stopped
        seq = lab.ring.last_seq
        await until(lambda: lab.ring.last_seq > seq)

    play(tmp_path, scene)


def test_missing_disk_space_is_refused_in_advance(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lab_module, "SPACE_S", 0.0)

    async def scene(host: Host) -> None:
        lab = await host.start("r1", "main", CONFIG)
        page = Page(lab)
        with monkeypatch.context() as patched:
            patched.setattr(shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(10**9, 10**9 - 5, 5))
            await until(lambda: lab.clock().mode == "pause")
            seq = lab.ring.last_seq
            with pytest.raises(Refusal, match="is full") as refused:
                await lab.act(submit(TOPIC))
            assert refused.value.status == 507
            await asyncio.sleep(0.6)
            assert lab.ring.last_seq == seq and lab.core == "live"
        (sent,) = [frame for frame in page.said if isinstance(frame, No)]
        assert "is full" in sent.what and "Free some space" in sent.todo
        await lab.act(set_mode("play"))
        await lab.act(submit(TOPIC))
        await until(lambda: lab.ring.last_seq > seq)

    play(tmp_path, scene)


def test_client_disconnected_by_a_full_disk_is_not_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lab_module, "SPACE_S", 0.0)

    async def scene(host: Host) -> None:
        lab = await host.start("r1", "main", CONFIG)
        reader, writer = await connected(lab)
        await lab.act(set_mode("pause"))
        with monkeypatch.context() as patched:
            patched.setattr(shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(10**9, 10**9 - 5, 5))
            writer.write(bytes.fromhex("0000000a 0012 0000 0000002b ffff"))
            assert bytes.fromhex("0000002b") not in await asyncio.wait_for(reader.read(), 30)
            assert lab._live is not None and lab._live.run.connections
        await lab.act(set_mode("play"))
        # The engine is notified, without any client connecting or disconnecting.
        await until(lambda: lab._live is not None and not lab._live.run.connections)
        await connected(lab)

    play(tmp_path, scene)


def test_disk_full_during_a_job_loses_nothing_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene(host: Host) -> None:
        lab = await host.start("r1", "main", CONFIG)
        await lab.act(submit(TOPIC))
        await until(lambda: not lab._live.run.running_commands)  # type: ignore[union-attr]
        await lab.act(set_mode("pause"))
        kept = lab.recording.records(1, lab.recording.last_seq)
        with monkeypatch.context() as patched:

            def full(descriptor: int, data: bytes, position: int) -> int:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

            patched.setattr(os, "pwrite", full)
            patched.setattr(os, "pwritev", full)
            with pytest.raises(Refusal, match="free some space"):
                await lab.act(submit("kafka-topics.sh --create --topic lost --partitions 1 --replication-factor 1"))
            assert lab.core == "recorded"
        await lab.act(submit("kafka-topics.sh --create --topic other --partitions 1 --replication-factor 1"))
        assert lab.recording.records(1, len(kept)) == kept
        await lab.act(set_mode("play"))
        await until(lambda: b'"/topics/other"' in lab.recording.records(1, 10**6)[-1] or _has_topic(lab, "other"))
        assert not _has_topic(lab, "lost")

    play(tmp_path, scene)


def test_nothing_is_recorded_after_a_failed_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Actions that wait while the recording fails are refused: executed by an engine that cannot be rebuilt, they would
    be acknowledged and lost.
    """

    async def scene(host: Host) -> None:
        lab = await host.start("r1", "main", CONFIG)
        await lab.act(set_mode("pause"))
        write = RecordedLogs.append_inputs
        failed: list[Any] = []

        def fails_once(logs: RecordedLogs, inputs: Sequence[Stamped]) -> None:
            if inputs and not failed and logs is lab.recording.logs:
                failed.append(inputs)
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            write(logs, inputs)

        monkeypatch.setattr(RecordedLogs, "append_inputs", fails_once)
        topics = ["first", "second"]
        create = "kafka-topics.sh --create --partitions 1 --replication-factor 1 --topic"
        found = await asyncio.gather(*(lab.act(submit(f"{create} {name}")) for name in topics), return_exceptions=True)
        assert [type(each) for each in found] == [Refusal, Refusal]
        await lab.act(submit(f"{create} third"))
        await lab.act(set_mode("play"))
        await until(lambda: _has_topic(lab, "third"))
        assert not any(_has_topic(lab, name) for name in topics)

    play(tmp_path, scene)


def test_fork_that_cannot_be_synced_leaves_no_file_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene(host: Host) -> None:
        lab = await host.start("r1", "main", CONFIG)
        sync = Recording.sync

        def fail(recording: Recording) -> None:
            if recording is lab.recording:
                return sync(recording)
            raise OSError(errno.ENOSPC, "planted")

        monkeypatch.setattr(Recording, "sync", fail)
        # What was raised refers to the files, so that only closing them closes them.
        with pytest.raises(OSError, match="planted") as raised:
            await host.fork("r1", "main", lab.recording.last_seq, "main-2")
        assert raised.tb and open_files(host.folder("r1", "main-2").path) == []

    play(tmp_path, scene)


def _has_topic(lab: Lab, topic: str) -> bool:
    return topic in lab.recording.last_topics()


def test_queued_job_gets_the_reason_of_the_failure(tmp_path: Path) -> None:
    def breaks(live: LiveRun) -> None:
        raise OSError("no space left on device")

    async def scene(host: Host) -> None:
        lab = await host.start("r1", "main", CONFIG)
        refusals = await asyncio.gather(
            lab.act(breaks), lab.act(submit("zk ls /")), lab.act(submit("zk ls /")), return_exceptions=True
        )
        assert [type(refusal) for refusal in refusals] == [Refusal] * 3
        assert {str(refusal) for refusal in refusals} == {str(refusals[0])}
        assert "no space left on device" in str(refusals[0])
        await lab.act(submit("zk ls /"))
        assert lab.core == "live"

    play(tmp_path, scene)


def test_lost_zookeeper_is_reported_and_nothing_recorded_is_lost(tmp_path: Path) -> None:
    from lab.runtime.zookeeper.server import EmbeddedZookeeper

    async def scene(host: Host) -> None:
        lab = await host.start("r1", "main", CONFIG)
        page = Page(lab)
        kept = lab.recording.last_seq
        await asyncio.to_thread(server.stop)
        with pytest.raises(Refusal, match="ZooKeeper"):
            await lab.act(submit("zk create /x y"))
        assert lab.core == "recorded" and any(isinstance(frame, No) for frame in page.said)
        assert lab.recording.last_seq >= kept

    server = EmbeddedZookeeper(tmp_path / "zookeeper")
    server.start()
    try:
        play(tmp_path / "runs", scene, server.address)
    finally:
        server.stop()
