"""A broker's data folder at an instant, for the disk screen: its tree, what each byte is, how an offset is found."""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, Protocol

import msgspec

from broker_core.log import (
    LEADER_EPOCH_CHECKPOINT,
    OFFSET_ENTRY_BYTES,
    TIME_ENTRY_BYTES,
    Lookup,
    SegmentSizes,
    look_up_offset,
    look_up_timestamp,
)
from broker_core.log.annotate.annotations import Part
from broker_core.log.annotate.files import (
    annotate_checkpoint,
    annotate_index,
    annotate_properties,
    annotate_snapshot,
    annotate_time_index,
    annotate_transaction_index,
)
from broker_core.log.annotate.log_file import annotate_log, batch_starts
from broker_core.view.tree import Replica
from lab.recordings.disk.past_files import PastFiles
from lab.recordings.disk.replica_files import FileKind, ReplicaFile, ReplicaFiles, broker_files, deleted_logs, read_file
from lab.recordings.recording import Recording
from lab.texts.refusal import Refusal

PAGE_BYTES = 1024
_READ_BYTES = 64 * 1024
_MAX_READ_BYTES = 4 * 1024 * 1024
"""Maximum size of a batch that is read; a larger one is shown without its records."""
_TRANSACTION_ENTRY_BYTES = 34
_STATES = ("deleted", "cleaned", "swap")
_SEGMENT_FILES: tuple[FileKind, ...] = ("log", "index", "timeindex", "txnindex", "snapshot")


class Folder(NamedTuple):
    """A folder of a partition, or the broker's own (without name). `state`: the replica's part of the view."""

    name: str
    files: list[ReplicaFile]
    read: Callable[[ReplicaFile, int, int], bytes]
    state: Replica


class DataFolder(Protocol):
    """What the disk screen looks into."""

    @property
    def folders(self) -> list[Folder]:
        """The broker's own first."""


class BrokerDisk:
    """The data folder of `broker` (`b1`) after event `seq`. Raises Refusal (404) if the broker does not exist."""

    def __init__(self, recording: Recording, broker: str, seq: int) -> None:
        view = recording.view_at(seq)
        node = view["nodes"].get(broker)
        if node is None or node["kind"] != "broker":
            raise Refusal("refusal.no_broker_at", 404, broker=broker, seq=seq)
        own = broker_files(recording, view, broker)
        self.folders = [Folder("", own, _read_text, {})]
        past = PastFiles(recording, seq)
        for replica in sorted(view["replicas"]):
            if view["replicas"][replica]["node"] == broker:
                found = ReplicaFiles(recording, replica, seq, view, past)
                self.folders.append(Folder(found.state["partition"], found.own, found.read, found.state))
        for name, files in deleted_logs(view, broker).items():
            self.folders.append(Folder(name, files, partial(read_file, past), {}))


def tree(disk: DataFolder) -> list[dict[str, Any]]:
    """The folders with their files: sizes, states, and bytes that survive a power loss."""
    return [_folder_json(folder) for folder in disk.folders]


def page(disk: DataFolder, path: str, start: int) -> dict[str, Any]:
    """One page of a file from `start` on: its bytes in hex, and what they are. Raises Refusal for an unknown file."""
    folder, file = _find(disk, path)
    start = min(max(start, 0), max(file.size - 1, 0)) // 16 * 16
    end = min(start + PAGE_BYTES, file.size)
    data = folder.read(file, start, end - start)
    parts = _parts(folder, file, start, end)
    return {
        "path": path,
        "kind": file.kind,
        "size": file.size,
        "from": start,
        "to": end,
        "page": PAGE_BYTES,
        "flushed": flushed_bytes(folder, file),
        "bytes": data.hex(),
        "parts": [_clipped(part, start, end) for part in parts],
        "index": _index_entries(folder, file, start, end),
        "time_index": _time_entries(folder, file, parts),
    }


def look_up(disk: DataFolder, folder_name: str, offset: int | None, timestamp: int | None) -> Lookup:
    """How a log finds an offset, or a timestamp (ms). Raises Refusal for an unknown folder."""
    folder = _folder(disk, folder_name)
    segments = [
        SegmentSizes(int(base), *row[:3])
        for base, row in sorted(folder.state.get("segments", {}).items(), key=lambda row: int(row[0]))
    ]
    files = {file.name: file for file in folder.files}

    def read(base_offset: int, suffix: str, position: int, length: int) -> bytes:
        return folder.read(files[f"{base_offset:020d}.{suffix}"], position, length)

    log_start_offset = folder.state.get("log_start_offset", 0)
    if offset is not None:
        return look_up_offset(segments, read, offset)
    return look_up_timestamp(segments, read, timestamp or 0, log_start_offset)


