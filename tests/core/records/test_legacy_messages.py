"""Messages of magic 0 and 1: against the files of a real broker and its dumps, and against themselves."""

import re
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_core.config_defs import topic_values
from broker_core.errors import Errors, KafkaException
from broker_core.log import LogConfig, UnifiedLog
from broker_core.records import lz4_frame
from broker_core.records.compression import CompressionType, UnreadableRecords, compress, decompress
from broker_core.records.legacy import KeyedRecord, build_message_set, encode_message, read_message
from broker_core.records.record import CorruptRecord, InvalidRecord
from broker_core.records.record_batch import build_batch, ensure_valid, iterate, iterate_batches, parse_header
from broker_core.sim.disk import SimulatedDisk
from tests.support.paths import DATA

GOLDEN = DATA / "golden"
NOW_MS = 1_760_000_000_000
CODECS = [CompressionType.NONE, CompressionType.GZIP, CompressionType.SNAPPY, CompressionType.LZ4]

messages = st.lists(
    st.tuples(st.integers(-1, 2**62), st.none() | st.binary(max_size=30), st.none() | st.binary(max_size=100)),
    min_size=1,
    max_size=20,
)


@pytest.mark.parametrize("case", ["16-format-v0", "16-format-v1"])
def test_reading_a_real_log_gives_what_kafkas_own_tool_prints(case: str) -> None:
    for path in sorted((GOLDEN / case / "log").glob("*/*.log")):
        dump = (GOLDEN / case / "dump" / path.parent.name / f"{path.name}.txt").read_text()
        data = path.read_bytes()
        for position, header in iterate_batches(data):
            ensure_valid(data, header, position)
        found = [
            f"offset: {header.last_offset} position: {position} {_time(header.magic, header.max_timestamp)} "
            f"size: {header.size} magic: {header.magic}"
            for position, header in iterate_batches(data)
        ]
        assert found == re.findall(r"^(offset: \S+ position: \S+ \S+ \S+ size: \S+ magic: \S+)", dump, re.M)
        magic = 0 if case.endswith("v0") else 1
        records = [
            f"offset: {record.offset} {_time(magic, record.timestamp)} keySize: {_size(record.key)} "
            f"valueSize: {_size(record.value)}"
            for record in iterate(data)
        ]
        assert records == re.findall(r"^\| (offset: \S+ \S+ \S+ keySize: \S+ valueSize: \S+)", dump, re.M)


def _time(magic: int, timestamp: int) -> str:
    return f"CreateTime: {timestamp}" if magic else "NoTimestampType: -1"


def _size(content: bytes | None) -> int:
    return -1 if content is None else len(content)


@given(messages, st.sampled_from([0, 1]), st.sampled_from(CODECS), st.integers(0, 2**40))
def test_messages_round_trip(
    written: list[tuple[int, bytes | None, bytes | None]], magic: int, codec: CompressionType, base_offset: int
) -> None:
    records: list[KeyedRecord] = [
        (base_offset + number, timestamp, key, value) for number, (timestamp, key, value) in enumerate(written)
    ]
    data = build_message_set(records, magic, codec)
    headers = list(iterate_batches(data))
    assert len(headers) == (1 if codec else len(records))
    assert headers[-1][1].last_offset == base_offset + len(records) - 1
    for position, header in headers:
        ensure_valid(data, header, position)
    found = [(record.offset, record.timestamp, record.key, record.value) for record in iterate(data)]
    assert found == [(offset, timestamp if magic else -1, key, value) for offset, timestamp, key, value in records]


@given(messages, st.sampled_from([0, 1]), st.data())
def test_flipped_bit_is_detected(
    written: list[tuple[int, bytes | None, bytes | None]], magic: int, data: st.DataObject
) -> None:
    message = bytearray(encode_message(magic, 0, 7, *written[0]))
    at = data.draw(st.integers(12, len(message) - 1))
    message[at] ^= 1 << data.draw(st.integers(0, 7))
    with pytest.raises(CorruptRecord):
        read_message(bytes(message)).ensure_valid()


def test_log_append_time_of_a_wrapper_applies_to_inner_messages() -> None:
    data = build_message_set([(5, 1, b"k", b"v"), (6, 2, None, None)], 1, CompressionType.GZIP, append_time=NOW_MS)
    assert [record.timestamp for record in iterate(data)] == [NOW_MS, NOW_MS]
    assert parse_header(data).has_append_time


@pytest.mark.parametrize(
    ("inner", "outer_offset", "offsets"),
    [((0, 1, 2), 9, [7, 8, 9]), ((0, 1, 2), 0, [0, 1, 2]), ((0, 0, 0), 2, [2, 2, 2]), ((0, 2), 2, [0, 2])],
)
def test_inner_offsets_are_relative_to_the_wrapper(
    inner: tuple[int, ...], outer_offset: int, offsets: list[int]
) -> None:
    data = b"".join(encode_message(1, 0, offset, NOW_MS, b"k", b"v") for offset in inner)
    wrapper = encode_message(1, 1, outer_offset, NOW_MS, None, compress(CompressionType.GZIP, data))
    assert [message.offset for message in read_message(wrapper).records()] == offsets


