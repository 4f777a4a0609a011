"""Events read many at once, against events read one by one."""

import json
from collections.abc import Sequence
from itertools import islice, permutations
from pathlib import Path

import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from broker_core.events import KINDS
from broker_core.records.record_batch import SimpleRecord, build_batch, iterate, records_bytes
from broker_core.records.record_batch import parse_header as header_of
from lab.analytics.build import event_columns
from lab.analytics.build.event_columns import columns_of, columns_of_rows
from lab.analytics.build.segments import Chunk, Span, candidates, read, rows_of
from lab.analytics.build.values import PRESENT, row_of, written
from lab.journals.records import checked_values, encode_records

ADVANCED = ["HighWatermarkAdvanced", "orders-0@b1", 0, 4]
KNOWN = ("HighWatermarkAdvanced", "LeaderElected", "NodeAdded", "RecordsConsumed")
SOME_KINDS = written(1, "abc", {name: KINDS[name].__struct_fields__ for name in KNOWN})


def text(*values: object) -> bytes:
    return json.dumps(values, separators=(",", ":")).encode()


GOOD = (
    text(5, "b1", 0, ADVANCED),
    text(6, "zk", 3, ["LeaderElected", "orders-0", 1, 2**31 - 1, [1, 2], "x", False]),
    text(7, "b1", 0, [*ADVANCED[:3], 10**12]),
    text(8, "b1", 0, ["HighWatermarkAdvanced", "]\\n[ 1234567890123456789", 0, 4]),
    b'[9,"b1",0,["HighWatermarkAdvanced","orders-0@b1",0,4e3]]',
)
CHANGED = (
    text(5, "c1", 0, ["NodeAdded", "c1", "client", -1, [["host", "192.0.2.1"], ["acks", "all"]]]),
    text(5, "c1", 0, ["RecordsConsumed", "c1", "orders-0", 1, 1, ["a", "b"]]),
    json.dumps([5, "b1", 0, ADVANCED]).encode(),
    b'[5,"b1",0,["High\\u0057atermarkAdvanced","orders-0@b1",0,4]]',
)
INVALID = (
    text(2**63, "b1", 0, ADVANCED),
    text(5, "b1", 2**63, ADVANCED),
    text(5, "b1", 0, [*ADVANCED[:3], 2**63]),
    text(5, "b1", 0, ["LeaderElected", "orders-0", 2**31, 1, [1], "x", False]),
    text(5, "b1", 0, ["LeaderElected", "orders-0", 1, 1, [1, [-(2**31) - 1]], "x", False]),
    b'[5,"b1",0,["HighWatermarkAdvanced","orders-0@b1",0,4e400]]',
    b'[5,"b1",0,["HighWatermarkAdvanced","orders-0@b1",0, -1E30]]',
    b'[5,"b1",0,["HighWatermarkAdvanced","orders-0@b1",0,4.5]]',
    b'[5,"b1",0,["LeaderElected","orders-0",3e9,1,[1],"x",false]]',
    b'[5,"b1",0,["LeaderElected","orders-0",1,1,[1,2e9,3e9],"x",false]]',
    b"[5,",
    b'[5,"b1",0]',
    text(5, "b1", 0, ADVANCED, 1),
    text(5, "b1", 0, {"kind": "x"}),
    text(5, "b1", 0, []),
    b'[5,"b1",0,["HighWatermarkAdvanced","\xff",0,4]]',
    text(5, "b1", 0, ["Unheard", 1]),
    b'[5,"b1",0,["HighWatermarkAdvanced","orders-0@b1",0,NaN]]',
    b"[" * 100_000,
    b"",
)
#: Pieces that are records only together, or two records in one.
PIECES = (
    b'[5,"b1",0,["HighWatermarkAdvanced",[]',
    b'["orders-0@b1"]]]',
    b'[5,"b1",0,["HighWatermarkAdvanced"',
    b"]]",
    b'[5,"b1",0,["HighWatermarkAdvanced"]]\n[6,"b1",0,["HighWatermarkAdvanced"]]',
    b'[5,"b1",0,["HighWatermarkAdvanced"]]\n[6,"b1",0,["HighWatermarkAdvanced"',
    b'[5,"b1",0,["HighWatermarkAdvanced"]] [6,"b1",0,["HighWatermarkAdvanced"]]',
)
EVERY = st.sampled_from((*GOOD, *CHANGED, *INVALID, *PIECES))


def insist_on_same(values: Sequence[bytes]) -> None:
    for vocabulary in (PRESENT[0], SOME_KINDS):
        assert columns_of(values, vocabulary) == columns_of_rows([row_of(value, vocabulary) for value in values])


@pytest.mark.parametrize("value", [*CHANGED, *INVALID, *PIECES])
def test_record_among_others_is_read_as_alone(value: bytes) -> None:
    insist_on_same([*GOOD, value, *GOOD])


