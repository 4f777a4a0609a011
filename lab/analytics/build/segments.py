"""New data in the log of a recording: complete, verified batches; and the damaged parts.

Offsets are seqs and a batch's last timestamp is an instant in simulated microseconds. The value of a record is `[at_us,
node, cause_seq, [kind, field, ...]]`. Imports neither Spark nor Django, because executors import it.
"""

import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from broker_core.records.record_batch import (
    HEADER,
    HEADER_BYTES,
    MAGIC_V2,
    crc32c_of,
    iterate_batches,
    iterate_records,
    records_bytes,
)
from lab.analytics.build.event_columns import columns_of, columns_of_rows
from lab.analytics.build.values import PRESENT, Row, Written, not_read, row_of
from lab.analytics.store.ledger import Damage, ReadRange
from lab.analytics.store.objects import Folder, folder_at, inside
from lab.journals.records import checked_values

SPAN_BYTES = 8 * 1024 * 1024
ROWS_PER_BATCH = 16_384
_COLUMNS = {
    "branch": pa.string(), "run": pa.string(), "seq": pa.int64(), "at_us": pa.int64(), "node": pa.string(),
    "cause_seq": pa.int64(), "kind": pa.string(), "family": pa.string(), "payload": pa.string(),
    "vocabulary": pa.string(),
}  # fmt: skip
ROWS = pa.schema(_COLUMNS)
"""The schema of the rows that `read` returns."""
SCHEMA = ", ".join(f"{name} {'bigint' if type == pa.int64() else 'string'}" for name, type in _COLUMNS.items())
"""The same in Spark's DDL."""
_OF_BATCHES = ("crc", "length")
_LENGTH_OVERHEAD = 12
_MAX_BATCH_BYTES = 64 * 1024 * 1024
_ATTRIBUTES_POSITION = 21
_MAGIC_POSITION = 16


class Span(NamedTuple):
    """Complete batches of a segment: the bytes from `start` to `end` of a file."""

    path: str
    start: int
    end: int


class SpanOf(NamedTuple):
    """A span with the arguments of `read`."""

    branch: str
    run: str
    own_from_seq: int
    span: Span
    vocabularies: tuple[Written, ...]


class Mark(NamedTuple):
    """How far a log has been read: up to a byte of a segment, and the last event."""

    segment: str = ""
    byte: int = 0
    seq: int = 0


class Chunk(NamedTuple):
    """Some events before they are parsed: their numbers, their values, and the vocabulary of all of them."""

    seqs: Sequence[int]
    values: Sequence[bytes | Row]
    vocabulary: Written


class Batch(NamedTuple):
    """A batch that has been verified."""

    start: int
    end: int
    from_seq: int
    to_seq: int
    at_us: int
    crc: int


@dataclass
class Appended:
    """What has been written since a recording was last read. `first` is the record at offset 0, if it is included.

    `is_rewritten`: data read before no longer exists, so everything has to be read again.
    """

    spans: list[Span] = field(default_factory=list)
    ranges: list[ReadRange] = field(default_factory=list)
    damage: list[tuple[Damage, bytes]] = field(default_factory=list)
    last_seq: int = 0
    last_at_us: int = 0
    first: bytes | None = None
    is_rewritten: bool = False


def appended(
    folder: Folder, known: Sequence[ReadRange], damage: Sequence[Damage], last_seq: int, own_from_seq: int
) -> Appended:
    """The unread part of a log: complete batches only, so a log can be read while it is being written.

    Args:
        folder: the log.
        known: ranges that have been read.
        damage: parts that could not be read.
        last_seq: the last known event.
        own_from_seq: events up to this one belong to the parent: their batches are verified but not returned, and
            damage in them is reported for the parent.

    Raises FileNotFoundError if the log does not exist any more.
    """
    found = Appended(last_seq=last_seq)
    marks = _marks(known, damage)
    # A file with another name is not a segment.
    paths = [path for path in inside(folder, "*.log") if path.stem.isdecimal() and path.is_file()]
    if not paths:
        raise FileNotFoundError(f"there is no log in {folder}")
    for path, following in zip(paths, [*paths[1:], None], strict=True):
        ends_with = 0 if following is None else int(following.stem) - 1
        if 0 < ends_with <= min(own_from_seq, last_seq):
            continue
        data = path.read_bytes()
        mark = marks.get(path.name, 0)
        if not _is_unchanged(path.name, data, known) or _is_repaired(path.name, data, damage):
            return Appended(is_rewritten=True)
        if mark < len(data):
            _read(path, data, mark, own_from_seq, last_seq, found, ends_with)
    return found


