"""What each byte of a file is, and how an offset is found, derived from the bytes."""

import random
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from broker_core.log import LogConfig, UnifiedLog
from broker_core.log.annotate.annotations import AnnotatedField, Part
from broker_core.log.annotate.files import (
    annotate_checkpoint,
    annotate_index,
    annotate_properties,
    annotate_snapshot,
    annotate_time_index,
    annotate_transaction_index,
)
from broker_core.log.annotate.log_file import annotate_log
from broker_core.log.index.time_index import TimeIndex
from broker_core.log.lookup import SegmentSizes, look_up_offset, look_up_timestamp
from broker_core.log.producers.producer_snapshot import encode_snapshot
from broker_core.log.producers.producer_state_entry import BatchMetadata, ProducerStateEntry
from broker_core.records.compression import CompressionType
from broker_core.records.record_batch import build_batch, iterate
from broker_core.sim.disk import SimulatedDisk
from lab.recordings.disk.broker_disk import look_up, page, tree
from lab.recordings.disk.example_disk import ExampleDisk
from lab.texts.i18n import catalogue
from tests.support.paths import DATA, ROOT

EVERYTHING = range(10**9)
GOLDEN = DATA / "golden"
GOLDEN_LOGS = sorted(GOLDEN.glob("*/log/*/*.log"))
RECORDS = [(1000, b"anna", b"42 apples", ()), (1005, None, None, (("trace", b"7"), ("empty", None)))]


def covers(parts: list[Part], data: bytes) -> None:
    """Each byte of the parts belongs to one field, in order."""
    for part in parts:
        at = part.position
        for field in part.fields:
            assert field.position == at, field
            at += field.length
        assert at == part.position + part.size
    assert parts[-1].position + parts[-1].size == len(data)


def named(part: Part, name: str) -> list[AnnotatedField]:
    return [field for field in part.fields if field.name == name]


def test_every_byte_of_a_batch_is_a_field_with_its_value() -> None:
    data = build_batch(RECORDS, base_offset=42, leader_epoch=6, producer_id=4001, producer_epoch=3, base_sequence=17)
    (batch,) = parts = annotate_log(data, 0, EVERYTHING)
    covers(parts, data)
    values = {field.name: field.value for field in batch.fields if field.offset is None}
    assert values["baseOffset"] == "42"
    assert (values["partitionLeaderEpoch"], values["producerId"], values["producerEpoch"]) == ("6", "4001", "3")
    assert (values["baseSequence"], values["maxTimestamp"], values["recordsCount"]) == ("17", "1005", "2")
    assert [field.value for field in named(batch, "key")] == ["anna"]
    assert [field.value for field in named(batch, "value")] == ["42 apples"]
    assert [field.value for field in named(batch, "header")] == ["trace: 7", "empty: null"]
    assert [field.says for field in named(batch, "valueLength")] == ["record.value_length", "record.tombstone"]
    assert [(place.offset, place.position + place.size) for place in batch.records][-1] == (43, len(data))


def test_field_reads_back_from_its_bytes() -> None:
    data = build_batch(RECORDS, base_offset=42)
    (batch,) = annotate_log(data, 0, EVERYTHING)
    for field in (*named(batch, "key"), *named(batch, "value")):
        assert data[field.position : field.position + field.length].decode() == field.value
    for name in ("baseOffset", "batchLength", "maxTimestamp", "recordsCount"):
        (field,) = named(batch, name)
        assert int.from_bytes(data[field.position : field.position + field.length], "big", signed=True) == int(
            field.value
        )


def test_only_records_in_the_window_are_decoded() -> None:
    data = build_batch([(0, None, b"x" * 50, ())] * 100)
    (batch,) = annotate_log(data, 0, range(1000, 1100))
    shown = {field.offset for field in batch.fields if field.offset is not None}
    assert len(batch.records) == 100
    assert 2 <= len(shown) <= 4


@pytest.mark.parametrize("compression", [one for one in CompressionType if one])
def test_compressed_records_are_one_field(compression: CompressionType) -> None:
    data = build_batch(RECORDS * 10, base_offset=5, compression=compression)
    (batch,) = parts = annotate_log(data, 0, EVERYTHING)
    covers(parts, data)
    (records,) = named(batch, "records")
    assert records.value == compression.name.lower()
    assert records.values["n"] == 20
    assert {place.size for place in batch.records} == {0}


def test_control_marker_is_annotated_with_its_decision() -> None:
    key, value = (0).to_bytes(2, "big") + (1).to_bytes(2, "big"), bytes(6)
    data = build_batch([(1, key, value, ())], producer_id=7, producer_epoch=0, is_transactional=True, is_control=True)
    (batch,) = annotate_log(data, 0, EVERYTHING)
    assert [field.value for field in named(batch, "key")] == ["COMMIT"]
    assert "transactional control" in named(batch, "attributes")[0].value


