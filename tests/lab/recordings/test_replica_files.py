"""The files of a replica as they were: names, sizes and bytes at any instant, whatever was cut since."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from broker_core.events.log import LogDeleted, LogTruncated
from broker_core.log.producers.producer_snapshot import encode_snapshot
from broker_core.partitions import ReplicaId
from broker_core.texts import render
from lab.recordings.decoding import decoded
from lab.recordings.disk.broker_disk import BrokerDisk
from lab.recordings.disk.replica_files import ReplicaFile, ReplicaFiles
from lab.recordings.fork import fork_recording
from lab.recordings.recording import Recording
from lab.runtime import engine
from lab.runtime.live_run import LiveRun
from lab.runtime.pacer import Pacer
from lab.texts.refusal import Refusal
from tests.support.recorded_runs import CONFIG, begin, folder_of, open_again, run_for, run_lines

SECOND = 1_000_000


def disk_of(recording: Recording, replica: str) -> dict[str, bytes]:
    """The current disk contents of a replica: `.log` complete, indexes up to their entries."""
    partition, broker = ReplicaId.parse(replica)
    folder = recording.folder.cluster / f"broker-{broker}" / partition
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def truncating_run(root: Path) -> tuple[Recording, LiveRun, int]:
    """A run in which broker 1 appends unreplicated records and has to truncate them. Returns the event before the
    truncation.
    """
    recording, live = begin(root, CONFIG)
    run_lines(
        live,
        [
            "kafka-topics.sh --create --topic orders --partitions 1 --replication-factor 3",
            "producer open p1 --acks 1",
            "producer send p1 orders-0 k:" + " k:".join(f"{n}-{'x' * 900}" for n in range(12)),
        ],
    )
    run_for(live, 2 * SECOND)
    leader = live.run.view["partitions"]["orders-0"]["leader"]
    others = [broker for broker in (1, 2, 3) if broker != leader]
    run_lines(live, [f"link cut {leader} {other}" for other in others])
    run_lines(live, ["producer send p1 orders-0 k:" + " k:".join(f"lost-{n}-{'y' * 900}" for n in range(12))])
    before = live.run.seq
    run_lines(live, [f"broker kill {leader}"])
    run_for(live, 30 * SECOND)
    run_lines(live, [f"link restore {leader} {other}" for other in others])
    run_lines(live, [f"broker start {leader}"])
    run_for(live, 10 * SECOND)
    return recording, live, before


@pytest.fixture(scope="module")
def truncated(tmp_path_factory: pytest.TempPathFactory) -> tuple[Recording, LiveRun, int]:
    return truncating_run(tmp_path_factory.mktemp("truncated"))


def run_up_to(root: Path, seq: int) -> Recording:
    """The same run, which ends after event `seq`."""
    whole, _, _ = truncating_run(root)
    forked = fork_recording(whole, seq, folder_of(root, "main-2"))
    engine.wake(forked, Pacer(), "")
    return forked


def cut_replica(recording: Recording) -> str:
    """The replica that was truncated."""
    events = recording.events(1, recording.last_seq)
    return next(event[4].replica for event in events if isinstance(event[4], LogTruncated))


def test_files_at_the_head_are_those_on_disk(truncated: tuple[Recording, LiveRun, int]) -> None:
    recording, live, _ = truncated
    for replica in live.run.view["replicas"]:
        files = ReplicaFiles(recording, replica, recording.last_seq)
        on_disk = disk_of(recording, replica)
        for name, data in on_disk.items():
            shown = files.read(files.file(name), 0, 10**9)
            # Behind its entries an index has room, or entries that a truncation has left.
            expected = data[: len(shown)] if name.endswith("index") else data
            assert shown == expected, f"{replica} {name}"
        assert set(on_disk) <= set(files.files)


def test_files_before_a_truncation_are_restored(truncated: tuple[Recording, LiveRun, int], tmp_path: Path) -> None:
    recording, _, before = truncated
    replica = cut_replica(recording)
    files = ReplicaFiles(recording, replica, before)
    log = files.read(files.file("00000000000000000000.log"), 0, 10**9)
    assert log.count(b"lost-") == 12
    after = ReplicaFiles(recording, replica, recording.last_seq)
    assert b"lost-" not in after.read(after.file("00000000000000000000.log"), 0, 10**9)
    # The same instant in a separate run that has not continued: byte for byte the same files.
    other = run_up_to(tmp_path, before)
    on_disk = disk_of(other, replica)
    for name in ("00000000000000000000.log", "00000000000000000000.index", "00000000000000000000.timeindex"):
        shown = files.read(files.file(name), 0, 10**9)
        assert shown == on_disk[name][: len(shown)] and not on_disk[name][len(shown) :].strip(b"\0"), name
    assert len(files.read(files.file("00000000000000000000.index"), 0, 10**9)) >= 16


def test_any_part_can_be_read(truncated: tuple[Recording, LiveRun, int]) -> None:
    recording, _, before = truncated
    files = ReplicaFiles(recording, cut_replica(recording), before)
    log = files.file("00000000000000000000.log")
    whole = files.read(log, 0, log.size)
    assert len(whole) == log.size
    for start in range(0, log.size + 500, 777):
        assert files.read(log, start, 1_000) == whole[start : start + 1_000]
    with pytest.raises(Refusal):
        files.read(log, -1, 10)


def test_bytes_are_decoded(truncated: tuple[Recording, LiveRun, int]) -> None:
    recording, _, before = truncated
    replica = cut_replica(recording)
    files = ReplicaFiles(recording, replica, before)
    log = files.file("00000000000000000000.log")
    batches = decoded(files, log, 0)["batches"]
    records = [record for batch in batches for record in batch["records"]]
    assert [record["offset"] for record in records] == list(range(24))
    assert records[0]["key"] == "k" and records[-1]["value"].startswith("lost-11-")
    assert all(batch["crc_ok"] for batch in batches)
    whole = files.read(log, 0, log.size)
    for record in records:
        part = whole[record["position"] : record["position"] + record["size"]]
        assert record["value"].encode() in part
    assert sum(batch["size"] for batch in batches) == log.size
    assert decoded(files, log, batches[3]["position"])["batches"][0] == batches[3]
    assert decoded(files, log, log.size)["batches"] == []
    with pytest.raises(Refusal, match="No batch starts"):
        decoded(files, log, batches[3]["position"] + 5)
    index = decoded(files, files.file("00000000000000000000.index"), 0)["entries"]
    positions = {batch["last_offset"]: batch["position"] for batch in batches}
    assert index and all(positions[offset] == position for offset, position in index)
    time_index = decoded(files, files.file("00000000000000000000.timeindex"), 0)["entries"]
    assert time_index and all(timestamp >= CONFIG.start_wall_ms for timestamp, _ in time_index)
    epochs = decoded(files, files.file("leader-epoch-checkpoint"), 0)
    assert epochs == {"kind": "text", "lines": ["0", "1", "0 0"]}


def test_snapshot_of_producers_is_decoded_or_reported_as_damaged() -> None:
    def read(data: bytes) -> tuple[str, list[str]]:
        files: Any = SimpleNamespace(read=lambda *_: data)
        name = "00000000000000000024.snapshot"
        shown = decoded(files, ReplicaFile(name, name, len(data), "snapshot", None, None), 0)
        return render(shown["head"], "zh-CN"), shown["lines"]

    assert read(encode_snapshot([])) == ("0 个生产者", [])
    assert read(b"\x00") == ("快照已损坏：快照只有 1 字节，至少应有 10 字节", [])


def test_deleted_topic_is_readable_in_the_past(tmp_path: Path) -> None:
    recording, live, _ = truncating_run(tmp_path)
    replica = "orders-0@b2"
    before = live.run.seq
    shown = ReplicaFiles(recording, replica, before)
    log = shown.read(shown.file("00000000000000000000.log"), 0, 10**9)
    run_lines(live, ["kafka-topics.sh --delete --topic orders"])
    run_for(live, 5 * SECOND)
    assert any(isinstance(event[4], LogDeleted) for event in recording.events(before, recording.last_seq))
    with pytest.raises(Refusal):
        ReplicaFiles(recording, replica, recording.last_seq)
    past = ReplicaFiles(recording, replica, before)
    assert past.read(past.file("00000000000000000000.log"), 0, 10**9) == log
    # A topic of the same name comes and writes into a file of the same name.
    run_lines(
        live,
        [
            "kafka-topics.sh --create --topic orders --partitions 1 --replication-factor 3",
            "producer open p2 --acks all",
            "producer send p2 orders-0 other:other",
        ],
    )
    past = ReplicaFiles(recording, replica, before)
    assert past.read(past.file("00000000000000000000.log"), 0, 10**9) == log


def test_past_is_readable_after_a_restart(tmp_path: Path) -> None:
    recording, live, before = truncating_run(tmp_path)
    replica = cut_replica(recording)
    shown = ReplicaFiles(recording, replica, before)
    log = shown.read(shown.file("00000000000000000000.log"), 0, 10**9)
    live.close()
    recording.close()
    again, live_again = open_again(tmp_path)
    shown = ReplicaFiles(again, replica, before)
    assert shown.read(shown.file("00000000000000000000.log"), 0, 10**9) == log
    live_again.abandon()


def test_every_instant_shows_the_files_of_that_time(tmp_path: Path) -> None:
    """Whatever happened since: segments that went, files that left the disk, a power loss, a deleted topic."""
    recording, live = begin(tmp_path, CONFIG)
    replica = "orders-0@b1"
    taken: list[tuple[int, dict[str, bytes]]] = []

    def take(*lines: str, seconds: int = 1) -> None:
        run_lines(live, lines)
        run_for(live, seconds * SECOND)
        if replica in live.run.view["replicas"]:
            taken.append((live.run.seq, disk_of(recording, replica)))

    records = " ".join(f"{n}:{n}" for n in range(5))
    take(
        "kafka-topics.sh --create --topic orders --replica-assignment 1:2 --config segment.bytes=200",
        "producer open p --acks all",
        f"producer send p orders-0 {records}",
    )
    take(
        'file del.json\n< {"partitions":[{"topic":"orders","partition":0,"offset":3}]}',
        "kafka-delete-records.sh --offset-json-file del.json",
        "task retention",
    )
    take(f"producer send p orders-0 {records}")
    take(seconds=70)
    take("producer send p orders-0 last:last")
    take("broker kill 1", "broker powerloss 1", "broker start 1", seconds=10)
    take(f"producer send p orders-0 {records}")
    folder = "broker-1/" + "orders-0"
    run_lines(live, ["kafka-topics.sh --delete --topic orders"])
    run_for(live, 5 * SECOND)
    (waiting,) = BrokerDisk(recording, "b1", recording.last_seq).folders[1:]
    assert waiting.name.startswith("orders-0.") and waiting.name.endswith("-delete")
    log = next(file for file in waiting.files if file.kind == "log" and file.size)
    kept = waiting.read(log, 0, log.size)
    assert (
        kept == (recording.folder.cluster / log.path).read_bytes() and not (recording.folder.cluster / folder).exists()
    )
    seq = recording.last_seq
    run_for(live, 100 * SECOND)
    assert BrokerDisk(recording, "b1", recording.last_seq).folders[1:] == []
    assert BrokerDisk(recording, "b1", seq).folders[1].read(log, 0, log.size) == kept
    assert any(name.endswith(".log.deleted") for name in taken[1][1])
    for seq, on_disk in taken:
        shown = ReplicaFiles(recording, replica, seq)
        for name, data in on_disk.items():
            # snapshots at the end of a log are not remembered
            if name.endswith(".snapshot") and name not in shown.files:
                continue
            bytes_then = shown.read(shown.file(name), 0, 10**9)
            assert bytes_then == (data[: len(bytes_then)] if "index" in name else data), f"event {seq}: {name}"


@pytest.mark.parametrize(
    ("replica", "name"),
    [
        ("nosuch-0@b1", "x"),
        ("orders-0@b9", "x"),
        ("", "x"),
        ("orders-0@b1", "../../secret-key"),
        ("orders-0@b1", "x.log"),
    ],
)
def test_files_that_never_existed_are_refused(
    truncated: tuple[Recording, LiveRun, int], replica: str, name: str
) -> None:
    with pytest.raises(Refusal) as refused:
        ReplicaFiles(truncated[0], replica, truncated[0].last_seq).file(name)
    assert refused.value.status == 404
