"""Events are written in the background: readers of a recording do not notice, and no failure is lost."""

import errno
import os
import shutil
import threading
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import msgspec
import pytest

from broker_core.view.fold import Fold, empty_view
from lab.recordings import keyframes
from lab.recordings.logs import RecordedLogs, Stamped
from lab.recordings.recording import HANDED_EVENTS, MAX_PENDING_EVENTS, Recording
from lab.recordings.recording import _writer as writer
from lab.runtime import engine
from lab.runtime.pacer import Pacer
from tests.support.recorded_runs import TOPIC, Wall, begin, busy_run, folder_of, run_for, run_lines, run_until_events

DEADLINE_S = 60


class HeldWriter:
    """Lets no events be written before `release`, or fails the write."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, failure: OSError | None = None) -> None:
        self.is_entered = threading.Event()
        self.release = threading.Event()
        write = RecordedLogs.append_events

        def held(logs: RecordedLogs, events: Sequence[Stamped]) -> None:
            self.is_entered.set()
            assert self.release.wait(DEADLINE_S)
            if failure is not None:
                raise failure
            write(logs, events)

        monkeypatch.setattr(RecordedLogs, "append_events", held)


def test_inputs_do_not_wait_for_events_being_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recording, live = busy_run(tmp_path, 100)
    live.pacer.set_mode("play")
    with monkeypatch.context() as patched:
        writer = HeldWriter(patched)
        recording.flush_aside()
        run_until_events(live, recording.last_seq + HANDED_EVENTS)
        assert writer.is_entered.wait(DEADLINE_S)
        before = recording.input_count
        recording.append_inputs([(live.run.now_us, b"[]")])
        assert recording.input_count == before + 1
        writer.release.set()
    last_seq = recording.last_seq
    assert [event.seq for event in recording.stored(1, last_seq)] == list(range(1, last_seq + 1))
    live.abandon()
    recording.close()


def test_keyframe_is_the_view_of_its_own_event(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine has advanced when the keyframe is written."""
    recording, live = busy_run(tmp_path, 3_000)
    live.pacer.set_mode("play")
    with monkeypatch.context() as patched:
        writer = HeldWriter(patched)
        run_until_events(live, recording.last_seq + 3_000)
        assert writer.is_entered.wait(DEADLINE_S)
        assert recording.last_seq >= 6_000
        writer.release.set()
        recording.flush()
    start, view = recording._derivation.timeline.keyframes.before(recording.last_seq)
    assert 4_000 <= start <= recording.last_seq
    live.abandon()
    recording.close()
    (tmp_path / "r1" / "main" / "recording" / "keyframes.bin").unlink()
    again = Recording(folder_of(tmp_path))
    assert msgspec.json.encode(again.view_at(start)) == msgspec.json.encode(view)
    again.close()


def test_keyframes_are_kept_of_a_run_that_makes_few_events_between_two_writes(tmp_path: Path) -> None:
    recording, live = busy_run(tmp_path, 100)
    first = recording.last_seq
    while recording.last_seq < first + 3 * keyframes.MIN_DISTANCE:
        run_until_events(live, recording.last_seq + HANDED_EVENTS // 4)
        recording.flush()
    frames = recording._derivation.timeline.keyframes
    places = [place.seq for place in frames._places if place.seq > first]
    assert len(places) == 3
    folded = Fold(empty_view())
    folded.fold_all(recording.events(1, places[1]))
    assert msgspec.json.encode(frames.before(places[1])[1]) == msgspec.json.encode(folded.view)
    live.abandon()
    recording.close()


def test_keyframes_are_no_farther_apart_when_events_are_made_faster_than_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keyframes, "MIN_DISTANCE", 1_000)
    monkeypatch.setattr(keyframes, "VIEW_BYTES_PER_EVENT", 1_000_000)
    recording, live = busy_run(tmp_path, 100)
    live.pacer.set_mode("play")
    with monkeypatch.context() as patched:
        writer = HeldWriter(patched)
        first = recording.last_seq
        run_until_events(live, first + 3 * HANDED_EVENTS)
        writer.release.set()
        recording.flush()
    frames = recording._derivation.timeline.keyframes
    places = [place.seq for place in frames._places if place.seq > first] + [recording.last_seq]
    assert len(places) > 3
    assert max(after - before for before, after in pairwise(places)) < 1_500
    live.abandon()
    recording.close()


def test_failed_write_is_raised_by_the_next_append_and_retried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recording, live = busy_run(tmp_path, 100)
    live.pacer.set_mode("play")
    before = recording.last_seq
    with monkeypatch.context() as patched:
        writer = HeldWriter(patched, OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)))
        writer.release.set()
        with pytest.raises(OSError, match="No space"):
            run_until_events(live, before + 2 * MAX_PENDING_EVENTS)
    events = recording.events(before + 1, recording.last_seq)
    assert [event[0] for event in events] == list(range(before + 1, recording.last_seq + 1))
    assert recording.last_seq > before
    live.abandon()
    recording.close()


@pytest.mark.parametrize("is_killed", [False, True])
def test_answers_sent_to_clients_are_reproduced_before_they_are_disconnected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_killed: bool
) -> None:
    recording, live = busy_run(tmp_path, 1_000)
    live.run.connect(1, "127.0.0.1:50000")
    live.pacer.set_mode("play")
    live.collect()
    recording.flush()
    written = recording.last_seq
    with monkeypatch.context() as patched:
        writer = HeldWriter(patched, OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)))
        writer.release.set()
        run_until_events(live, written + 100)
        published = [record for _, _, record in recording._pending]
        live.abandon()
        if is_killed:
            recording.logs.abandon()
            recording = Recording(folder_of(tmp_path))
        else:
            recording.reopen()
        assert recording.last_seq == written
    again = engine.wake(recording, Pacer(Wall()), "")
    again.collect()
    made = [event.record for event in recording.stored(written + 1, recording.last_seq)]
    assert len(published) >= 100
    assert made[: len(published)] == published
    assert not again.run.connections
    again.abandon()
    recording.close()


def test_fast_run_with_clients_is_written_each_second_of_its_own_time(tmp_path: Path) -> None:
    recording, live = begin(tmp_path)
    run_lines(live, [TOPIC, "producer open p1 --acks all", "producer stream p1 orders-0 10"])
    live.run.connect(1, "127.0.0.1:50000")
    live.pacer.set_mode("play")
    run_for(live, engine.UNWRITTEN_US + 1_000_000)
    now_us = live.run.now_us
    writer.submit(lambda: None).result(DEADLINE_S)
    copied = shutil.copytree(tmp_path / "r1", tmp_path / "r2")
    left = Recording(folder_of(tmp_path, run=copied.name))
    assert now_us - engine.UNWRITTEN_US <= left.last_at_us
    left.close()
    live.abandon()
    recording.close()