@pytest.mark.parametrize("values", list(permutations(PIECES, 2)))
def test_records_that_are_one_only_together_are_not_joined(values: Sequence[bytes]) -> None:
    insist_on_same(values)


@given(st.lists(EVERY, min_size=1, max_size=12))
@settings(max_examples=60, deadline=None)
def test_records_read_at_once_are_those_read_one_by_one(values: list[bytes]) -> None:
    insist_on_same(values)


@given(st.lists(EVERY, min_size=1, max_size=12), st.sets(st.sampled_from(KNOWN)))
@settings(max_examples=60, deadline=None)
def test_events_of_some_kinds_are_found_before_they_are_parsed(values: list[bytes], kinds: set[str]) -> None:
    foreign = [b'[5,"b1",0,[ "LeaderElected",1]]', b'[5,"b1",0,["\\u004ceaderElected",1]]']
    chunk = Chunk(list(range(len(values) + 2)), [*values, *foreign], PRESENT[0])
    every, some = (rows_of("b", "r", one) for one in (chunk, candidates(chunk, kinds | {"LeaderElected"})))
    assert some.num_rows <= every.num_rows
    for kind in kinds | {"LeaderElected"}:
        assert some.filter(pc.field("kind") == kind) == every.filter(pc.field("kind") == kind)


def test_few_events_are_parsed_for_a_rare_kind() -> None:
    chunk = Chunk(list(range(100)), [GOOD[0]] * 99 + [GOOD[1]], PRESENT[0])
    assert candidates(chunk, {"LeaderElected", "NodeAdded"}).seqs == [99]


def test_valid_records_are_not_read_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    one_by_one: list[bytes] = []
    monkeypatch.setattr(event_columns, "row_of", lambda value, known: one_by_one.append(value) or row_of(value, known))
    columns_of([*GOOD, *CHANGED], PRESENT[0])
    # A number in a text is only seen to be one by reading it.
    assert one_by_one == [GOOD[3], GOOD[4], CHANGED[0], CHANGED[1], CHANGED[3]]


# Records of a batch


RECORD = st.tuples(st.integers(0, 2**20), st.binary(max_size=200))


@given(st.lists(RECORD, min_size=1, max_size=30), st.data())
@settings(max_examples=150, deadline=None)
def test_checked_values_are_those_of_any_reader(records: list[tuple[int, bytes]], data: st.DataObject) -> None:
    body = bytearray(b"".join(encode_records(records, records[0][0])))
    assert checked_values(bytes(body), len(records)) == [value for _, value in records]
    for place in data.draw(st.lists(st.integers(0, len(body) - 1), max_size=3)):
        body[place] = data.draw(st.sampled_from((0, 1, 2, 127, 128, 255)))
    found = checked_values(bytes(body), len(records))
    if found is not None:
        assert any_reader(bytes(body), len(records)) == found


def any_reader(body: bytes, count: int) -> list[bytes | None]:
    whole = bytearray(build_batch([SimpleRecord(0, None, b"")] * count))
    header = header_of(bytes(whole))
    batch = bytes(whole[:61]) + body
    batch = batch[:8] + (len(batch) - 12).to_bytes(4, "big") + batch[12:]
    found = list(iterate(batch))
    assert [record.offset for record in found] == list(range(header.record_count))
    return [record.value for record in found]


@pytest.mark.parametrize(
    "record",
    [
        (0, b"key", b"value", ()),
        (0, None, None, ()),
        (0, None, b"value", (("name", b"x"),)),
        (0, None, b"x" * 10_000, ()),
    ],
)
def test_records_that_a_journal_does_not_write_are_left_to_any_reader(record: tuple[object, ...]) -> None:
    batch = build_batch([record])  # type: ignore[list-item]
    assert checked_values(records_bytes(batch, header_of(batch)), 1) is None


def test_chunks_of_a_span_have_all_its_events(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lab.analytics.build.segments.ROWS_PER_BATCH", 7)
    path = tmp_path / f"{0:020d}.log"
    values = [b"{}", *islice(iter(lambda: GOOD[0], None), 40)]
    batches = [
        build_batch([SimpleRecord(0, None, value) for value in values[at : at + 9]], base_offset=at)
        for at in range(0, len(values), 9)
    ]
    path.write_bytes(b"".join(batches))
    later = written(20, "later", None)
    parts = list(read("r/main", "r", 5, Span(str(path), 0, path.stat().st_size), (PRESENT[0], later)))
    assert [seq for part in parts for seq in part.column("seq").to_pylist()] == list(range(6, 41))
    hashes = [hash for part in parts for hash in part.column("vocabulary").to_pylist()]
    assert hashes == [PRESENT[0].hash] * 14 + ["later"] * 21
    assert [part.num_rows for part in parts] == [7, 7, 7, 7, 7]
