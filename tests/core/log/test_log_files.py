"""Index, snapshot and checkpoint files against the bytes of real Kafka."""

import pytest

from broker_core.errors import Errors, KafkaException
from broker_core.log import LogConfig
from broker_core.log.files.checkpoints import LeaderEpochCheckpoint, OffsetCheckpoint, create_checkpoints
from broker_core.log.files.partition_metadata import read_topic_id
from broker_core.log.index.offset_index import OffsetIndex
from broker_core.log.index.time_index import TimeIndex
from broker_core.log.leader_epoch_cache import LeaderEpochCache
from broker_core.log.producers.producer_snapshot import decode_snapshot, encode_snapshot
from broker_core.log.producers.producer_state_entry import BatchMetadata, ProducerStateEntry
from broker_core.log.retention import delete_old_segments
from broker_core.partitions import TopicPartition
from broker_core.records.record_batch import build_batch
from broker_core.sim.disk import SimulatedDisk
from tests.support.log_files import open_log

SNAPSHOT = bytes.fromhex(
    "0001add48723000000010000000000000fa0000200000009000000000000001500000004000001649329d3aaffffffff0000000000000011"
)


def test_sparse_indexes_have_the_bytes_that_kafka_writes() -> None:
    """Twelve appends of three records, 1588 bytes each, at the default interval: appends 3, 6 and 9 are indexed."""
    disk = SimulatedDisk()
    log = open_log(disk, LogConfig(segment_index_bytes=1000), log_start_offset=100)
    for i in range(12):
        batch = build_batch([(1000 + 10 * i + j, None, b"v" * size, ()) for j, size in enumerate((500, 500, 500))])
        assert len(batch) == 1588
        info = log.append_as_leader(batch, 0, 0)
        position = 1588 * i
        assert info.index_entries == (((100 + 3 * i + 2, position),) if i in (3, 6, 9) else ())
    assert isinstance(log.active_segment.time_index, TimeIndex)
    index, time_index = log.active_segment.offset_index.file.open(), log.active_segment.time_index.file.open()
    assert (index.size, time_index.size) == (1000, 996)
    log.roll(0)
    assert index.read(0, 99).hex() == "0000000b0000129c00000014000025380000001d000037d4"
    assert time_index.read(0, 99).hex() == (
        "00000000000004080000000b00000000000004260000001400000000000004440000001d000000000000045800000023"
    )


def test_index_files_are_created_when_kafka_creates_them() -> None:
    """What a 3.9.1 broker had in the folder of a topic with segment.bytes=1000 after each append of 420 bytes, after
    retention had taken all of it, and after a clean stop.
    """

    def listing() -> list[tuple[str, int]]:
        return [
            (name.lstrip("0") or name, size)
            for name, size in log.describe_files()
            if ".deleted" not in name and name[0] == "0"
        ]

    disk = SimulatedDisk()
    log = open_log(disk, LogConfig(segment_bytes=1000))
    full = [10485760, 10485756]
    batch = build_batch([(1000, None, bytes(350), ())])
    assert len(batch) == 420
    assert listing() == [(".index", full[0]), (".log", 0), (".timeindex", full[1])]
    for _ in range(2):
        log.append_as_leader(batch, 0, 0)
    assert listing() == [(".index", full[0]), (".log", 840), (".timeindex", full[1])]
    log.append_as_leader(build_batch([(1001, None, bytes(350), ())]), 0, 0)
    assert listing() == [
        (".index", 0),
        (".log", 840),
        (".timeindex", 12),
        ("2.index", full[0]),
        ("2.log", 420),
        ("2.snapshot", 10),
        ("2.timeindex", full[1]),
    ]
    assert [deletion.segments for deletion in delete_old_segments(log, 3, 10**12)] == [(0, 2)]
    assert listing() == [("3.log", 0), ("3.snapshot", 10)]
    assert list(delete_old_segments(log, 3, 10**12)) == []
    assert listing() == [("3.log", 0), ("3.snapshot", 10), ("3.timeindex", full[1])]
    log.close()
    assert listing() == [("3.index", 0), ("3.log", 0), ("3.snapshot", 10), ("3.timeindex", 0)]


