"""Compaction of logs that hold messages of magic 0 and 1, as brokers before 0.11 wrote them."""

from typing import Any

import pytest

from broker_core.log.cleaner import Fate
from broker_core.records.compression import CompressionType
from broker_core.records.legacy import build_message_set
from broker_core.records.record_batch import ensure_valid, iterate_batches
from tests.support.cleaned_log import NOW_MS, RETENTION_MS, CleanedLog

PLAIN, GZIP = CompressionType.NONE, CompressionType.GZIP
FORMATS = {0: "0.9.0", 1: "0.10.2"}


class OldLog(CleanedLog):
    """The same log in an old format."""

    def __init__(self, magic: int, **settings: Any) -> None:
        super().__init__(message_format_version=FORMATS[magic], **settings)
        self.magic = magic

    def put_set(self, pairs: str, codec: CompressionType = PLAIN, at_ms: int = NOW_MS) -> None:
        """Messages one by one, or all in one wrapper."""
        parts = [pair.partition(":") for pair in pairs.split()]
        records = [
            (offset, at_ms + offset, key.encode(), None if value == "null" else value.encode())
            for offset, (key, _, value) in enumerate(parts)
        ]
        for piece in [records] if codec else [[(0, *record[1:])] for record in records]:
            self.log.append_as_leader(build_message_set(piece, self.magic, codec), 0, at_ms)

    def check(self) -> None:
        for segment in self.log.segments:
            data = segment.log.read(0, segment.size)
            for position, header in iterate_batches(data):
                ensure_valid(data, header, position)
                assert header.magic == self.magic


@pytest.mark.parametrize("magic", [0, 1])
def test_last_value_of_each_key_stays(magic: int) -> None:
    log = OldLog(magic)
    log.put_set("a:1 b:1 a:2 c:1 c:2 b:2 a:3 d:1 d:2 e:1 f:1 g:1")
    log.roll()
    facts = log.clean()
    assert log.pairs == "4=c:2 5=b:2 6=a:3 8=d:2 9=e:1 10=f:1 11=g:1"
    assert dict(facts.counts) == {Fate.KEPT: 7, Fate.SUPERSEDED: 5}
    log.check()


@pytest.mark.parametrize("codec", [GZIP, CompressionType.SNAPPY, CompressionType.LZ4])
@pytest.mark.parametrize("magic", [0, 1])
def test_wrapper_message_drops_superseded_records_and_keeps_offsets_and_times(
    magic: int, codec: CompressionType
) -> None:
    log = OldLog(magic, segment_bytes=1000)
    log.put_set("a:1 b:1 c:1 d:1", codec)
    log.put_set("a:2 d:2", codec)
    log.put_set("x:1 y:1 z:1", codec)
    log.roll()
    untouched = log.log.segments[0].log.read(0, log.log.segments[0].size)[-log.batches[-1].size :]
    log.clean()
    assert log.pairs == "1=b:1 2=c:1 4=a:2 5=d:2 6=x:1 7=y:1 8=z:1"
    # A wrapper has the offset of the last message in it.
    assert [(header.last_offset, header.max_timestamp) for header in log.batches] == [
        (offset, NOW_MS + within if magic else -1) for offset, within in ((2, 2), (5, 1), (8, 2))
    ]
    assert log.log.segments[0].log.read(0, log.log.segments[0].size).endswith(untouched)
    log.check()
    assert log.log.read(2, 10_000).next_offset == 9
    log.log.close()
    assert log.open().log_end_offset == 9


def test_log_append_time_is_retained() -> None:
    log = OldLog(1, message_timestamp_type="LogAppendTime", segment_bytes=1000)
    log.put_set("a:1 b:1", GZIP)
    log.put_set("a:2")
    log.roll()
    log.clean()
    assert [(record.offset, record.timestamp) for record in log.records] == [(1, NOW_MS), (2, NOW_MS)]
    assert log.batches[0].has_append_time


def test_tombstones_are_removed_from_segments_older_than_the_clean_point() -> None:
    """There is no horizon in such messages: what counts is when the files were last written."""
    log = OldLog(1)
    log.put_set("a:1 b:1 a:null")
    log.roll()
    log.clean()
    assert log.pairs == "1=b:1 2=a:null"
    log.put_set("c:1", at_ms=NOW_MS + RETENTION_MS)
    log.roll()
    log.clean()
    assert log.pairs == "1=b:1 2=a:null 3=c:1"
    later = NOW_MS + 3 * RETENTION_MS
    log.put_set("c:2 e:1 f:1 g:1 h:1 i:1", at_ms=later)
    log.roll()
    log.clean(now_ms=later)
    log.put_set("j:1", at_ms=later)
    log.roll()
    facts = log.clean(now_ms=later)
    assert "a:null" not in log.pairs
    assert log.pairs.startswith("1=b:1 4=c:2")
    assert dict(facts.counts).get(Fate.TOMBSTONE) == 1


def test_segments_of_different_formats_are_cleaned() -> None:
    log = OldLog(1, segment_bytes=1000)
    log.put_set("a:1 b:1 c:1", GZIP)
    log.config = log.log.config = type(log.config)(
        **{name: getattr(log.config, name) for name in log.config.__struct_fields__} | {"message_format_version": "3.0"}
    )
    log.put("a:2", "d:1")
    log.roll()
    log.clean()
    assert log.pairs == "1=b:1 2=c:1 3=a:2 4=d:1"
    assert [header.magic for header in log.batches] == [1, 2]
