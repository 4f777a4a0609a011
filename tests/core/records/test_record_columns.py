"""What the cleaner reads of a batch is what is in it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_core.records.record_batch import HEADER_BYTES, InvalidRecord, build_batch, iterate
from broker_core.records.record_columns import read_columns

parts = st.none() | st.binary(max_size=80)
headers = st.just(()) | st.just((("h", b"x"),))
one_by_one = st.lists(st.tuples(st.integers(-1, 2**40), parts, parts, headers), min_size=1, max_size=80)
alike = st.builds(
    lambda count, key, value, step: [(step * number, key, value, ()) for number in range(count)],
    st.integers(1, 300),
    parts,
    parts,
    st.integers(0, 90),
)


@given(one_by_one | alike | st.builds(list.__add__, alike, one_by_one))
def test_columns_are_those_of_the_records(records: list) -> None:
    batch = build_batch(records)
    body = batch[HEADER_BYTES:]
    columns = read_columns(body, len(records))
    read = list(iterate(batch))
    assert columns.keys == [record.key for record in read]
    assert columns.offset_deltas == [record.offset for record in read]
    assert columns.tombstones == [place for place, record in enumerate(read) if record.value is None]
    starts = [0, *columns.ends[:-1]]
    each = [read_columns(body[start:end], 1).keys for start, end in zip(starts, columns.ends, strict=True)]
    assert each == [[record.key] for record in read]
    assert columns.ends[-1] == len(body)


@pytest.mark.parametrize("cut", [1, 5, 20])
def test_truncated_batch_is_refused(cut: int) -> None:
    body = build_batch([(1, b"key", b"value", ())] * 30)[HEADER_BYTES:]
    with pytest.raises(InvalidRecord):
        read_columns(body[:-cut], 30)
    with pytest.raises(InvalidRecord):
        read_columns(body + b"\0", 30)