def following(folder: Folder, mark: Mark, own_from_seq: int) -> tuple[Appended, Mark]:
    """What was written to a log after a mark, of which only that is read, and the mark after it. For `own_from_seq` see
    `appended`. What was read before is not verified again.

    Raises FileNotFoundError if the log does not exist any more.
    """
    found = Appended(last_seq=mark.seq)
    paths = [path for path in inside(folder, "*.log") if path.stem.isdecimal() and path.is_file()]
    if not paths:
        raise FileNotFoundError(f"there is no log in {folder}")
    end = mark
    for path, after in zip(paths, [*paths[1:], None], strict=True):
        if path.name < mark.segment:
            continue
        start = mark.byte if path.name == mark.segment else 0
        with path.open("rb") as stream:
            stream.seek(start)
            data = stream.read()
        part = Appended(last_seq=found.last_seq)
        ends_with = 0 if after is None else int(after.stem) - 1
        position = _read(path, data, 0, own_from_seq, mark.seq, part, ends_with)
        found.spans += (Span(one.path, one.start + start, one.end + start) for one in part.spans)
        found.damage += ((_moved(lost, start), lost_data) for lost, lost_data in part.damage)
        found.first = part.first if found.first is None else found.first
        found.last_seq, found.last_at_us = part.last_seq, max(found.last_at_us, part.last_at_us)
        end = Mark(path.name, start + position, found.last_seq)
    return found, end


def _moved(lost: Damage, start: int) -> Damage:
    return msgspec.structs.replace(lost, from_byte=lost.from_byte + start, to_byte=lost.to_byte + start)


def read(
    branch: str, run: str, own_from_seq: int, span: Span, vocabularies: Sequence[Written] = PRESENT
) -> Iterator[pa.RecordBatch]:
    """The events of a span after `own_from_seq`, with the payload as JSON text; invalid records have the kind
    `UNREADABLE`.

    Args:
        branch: of all rows.
        run: of all rows.
        own_from_seq: events up to this one are skipped.
        span: the location.
        vocabularies: the vocabularies used, oldest first; at least one.
    """
    for chunk in chunks(own_from_seq, span, vocabularies):
        yield rows_of(branch, run, chunk)


def chunks(own_from_seq: int, span: Span, vocabularies: Sequence[Written] = PRESENT) -> Iterator[Chunk]:
    """The events of a span that `read` gives, before they are parsed."""
    with folder_at(span.path).open("rb") as stream:
        stream.seek(span.start)
        data = stream.read(span.end - span.start)
    following = list(vocabularies)[::-1]
    vocabulary = following.pop()
    seqs: list[int] = []
    values: list[bytes | Row] = []
    # Offset 0 holds the recording's header.
    after_seq = max(own_from_seq, 0)
    for first_seq, found in _values(data):
        seq, end_seq = max(first_seq, after_seq + 1), first_seq + len(found)
        while seq < end_seq:
            is_other = bool(following) and following[-1].first_seq <= seq
            if values and (is_other or len(values) == ROWS_PER_BATCH):
                yield Chunk(seqs, values, vocabulary)
                seqs, values = [], []
            while following and following[-1].first_seq <= seq:
                vocabulary = following.pop()
            to_seq = min(end_seq, seq + ROWS_PER_BATCH - len(values), following[-1].first_seq if following else end_seq)
            seqs += range(seq, to_seq)
            values += found[seq - first_seq : to_seq - first_seq]
            seq = to_seq
    if values:
        yield Chunk(seqs, values, vocabulary)


def candidates(chunk: Chunk, kinds: Iterable[str]) -> Chunk:
    """The events of a chunk that may have one of some kinds, found without parsing: all that do, and few others."""
    names = "|".join(re.escape(kind) for kind in sorted(kinds))
    # Other writers may have spelled a kind with escapes, or put blanks before it.
    pattern = rf'\["(?:{names})"|\[\s+"|\\u'
    texts = pa.array([value if isinstance(value, bytes) else None for value in chunk.values], pa.binary())
    found = pc.indices_nonzero(pc.match_substring_regex(texts, pattern)).to_pylist()
    return Chunk([chunk.seqs[place] for place in found], [chunk.values[place] for place in found], chunk.vocabulary)


