"""What the disk screen asks the server: a data folder's tree at any instant, pages of files, lookups, zero copy."""

from pathlib import Path
from typing import Any

import pytest

from lab.recordings.disk.broker_disk import BrokerDisk, log_of, look_up, page, tree
from lab.recordings.recording import Recording
from lab.runtime.live_run import LiveRun
from lab.runtime.zero_copy import CHUNK_BYTES, measure
from lab.texts.refusal import Refusal
from tests.support.recorded_runs import begin, run_for, run_lines

SECOND = 1_000_000


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> tuple[Recording, LiveRun]:
    """A run with a partition of several small segments, some of it never fsynced."""
    recording, live = begin(tmp_path_factory.mktemp("disk"))
    create = "kafka-topics.sh --create --topic orders --partitions 1 --replication-factor 3 --config segment.bytes=4000"
    run_lines(live, [create, "producer open p1 --acks all"])
    for burst in range(6):
        values = " ".join(f"k{n}:{burst}-{n}-{'x' * 90}" for n in range(10))
        run_lines(live, [f"producer send p1 orders-0 {values}"])
    run_for(live, SECOND)
    return recording, live


def folder_of(recording: Recording, seq: int | None = None) -> dict[str, dict[str, Any]]:
    """The files of orders-0 on broker 1, by name."""
    folders = tree(BrokerDisk(recording, "b1", recording.last_seq if seq is None else seq))
    (found,) = [folder for folder in folders if folder["name"] == "orders-0"]
    return {file["name"]: file for file in found["files"]}


def test_tree_lists_the_files_and_sizes_on_disk(played: tuple[Recording, LiveRun]) -> None:
    recording, _ = played
    files = folder_of(recording)
    on_disk = {path.name: path for path in (recording.folder.cluster / "broker-1" / "orders-0").iterdir()}
    assert set(files) == set(on_disk)
    for name, file in files.items():
        if name.endswith(".log"):
            assert file["bytes"] == on_disk[name].stat().st_size
    states = [file["state"] for name, file in files.items() if name.endswith(".log")]
    assert len(states) > 2
    assert states == ["rolled"] * (len(states) - 1) + ["active"]


def test_power_loss_loses_the_unsynced_active_segment(played: tuple[Recording, LiveRun]) -> None:
    files = folder_of(played[0])
    for file in files.values():
        if file["state"] == "rolled":
            assert file["flushed"] == file["bytes"]
    (active,) = [file for name, file in files.items() if file["state"] == "active" and name.endswith(".log")]
    assert active["flushed"] == 0 < active["bytes"]
    folders = tree(BrokerDisk(played[0], "b1", played[0].last_seq))
    (folder,) = [folder for folder in folders if folder["name"] == "orders-0"]
    assert folder["safe_offset"] == active["segment"] < folder["log_end_offset"]


def test_every_byte_of_every_file_has_a_field(played: tuple[Recording, LiveRun]) -> None:
    recording, _ = played
    disk = BrokerDisk(recording, "b1", recording.last_seq)
    for folder in tree(disk):
        for file in folder["files"]:
            path = f"{folder['name']}/{file['name']}".lstrip("/")
            position = 0
            while position < file["bytes"]:
                shown = page(disk, path, position)
                assert shown["from"] <= position < shown["to"]
                assert len(shown["bytes"]) == 2 * (shown["to"] - shown["from"])
                assert not any(part.get("fault") for part in shown["parts"])
                if file["kind"] in ("log", "index", "timeindex", "snapshot"):
                    assert sum(_overlap(field, shown) for part in shown["parts"] for field in part["fields"]) == (
                        shown["to"] - shown["from"]
                    )
                position = shown["to"]


def _overlap(field: dict[str, int], shown: dict[str, int]) -> int:
    begin, end = field["position"], field["position"] + field["length"]
    return max(0, min(end, shown["to"]) - max(begin, shown["from"]))


def test_every_offset_is_found_in_the_segment_that_holds_it(played: tuple[Recording, LiveRun]) -> None:
    recording, live = played
    disk = BrokerDisk(recording, "b1", recording.last_seq)
    replica = live.run.view["replicas"]["orders-0@b1"]
    bases = sorted(map(int, replica["segments"]))
    for offset in range(replica["log_end_offset"]):
        steps = look_up(disk, "orders-0", offset, None)
        assert (steps.found, steps.floor) == (offset, max(base for base in bases if base <= offset))
    assert look_up(disk, "orders-0", replica["log_end_offset"], None).found == -1
    assert look_up(disk, "orders-0", None, 0).found == 0


def test_earlier_instant_has_its_own_tree(played: tuple[Recording, LiveRun]) -> None:
    recording, _ = played
    seqs = [event[0] for event in recording.events(1, recording.last_seq) if type(event[4]).__name__ == "SegmentRolled"]
    before, after = folder_of(recording, min(seqs) - 1), folder_of(recording)
    assert len(before) < len(after)


@pytest.mark.parametrize("path", ["", "nothing", "orders-0/nothing.log", "../orders-0", "orders-0/../meta.properties"])
def test_missing_file_is_refused(played: tuple[Recording, LiveRun], path: str) -> None:
    recording, _ = played
    with pytest.raises(Refusal, match="There is no"):
        page(BrokerDisk(recording, "b1", recording.last_seq), path, 0)


def test_missing_broker_or_folder_is_refused(played: tuple[Recording, LiveRun]) -> None:
    recording, _ = played
    with pytest.raises(Refusal, match="no broker"):
        BrokerDisk(recording, "b9", recording.last_seq)
    with pytest.raises(Refusal, match="no folder"):
        look_up(BrokerDisk(recording, "b1", recording.last_seq), "payments-0", 1, None)


# Zero copy


def test_both_ways_are_counted_on_a_real_segment(played: tuple[Recording, LiveRun]) -> None:
    recording, _ = played
    disk = BrokerDisk(recording, "b1", recording.last_seq)
    path = recording.folder.cluster / log_of(disk, "orders-0/00000000000000000000.log")
    taken = measure(path)
    assert taken.bytes == path.stat().st_size
    assert (taken.read.calls, taken.sendfile.calls) == (2, 1)
    assert (taken.read.copied_bytes, taken.sendfile.copied_bytes) == (2 * taken.bytes, 0)
    assert taken.read.us > 0
    assert taken.sendfile.us > 0


def test_larger_file_takes_more_calls_by_reading_and_few_by_sendfile(tmp_path: Path) -> None:
    file = tmp_path / "large"
    file.write_bytes(bytes(20 * CHUNK_BYTES))
    taken = measure(file)
    assert taken.read.calls >= 40
    assert taken.sendfile.calls < taken.read.calls


def test_what_cannot_be_measured_is_refused(played: tuple[Recording, LiveRun], tmp_path: Path) -> None:
    recording, _ = played
    (tmp_path / "empty").touch()
    with pytest.raises(Refusal, match="empty"):
        measure(tmp_path / "empty")
    with pytest.raises(Refusal, match="not on the disk"):
        measure(tmp_path / "absent")
    with pytest.raises(Refusal, match="is not a log segment"):
        log_of(BrokerDisk(recording, "b1", recording.last_seq), "orders-0/partition.metadata")