def log_of(disk: DataFolder, path: str) -> str:
    """The path of a `.log` below the cluster's disk. Raises Refusal for any other file."""
    _, file = _find(disk, path)
    if file.kind != "log":
        raise Refusal("refusal.not_a_segment", file=file.name)
    return file.path


def flushed_bytes(folder: Folder, file: ReplicaFile) -> int:
    """How many bytes of a file survive a power loss: those of a segment that have been fsynced, else all."""
    synced: list[int] | None = folder.state.get("synced", {}).get(str(file.segment))
    if synced is None or file.name.rpartition(".")[2] != file.kind:
        return file.size
    log_bytes, entries, time_entries = synced
    safe = {"log": log_bytes, "index": entries * OFFSET_ENTRY_BYTES, "timeindex": time_entries * TIME_ENTRY_BYTES}
    return min(safe.get(file.kind, file.size), file.size)


def _safe_offset(folder: Folder) -> int:
    """The first offset that a power loss would take; the log end offset when it would take none."""
    logs = [file for file in folder.files if file.kind == "log" and _state(folder, file) not in _STATES]
    for file in sorted(logs, key=lambda file: file.segment or 0):
        flushed = flushed_bytes(folder, file)
        if flushed < file.size:
            # What was fsynced ends with a batch; the next one begins with its offset.
            return int.from_bytes(folder.read(file, flushed, 8), "big")
    return int(folder.state["log_end_offset"])


def _folder_json(folder: Folder) -> dict[str, Any]:
    state = folder.state
    files = [
        {
            "name": file.name,
            "bytes": file.size,
            "kind": file.kind,
            "segment": file.segment,
            "state": _state(folder, file),
            "flushed": flushed_bytes(folder, file),
        }
        for file in sorted(folder.files, key=lambda file: _order(folder, file))
    ]
    described: dict[str, Any] = {"name": folder.name, "files": files}
    if state:
        described["safe_offset"] = _safe_offset(folder)
        described |= {
            key: state[key]
            for key in ("log_start_offset", "log_end_offset", "high_watermark", "flushed", "role", "cut")
        }
    return described


def _order(folder: Folder, file: ReplicaFile) -> tuple[bool, bool, int, int, str]:
    """Display order of a folder: active files first, by segment, each with its `.log` first."""
    has_no_segment = file.segment is None and file.kind not in _SEGMENT_FILES
    offset = int(file.name.partition(".")[0]) if file.kind in _SEGMENT_FILES else 0
    kind = _SEGMENT_FILES.index(file.kind) if file.kind in _SEGMENT_FILES else 0
    return _state(folder, file) in _STATES, has_no_segment, offset, kind, file.name


def _state(folder: Folder, file: ReplicaFile) -> str:
    """active, rolled, deleted, cleaned or swap; empty for files that belong to no segment."""
    last = file.name.rpartition(".")[2]
    if last in _STATES:
        return last
    if file.segment is None:
        return ""
    newest = max((int(base) for base in folder.state.get("segments", {})), default=-1)
    return "active" if file.segment == newest else "rolled"


def _find(disk: DataFolder, path: str) -> tuple[Folder, ReplicaFile]:
    name, _, file_name = path.rpartition("/")
    folder = _folder(disk, name)
    for file in folder.files:
        if file.name == file_name:
            return folder, file
    raise Refusal("refusal.no_file", 404, file=path[:80])


def _folder(disk: DataFolder, name: str) -> Folder:
    for folder in disk.folders:
        if folder.name == name:
            return folder
    raise Refusal("refusal.no_folder", 404, folder=name[:80])


