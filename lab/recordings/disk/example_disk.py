"""The textbook's log as real files: offset 2490 is found by the index entry [2487, 49111].

The log layer itself writes them, on a disk in memory: batches as a producer sends them, an index entry about every 4096
bytes (log.index.interval.bytes), two segments, of which the last is active and not flushed.
"""

from collections.abc import Iterator
from functools import cache

from broker_core.log import LogConfig, LogSegment, TimeIndex, UnifiedLog
from broker_core.records.record_batch import build_batch
from broker_core.sim.disk import SimulatedDisk
from broker_core.view.tree import Replica
from lab.recordings.disk.broker_disk import Folder
from lab.recordings.disk.replica_files import FileKind, ReplicaFile

NAME = "example"
FOLDER = "orders-0"
OFFSET = 2_490
_DIRECTORY = f"broker-1/{FOLDER}"
_START_MS = 1_700_000_000_000
_MS_A_RECORD = 2
_GOODS = ("tea", "ink", "rye", "oil")

_BATCHES_BEFORE, _POSITION, _RECORDS_BEFORE = 110, 49_111, 2_464
"""The batch of the index entry [2487, 49111] begins after this number of batches, bytes and records."""
_RECORDS_OF_ENTRY = 24
_ROLL_AT, _FLUSHED, _END = 3_600, 3_740, 3_900
_USUAL_RECORDS = 20


class ExampleDisk:
    """The data folder of a broker to which nothing happens."""

    @property
    def folders(self) -> list[Folder]:
        return [_folder()]


@cache
def _folder() -> Folder:
    log = UnifiedLog.load(
        SimulatedDisk(),
        _DIRECTORY,
        "orders",
        0,
        LogConfig(segment_index_bytes=4096),
        now_ms=_START_MS,
        clean_shutdown=True,
    )
    for records, size in _shapes():
        log.append_as_leader(_batch(log.log_end_offset, records, size), 0, _START_MS)
        if log.log_end_offset == _ROLL_AT:
            log.roll(_START_MS)
    contents: dict[str, bytes] = {}
    for segment in log.segments:
        contents |= _contents(segment)
    files = [_file(name, data) for name, data in contents.items()]
    synced = {str(one.base_offset): _entries(one) for one in log.segments[:-1]}
    synced[str(log.active_segment.base_offset)] = [log.active_segment.find(_FLUSHED) or 0, 0, 0]
    state: Replica = {
        "segments": {str(one.base_offset): _entries(one) for one in log.segments},
        "log_start_offset": 0,
        "log_end_offset": log.log_end_offset,
        "high_watermark": log.log_end_offset,
        "flushed": _FLUSHED,
        "synced": synced,
        "role": "leader",
        "cut": None,
    }
    return Folder(FOLDER, files, lambda file, start, length: contents[file.name][start : start + max(length, 0)], state)


def _entries(segment: LogSegment) -> list[int]:
    """As in the view: bytes of the `.log`, entries of the indexes."""
    return [segment.size, segment.offset_index.entries, segment.time_index.entries]


def _shapes() -> Iterator[tuple[int, int]]:
    """(records, bytes) of each batch; 0 bytes where any size will do."""
    records, position = 0, 0
    for n in range(1, _BATCHES_BEFORE + 1):
        until_records, until_position = _RECORDS_BEFORE * n // _BATCHES_BEFORE, _POSITION * n // _BATCHES_BEFORE
        yield until_records - records, until_position - position
        records, position = until_records, until_position
    yield _RECORDS_OF_ENTRY, 0
    at = _RECORDS_BEFORE + _RECORDS_OF_ENTRY
    while at < _END:
        count = min(_USUAL_RECORDS, (_ROLL_AT if at < _ROLL_AT else _END) - at)
        yield count, 0
        at += count


def _batch(base_offset: int, count: int, size: int) -> bytes:
    """A batch of `size` bytes; its values are made as long as that takes."""
    values = [b"%d %s" % (offset, _GOODS[offset % 4].encode()) for offset in range(base_offset, base_offset + count)]
    missing = size - len(_build(base_offset, values))
    return _build(base_offset, [value + b"." * ((missing + n) // count) for n, value in enumerate(values)])


def _build(base_offset: int, values: list[bytes]) -> bytes:
    return build_batch(
        [(_START_MS + (base_offset + n) * _MS_A_RECORD, None, value, ()) for n, value in enumerate(values)]
    )


def _contents(segment: LogSegment) -> dict[str, bytes]:
    stem = f"{segment.base_offset:020d}"
    index, time_index = segment.offset_index, segment.time_index
    assert isinstance(time_index, TimeIndex)
    return {
        f"{stem}.log": segment.log.read(0, segment.size),
        f"{stem}.index": index.file.open().read(0, index.entries * 8),
        f"{stem}.timeindex": time_index.file.open().read(0, time_index.entries * 12),
    }


def _file(name: str, data: bytes) -> ReplicaFile:
    stem, _, suffix = name.partition(".")
    kinds: dict[str, FileKind] = {"log": "log", "index": "index", "timeindex": "timeindex"}
    return ReplicaFile(name, f"{_DIRECTORY}/{name}", len(data), kinds[suffix], int(stem), None)