def test_index_file_not_created_yet_is_not_a_loss() -> None:
    disk = SimulatedDisk()
    log = open_log(disk)
    log.append_as_leader(build_batch([(1000, None, b"v", ())]), 0, 0)
    log.truncate_fully_and_start_at(7)
    assert [name for name, _ in log.describe_files() if name.startswith(f"{7:020d}")] == [f"{7:020d}.log"]
    log.close(clean=False)
    again = open_log(disk, clean_shutdown=False)
    assert (again.log_start_offset, again.log_end_offset) == (7, 7)
    again.append_as_leader(build_batch([(1000, None, b"v", ())]), 0, 0)
    assert again.read(7, 1000).next_offset == 8


@pytest.mark.parametrize("clean_shutdown", [True, False])
def test_first_index_of_a_log_with_a_late_start_is_rebuilt(clean_shutdown: bool) -> None:
    disk = SimulatedDisk()
    log = open_log(disk, LogConfig(index_interval_bytes=100), log_start_offset=7)
    for _ in range(6):
        log.append_as_leader(build_batch([(1000, None, bytes(90), ())]), 0, 0)
    log.close()
    index = f"broker-1/orders-0/{7:020d}.index"
    written = disk.read_file(index)
    disk.delete(index)
    again = open_log(disk, LogConfig(index_interval_bytes=100), clean_shutdown=clean_shutdown)
    assert (again.log_start_offset, again.log_end_offset) == (7, 13)
    assert again.repairs[0].file == index
    again.close()
    assert len(disk.read_file(index)) >= len(written) - 8


def test_snapshot_has_the_bytes_that_kafka_writes() -> None:
    entry = ProducerStateEntry(4000)
    entry.producer_epoch = 2
    entry.last_timestamp = 1531477349290
    entry.current_transaction_first_offset = 17
    entry.batches.append(BatchMetadata(9, 21, 4, 1531477349290))
    assert encode_snapshot([entry]) == SNAPSHOT
    (read,) = decode_snapshot(SNAPSHOT)
    assert (read.producer_id, read.producer_epoch, read.current_transaction_first_offset) == (4000, 2, 17)
    assert list(read.batches) == list(entry.batches)


@pytest.mark.parametrize("at", range(len(SNAPSHOT)))
def test_corrupt_producer_snapshot_is_detected(at: int) -> None:
    damaged = bytearray(SNAPSHOT)
    damaged[at] ^= 1
    with pytest.raises(ValueError):
        decode_snapshot(bytes(damaged))
    with pytest.raises(ValueError):
        decode_snapshot(SNAPSHOT[:at])


def test_offset_checkpoints_are_kafkas_text() -> None:
    disk = SimulatedDisk()
    checkpoint = OffsetCheckpoint(disk, "broker-1/replication-offset-checkpoint")
    assert checkpoint.read() == {}
    checkpoint.write({TopicPartition("demo", 1): 17, TopicPartition("demo", 0): 42})
    assert disk.read_file(checkpoint.path) == b"0\n2\ndemo 0 42\ndemo 1 17\n"
    assert checkpoint.read() == {("demo", 0): 42, ("demo", 1): 17}
    disk.replace_file(checkpoint.path, b"")
    assert checkpoint.read() == {}


@pytest.mark.parametrize(
    "content",
    [
        b"1\n0\n",
        b"0\nx\n",
        b"0\n2\ndemo 0 1\n",
        b"0\n1\ndemo 0 1\ndemo 1 1\n",
        b"0\n1\ndemo 0\n",
        b"0\n1\ndemo 0 x\n",
    ],
)
def test_malformed_checkpoint_is_refused_with_its_name(content: bytes) -> None:
    disk = SimulatedDisk()
    disk.replace_file("broker-1/replication-offset-checkpoint", content)
    with pytest.raises(KafkaException, match="broker-1/replication-offset-checkpoint") as refusal:
        OffsetCheckpoint(disk, "broker-1/replication-offset-checkpoint").read()
    assert refusal.value.error is Errors.KAFKA_STORAGE_ERROR


def cache(*entries: tuple[int, int]) -> LeaderEpochCache:
    epochs = LeaderEpochCache(LeaderEpochCheckpoint(SimulatedDisk(), "broker-1/orders-0"))
    for entry in entries:
        epochs.assign(*entry)
    return epochs