def _parts(folder: Folder, file: ReplicaFile, start: int, end: int) -> list[Part]:
    base = file.segment or 0
    match file.kind:
        case "log":
            return _log_parts(folder, file, start, end)
        case "index" | "timeindex" | "txnindex":
            width = _width(file.kind)
            first = start // width * width
            data = folder.read(file, first, end + width - first)
            if file.kind == "txnindex":
                return annotate_transaction_index(data, first)
            return (annotate_index if file.kind == "index" else annotate_time_index)(data, first, base)
        case "snapshot":
            return _touching(annotate_snapshot(folder.read(file, 0, _MAX_READ_BYTES)), start, end)
        case "checkpoint":
            columns = ("epoch", "startOffset") if file.name == LEADER_EPOCH_CHECKPOINT else _CHECKPOINT_COLUMNS
            return _touching(annotate_checkpoint(folder.read(file, 0, _MAX_READ_BYTES), columns), start, end)
        case "metadata":
            return _touching(annotate_properties(folder.read(file, 0, _MAX_READ_BYTES)), start, end)


_CHECKPOINT_COLUMNS = ("topic", "partition", "offset")


def _width(kind: FileKind) -> int:
    return {"index": OFFSET_ENTRY_BYTES, "timeindex": TIME_ENTRY_BYTES}.get(kind, _TRANSACTION_ENTRY_BYTES)


def _touching(parts: list[Part], start: int, end: int) -> list[Part]:
    return [part for part in parts if part.position < end and part.position + part.size > start]


def _log_parts(folder: Folder, file: ReplicaFile, start: int, end: int) -> list[Part]:
    first = _batch_before(folder, file, start)
    data = folder.read(file, first, end - first)
    # The last batch of the page may extend past it.
    wanted = end - first + _READ_BYTES
    while wanted <= _MAX_READ_BYTES:
        data = folder.read(file, first, wanted)
        if len(data) < wanted or sum(size for _, size in batch_starts(data)) >= end - first:
            break
        wanted *= 4
    return annotate_log(data, first, range(start, end))


def _batch_before(folder: Folder, file: ReplicaFile, position: int) -> int:
    """Where the batch that covers `position` begins: from the index entry before it, batch by batch."""
    at = max((place for _, place in _entries_of(folder, file) if place <= position), default=0)
    while True:
        data = folder.read(file, at, _READ_BYTES)
        last = at
        for begin, size in batch_starts(data):
            if at + begin + size > position:
                return at + begin
            last = at + begin + size
        if last == at:
            return at
        at = last


def _entries_of(folder: Folder, log: ReplicaFile) -> list[tuple[int, int]]:
    """(offset, position) of the entries of the index that belongs to a `.log`."""
    name = log.name.replace(".log", ".index", 1)
    index = next((file for file in folder.files if file.name == name), None)
    if index is None:
        return []
    base = log.segment or 0
    data = folder.read(index, 0, index.size // OFFSET_ENTRY_BYTES * OFFSET_ENTRY_BYTES)
    columns = [int.from_bytes(data[at : at + 4], "big") for at in range(0, len(data), 4)]
    return [(base + relative, place) for relative, place in zip(columns[::2], columns[1::2], strict=True)]


def _index_entries(folder: Folder, file: ReplicaFile, start: int, end: int) -> list[dict[str, int]]:
    """The entries of the offset index that name a byte of this page."""
    if file.kind != "log":
        return []
    return [
        {"slot": slot, "offset": offset, "position": place}
        for slot, (offset, place) in enumerate(_entries_of(folder, file))
        if start <= place < end
    ]


def _time_entries(folder: Folder, file: ReplicaFile, parts: list[Part]) -> list[dict[str, int]]:
    """The entries of the time index that name a record of these batches."""
    name = file.name.replace(".log", ".timeindex", 1)
    index = next((one for one in folder.files if one.name == name), None)
    batches = [part for part in parts if part.kind == "batch"]
    if file.kind != "log" or index is None or not batches:
        return []
    first, last = batches[0].first_offset or 0, batches[-1].last_offset or 0
    entries = annotate_time_index(folder.read(index, 0, index.size), 0, file.segment or 0)
    return [
        {"slot": slot, "timestamp": int(part.fields[0].value), "offset": part.first_offset}
        for slot, part in enumerate(entries)
        if part.first_offset is not None and first <= part.first_offset <= last
    ]


def _clipped(part: Part, start: int, end: int) -> dict[str, Any]:
    """A part as it is sent, with the fields on the page."""
    shown = [field for field in part.fields if field.position < end and field.position + field.length > start]
    described: dict[str, Any] = msgspec.to_builtins(msgspec.structs.replace(part, fields=shown))
    return described


def _read_text(file: ReplicaFile, start: int, length: int) -> bytes:
    return (file.text or b"")[start : start + length]
