"""Reads recordings for Spark: the Kafka log that holds a branch's events, cut into spans that Spark's processes read.

The offset of a record is the event's seq, its value `[at_us, node, cause_seq, [kind, field, ...]]`. Each field is read
as text, other types as JSON. A log that is being written may be read: events after `last_seq`, and incomplete ones, are
omitted.

Not a data source of Spark's own kind (`pyspark.sql.datasource`): for one of those Spark starts Python two times more,
one after the other, before it reads. And imports nothing of Spark.
"""

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from broker_core.records.record_batch import HEADER, HEADER_BYTES, iterate

if TYPE_CHECKING:
    import pyarrow as pa

    from lab.analytics.arrow_batches import Row

SCHEMA = "seq bigint, at_us bigint, node string, cause_seq bigint, kind string, fields array<string>"
SPAN_BYTES = 4 * 1024 * 1024
MAX_SPANS = 64
ROWS_PER_BATCH = 16_384
_LENGTH_OVERHEAD = 12

_decode = msgspec.json.Decoder(tuple[int, str, int, list[Any]]).decode
_encode = msgspec.json.Encoder().encode


class Span(NamedTuple):
    """Whole batches of a segment: the bytes from `start` to `end` of a file."""

    path: str
    start: int
    end: int


def spans(folder: Path, last_seq: int, wanted: int) -> list[Span]:
    """The log up to `last_seq` in at least about `wanted` spans. Raises FileNotFoundError if the log does not exist."""
    segments = [(str(path), _batch_ends(path, last_seq)) for path in sorted(folder.glob("*.log"))]
    if not segments:
        raise FileNotFoundError(f"there is no log in {folder}")
    size = sum(ends[-1] for _, ends in segments if ends)
    count = min(max(wanted, size // SPAN_BYTES), MAX_SPANS)
    return [span for path, ends in segments for span in _cut(path, ends, -(-size // count))]


def read(span: Span, last_seq: int, kinds: Collection[str] | None) -> "Iterator[pa.RecordBatch]":
    """The events of a span up to `last_seq`, in the columns of SCHEMA; only those of `kinds` if there are some."""
    # Only the processes that read need pyarrow.
    from lab.analytics.arrow_batches import arrow_batch

    with Path(span.path).open("rb") as stream:
        stream.seek(span.start)
        data = stream.read(span.end - span.start)
    rows: list[Row] = []
    for record in iterate(data):
        # Offset 0 holds the recording's header.
        if not 1 <= record.offset <= last_seq or record.value is None:
            continue
        at_us, node, cause_seq, (kind, *fields) = _decode(record.value)
        if kinds is not None and kind not in kinds:
            continue
        rows.append((record.offset, at_us, node, cause_seq, kind, [_text(value) for value in fields]))
        if len(rows) == ROWS_PER_BATCH:
            yield arrow_batch(rows)
            rows = []
    if rows:
        yield arrow_batch(rows)


def _text(value: Any) -> str | None:
    return value if value is None or type(value) is str else _encode(value).decode()


def _batch_ends(path: Path, last_seq: int) -> list[int]:
    """Where each whole batch of a segment ends that begins at or before `last_seq`."""
    ends = []
    size = path.stat().st_size
    position = 0
    with path.open("rb") as stream:
        while position + HEADER_BYTES <= size:
            stream.seek(position)
            base_offset, length, *_ = HEADER.unpack(stream.read(HEADER_BYTES))
            position += length + _LENGTH_OVERHEAD
            if base_offset > last_seq or length <= 0 or position > size:
                break
            ends.append(position)
    return ends


def _cut(path: str, ends: list[int], span_bytes: int) -> Iterator[Span]:
    start = 0
    for end in ends:
        if end - start >= span_bytes or end == ends[-1]:
            yield Span(path, start, end)
            start = end