def test_corrupt_batch_torn_tail_and_preallocated_bytes_are_annotated() -> None:
    data = build_batch(RECORDS)
    damaged = bytearray(data)
    damaged[-1] ^= 1
    (batch,) = annotate_log(bytes(damaged), 0, EVERYTHING)
    assert batch.fault == "crc"
    assert named(batch, "crc")[0].says == "batch.crc_bad"
    assert [part.kind for part in annotate_log(data + data[:40], 0, EVERYTHING)] == ["batch", "torn"]
    assert [part.kind for part in annotate_log(data + bytes(40), 0, EVERYTHING)] == ["batch", "room"]


@given(data=st.binary(max_size=200), at=st.integers(0, 300), more=st.binary(max_size=40))
@settings(max_examples=200, deadline=None)
def test_undecodable_bytes_are_annotated_as_invalid(data: bytes, at: int, more: bytes) -> None:
    """Whatever a file contains, each byte has its field and nothing is raised."""
    batch = build_batch(RECORDS)
    for content in (data, batch[:at] + data + batch[at:], batch[:at] + more + batch[at + len(more) :]):
        parts = annotate_log(content, 0, EVERYTHING)
        assert sum(part.size for part in parts) == len(content)
        for annotated in (
            annotate_snapshot(content),
            annotate_checkpoint(content, ["n"]),
            annotate_properties(content),
        ):
            assert all(field.length >= 0 for part in annotated for field in part.fields)


@pytest.mark.parametrize("path", GOLDEN_LOGS, ids=lambda path: f"{path.parents[2].name}/{path.name}")
def test_files_of_a_real_kafka(path: Path) -> None:
    data = path.read_bytes()
    if not data:
        return
    parts = annotate_log(data, 0, EVERYTHING)
    covers(parts, data)
    assert not any(part.fault for part in parts)
    base = int(path.stem)
    index = path.with_suffix(".index").read_bytes()
    starts = {part.position: part.last_offset for part in parts}
    for entry in annotate_index(index, 0, base):
        assert starts[entry.fields[1].target or 0] == entry.first_offset
    times = annotate_time_index(path.with_suffix(".timeindex").read_bytes(), 0, base)
    assert [int(one.fields[0].value) for one in times] == sorted(int(one.fields[0].value) for one in times)


def test_index_snapshot_and_transaction_entries() -> None:
    (entry,) = annotate_index(bytes.fromhex("000009b70000bfd7"), 0, 0)
    assert [(field.name, field.value) for field in entry.fields] == [("relativeOffset", "2487"), ("position", "49111")]
    producer = ProducerStateEntry(4000)
    producer.producer_epoch, producer.last_timestamp = 2, 99
    producer.current_transaction_first_offset = 17
    producer.batches.append(BatchMetadata(9, 21, 4, 99))
    data = encode_snapshot([producer])
    header, one = parts = annotate_snapshot(data)
    covers(parts, data)
    assert header.fault == ""
    assert {field.name: field.value for field in one.fields}["currentTxnFirstOffset"] == "17"
    assert annotate_snapshot(data[:2] + b"xxxx" + data[6:])[0].fault == "crc"
    aborted = annotate_transaction_index(
        b"".join(number.to_bytes(size, "big") for number, size in ((0, 2), (7, 8), (10, 8), (20, 8), (21, 8))), 0
    )
    assert [field.value for field in aborted[0].fields] == ["0", "7", "10", "20", "21"]


def test_lines_of_text_files() -> None:
    lines = annotate_checkpoint(b"0\n1\norders 0 42\n", ("topic", "partition", "offset"))
    assert [[(field.name, field.value) for field in line.fields] for line in lines] == [
        [("version", "0")],
        [("entries", "1")],
        [("topic", "orders"), ("partition", "0"), ("offset", "42")],
    ]
    comment, version = annotate_properties(b"#Mon\nbroker.id=1\n")
    assert comment.fields[0].name == "comment"
    assert [(field.name, field.value, field.position) for field in version.fields] == [
        ("name", "broker.id", 5),
        ("broker.id", "1", 15),
    ]


# Finding