def test_epoch_is_on_disk_when_it_is_assigned() -> None:
    disk = SimulatedDisk()
    log = open_log(disk)
    assert disk.read_file("broker-1/orders-0/leader-epoch-checkpoint") == b""
    log.leader_epoch_cache.assign(0, 0)
    log.leader_epoch_cache.assign(1, 50)
    assert disk.read_file("broker-1/orders-0/leader-epoch-checkpoint") == b"0\n2\n0 0\n1 50\n"


def test_assigning_the_latest_epoch_again_changes_nothing() -> None:
    epochs = cache((0, 0), (3, 10))
    assert not epochs.assign(3, 20)
    assert epochs.entries == ((0, 0), (3, 10))


@pytest.mark.parametrize(
    ("assigned", "expected"),
    [((4, 20), ((0, 0), (2, 5), (3, 10), (4, 20))), ((4, 10), ((0, 0), (2, 5), (4, 10))), ((2, 7), ((0, 0), (2, 7)))],
)
def test_assigning_an_epoch_drops_conflicting_entries(
    assigned: tuple[int, int], expected: tuple[tuple[int, int], ...]
) -> None:
    epochs = cache((0, 0), (2, 5), (3, 10))
    assert epochs.assign(*assigned)
    assert epochs.entries == expected


@pytest.mark.parametrize(
    ("requested", "answer"),
    [(-1, (-1, -1)), (3, (3, 99)), (4, (-1, -1)), (2, (1, 10)), (1, (1, 10)), (0, (0, 3))],
)
def test_end_of_an_epoch_is_the_start_of_the_next(requested: int, answer: tuple[int, int]) -> None:
    epochs = cache((1, 3), (3, 10))
    assert epochs.end_offset_for(requested, 99) == answer


def test_epochs_are_truncated_at_both_ends() -> None:
    epochs = cache((0, 0), (1, 10), (2, 20))
    assert epochs.truncate_from_end(20)
    assert epochs.entries == ((0, 0), (1, 10))
    assert epochs.truncate_from_start(15)
    assert epochs.entries == ((1, 15),)
    assert epochs.epoch_for(14) == -1
    assert epochs.epoch_for(15) == 1
    assert not epochs.truncate_from_start(15)


def test_topic_id_stays_with_the_directory() -> None:
    disk = SimulatedDisk()
    open_log(disk)
    content = disk.read_file("broker-1/orders-0/partition.metadata")
    assert content == b"version: 0\ntopic_id: sm2KO2JWTjK2Eta6C_hkDQ"
    assert read_topic_id(disk, "broker-1/orders-0") == "sm2KO2JWTjK2Eta6C_hkDQ"
    assert open_log(disk, topic_id=None).topic_id == "sm2KO2JWTjK2Eta6C_hkDQ"
    with pytest.raises(KafkaException) as refusal:
        open_log(disk, topic_id="A" * 22)
    assert refusal.value.error is Errors.INCONSISTENT_TOPIC_ID
    disk.replace_file("broker-1/orders-0/partition.metadata", b"version: 1\n")
    with pytest.raises(KafkaException, match=r"partition\.metadata") as refusal:
        open_log(disk)
    assert refusal.value.error is Errors.KAFKA_STORAGE_ERROR


@pytest.mark.parametrize("kind", [OffsetIndex, TimeIndex])
def test_partial_index_entry_remains_until_the_next_write(kind: type[OffsetIndex] | type[TimeIndex]) -> None:
    disk = SimulatedDisk()
    disk.replace_file("0.index", b"\x00" * 5)
    index = kind(disk, "0.index", 0, 240)
    index.load()
    index.trim()
    assert disk.read_file("0.index") == b"\x00" * 5
    index.allocate()
    index.trim()
    assert disk.read_file("0.index") == b""


def test_checkpoints_are_created_empty_and_kept() -> None:
    disk = SimulatedDisk()
    disk.replace_file("b/recovery-point-offset-checkpoint", b"0\n0\n")
    create_checkpoints(disk, "b", has_cleaner=False)
    assert {name: disk.read_file(f"b/{name}") for name in disk.list("b")} == {
        "log-start-offset-checkpoint": b"",
        "recovery-point-offset-checkpoint": b"0\n0\n",
        "replication-offset-checkpoint": b"",
    }
