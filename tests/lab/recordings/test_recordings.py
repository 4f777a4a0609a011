"""Recordings: what is written is found again, at any instant, whatever happens to the process."""

import gc
import itertools
import random
import shutil
import zlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier, BrokenBarrierError

import msgspec
import pytest

from broker_core.events import codec
from broker_core.view.fold import Fold, empty_view
from lab.protocol.marks import Mark
from lab.recordings import history, keyframes, timeline
from lab.recordings.keyframes import KEYFRAMES
from lab.recordings.logs import Header
from lab.recordings.recording import Recording
from lab.recordings.timeline import SEGMENT_EVENTS, TIMELINE
from lab.texts.refusal import Refusal
from tests.support.recorded_runs import (
    TOPIC,
    begin,
    busy_run,
    folder_of,
    open_again,
    run_for,
    run_lines,
    run_until_events,
)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run of 5,500 events that was closed in order."""
    root = tmp_path_factory.mktemp("finished")
    recording, live = busy_run(root, 5_500)
    live.close()
    recording.close()
    return root


@pytest.fixture
def root(finished: Path, tmp_path: Path) -> Path:
    """A copy of it, for a test to damage."""
    shutil.copytree(finished, tmp_path / "runs")
    return tmp_path / "runs"


def test_every_event_is_read_back_in_order(finished: Path) -> None:
    recording = Recording(folder_of(finished))
    events = recording.events(1, recording.last_seq)
    assert [event[0] for event in events] == list(range(1, recording.last_seq + 1))
    assert all(before[1] <= after[1] for before, after in itertools.pairwise(events))
    assert recording.last_seq >= 5_500
    recording.close()


def test_time_line_of_a_long_recording_uses_no_memory(finished: Path) -> None:
    recording = Recording(folder_of(finished))
    assert len(recording.segments()) == recording.last_seq // SEGMENT_EVENTS + 1
    gc.collect()
    assert not [found for found in gc.get_objects() if type(found) is timeline.SegmentFacts]
    recording.close()


def test_recording_is_a_kafka_log_whose_offsets_are_seqs(finished: Path) -> None:
    recording = Recording(folder_of(finished))
    for seq in (1, 2, 511, 512, 513, 2_000, recording.last_seq):
        (event,) = recording.events(seq, seq)
        assert event[0] == seq
        assert recording.seq_at(event[1]) >= seq
        assert recording.seq_at(event[1] - 1) < seq
    assert recording.logs._events.end == recording.last_seq + 1
    recording.close()


def test_view_at_any_event_is_the_fold_of_all_before(finished: Path) -> None:
    recording = Recording(folder_of(finished))
    fold = Fold()
    views = {}
    chosen = {1, 999, 1_000, 1_001, 2_500, 4_000, recording.last_seq}
    for envelope in recording.events(1, recording.last_seq):
        fold.fold(envelope)
        if envelope[0] in chosen:
            views[envelope[0]] = msgspec.json.encode(fold.view)
    for seq, view in views.items():
        assert msgspec.json.encode(recording.view_at(seq)) == view, seq
    recording.close()


def test_live_view_is_the_recorded_one(tmp_path: Path) -> None:
    recording, live = busy_run(tmp_path, 2_300)
    assert recording.encoded_view() == live.snapshot().state
    assert recording.last_seq == live.run.seq
    live.close()
    recording.close()


def test_inputs_are_written_before_they_are_published(tmp_path: Path) -> None:
    recording, live = begin(tmp_path)
    live.run.submit(TOPIC, "me")
    batch = live.collect()
    assert batch.events
    on_disk = (folder_of(tmp_path).recording / "inputs-0").glob("*.log")
    assert b"--create --topic orders" in b"".join(path.read_bytes() for path in on_disk)
    live.abandon()
    recording.close()


def test_large_inputs_are_compressed_and_readable_from_any_input(tmp_path: Path) -> None:
    recording, live = begin(tmp_path)
    before = recording.logs.input_count
    folder = folder_of(tmp_path).recording / "inputs-0"
    size = sum(path.stat().st_size for path in folder.glob("*.log"))
    sent = [b"%d " % number + b"text " * 20_000 for number in range(30)]
    recording.append_inputs([(0, b"[]", sent[0])])
    recording.append_inputs([(0, b"[]", each) for each in sent[1:20]])
    recording.append_inputs([(0, each) for each in sent[20:]])
    assert sum(path.stat().st_size for path in folder.glob("*.log")) - size < sum(map(len, sent)) // 20
    with_marks = [b"[]" + each for each in sent[:20]] + sent[20:]
    assert [recording.inputs(before + first) for first in (0, 1, 7, 29, 30)] == [
        with_marks[first:] for first in (0, 1, 7, 29, 30)
    ]
    live.abandon()
    recording.close()


# A process that is killed


def killed_copy(root: Path, target: Path) -> Path:
    """The files as they are now, as `kill -9` leaves them."""
    shutil.copytree(root, target)
    return target


def test_kill_loses_nothing_up_to_the_last_input(tmp_path: Path) -> None:
    recording, live = begin(tmp_path / "one")
    run_lines(live, [TOPIC, "producer open p1 --acks all"])
    live.pacer.set_mode("play")  # from now on events are written late
    run_for(live, 300_000)
    live.run.submit("producer send p1 orders-0 k:v", "me")
    live.collect()
    unwritten = live.run.seq
    left = killed_copy(tmp_path / "one", tmp_path / "two")
    recording_again = Recording(folder_of(left))
    assert recording_again.last_seq < unwritten
    recording_again.close()
    again, live_again = open_again(left)
    assert live_again.run.seq >= unwritten
    assert again.last_seq == live_again.run.seq
    run_for(live, 2_000_000)
    run_for(live_again, live.run.now_us - live_again.run.now_us)
    assert again.records(1, unwritten) == recording.records(1, unwritten)
    assert live_again.snapshot().state == live.snapshot().state


class MostRandom(random.Random):
    """Takes as much as `tear` may take."""

    def random(self) -> float:
        return 0.0

    def randrange(self, start: int, *_: object) -> int:
        return start


def tear(folder: Path, random_numbers: random.Random) -> None:
    """Cuts the events log and, now and then, the time line's files, as a write does that the process did not finish."""
    (folder / ".kafka_cleanshutdown").unlink()
    (folder / "recovery-point-offset-checkpoint").unlink()
    events = sorted((folder / "events-0").glob("*.log"))[-1]
    for path in (events, folder / TIMELINE, folder / KEYFRAMES):
        if path is events or random_numbers.random() < 0.5:
            size = path.stat().st_size
            with path.open("r+b") as stream:
                stream.truncate(random_numbers.randrange(size // 2, size))


def test_recording_cut_at_any_byte_opens(root: Path, tmp_path: Path, rounds: Callable[[int], int]) -> None:
    reference = Recording(folder_of(root))
    records = reference.records(1, reference.last_seq)
    reference.close()
    random_numbers = random.Random(1)
    for round_number in range(rounds(200)):
        target = tmp_path / f"torn-{round_number}"
        shutil.copytree(root / "r1" / "main" / "recording", folder_of(target).recording)
        tear(folder_of(target).recording, random_numbers)
        recording = Recording(folder_of(target))
        assert recording.last_seq > 0
        assert recording.records(1, recording.last_seq) == records[: recording.last_seq], round_number
        assert recording.segments()[-1].last_seq == recording.last_seq
        recording.close()
        shutil.rmtree(target)


def test_torn_events_are_reproduced_from_the_inputs(root: Path) -> None:
    reference = Recording(folder_of(root))
    records = reference.records(1, reference.last_seq)
    reference.close()
    tear(folder_of(root).recording, MostRandom())
    torn = Recording(folder_of(root))
    torn_seq = torn.last_seq
    torn.close()
    again, live = open_again(root)
    assert torn_seq < again.last_seq <= len(records)
    assert again.records(1, again.last_seq) == records[: again.last_seq]
    run_until_events(live, len(records))
    assert again.records(1, len(records)) == records
    live.abandon()
    again.close()


@pytest.mark.parametrize("damage", ["garbage", "zeros", "flipped"])
def test_damaged_tail_is_truncated(root: Path, damage: str) -> None:
    folder = folder_of(root).recording
    (folder / ".kafka_cleanshutdown").unlink()
    (folder / "recovery-point-offset-checkpoint").unlink()
    events = sorted((folder / "events-0").glob("*.log"))[-1]
    data = bytearray(events.read_bytes())
    if damage == "flipped":
        data[len(data) * 2 // 3] ^= 0x40
    else:
        data += b"\x00" * 500 if damage == "zeros" else random.Random(2).randbytes(500)
    events.write_bytes(data)
    recording = Recording(folder_of(root))
    assert recording.last_seq > 0
    assert [event[0] for event in recording.events(1, recording.last_seq)] == list(range(1, recording.last_seq + 1))
    recording.close()


def test_folder_that_is_not_a_recording_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Refusal, match="cannot be opened"):
        Recording(folder_of(tmp_path))
    for _ in range(2):
        with pytest.raises(Refusal, match="format 99"):
            Recording(folder_of(tmp_path), Header(99, {}))


# What is derived


def test_stale_time_line_is_rebuilt(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recording = Recording(folder_of(root))
    before = recording.segments()
    recording.close()
    monkeypatch.setattr(timeline, "fold_version", lambda: "another fold")
    recording = Recording(folder_of(root))
    assert recording.segments() == before
    recording.close()
    first_line = (folder_of(root).recording / TIMELINE).read_bytes().split(b"\n")[0]
    assert b"another fold" in first_line


def test_two_labs_that_open_at_once_do_not_both_parse_the_code_of_the_fold(monkeypatch: pytest.MonkeyPatch) -> None:
    both = Barrier(2)
    met = []

    def version() -> str:
        try:
            met.append(both.wait(0.5))
        except BrokenBarrierError:
            return "a fold"
        return "a fold"

    monkeypatch.setattr(timeline, "_version", version)
    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(lambda _: timeline.fold_version(), range(2))) == ["a fold"] * 2
    assert met == []


def test_distance_of_keyframes_follows_the_size_of_the_view(tmp_path: Path) -> None:
    frames = keyframes.Keyframes(tmp_path / KEYFRAMES)
    assert frames.is_due(keyframes.MIN_DISTANCE) and not frames.is_due(keyframes.MIN_DISTANCE - 1)
    view = empty_view()
    frames.append(4_000, view)
    assert frames.is_due(4_000 + keyframes.MIN_DISTANCE)
    view["topics"] = {f"topic-{number}": {"partitions": 1} for number in range(100_000)}
    frames.append(8_000, view)
    distance = len(msgspec.json.encode(view)) // keyframes.VIEW_BYTES_PER_EVENT
    assert distance > keyframes.MIN_DISTANCE
    assert frames.is_due(8_000 + distance) and not frames.is_due(8_000 + distance - 1)
    assert [frames.before(seq)[0] for seq in (3_999, 4_000, 7_999, 8_000, 9_000)] == [0, 4_000, 4_000, 8_000, 8_000]
    assert frames.before(8_000)[1] == view and frames.before(7_999)[1] == empty_view()


def test_a_kept_recording_has_the_view_before_each_segment(root: Path) -> None:
    recording = Recording(folder_of(root))
    folded = views_of(recording)
    recording.spread_keyframes()
    recording.close()
    frames = keyframes.Keyframes(folder_of(root).recording / KEYFRAMES)
    starts = range(0, recording.last_seq, SEGMENT_EVENTS)
    assert [frames.before(seq)[0] for seq in starts] == list(starts), "nothing is folded before a segment"
    again = Recording(folder_of(root))
    assert views_of(again) == folded
    again.close()


def views_of(recording: Recording) -> list[object]:
    """At every 500th event, as pages receive them."""
    found = [recording.view_at(seq) for seq in range(0, recording.last_seq + 1, 500)]
    return [msgspec.json.decode(msgspec.json.encode(view)) for view in found]


def test_keyframes_of_older_versions_are_rebuilt(root: Path) -> None:
    folder = folder_of(root).recording
    lines = (folder / TIMELINE).read_bytes().split(b"\n")
    first = {name: value for name, value in msgspec.json.decode(lines[0]).items() if name != "keyframes"}
    (folder / TIMELINE).write_bytes(b"\n".join([msgspec.json.encode(first), *lines[1:]]))
    (folder / KEYFRAMES).write_bytes(zlib.compress(msgspec.json.encode(empty_view())))
    recording = Recording(folder_of(root))
    assert len(recording.segments()) == recording.last_seq // SEGMENT_EVENTS + 1
    assert recording.view_at(5_000)["nodes"]
    recording.close()


@pytest.mark.parametrize("name", [TIMELINE, KEYFRAMES])
def test_missing_time_line_is_rebuilt(root: Path, name: str) -> None:
    recording = Recording(folder_of(root))
    before = [(facts.first_seq, facts.marks, facts.digest) for facts in recording.segments()]
    recording.close()
    (folder_of(root).recording / name).unlink()
    recording = Recording(folder_of(root))
    assert [(facts.first_seq, facts.marks, facts.digest) for facts in recording.segments()] == before
    assert recording.view_at(3_500)["nodes"]
    recording.close()


def test_segments_add_up_to_the_recording(finished: Path) -> None:
    recording = Recording(folder_of(finished))
    segments = recording.segments()
    assert [facts.first_seq for facts in segments] == list(range(1, recording.last_seq + 1, SEGMENT_EVENTS))
    assert sum(history.density(segments)["counts"]) == recording.last_seq
    kinds = {mark.kind for mark in history.marks(segments)}
    assert {"BrokerStopped", "LeaderElected", "IsrExpanded"} <= kinds
    elected = [mark for mark in history.marks(segments) if mark.kind == "LeaderElected"]
    assert all(mark.values["leader_epoch"] > 0 for mark in elected), "a new partition's first leader is no news"
    recording.close()


def test_very_long_run_has_coarser_density() -> None:
    hours = timeline.SegmentFacts(1, 1, 0, 10 * 3600 * 10**6, [(0, 5), (143_999, 7)], [], [], "")
    found = history.density([hours])
    assert len(found["counts"]) <= history.MAX_BUCKETS and sum(found["counts"]) == 12
    assert found["bucket_us"] % timeline.BUCKET_US == 0


def test_most_important_marks_are_kept() -> None:
    marks = [Mark(seq, seq, "IsrExpanded", {}) for seq in range(3_000)]
    marks[7] = Mark(7, 7, "InvariantViolated", {})
    found = history.marks([timeline.SegmentFacts(1, 3_000, 0, 1, [], marks, [], "")])
    assert len(found) == history.MAX_MARKS and found[0].kind == "InvariantViolated"
    assert [mark.seq for mark in found] == sorted(mark.seq for mark in found)


# History for the page


def test_segment_has_the_view_before_it_and_its_patches(finished: Path) -> None:
    import json

    from broker_core.view.patch import apply

    recording = Recording(folder_of(finished))
    for n in range(len(recording.segments())):
        data, is_full = history.segment_json(recording, n)
        segment = json.loads(data)
        assert is_full == (len(segment["ev"]) == SEGMENT_EVENTS)
        view = segment["state"]
        for event in segment["ev"]:
            apply(view, event[5])
        last = segment["ev"][-1][0]
        assert view == json.loads(msgspec.json.encode(recording.view_at(last)))
        record = recording.records(last, last)[0]
        assert codec.decode(last, record)[1] == segment["ev"][-1][1]
    recording.close()


def test_instant_is_sought_by_time_and_by_event(finished: Path) -> None:
    recording = Recording(folder_of(finished))
    events = recording.events(1, recording.last_seq)
    for at in (0, 1, 1_234_567, events[-1][1]):
        found = history.seek(recording, t_us=at)
        assert found["seq"] == max((event[0] for event in events if event[1] <= at), default=0)
        assert found["n"] == (found["seq"] - 1) // SEGMENT_EVENTS
    assert history.seek(recording, seq=1_001) == {"seq": 1_001, "at_us": events[1_000][1], "n": 1}
    recording.close()


@pytest.mark.parametrize("place", [{"t_us": 10**15}, {"t_us": -1}, {"seq": 10**9}, {"seq": -1}])
def test_instant_that_does_not_exist_is_refused(finished: Path, place: dict[str, int]) -> None:
    recording = Recording(folder_of(finished))
    with pytest.raises(Refusal) as refused:
        history.seek(recording, **place)
    assert refused.value.status == 404 and str(recording.last_seq) in str(refused.value.expected)
    recording.close()


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ({}, {"t_us": 0, "seq": None}),
        ({"t": "36.413100"}, {"t_us": 36_413_100, "seq": None}),
        ({"t": "36"}, {"t_us": 36_000_000, "seq": None}),
        ({"t": "0.5"}, {"t_us": 500_000, "seq": None}),
        ({"t": "1.5", "seq": "17"}, {"t_us": None, "seq": 17}),
    ],
)
def test_address_names_an_instant(query: dict[str, str], found: dict[str, int | None]) -> None:
    assert history.parse_instant(query) == found


@pytest.mark.parametrize(
    "query", [{"t": "now"}, {"t": "-1"}, {"t": "1e9"}, {"t": "1.1234567"}, {"seq": "x"}, {"seq": "²"}]
)
def test_address_without_an_instant_is_refused(query: dict[str, str]) -> None:
    with pytest.raises(Refusal) as refused:
        history.parse_instant(query)
    assert refused.value.status == 404
