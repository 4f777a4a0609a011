"""Records read column by column are those that are read one by one."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_core.records.record import (
    Header,
    InvalidRecord,
    OverlongLength,
    Record,
    outline,
    record_parts,
    skim,
)
from broker_core.records.record_runs import RecordRun, read_records, stretches, summarize

_NUMBERS = st.sampled_from([0, 1, 63, 64, -1, -64, -65, 8191, 8192, -8192, 2**20, -(2**40), 2**62])


def record(
    timestamp_delta: int, offset_delta: int, key: bytes | None, value: bytes | None, headers: Sequence[Header] = ()
) -> bytes:
    return b"".join(record_parts(timestamp_delta, offset_delta, key, value, headers))


@st.composite
def bodies(draw: st.DrawFn) -> tuple[bytes, int]:
    """Some runs of like records, with others in between; their bytes and how many they are."""
    parts = []
    index = 0
    for _ in range(draw(st.integers(1, 4))):
        key, value = draw(st.none() | st.binary(max_size=70)), draw(st.none() | st.binary(max_size=140))
        headers = draw(st.sampled_from([(), (), (), (("h", b"x"),), (("", None), ("name", b""))]))
        timestamps = draw(st.lists(_NUMBERS, min_size=1, max_size=3))
        step = draw(st.sampled_from([1, 1, 1, 0, 7]))
        for number in range(draw(st.sampled_from([1, 3, 7, 8, 9, 30, 90]))):
            # The content changes, the lengths do not.
            fill = bytes((number % 251,))
            parts.append(
                record(
                    timestamps[number % len(timestamps)],
                    index,
                    None if key is None else fill * len(key),
                    None if value is None else fill * len(value),
                    headers,
                )
            )
            index += step
    return b"".join(parts), len(parts)


def one_by_one(body: bytes, count: int, append_time: int | None) -> list[Record]:
    return [
        Record(
            100 + offset_delta,
            5000 + timestamp_delta if append_time is None else append_time,
            None if key_end < key_at else body[key_at:key_end],
            None if value_end < value_at else body[value_at:value_end],
            headers,
        )
        for timestamp_delta, offset_delta, key_at, key_end, value_at, value_end, headers in outline(body, count)
    ]


@given(bodies(), st.none() | st.integers(0, 2**40))
def test_runs_contain_the_records(batch: tuple[bytes, int], append_time: int | None) -> None:
    body, count = batch
    assert list(read_records(body, count, 100, 5000, append_time)) == one_by_one(body, count, append_time)


@given(bodies())
def test_summary_is_that_of_the_records(batch: tuple[bytes, int]) -> None:
    body, count = batch
    records = outline(body, count)
    summary = summarize(body, count)
    assert summary.lowest_timestamp_delta == min(record[0] for record in records)
    assert summary.highest_timestamp_delta == max(record[0] for record in records)
    assert summary.is_dense == all(record[1] == index for index, record in enumerate(records))
    assert summary.has_null_key == any(record[3] < record[2] for record in records)
    assert skim(body, count) == records


@given(bodies(), st.data())
def test_corrupt_byte_affects_both_readers_alike(batch: tuple[bytes, int], data: st.DataObject) -> None:
    body, count = batch
    damaged = bytearray(body)
    for _ in range(data.draw(st.integers(1, 3))):
        damaged[data.draw(st.integers(0, len(body) - 1))] = data.draw(st.integers(0, 255))
    cut = bytes(damaged[: data.draw(st.integers(0, len(body)) | st.just(len(body)))])
    requested = data.draw(st.sampled_from([count, count, count - 1, count + 1]))
    try:
        expected = one_by_one(cut, requested, None)
    except InvalidRecord:
        with pytest.raises(InvalidRecord):
            list(read_records(cut, requested, 100, 5000, None))
        if requested:
            with pytest.raises(InvalidRecord):
                summarize(cut, requested)
        return
    assert list(read_records(cut, requested, 100, 5000, None)) == expected
    if requested:
        assert summarize(cut, requested).highest_timestamp_delta == max(record[0] for record in outline(cut, requested))


def test_batch_of_similar_records_is_few_runs() -> None:
    """Offset deltas take a second byte from 64 on: that is where the first run ends."""
    body = b"".join(record(number // 4, number, b"key-%04d" % number, bytes(100)) for number in range(150))
    runs = list(stretches(body, 150))
    assert all(isinstance(run, RecordRun) for run in runs)
    assert [run.record_count for run in runs if isinstance(run, RecordRun)] == [64, 86]


def test_lengths_are_checked_unless_records_are_skimmed() -> None:
    right = record(0, 0, b"key", b"value")
    wrong = bytes((right[0] + 2,)) + right[1:]
    with pytest.raises(InvalidRecord, match=r"the record at byte|are left"):
        outline(wrong, 1)
    (skimmed,) = skim(wrong, 1)
    assert wrong[skimmed[2] : skimmed[3]] == b"key"
    with pytest.raises(InvalidRecord, match="truncated"):
        skim(wrong[:-2], 1)


def test_unterminated_length_is_distinguished_from_other_errors() -> None:
    with pytest.raises(OverlongLength):
        outline(b"\xff\xff\xff\xff\xff\x01" + bytes(8), 1)
    with pytest.raises(InvalidRecord) as fault:
        outline(b"\x1a\x00\x00\x00\xff\xff\xff\xff\xff\x01" + bytes(4), 1)
    assert not isinstance(fault.value, OverlongLength)


def test_offset_deltas_of_three_bytes_are_dense_or_not() -> None:
    deltas = list(range(8_000, 20_000))
    for gap, is_dense in ((0, True), (1, False)):
        offsets = [*range(8_000), *deltas[:5_000], *(delta + gap for delta in deltas[5_000:])]
        body = b"".join(record(number // 7, number, None, bytes(9)) for number in offsets)
        summary = summarize(body, len(offsets))
        assert (summary.is_dense, summary.highest_timestamp_delta) == (is_dense, max(offsets) // 7)