def _values(data: bytes) -> Iterator[tuple[int, list[bytes] | list[bytes | Row]]]:
    """The values of records with consecutive offsets, each list with its first offset: those of `records`, which takes
    three times as long.
    """
    for position, header in iterate_batches(data):
        try:
            values = checked_values(records_bytes(data, header, position), header.record_count)
        except ValueError:
            values = None
        if values is not None and header.magic == MAGIC_V2 and len(values) == header.last_offset_delta + 1:
            yield header.base_offset, values
        else:
            yield from ((seq, [value]) for seq, _, value in records(data[position : position + header.size]))


def records(data: bytes) -> Iterator[tuple[int, int, bytes | Row]]:
    """Offset, timestamp and value of each record of whole batches; or the row of what cannot be read from an offset on.

    A matching checksum shows that the bytes are those that were written, not that they are records of their batch.
    """
    for position, header in iterate_batches(data):
        expected = header.base_offset
        why = "its records do not have the offsets that its header states"
        try:
            for record in iterate_records(data, header, position):
                if record.offset != expected or record.offset > header.last_offset:
                    break
                expected += 1
                value = not_read(b"", "json", "it has no value") if record.value is None else record.value
                yield record.offset, record.timestamp, value
        except ValueError as error:
            why = str(error)
        if expected <= header.last_offset:
            lost = not_read(data[position : position + header.size], "records", why, header.last_offset)
            yield expected, header.max_timestamp, lost


def rows_of(branch: str, run: str, chunk: Chunk) -> pa.RecordBatch:
    """The rows of a chunk."""
    seqs, values, vocabulary = chunk
    read = [value for value in values if not isinstance(value, tuple)]
    if len(read) == len(values):
        columns = columns_of(read, vocabulary)
    else:
        columns = columns_of_rows(
            [value if isinstance(value, tuple) else row_of(value, vocabulary) for value in values]
        )
    same = [pa.repeat(text, len(values)) for text in (branch, run, vocabulary.hash)]
    return pa.RecordBatch.from_arrays([same[0], same[1], pa.array(seqs, pa.int64()), *columns, same[2]], schema=ROWS)


def _read(
    path: Folder, data: bytes, mark: int, own_from_seq: int, known_to_seq: int, found: Appended, ends_with: int
) -> int:
    """Reads a segment from `mark` on. Returns the position up to which it has been read.

    `known_to_seq`: the last event before this read. `ends_with`: the last event of the segment, derived from the name
    of the next one; 0 for the last segment.
    """
    run: list[Batch] = []
    position = mark
    while position < len(data):
        batch = _batch(data, position)
        if isinstance(batch, str):
            if batch == "torn":
                break
            after = _next_good(data, position, found.last_seq)
            _close(path, run, found)
            run = []
            end = len(data) if after is None else after
            to_seq = HEADER.unpack_from(data, end)[0] - 1 if end < len(data) else ends_with
            if not 0 < to_seq <= own_from_seq:
                from_seq = max(found.last_seq, own_from_seq) + 1
                lost = _damaged(path.name, position, end, from_seq, to_seq, batch, "")
                found.damage.append((lost, data[position:end]))
            found.last_seq = max(found.last_seq, to_seq)
            position = end
            continue
        if batch.from_seq == 0:
            head = next((value for _, _, value in records(data[position : batch.end])), None)
            found.first = bytes(head) if head is not None and not isinstance(head, tuple) else None
        if batch.to_seq <= own_from_seq and batch.to_seq <= known_to_seq:
            # Of the parent: no range tells that it has been read.
            position = batch.end
            continue
        if found.last_seq > 0 and batch.from_seq <= found.last_seq:
            # As after a segment that was copied twice: what is there already is not read again.
            _close(path, run, found)
            run = []
            twice = _damaged(path.name, position, batch.end, batch.from_seq, batch.to_seq, "repeated", "")
            found.damage.append((twice, data[position : batch.end]))
            position = batch.end
            continue
        if batch.from_seq > max(found.last_seq, own_from_seq) + 1 and found.last_seq:
            first = max(found.last_seq, own_from_seq) + 1
            gap = _damaged(path.name, position, position, first, batch.from_seq - 1, "gap", "")
            found.damage.append((gap, b""))
        if batch.to_seq > own_from_seq:
            run.append(batch)
        found.last_seq = max(found.last_seq, batch.to_seq)
        found.last_at_us = max(found.last_at_us, batch.at_us)
        position = batch.end
    _close(path, run, found)
    return position