def random_log(seed: int, format_version: str = "3.0") -> UnifiedLog:
    """Several segments of batches of all sizes, with timestamps that mostly rise."""
    chance = random.Random(seed)
    config = LogConfig(
        segment_bytes=20_000,
        segment_index_bytes=2_000,
        index_interval_bytes=700,
        message_format_version=format_version,
        compression_type="gzip" if format_version != "3.0" and seed % 2 else "producer",
    )
    log = UnifiedLog.load(SimulatedDisk(), "broker-1/orders-0", "orders", 0, config, now_ms=0, clean_shutdown=True)
    for n in range(300):
        records = [
            (1000 + 10 * n + chance.randrange(-30, 30), None, b"v" * chance.randrange(90), ())
            for _ in range(chance.randrange(1, 6))
        ]
        log.append_as_leader(build_batch(records), 0, 0)
    return log


@pytest.mark.parametrize(
    ("seed", "format_version"),
    [(0, "3.0"), (1, "3.0"), (2, "3.0"), (3, "3.0"), (0, "0.10.2"), (1, "0.10.2"), (1, "0.9.0")],
)
def test_lookup_steps_match_the_lookup_of_the_log(seed: int, format_version: str) -> None:
    log = random_log(seed, format_version)
    segments = [
        SegmentSizes(one.base_offset, one.size, one.offset_index.entries, one.time_index.entries)
        for one in log.segments
    ]
    assert len(segments) > 1
    by_base = {one.base_offset: one for one in log.segments}

    def read(base_offset: int, suffix: str, position: int, length: int) -> bytes:
        segment = by_base[base_offset]
        assert isinstance(segment.time_index, TimeIndex)
        indexes = {"index": segment.offset_index.file.open(), "timeindex": segment.time_index.file.open()}
        files = {"log": segment.log} | indexes
        return files[suffix].read(position, length)

    for offset in range(0, log.log_end_offset, 7):
        steps = look_up_offset(segments, read, offset)
        assert steps.scanned[-1].is_it
        assert by_base[steps.floor].find(offset) == steps.scanned[-1].position
        assert steps.search is not None
        assert steps.search.value == by_base[steps.floor].offset_index.lookup(offset)
        assert len(steps.search.probes) <= max(steps.search.entries, 1).bit_length()
        data = by_base[steps.floor].log.read(steps.scanned[-1].position, steps.scanned[-1].size)
        assert [record.offset for record in iterate(data)][steps.skipped] == steps.found == offset
    for timestamp in range(960, 4100, 13) if format_version != "0.9.0" else ():
        found = log.offset_for_timestamp(timestamp)
        steps = look_up_timestamp(segments, read, timestamp)
        assert (steps.found, steps.found_timestamp) == ((found.offset, found.timestamp) if found else (-1, -1))
    assert look_up_offset(segments, read, log.log_end_offset).found == -1
    assert look_up_offset(segments[1:], read, 0).floor == -1


# The example, and the page's questions about it


def test_textbook_example_is_decoded() -> None:
    """Offset 2490: the index entry [2487, 49111], then the batches from there."""
    steps = look_up(ExampleDisk(), "orders-0", 2490, None)
    assert steps.floor == 0
    assert steps.search is not None
    assert (steps.search.key, steps.search.value) == (2487, 49111)
    assert [batch.is_it for batch in steps.scanned] == [False, True]
    assert (steps.found, steps.skipped) == (2490, 2)


def test_page_of_the_example() -> None:
    disk = ExampleDisk()
    files = {file["name"]: file for file in tree(disk)[0]["files"]}
    assert [file["state"] for name, file in files.items() if name.endswith(".log")] == ["rolled", "active"]
    active = files["00000000000000003600.log"]
    assert 0 < active["flushed"] < active["bytes"]
    shown = page(disk, "orders-0/00000000000000000000.log", 49111)
    assert shown["index"] == [{"slot": 10, "offset": 2487, "position": 49111}]
    assert shown["from"] <= 49111 < shown["to"]
    for name, file in files.items():
        position = 0
        while position < file["bytes"]:
            shown = page(disk, f"orders-0/{name}", position)
            covered = {
                at
                for part in shown["parts"]
                for field in part["fields"]
                for at in range(field["position"], field["position"] + field["length"])
            }
            assert set(range(shown["from"], shown["to"])) <= covered
            position = shown["to"]


def test_every_sentence_has_its_text() -> None:
    """Fields are explained by keys; the page has a text for each."""
    folder = ROOT / "broker_core" / "log" / "annotate"
    source = "".join(path.read_text(encoding="utf-8") for path in folder.glob("*.py"))
    families = "batch|record|index|timeindex|txnindex|snapshot|legacy|log|text"
    keys = set(re.findall(rf'"((?:{families})\.[a-z_]+)"', source))
    assert len(keys) > 60
    for language in ("en", "zh-CN"):
        assert {key for key in keys if f"field.{key}" not in catalogue(language)} == set()
