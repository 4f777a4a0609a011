"""Recordings that forget their past: what is kept is shown and executed as before, what is not is refused."""

import time
from pathlib import Path

import msgspec
import pytest

from lab.recordings import history, logs, timeline
from lab.recordings.checkpoints import Checkpoints
from lab.recordings.fork import fork_recording
from lab.recordings.logs import FORMAT, Header
from lab.recordings.recording import Recording
from lab.recordings.timeline import SEGMENT_EVENTS
from lab.runtime import engine
from lab.runtime.live_run import LiveRun
from lab.runtime.pacer import Pacer
from lab.texts.refusal import Refusal
from tests.support.recorded_runs import CONFIG, TOPIC, Wall, folder_of, open_again, run_lines, run_until_events

SMALL_SEGMENTS = {logs.EVENTS: 20_000, logs.INPUTS: 20_000}


def size_of(folder: Path) -> int:
    """The bytes of events and inputs, without indexes, which are allocated at full length."""
    return sum(path.stat().st_size for path in folder.glob("*-0/*.log"))


@pytest.fixture
def bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Recording, LiveRun]:
    """A run of 9,000 events with a checkpoint after 5,500."""
    monkeypatch.setattr(logs, "_BOUNDED_BYTES", SMALL_SEGMENTS)
    recording = Recording(folder_of(tmp_path), Header(FORMAT, msgspec.to_builtins(CONFIG)), is_bounded=True)
    live = engine.wake(recording, Pacer(Wall()), "")
    engine.boot(live)
    live.pacer.set_mode("pause")
    run_lines(live, [TOPIC, "producer open p1 --acks all", "producer stream p1 orders-0 200"])
    run_until_events(live, 5_500)
    live.checkpoint()
    run_until_events(live, 9_000)
    return recording, live


def forget(recording: Recording, until_seq: int) -> None:
    at_us = recording.events(until_seq, until_seq)[0][1]
    included = Checkpoints(recording.folder).forget_before(recording.seq_at(at_us), time.time() + 60)
    assert included is not None
    recording.forget(at_us, *included)


def test_retained_part_is_shown_as_before(bounded: tuple[Recording, LiveRun], tmp_path: Path) -> None:
    recording, live = bounded
    before = size_of(recording.folder.recording)
    views = {seq: msgspec.json.encode(recording.view_at(seq)) for seq in (5_000, 5_001, 6_234, 9_000)}
    records = recording.records(5_001, 9_000)
    kept_segment, is_full = history.segment_json(recording, 6)
    forget(recording, 8_000)
    for _ in range(2):
        assert recording.first_seq == 5_001
        assert {seq: msgspec.json.encode(recording.view_at(seq)) for seq in views} == views
        assert recording.records(5_001, 9_000) == records
        assert history.segment_json(recording, 6) == (kept_segment, is_full)
        shown = history.segments_of(recording.segments())
        assert (shown[0]["n"], shown[0]["first_seq"]) == (5, 5_001) and shown[-1]["last_seq"] == recording.last_seq
        assert history.seek(recording, seq=5_001)["n"] == 5
        recording.close()
        recording = Recording(folder_of(tmp_path))
    live.abandon()
    assert size_of(recording.folder.recording) < before * 3 / 4
    recording.close()


def test_removed_part_is_refused(bounded: tuple[Recording, LiveRun], tmp_path: Path) -> None:
    recording, live = bounded
    forget(recording, 8_000)
    for place in ({"seq": 4_000}, {"t_us": 0}):
        with pytest.raises(Refusal):
            history.seek(recording, **place)
    with pytest.raises(Refusal):
        history.segment_json(recording, 4)
    with pytest.raises(Refusal, match="was not kept"):
        fork_recording(recording, 8_500, folder_of(tmp_path, "main-2"))
    assert not folder_of(tmp_path, "main-2").path.exists()
    live.abandon()


def test_run_continues_from_the_retained_part(bounded: tuple[Recording, LiveRun], tmp_path: Path) -> None:
    recording, live = bounded
    forget(recording, 8_000)
    run_until_events(live, 12_000)
    expected = recording.records(9_000, 12_000)
    live.abandon()
    recording.close()
    again, live_again = open_again(tmp_path)
    assert again.records(9_000, 12_000) == expected
    run_until_events(live_again, 13_000)
    live_again.close()
    again.close()


def test_engine_of_another_version_is_refused(
    bounded: tuple[Recording, LiveRun], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recording, live = bounded
    forget(recording, 8_000)
    live.abandon()
    recording.close()
    monkeypatch.setattr("lab.recordings.checkpoints.engine_version", lambda: "another")
    monkeypatch.setattr(timeline, "fold_version", lambda: "another fold")
    again = Recording(folder_of(tmp_path))
    assert again.view_at(8_000)["topics"] and len(again.segments()) == 9_000 // SEGMENT_EVENTS - 5 + 1
    with pytest.raises(Refusal, match="was not kept"):
        engine.wake(again, Pacer(Wall()), "")
    again.close()


def test_archive_keeps_what_checkpoints_refer_to(bounded: tuple[Recording, LiveRun], tmp_path: Path) -> None:
    recording, live = bounded
    unused = recording.folder.archive.put(b"bytes that a truncation removed")
    forget(recording, 8_000)
    with pytest.raises(KeyError):
        recording.folder.archive.get(unused)
    found = Checkpoints(recording.folder).before(9_000)
    assert found is not None
    found.restore_disk(tmp_path / "restored")
    assert (tmp_path / "restored" / "broker-1").is_dir()
    live.abandon()