def _close(path: Folder, run: Sequence[Batch], found: Appended) -> None:
    """Makes a range and its spans of contiguous batches."""
    if not run:
        return
    start, end = run[0].start, run[-1].end
    digest = _digest(batch.crc for batch in run)
    found.ranges.append(ReadRange(max(run[0].from_seq, 1), run[-1].to_seq, path.name, start, end, digest, 0))
    for batch in run:
        if batch.end - start >= SPAN_BYTES or batch is run[-1]:
            found.spans.append(Span(str(path), start, batch.end))
            start = batch.end


def _batch(data: bytes, position: int) -> "Batch | str":
    """The batch at a position, or the reason why it is invalid: `torn`, `length` or `crc`."""
    if position + HEADER_BYTES > len(data):
        return "torn"
    base, length, _, magic, crc, _, delta, _, max_timestamp, *_ = HEADER.unpack_from(data, position)
    end = position + length + _LENGTH_OVERHEAD
    if magic != 2 or length < HEADER_BYTES - _LENGTH_OVERHEAD or length > _MAX_BATCH_BYTES or base < 0 or delta < 0:
        return "length"
    if end > len(data):
        return "length" if _next_good(data, position, base) is not None else "torn"
    if crc32c_of(data, position + _ATTRIBUTES_POSITION, end) != crc:
        return "crc"
    return Batch(position, end, base, base + delta, max_timestamp, crc)


def _next_good(data: bytes, position: int, after_seq: int) -> int | None:
    """The start of the next batch with a valid header and checksum; None if there is none."""
    at = position + 1
    while True:
        # The magic byte of each batch is 2, which few other bytes are.
        found = data.find(b"\x02", at + _MAGIC_POSITION)
        if found < 0:
            return None
        at = found - _MAGIC_POSITION
        if at + HEADER_BYTES <= len(data):
            base, length, _, magic, crc, _, delta, *_ = HEADER.unpack_from(data, at)
            end = at + length + _LENGTH_OVERHEAD
            if (
                magic == 2 and base > after_seq and delta >= 0 and end - at >= HEADER_BYTES and end <= len(data)
                and crc32c_of(data, at + _ATTRIBUTES_POSITION, end) == crc
            ):  # fmt: skip
                return at
        at += 1


def _marks(known: Sequence[ReadRange], damage: Sequence[Damage]) -> dict[str, int]:
    """The byte up to which each segment has been read or skipped."""
    marks: dict[str, int] = {}
    for segment, end in [(one.segment, one.to_byte) for one in known] + [(one.segment, one.to_byte) for one in damage]:
        marks[segment] = max(end, marks.get(segment, 0))
    return marks


def _is_unchanged(segment: str, data: bytes, known: Sequence[ReadRange]) -> bool:
    """Whether the part of a segment that was read is unchanged, by the checksums in the batch headers."""
    for one in known:
        if one.segment == segment and _digest(_crcs(data, one.from_byte, one.to_byte)) != one.digest:
            return False
    return True


def _is_repaired(segment: str, data: bytes, damage: Sequence[Damage]) -> bool:
    """Whether a valid batch now starts at a position that could not be read."""
    return any(
        one.segment == segment and one.reason in _OF_BATCHES and not isinstance(_batch(data, one.from_byte), str)
        for one in damage
    )


def _crcs(data: bytes, start: int, end: int) -> Iterator[int]:
    position = start
    while position < end and position + HEADER_BYTES <= len(data):
        _, length, _, _, crc, *_ = HEADER.unpack_from(data, position)
        if length <= 0:
            return
        yield crc
        position += length + _LENGTH_OVERHEAD


def _digest(crcs: Iterator[int] | Sequence[int]) -> str:
    digest = hashlib.sha256()
    for crc in crcs:
        digest.update(crc.to_bytes(4, "big"))
    return digest.hexdigest()[:32]


def _damaged(segment: str, start: int, end: int, from_seq: int, to_seq: int, reason: str, detail: str) -> Damage:
    return Damage(segment, start, end, from_seq, to_seq, reason, detail)
