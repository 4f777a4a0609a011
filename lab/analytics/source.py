"""Spark reads recordings: a Python data source over the Kafka log that holds a branch's events.

    spark.dataSource.register(RecordingSource)
    spark.read.format("highwater").option("folder", ".../recording/events-0").option("last_seq", 1000).load()

The offset of a record is the event's seq, its value `[at_us, node, cause_seq, [kind, field, ...]]`. Each field comes as
text, one that is no string as JSON. A log that is being written may be read: what lies behind `last_seq`, or is not
whole yet, is left out.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from broker_core.records.record_batch import HEADER, HEADER_BYTES, iterate

if TYPE_CHECKING:
    import pyarrow as pa

    from lab.analytics.arrow_batches import Row

NAME = "highwater"
SCHEMA = "seq bigint, at_us bigint, node string, cause_seq bigint, kind string, fields array<string>"
PARTITION_BYTES = 4 * 1024 * 1024
MOST_PARTITIONS = 64
ROWS_PER_BATCH = 16_384
_LENGTH_OVERHEAD = 12

_decode = msgspec.json.Decoder(tuple[int, str, int, list[Any]]).decode
_encode = msgspec.json.Encoder().encode


class Span(InputPartition):
    """Whole batches of a segment: the bytes from `start` to `end` of a file."""

    def __init__(self, path: str, start: int, end: int) -> None:
        self.path = path
        self.start = start
        self.end = end


class RecordingSource(DataSource):
    """The events of a branch. Options: `folder` of the log, `last_seq`, `partitions` (at least so many are tried)."""

    @classmethod
    def name(cls) -> str:
        return NAME

    def schema(self) -> str:
        return SCHEMA

    def reader(self, schema: StructType) -> DataSourceReader:
        return RecordingReader(
            self.options["folder"], int(self.options["last_seq"]), int(self.options.get("partitions", "1"))
        )


class RecordingReader(DataSourceReader):
    """Cuts a log into spans, and reads them."""

    def __init__(self, folder: str, last_seq: int, partitions: int) -> None:
        self.folder = folder
        self.last_seq = last_seq
        self.wanted = partitions

    def partitions(self) -> Sequence[InputPartition]:
        segments = [(str(path), _batch_ends(path, self.last_seq)) for path in sorted(Path(self.folder).glob("*.log"))]
        size = sum(ends[-1] for _, ends in segments if ends)
        count = min(max(self.wanted, size // PARTITION_BYTES), MOST_PARTITIONS)
        return [span for path, ends in segments for span in _spans(path, ends, -(-size // count))]

    def read(self, partition: InputPartition) -> "Iterator[pa.RecordBatch]":
        # The processes that only plan what is to be read go without pyarrow.
        from lab.analytics.arrow_batches import arrow_batch

        assert isinstance(partition, Span)
        with Path(partition.path).open("rb") as stream:
            stream.seek(partition.start)
            data = stream.read(partition.end - partition.start)
        rows: list[Row] = []
        for record in iterate(data):
            # Offset 0 holds the recording's header.
            if not 1 <= record.offset <= self.last_seq or record.value is None:
                continue
            at_us, node, cause_seq, (kind, *fields) = _decode(record.value)
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


def _spans(path: str, ends: list[int], span_bytes: int) -> Iterator[Span]:
    start = 0
    for end in ends:
        if end - start >= span_bytes or end == ends[-1]:
            yield Span(path, start, end)
            start = end
