"""A journal: a Kafka log that holds records of the lab, recovered from a crash at any byte."""

import shutil
from pathlib import Path

import pytest

from broker_core.records.compression import CompressionType
from broker_core.records.record_batch import build_batch, iterate, iterate_batches
from lab.journals.journal import JournalFolder, Stamped, journal_config
from tests.support.soak import IS_SOAK

TOPIC = "things"
CONFIG = journal_config(1024 * 1024, segment_index_bytes=64 * 1024, max_message_bytes=512 * 1024)
APPENDS: list[list[Stamped]] = [
    [(0, b"header")],
    [(10, b"one"), (10, b"two"), (25, b"")],
    [(30, b"x" * 300)],
    [(30, b"part ", b"and part"), (41, b"last")],
]
RECORDS = [b"header", b"one", b"two", b"", b"x" * 300, b"part and part", b"last"]


def opened(path: Path, **more: int) -> JournalFolder:
    return JournalFolder(path, {TOPIC: CONFIG}, **more)


def written(path: Path) -> Path:
    """The file of a journal with `APPENDS`, which was not closed."""
    journal = opened(path)[TOPIC]
    for records in APPENDS:
        journal.append(records)
    return path / f"{TOPIC}-0" / f"{0:020d}.log"


def test_bytes_are_those_of_batches_of_the_core(tmp_path: Path) -> None:
    batches = []
    offset = 0
    for records in APPENDS:
        plain = [(record[0], None, b"".join(record[1:]), ()) for record in records]
        batches.append(build_batch(plain, base_offset=offset, leader_epoch=0))
        offset += len(records)
    assert written(tmp_path).read_bytes() == b"".join(batches)


def test_records_are_read_back_with_seqs_and_timestamps(tmp_path: Path) -> None:
    written(tmp_path)
    journal = opened(tmp_path)[TOPIC]
    assert journal.header() == b"header"
    assert journal.last_seq == len(RECORDS) - 1
    assert journal.values() == RECORDS
    assert journal.values(4) == RECORDS[4:]
    assert journal.read(2, 5, lambda seq, record: (seq, record)) == list(enumerate(RECORDS))[2:6]
    assert journal.read(5, 99, lambda seq, _: seq) == [5, 6]
    stamped = journal.stamped(1, 1024)
    assert [one.record for one in stamped] == RECORDS[1:]
    assert [one.at for one in stamped] == [10, 10, 25, 30, 30, 41]
    assert journal.stamped(journal.end, 1024) == []


def test_record_is_found_by_time(tmp_path: Path) -> None:
    written(tmp_path)
    journal = opened(tmp_path)[TOPIC]
    assert [journal.seq_at(at) for at in (0, 9, 10, 24, 25, 29, 30, 40, 41, 1_000)] == [0, 0, 2, 2, 3, 3, 5, 5, 6, 6]


@pytest.mark.soak
def test_crash_at_any_byte_leaves_the_batches_before_it(tmp_path: Path) -> None:
    """At each byte under `make soak`; otherwise at every fifth, and around the ends of the batches."""
    data = written(tmp_path / "whole").read_bytes()
    ends = [position + batch.size for position, batch in iterate_batches(data)]
    counts = [batch.next_offset for _, batch in iterate_batches(data)]
    around = {end + beside for end in ends for beside in (-1, 0, 1)}
    for size in range(ends[0], len(data)):
        if not IS_SOAK and size % 5 and size not in around:
            continue
        torn = tmp_path / "torn"
        shutil.copytree(tmp_path / "whole", torn)
        (torn / f"{TOPIC}-0" / f"{0:020d}.log").write_bytes(data[:size])
        folder = opened(torn)
        journal = folder[TOPIC]
        kept = max(count for end, count in zip(ends, counts, strict=True) if end <= size)
        assert journal.values() == RECORDS[:kept], size
        assert journal.append([(50, b"after")]) == kept
        folder.close()
        assert opened(torn)[TOPIC].values() == [*RECORDS[:kept], b"after"]
        shutil.rmtree(torn)


def test_large_batches_are_compressed(tmp_path: Path) -> None:
    folder = opened(tmp_path, compressed_bytes=1_000)
    journal = folder[TOPIC]
    journal.append([(0, b"small")])
    journal.append([(1, b"large " * 200)])
    data = (tmp_path / f"{TOPIC}-0" / f"{0:020d}.log").read_bytes()
    codecs = [batch.compression for _, batch in iterate_batches(data)]
    assert codecs == [CompressionType.NONE, CompressionType.ZSTD]
    assert journal.values() == [b"small", b"large " * 200]
    assert [record.value for record in iterate(data)] == journal.values()


def test_oldest_segments_can_be_deleted(tmp_path: Path) -> None:
    folder = opened(tmp_path)
    journal = folder[TOPIC]
    for number in range(6):
        journal.append([(number, b"%d" % number)])
        journal.roll()
    journal.forget(3)
    assert (journal.start, journal.header()) == (3, None)
    assert journal.values() == [b"3", b"4", b"5"]
    folder.close()
    assert opened(tmp_path)[TOPIC].values() == [b"3", b"4", b"5"]
