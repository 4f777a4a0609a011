"""The batches that old consumers get, against those that Kafka's own classes send them.

`data/down_conversion/java.json` holds, for each input below, magic and offset, the length and the SHA-256 of what
`LazyDownConversionRecords` of kafka-clients 3.9.1 sent.
"""

import hashlib
import json
from typing import Any

import pytest

from broker_core.errors import Errors
from broker_core.records.compression import CompressionType
from broker_core.records.control_record import ControlRecordType, build_end_transaction_marker
from broker_core.records.down_conversion import UnsupportedCompression, down_convert
from broker_core.records.legacy import build_message_set
from broker_core.records.record_batch import build_batch, iterate, iterate_batches, stamp
from broker_core.shell.grammar.transcript import run_command
from broker_core.wire.schemas import BY_NAME
from tests.support.paths import DATA
from tests.support.tcp_conversation import CONFIG, SECOND_US, ask, batch, create, produce_fields, started

JAVA = json.loads((DATA / "down_conversion/java.json").read_text())


def some(base_offset: int, count: int, size: int = 10, **settings: Any) -> bytes:
    """A batch with keys and values that are there or not, headers, and timestamps that go back and forth."""
    records = [
        (
            1000 + n * 7 % 5,
            None if n % 3 == 0 else b"k%d" % n,
            None if n % 4 == 3 else b"v" * size,
            (("h", b"x"),) if n % 2 else (),
        )
        for n in range(count)
    ]
    return build_batch(records, base_offset=base_offset, leader_epoch=1, **settings)


def marker(offset: int) -> bytes:
    built = build_end_transaction_marker(
        ControlRecordType.COMMIT, timestamp=1000, producer_id=5, producer_epoch=0, coordinator_epoch=0
    )
    return stamp(built, offset, 1)


GZIP, LZ4, ZSTD = CompressionType.GZIP, CompressionType.LZ4, CompressionType.ZSTD
PAIR = [(5, 1000, b"k", b"v"), (6, 1001, None, b"w")]
INPUTS = {
    "plain": some(5, 3) + some(8, 2),
    "grows": some(5, 1, size=1),
    "gzip": some(5, 6, compression=GZIP) + some(11, 2),
    "snappy": some(5, 6, compression=CompressionType.SNAPPY),
    "lz4": some(5, 40, compression=LZ4),
    "zstd": some(5, 6, compression=ZSTD),
    "zstd-second": some(5, 3) + some(8, 6, compression=ZSTD),
    "append-time": some(5, 3, append_time=7777) + some(8, 3, append_time=8888, compression=GZIP),
    "marker-first": marker(5) + some(6, 3) + some(9, 2),
    "marker-middle": some(5, 2) + marker(7) + some(8, 2),
    "marker-only": marker(5),
    "empty": b"",
    "cut-off": some(5, 3) + some(8, 3)[:-7],
    "v1": build_message_set(PAIR, 1),
    "v1-gzip": build_message_set([(5, 1000, b"k", b"v" * 30), (6, 1001, None, b"w" * 40)], 1, GZIP),
    "v1-append-time": build_message_set(PAIR, 1, GZIP, 9999),
    "v0": build_message_set([(offset, -1, key, value) for offset, _, key, value in PAIR], 0),
    "mixed": build_message_set(PAIR[:1], 1) + some(6, 2) + some(8, 2, compression=LZ4),
    "shrinks": some(5, 4, 2000, compression=GZIP) + some(9, 1, 5) + some(10, 1, 5) + marker(11) * 3,
    "two-pieces": some(5, 3, 30_000) + some(8, 3, 30_000) + some(11, 3, 30_000) + marker(14) * 3,
}


@pytest.mark.parametrize("name", INPUTS)
def test_old_consumers_get_the_bytes_that_kafka_sends(name: str) -> None:
    for key, expected in JAVA[name].items():
        magic, first_offset = map(int, key.split())
        if expected == "UnsupportedCompressionTypeException":
            with pytest.raises(UnsupportedCompression):
                down_convert(INPUTS[name], magic, first_offset)
        else:
            sent = down_convert(INPUTS[name], magic, first_offset)
            assert [len(sent), hashlib.sha256(sent).hexdigest()] == expected, key


def test_only_requested_batches_are_converted() -> None:
    found = [(record.offset, record.value) for record in iterate(down_convert(INPUTS["plain"], 1, 6))]
    assert found == [(6, b"v" * 10), (7, b"v" * 10), (8, b"v" * 10), (9, b"v" * 10)]


def fetch(topic: str, version: int, *configs: tuple[str, str]) -> tuple[int, bytes]:
    """The error and the records that a consumer of this version gets of a topic with these configurations."""
    run = started()
    leader = create(run, run.connect(0, "127.0.0.1"), topic)
    connection = run.connect(leader, "127.0.0.1")
    (answer,) = ask(run, connection, "Produce", 9, **produce_fields(topic, batch(b"one", b"two"))).responses
    assert answer.partition_responses[0].error_code == 0
    for name, value in configs:
        line = f"kafka-configs.sh --alter --entity-type topics --entity-name {topic} --add-config {name}={value}"
        assert run_command(run, line)[1] == 0
        run.advance(run.now_us + SECOND_US)
    request = BY_NAME["Fetch"].request
    partition = request.FetchPartition(partition=0, fetch_offset=1, partition_max_bytes=1_000_000)
    fields: dict[str, Any] = {
        "max_wait_ms": 100,
        "min_bytes": 1,
        "topics": [request.FetchTopic(topic=topic, partitions=[partition])],
    }
    (topic_answer,) = ask(run, connection, "Fetch", version, **fields).responses
    (row,) = topic_answer.partitions
    return row.error_code, row.records or b""


@pytest.mark.parametrize(("version", "magic", "values"), [(1, 0, [b"two"]), (3, 1, [b"two"]), (4, 2, [b"one", b"two"])])
def test_version_of_a_fetch_decides_the_format_of_the_answer(version: int, magic: int, values: list[bytes]) -> None:
    error, records = fetch("old", version)
    assert error == 0
    assert {header.magic for _, header in iterate_batches(records)} == {magic}
    assert [(record.offset, record.value) for record in iterate(records)] == list(
        zip(range(2 - len(values), 2), values, strict=True)
    )
    stamped = {record.timestamp for record in iterate(records)}
    assert stamped == ({-1} if magic == 0 else {CONFIG.start_wall_ms})


def test_topic_can_disable_down_conversion() -> None:
    assert fetch("strict", 3, ("message.downconversion.enable", "false")) == (
        Errors.UNSUPPORTED_VERSION.code,
        b"",
    )
    assert fetch("strict", 4, ("message.downconversion.enable", "false"))[0] == 0


def test_consumers_without_zstd_get_an_error() -> None:
    assert fetch("z", 9, ("compression.type", "zstd"))[0] == Errors.UNSUPPORTED_COMPRESSION_TYPE.code
    assert fetch("z", 10, ("compression.type", "zstd"))[0] == 0
