"""Record batches against bytes and dumps of real Kafka, and against themselves."""

import re

import cramjam
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from broker_core.records.compression import CompressionType, UnreadableRecords, compress, decompress
from broker_core.records.control_record import (
    ControlRecordType,
    build_end_transaction_marker,
    read_end_transaction_marker,
)
from broker_core.records.record_batch import (
    CorruptRecord,
    InvalidRecord,
    SimpleRecord,
    TimestampType,
    build_batch,
    ensure_valid,
    increment_sequence,
    iterate,
    iterate_batches,
    parse_header,
    stamp,
    with_max_timestamp,
)
from broker_core.records.varint import VarintError, VarintTooLong, decode_varint, decode_varlong, encode_varlong
from tests.support.paths import DATA

GOLDEN = DATA / "golden"

# Two vectors that Kafka 3.9's own classes produced.
TWO_RECORDS = bytes.fromhex(
    "00000000000000000000005a00000000028cfc24f2000000000001000001649329d3a6000001649329d3aa"
    "ffffffffffffffffffffffffffff00000002"
    "22000000046b31126d6573736167655f3000"
    "2c00080201126d6573736167655f310402680276026e01"
)
ABORT_MARKER = bytes.fromhex(
    "0000000000000007000000420000000302cf851fdd003000000000000001649329d670000001649329d670"
    "0000000000000fa00002ffffffff00000001"
    "2000000008000000000c00000000000500"
)

int64 = st.integers(-(2**63), 2**63 - 1)
records = st.lists(
    st.tuples(
        st.integers(0, 2**62),
        st.none() | st.binary(max_size=40),
        st.none() | st.binary(max_size=200),
        st.lists(st.tuples(st.text(max_size=8), st.none() | st.binary(max_size=8)), max_size=3),
    ),
    min_size=1,
    max_size=20,
)


def test_batch_has_the_bytes_that_kafka_writes() -> None:
    batch = build_batch(
        [
            SimpleRecord(1531477349286, b"k1", b"message_0"),
            SimpleRecord(1531477349290, None, b"message_1", [("h", b"v"), ("n", None)]),
        ],
        leader_epoch=0,
    )
    assert batch == TWO_RECORDS
    first, second = iterate(TWO_RECORDS)
    assert (first.offset, first.timestamp, first.key, first.value) == (0, 1531477349286, b"k1", b"message_0")
    assert (second.offset, second.timestamp, second.key) == (1, 1531477349290, None)
    assert second.headers == (("h", b"v"), ("n", None))


def test_abort_marker_has_the_bytes_that_kafka_writes() -> None:
    marker = build_end_transaction_marker(
        ControlRecordType.ABORT,
        timestamp=1531477350000,
        producer_id=4000,
        producer_epoch=2,
        coordinator_epoch=5,
        base_offset=7,
        leader_epoch=3,
    )
    assert marker == ABORT_MARKER
    header = parse_header(ABORT_MARKER)
    assert header.is_control and header.is_transactional and header.base_sequence == -1
    assert read_end_transaction_marker(next(iterate(ABORT_MARKER))) == (ControlRecordType.ABORT, 5)


@pytest.mark.parametrize("case", ["01-plain", "02-sparse-index", "03-roll-size"])
def test_reading_a_real_log_gives_what_kafkas_own_tool_prints(case: str) -> None:
    """Each batch and record of DumpLogSegments: offsets, times, sizes, header names, and text where it is text."""
    for path in sorted((GOLDEN / case / "log").glob("*/*.log")):
        dump = (GOLDEN / case / "dump" / path.parent.name / f"{path.name}.txt").read_bytes().decode(errors="replace")
        data = path.read_bytes()
        batches = [
            f"baseOffset: {header.base_offset} lastOffset: {header.last_offset} count: {header.record_count}"
            f" position: {position} CreateTime: {header.max_timestamp} size: {header.size}"
            for position, header in iterate_batches(data)
        ]
        pattern = r"^(baseOffset: \S+ lastOffset: \S+ count: \S+).*?( position: \S+ CreateTime: \S+ size: \S+)"
        assert batches == ["".join(match) for match in re.findall(pattern, dump, re.M)]
        found = [
            f"offset: {record.offset} CreateTime: {record.timestamp} keySize: {_size(record.key)} "
            f"valueSize: {_size(record.value)} headerKeys: [{','.join(name for name, _ in record.headers)}]"
            for record in iterate(data)
        ]
        pattern = r"^\| (offset: \S+ CreateTime: \S+ keySize: \S+ valueSize: \S+) sequence: -1 (headerKeys: \[.*?\])"
        assert found == [" ".join(match) for match in re.findall(pattern, dump, re.M)]


def _size(content: bytes | None) -> int:
    return -1 if content is None else len(content)


