"""The bytes of the codecs against those of Kafka's own libraries, and levels that act when a broker recompresses.

`data/compression/java.json` holds, for each input, codec and level, the length and the SHA-256 of what the streams of
`org.apache.kafka.common.compress` wrote (kafka-clients 3.9.1, zstd-jni 1.5.6-4, lz4-java 1.8.0, snappy-java 1.1.10.5).
"""

import hashlib
import json
from typing import Any

import pytest

from broker_core.log import LogConfig, UnifiedLog
from broker_core.records.compression import CompressionType, compress, decompress
from broker_core.records.record_batch import build_batch, iterate_batches, iterate_records, records_bytes
from broker_core.sim.simulated_disk import SimulatedDisk
from tests.support.paths import DATA

JAVA = json.loads((DATA / "compression/java.json").read_text())
#: Where the library is another release than Kafka's, and chooses otherwise in long inputs.
OTHER_LIBRARY = {("zstd", 0), ("zstd", 3), ("zstd", 4), ("lz4", 1), ("lz4", 2)}
SHORT_BYTES = 1000


def noise(size: int, seed: int = 7) -> bytes:
    """Bytes that no codec can shorten."""
    return b"".join(hashlib.sha256(b"%d %d" % (seed, block)).digest() for block in range(size // 32 + 1))[:size]


def words(size: int) -> bytes:
    """A text of a few hundred words in random order."""
    dictionary = [noise(2 + index % 8, index).hex().encode() for index in range(300)]
    picked = noise(size, 1)
    chosen = (dictionary[(picked[at] * 256 + picked[at + 1]) % 300] for at in range(0, size - 1, 2))
    return b" ".join(chosen)[:size]


INPUTS = {
    "byte": b"x",
    "text-70": words(70),
    "text-1000": words(1000),
    "text-5000": words(5000),
    "text-40000": words(40_000),
    "text-70000": words(70_000),
    "noise": noise(3000),
    "run": b"a" * 50_000,
    "mixed": words(3000) + noise(3000) + words(20_000) + bytes(3000),
}


def cases() -> list[tuple[str, str, int]]:
    return [(name, *_codec_and_level(key)) for name, rows in JAVA.items() for key in rows]


def _codec_and_level(key: str) -> tuple[str, int]:
    codec, _, level = key.partition(" ")
    return codec, int(level)


@pytest.mark.parametrize("codec", ["gzip", "snappy", "lz4", "zstd"])
def test_bytes_are_those_of_kafkas_libraries(codec: str) -> None:
    compared = 0
    for name, its_codec, level in cases():
        if its_codec != codec:
            continue
        data = INPUTS[name]
        written = compress(CompressionType.for_name(codec), data, level=level)
        assert decompress(CompressionType.for_name(codec), written) == data
        if (codec, level) in OTHER_LIBRARY and len(data) > SHORT_BYTES:
            continue
        found = [len(written), hashlib.sha256(written).hexdigest()]
        assert found == JAVA[name][f"{codec} {level}"], f"{codec} level {level} of {name}"
        compared += 1
    assert compared >= len(INPUTS)


@pytest.mark.parametrize(("codec", "level"), [("gzip", -1), ("lz4", 9), ("zstd", 3)])
def test_missing_level_is_the_default(codec: str, level: int) -> None:
    kind = CompressionType.for_name(codec)
    assert compress(kind, INPUTS["text-5000"]) == compress(kind, INPUTS["text-5000"], level=level)


def _append(batch: bytes, **configs: Any) -> bytes:
    disk = SimulatedDisk()
    log = UnifiedLog.load(disk, "logs/t-0", "t", 0, LogConfig(**configs), now_ms=0, clean_shutdown=True)
    log.append_as_leader(batch, 0, 0)
    return log.read(0, 1 << 20).data


BATCH = [(1000 + n, b"k%d" % n, INPUTS["text-5000"], ()) for n in range(4)]


@pytest.mark.parametrize(("codec", "low", "high"), [("gzip", 1, 9), ("lz4", 3, 12), ("zstd", -5, 19)])
def test_topics_compression_level_applies_when_recompressing(codec: str, low: int, high: int) -> None:
    plain = build_batch(BATCH)
    sizes = []
    for level in (low, high):
        name = f"compression_{codec}_level"
        stored = _append(plain, compression_type=codec, **{name: level})
        ((position, header),) = iterate_batches(stored)
        kind = CompressionType.for_name(codec)
        assert stored[61:] == compress(kind, records_bytes(plain, next(iterate_batches(plain))[1]), level=level)
        assert [record.value for record in iterate_records(stored, header, position)] == [row[2] for row in BATCH]
        sizes.append(len(stored))
    assert sizes[1] < sizes[0]


def test_batch_that_came_in_the_topics_codec_keeps_its_level() -> None:
    sent = build_batch(BATCH, compression=CompressionType.GZIP, compression_level=1)
    assert _append(sent, compression_type="gzip", compression_gzip_level=9)[61:] == sent[61:]


def test_level_of_another_codec_is_ignored() -> None:
    plain = build_batch(BATCH)
    assert _append(plain, compression_type="gzip", compression_zstd_level=19) == _append(plain, compression_type="gzip")