@pytest.mark.parametrize(
    ("attributes", "value", "fault"),
    [
        (1, b"", UnreadableRecords),
        (1, compress(CompressionType.GZIP, b""), InvalidRecord),
        (1, None, InvalidRecord),
        (4, b"", InvalidRecord),
        (7, b"", UnreadableRecords),
        (1, compress(CompressionType.GZIP, bytes(8) + b"\x00\x00\x00\x05" + bytes(20)), CorruptRecord),
        (1, compress(CompressionType.GZIP, encode_message(1, 1, 0, 0, None, b"")), InvalidRecord),
        (1, compress(CompressionType.GZIP, encode_message(1, 0, 9, 0, None, b"")), InvalidRecord),
    ],
)
def test_undecodable_wrapper_is_reported(attributes: int, value: bytes | None, fault: type[Exception]) -> None:
    with pytest.raises(fault):
        read_message(encode_message(1, attributes, 3, NOW_MS, None, value)).records()


def test_log_of_magic_1_has_no_leader_epochs() -> None:
    disk = SimulatedDisk()
    config = LogConfig(message_format_version="0.10.2", index_interval_bytes=100)
    log = UnifiedLog.load(disk, "b/t-0", "t", 0, config, now_ms=NOW_MS, clean_shutdown=True)
    log.append_as_leader(build_batch([(NOW_MS + number, b"k", b"v" * 40, ()) for number in range(6)]), 4, NOW_MS)
    info = log.append_as_leader(build_batch([(NOW_MS, b"k", b"v", ())] * 3, compression=CompressionType.LZ4), 4, NOW_MS)
    assert (info.first_offset, info.last_offset, info.record_count) == (6, 8, 3)
    assert [(batch.base_offset, batch.last_offset, batch.leader_epoch) for batch in info.batches] == [(6, 8, -1)]
    assert log.leader_epoch_cache.entries == ()
    assert "leader-epoch-checkpoint" not in dict(log.describe_files())
    stored = log.read(0, 1 << 20).data
    assert [record.offset for record in iterate(stored)] == list(range(9))
    assert {header.magic for _, header in iterate_batches(stored)} == {1}
    for offset in range(9):
        first = next(iterate_batches(log.read(offset, 0).data))[1]
        assert first.last_offset == (offset if offset < 6 else 8)
    found = log.offset_for_timestamp(NOW_MS + 4)
    assert found is not None and found.offset == 4


@pytest.mark.parametrize("clean", [True, False])
@pytest.mark.parametrize("version", ["0.9.0", "0.10.2"])
def test_log_of_old_messages_is_reopened(version: str, clean: bool) -> None:
    """Its last message is the smallest there is: shorter than the header of a batch."""
    disk = SimulatedDisk()
    config = LogConfig(message_format_version=version)
    log = UnifiedLog.load(disk, "b/t-0", "t", 0, config, now_ms=NOW_MS, clean_shutdown=True)
    for _ in range(3):
        log.append_as_leader(build_batch([(NOW_MS, None, None, ())]), 0, NOW_MS)
    before = log.read(0, 1 << 20).data
    log.close(clean)
    again = UnifiedLog.load(disk, "b/t-0", "t", 0, config, now_ms=NOW_MS, clean_shutdown=clean)
    assert again.log_end_offset == 3
    assert again.read(0, 1 << 20).data == before
    assert again.read(2, 1 << 20).next_offset == 3
    damaged = bytearray(before)
    damaged[-1] ^= 1
    disk.replace_file("b/t-0/00000000000000000000.log", bytes(damaged))
    cut = UnifiedLog.load(disk, "b/t-0", "t", 0, config, now_ms=NOW_MS, clean_shutdown=False)
    assert cut.log_end_offset == 2


def test_follower_of_old_formats_clears_epochs() -> None:
    log = UnifiedLog.load(SimulatedDisk(), "b/t-0", "t", 0, LogConfig(), now_ms=NOW_MS, clean_shutdown=True)
    log.append_as_follower(build_batch([(NOW_MS, b"k", b"v", ())], leader_epoch=3), NOW_MS)
    assert log.leader_epoch_cache.entries == ((3, 0),)
    wrapper = build_message_set([(1, NOW_MS, b"k", b"v"), (2, NOW_MS, b"k", b"v")], 1, CompressionType.GZIP)
    info = log.append_as_follower(wrapper, NOW_MS)
    assert (info.first_offset, info.last_offset) == (1, 2)
    assert log.leader_epoch_cache.entries == ()
    assert [record.offset for record in iterate(log.read(0, 1 << 20).data)] == [0, 1, 2]