@pytest.mark.parametrize(
    ("number", "encoded"),
    [(0, "00"), (-1, "01"), (1, "02"), (-2, "03"), (63, "7e"), (64, "8001"), (-64, "7f"), (-65, "8101"), (300, "d804")],
)
def test_varints_are_zigzag_and_little_endian(number: int, encoded: str) -> None:
    assert encode_varlong(number).hex() == encoded
    assert decode_varint(bytes.fromhex(encoded), 0) == (number, len(encoded) // 2)


@given(int64, st.binary(max_size=3))
def test_varlongs_round_trip(number: int, around: bytes) -> None:
    encoded = encode_varlong(number)
    assert len(encoded) <= 10
    assert decode_varlong(around + encoded + around, len(around)) == (number, len(around) + len(encoded))


def test_overlong_varint_differs_from_a_truncated_one() -> None:
    with pytest.raises(VarintTooLong):
        decode_varint(b"\xff\xff\xff\xff\xff\x01", 0)
    with pytest.raises(VarintError) as cut_off:
        decode_varint(b"\xff\xff", 0)
    assert not isinstance(cut_off.value, VarintTooLong)


@given(records, st.sampled_from(CompressionType), st.integers(0, 2**40), st.integers(-1, 2**31 - 1))
def test_records_round_trip(
    written: list[tuple[int, bytes | None, bytes | None, list[tuple[str, bytes | None]]]],
    codec: CompressionType,
    base_offset: int,
    leader_epoch: int,
) -> None:
    batch = build_batch(written, base_offset=base_offset, leader_epoch=leader_epoch, compression=codec)
    header = parse_header(batch)
    ensure_valid(batch, header)
    assert header.size == len(batch)
    assert (header.base_offset, header.partition_leader_epoch) == (base_offset, leader_epoch)
    assert (header.record_count, header.last_offset) == (len(written), base_offset + len(written) - 1)
    assert header.max_timestamp == max(record[0] for record in written)
    read = list(iterate(batch))
    assert [record.offset for record in read] == list(range(base_offset, base_offset + len(written)))
    assert [(r.timestamp, r.key, r.value, list(r.headers)) for r in read] == [(*r[:3], list(r[3])) for r in written]


@given(st.integers(8, 60 + 25), st.integers(1, 255))
@example(16, 2)
@example(16, 1)
def test_any_changed_byte_covered_by_the_crc_is_detected(at: int, change: int) -> None:
    batch = bytearray(TWO_RECORDS)
    batch[at] ^= change
    header = parse_header(bytes(batch))
    if 12 <= at < 16 or (at == 16 and batch[16] > 1):
        # The leader epoch and the magic are before the CRC; magic 0 and 1 have another CRC.
        ensure_valid(bytes(batch), header)
    else:
        with pytest.raises(CorruptRecord):
            ensure_valid(bytes(batch), header)


def test_stamping_leaves_the_crc_alone() -> None:
    stamped = stamp(TWO_RECORDS, 41, 7)
    header = parse_header(stamped)
    ensure_valid(stamped, header)
    assert (header.base_offset, header.partition_leader_epoch) == (41, 7)
    assert [record.offset for record in iterate(stamped)] == [41, 42]


def test_log_append_time_gives_all_records_the_time_of_the_batch() -> None:
    batch = with_max_timestamp(TWO_RECORDS, TimestampType.LOG_APPEND_TIME, 1_600_000_000_000)
    ensure_valid(batch, parse_header(batch))
    assert [record.timestamp for record in iterate(batch)] == [1_600_000_000_000] * 2
    back = with_max_timestamp(batch, TimestampType.CREATE_TIME, 1531477349290)
    assert back == TWO_RECORDS


def test_sequence_numbers_wrap_to_zero() -> None:
    assert increment_sequence(2147483647, 1) == 0
    assert increment_sequence(2147483645, 5) == 2
    header = parse_header(
        build_batch([(0, b"k", b"v", ())] * 3, producer_id=1, producer_epoch=0, base_sequence=2147483646)
    )
    assert header.last_sequence == 0


def test_partial_batch_at_the_end_is_omitted() -> None:
    for length in range(len(TWO_RECORDS)):
        assert [position for position, _ in iterate_batches(TWO_RECORDS + TWO_RECORDS[:length])] == [0]


@pytest.mark.parametrize(
    "change",
    [
        lambda body: body[:-1],
        lambda body: body + b"\x00",
        lambda body: b"\x24" + body[1:],
        lambda body: b"\x20" + body[1:],
        lambda body: body[:-1] + b"\x02",
    ],
    ids=["cut short", "a byte too many", "length too large", "length too small", "a header that is not there"],
)
def test_records_that_break_the_format_are_refused(change) -> None:
    body = change(bytes.fromhex("22000000046b31126d6573736167655f3000"))
    batch = TWO_RECORDS[:57] + (1).to_bytes(4, "big") + body
    batch = batch[:8] + (len(batch) - 12).to_bytes(4, "big") + batch[12:]
    with pytest.raises(InvalidRecord):
        list(iterate(batch))


@given(st.sampled_from([codec for codec in CompressionType if codec]), st.binary(max_size=100_000))
def test_codecs_round_trip(codec: CompressionType, plain: bytes) -> None:
    assert decompress(codec, compress(codec, plain)) == plain


@pytest.mark.parametrize("codec", [1, 2, 3, 4, 5, 7])
def test_malformed_compressed_data_is_refused(codec: int) -> None:
    with pytest.raises(UnreadableRecords):
        decompress(codec, b"\xffthis was never compressed")


def test_lz4_is_readable_by_kafka() -> None:
    """A frame of version 1 with independent blocks; the Java client cannot read linked ones, so they are refused."""
    frame = compress(CompressionType.LZ4, b"plain text" * 10_000)
    assert frame[:4].hex() == "04224d18"
    assert frame[4] & 0xE0 == 0x60
    with pytest.raises(UnreadableRecords, match="independent"):
        decompress(CompressionType.LZ4, bytes(cramjam.lz4.compress(b"plain text" * 10_000)))


def test_snappy_is_read_with_and_without_framing() -> None:
    assert decompress(CompressionType.SNAPPY, bytes(cramjam.snappy.compress_raw(b"plain text"))) == b"plain text"
    framed = compress(CompressionType.SNAPPY, b"plain text" * 10_000)
    assert framed.startswith(b"\x82SNAPPY\x00\x00\x00\x00\x01\x00\x00\x00\x01")
    with pytest.raises(UnreadableRecords):
        decompress(CompressionType.SNAPPY, framed[:-1])