def test_messages_without_timestamps_are_not_found_by_time() -> None:
    config = LogConfig(message_format_version="0.9.0")
    log = UnifiedLog.load(SimulatedDisk(), "b/t-0", "t", 0, config, now_ms=NOW_MS, clean_shutdown=True)
    log.append_as_leader(build_batch([(NOW_MS, b"k", b"v", ())]), 0, NOW_MS)
    for search in (lambda: log.offset_for_timestamp(0), log.offset_of_max_timestamp):
        with pytest.raises(KafkaException) as refusal:
            search()
        assert refusal.value.error is Errors.UNSUPPORTED_FOR_MESSAGE_FORMAT


@pytest.mark.parametrize(
    ("broker", "topic", "magic"),
    [
        ({}, {"message.format.version": "0.9.0"}, 2),
        ({"inter.broker.protocol.version": "3.0"}, {"message.format.version": "0.10.2"}, 2),
        ({"inter.broker.protocol.version": "2.8"}, {"message.format.version": "0.10.2"}, 1),
        ({"inter.broker.protocol.version": "2.8", "log.message.format.version": "0.9.0"}, {}, 0),
        (
            {"inter.broker.protocol.version": "2.8", "log.message.format.version": "0.9.0"},
            {"message.format.version": "0.11.0"},
            2,
        ),
        ({"inter.broker.protocol.version": "2.8"}, {}, 2),
    ],
)
def test_only_old_brokers_write_old_formats(broker: dict[str, str], topic: dict[str, str], magic: int) -> None:
    """From 3.0 on, brokers that speak the new protocol with each other know one format (KIP-724)."""
    assert LogConfig.of(topic_values(broker, topic)).magic == magic


def test_producer_ids_are_refused_in_old_formats() -> None:
    config = LogConfig(message_format_version="0.10.2")
    log = UnifiedLog.load(SimulatedDisk(), "b/t-0", "t", 0, config, now_ms=NOW_MS, clean_shutdown=True)
    batch = build_batch([(NOW_MS, b"k", b"v", ())], producer_id=1, producer_epoch=0, base_sequence=0)
    with pytest.raises(KafkaException) as refusal:
        log.append_as_leader(batch, 0, NOW_MS)
    assert refusal.value.error is Errors.UNSUPPORTED_FOR_MESSAGE_FORMAT


@given(st.binary(max_size=300) | st.integers(60_000, 140_000).map(bytes), st.sampled_from([0, 2]))
def test_lz4_frames_round_trip(data: bytes, magic: int) -> None:
    frame = compress(CompressionType.LZ4, data, magic)
    assert decompress(CompressionType.LZ4, frame, magic) == data
    # What follows the end mark does not count; the header's checksum is that of the magic.
    assert decompress(CompressionType.LZ4, frame + b"more", magic) == data
    if magic == 0:
        with pytest.raises(UnreadableRecords, match="header"):
            decompress(CompressionType.LZ4, frame, 2)


@pytest.mark.parametrize(
    ("data", "digest"),
    [(b"", 0x02CC5D05), (b"abc", 0x32D153FF), (b"Nobody inspects the spammish repetition", 0xE2293B2F)],
)
def test_xxh32_has_the_published_values(data: bytes, digest: int) -> None:
    assert lz4_frame.xxh32(data) == digest


def test_bytes_after_a_compressed_stream_are_handled_as_by_kafkas_libraries() -> None:
    gzip, snappy = (compress(codec, b"text") for codec in (CompressionType.GZIP, CompressionType.SNAPPY))
    assert decompress(CompressionType.GZIP, gzip + gzip) == b"texttext"
    assert decompress(CompressionType.GZIP, gzip + b"something else that is long") == b"text"
    assert decompress(CompressionType.SNAPPY, snappy + snappy) == b"texttext"
    assert decompress(CompressionType.SNAPPY, snappy + b"abc") == b"text"
    assert decompress(CompressionType.ZSTD, b"") == b""
    for codec, data in ((CompressionType.GZIP, b""), (CompressionType.GZIP, gzip[:-1]), (CompressionType.LZ4, b"")):
        with pytest.raises(UnreadableRecords):
            decompress(codec, data)


def test_snappy_block_cannot_claim_gigabytes() -> None:
    with pytest.raises(UnreadableRecords, match="gives its uncompressed length as"):
        decompress(CompressionType.SNAPPY, b"\xff\xff\xff\xff\x0f" + bytes(100))


def test_gzip_stream_has_a_crc_of_its_own() -> None:
    stream = bytearray(compress(CompressionType.GZIP, b"text" * 50))
    stream[-8] ^= 1
    with pytest.raises(UnreadableRecords):
        decompress(CompressionType.GZIP, bytes(stream))
    assert zlib.crc32(b"text" * 50) == int.from_bytes(compress(CompressionType.GZIP, b"text" * 50)[-8:-4], "little")
