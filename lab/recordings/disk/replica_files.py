"""The files of a replica at any instant: which there were, and what was in them.

Names and sizes come from the view at that instant, bytes from the disk and the archive (`past_files`).
"""

from contextlib import suppress
from typing import Any, Literal, NamedTuple

from broker_core.log import (
    LEADER_EPOCH_CHECKPOINT,
    META_PROPERTIES,
    OFFSET_ENTRY_BYTES,
    PARTITION_METADATA,
    TIME_ENTRY_BYTES,
)
from broker_core.partitions import TopicPartition, topic_of
from broker_core.view.tree import Replica, View
from lab.recordings.disk.past_files import PastFiles
from lab.recordings.recording import Recording
from lab.texts.refusal import Refusal

FileKind = Literal["log", "index", "timeindex", "txnindex", "snapshot", "checkpoint", "metadata"]
MAX_LENGTH = 65_536
_TRANSIENT: dict[str, FileKind] = {
    "log": "log",
    "index": "index",
    "timeindex": "timeindex",
    "txnindex": "txnindex",
    "snapshot": "snapshot",
}


class ReplicaFile(NamedTuple):
    """A file as it was. `path` is below the cluster's disk; `text` is set if the view has its whole content."""

    name: str
    path: str
    size: int
    kind: FileKind
    segment: int | None
    text: bytes | None

    def as_json(self) -> dict[str, Any]:
        return {"name": self.name, "bytes": self.size, "kind": self.kind, "segment": self.segment}


class ReplicaFiles:
    """The files of one replica (`orders-0@b1`) after event `seq`. Raises Refusal (404) when there is none."""

    def __init__(
        self,
        recording: Recording,
        replica: str,
        seq: int,
        view: View | None = None,
        past: PastFiles | None = None,
    ) -> None:
        """`view` and `past`: those of the instant, where they are at hand."""
        self._replica = replica
        self._past = PastFiles(recording, seq) if past is None else past
        view = recording.view_at(seq) if view is None else view
        state = view["replicas"].get(replica)
        if state is None:
            raise Refusal("refusal.no_replica_at", 404, replica=replica, seq=seq)
        self.state: Replica = state
        self.own = _replica_files(recording, self._past, view, state, seq == recording.last_seq)
        """The files in the replica's folder; `files` also has those of the broker."""
        self.files = {file.name: file for file in [*self.own, *broker_files(recording, view, state["node"])]}

    def file(self, name: str) -> ReplicaFile:
        """Raises Refusal (404) when the replica has no such file."""
        found = self.files.get(name)
        if found is None:
            raise Refusal("refusal.no_replica_file", 404, replica=self._replica, file=name)
        return found

    def read(self, file: ReplicaFile, start: int, length: int) -> bytes:
        """Up to `length` bytes from `start`."""
        return read_file(self._past, file, start, length)


def read_file(past: PastFiles, file: ReplicaFile, start: int, length: int) -> bytes:
    """Up to `length` bytes of a file from `start`."""
    if start < 0 or length < 0:
        raise Refusal("refusal.invalid_range", length=length, start=start)
    end = min(start + length, file.size)
    if start >= end:
        return b""
    return file.text[start:end] if file.text is not None else past.read(file.path, start, end)


def broker_files(recording: Recording, view: View, node: str) -> list[ReplicaFile]:
    """The files above the folders of the partitions: checkpoints, and the broker's identity."""
    broker = f"broker-{node.removeprefix('b')}"
    files = []
    for name, checkpoint in sorted(view["checkpoints"].get(node, {}).items()):
        rows = [[*TopicPartition.parse(partition), offset] for partition, offset in checkpoint["entries"]]
        files.append(_text_file(broker, name, "checkpoint", _lines(sorted(rows))))
    return files + _file_on_disk(recording, broker, META_PROPERTIES, "metadata", None)


def _replica_files(
    recording: Recording, past: PastFiles, view: View, state: Replica, is_now: bool
) -> list[ReplicaFile]:
    folder = f"broker-{state['broker_id']}/{state['partition']}"
    files: list[ReplicaFile] = []
    for base_offset, (log_bytes, entries, time_entries) in sorted(
        state["segments"].items(), key=lambda row: int(row[0])
    ):
        stem = f"{int(base_offset):020d}"
        sizes: tuple[tuple[FileKind, int], ...] = (
            ("log", log_bytes),
            ("index", entries * OFFSET_ENTRY_BYTES),
            ("timeindex", time_entries * TIME_ENTRY_BYTES),
        )
        for kind, size in sizes:
            name = f"{stem}.{kind}"
            files.append(ReplicaFile(name, f"{folder}/{name}", size, kind, int(base_offset), None))
    files += _snapshots(recording, past, folder, state, is_now)
    files += _deleted_files(folder, state)
    files.append(_text_file(folder, LEADER_EPOCH_CHECKPOINT, "checkpoint", _lines(state["epochs"])))
    topic = view["topics"].get(topic_of(state["partition"]))
    if topic is not None:
        metadata = f"version: 0\ntopic_id: {topic['topic_id']}".encode()
        files.append(_text_file(folder, PARTITION_METADATA, "metadata", metadata))
    return files + (_others_on_disk(recording, folder, {file.name for file in files}) if is_now else [])


def _others_on_disk(recording: Recording, folder: str, known: set[str]) -> list[ReplicaFile]:
    """Files that are temporary, or whose size no event records: shown as they are on disk now."""
    files = []
    for path in sorted((recording.folder.cluster / folder).glob("*.*")):
        stem, _, suffix = path.name.partition(".")
        kind = _TRANSIENT.get(suffix.partition(".")[0])
        if path.name not in known and kind is not None and stem.isdecimal():
            # The engine runs meanwhile: a listed file may have been deleted.
            with suppress(FileNotFoundError):
                size = path.stat().st_size
                files.append(ReplicaFile(path.name, f"{folder}/{path.name}", size, kind, int(stem), None))
    return files


def _snapshots(recording: Recording, past: PastFiles, folder: str, state: Replica, is_now: bool) -> list[ReplicaFile]:
    """Snapshots of the producers' state. Each segment but the first begins with one; others are created and deleted by
    restarts and truncations, which no event records, so they are shown only at the head.
    """
    bases = {int(base_offset) for base_offset in state["segments"]}
    shown = bases - {0}
    if is_now:
        shown |= {int(path.stem) for path in (recording.folder.cluster / folder).glob("*.snapshot")}
    files: list[ReplicaFile] = []
    for offset in sorted(shown):
        name = f"{offset:020d}.snapshot"
        data = past.read_all(f"{folder}/{name}")
        if data is not None:
            segment = offset if offset in bases else None
            files.append(ReplicaFile(name, f"{folder}/{name}", len(data), "snapshot", segment, data))
    return files


def _deleted_files(folder: str, state: Replica) -> list[ReplicaFile]:
    """Files renamed to `.deleted` that are still on disk."""
    return [_named(folder, name, size) for name, (size, _) in sorted(state["deleted_files"].items())]


def deleted_logs(view: View, node: str) -> dict[str, list[ReplicaFile]]:
    """The folders of deleted replicas that are still on a broker's disk, by name, with their files."""
    return {
        folder.rpartition("/")[2]: [_named(folder, name, size) for name, size in sorted(log["files"].items())]
        for folder, log in sorted(view["deleted_logs"].items())
        if log["node"] == node
    }


def _named(folder: str, name: str, size: int) -> ReplicaFile:
    """A file whose name and size are in the view."""
    stem, _, suffix = name.partition(".")
    kind = _TRANSIENT.get(suffix.partition(".")[0])
    if kind is None:
        kind = "metadata" if name == PARTITION_METADATA else "checkpoint"
    return ReplicaFile(name, f"{folder}/{name}", size, kind, int(stem) if stem.isdecimal() else None, None)


def _file_on_disk(
    recording: Recording, folder: str, name: str, kind: FileKind, segment: int | None
) -> list[ReplicaFile]:
    """A file that never changes once it is there."""
    try:
        data = (recording.folder.cluster / folder / name).read_bytes()
    except FileNotFoundError:
        return []
    return [ReplicaFile(name, f"{folder}/{name}", len(data), kind, segment, data)]


def _text_file(folder: str, name: str, kind: FileKind, text: bytes) -> ReplicaFile:
    return ReplicaFile(name, f"{folder}/{name}", len(text), kind, None, text)


def _lines(rows: list[list[Any]]) -> bytes:
    """A checkpoint file: version, number of entries, entries."""
    lines = ["0", str(len(rows)), *(" ".join(map(str, row)) for row in rows)]
    return ("\n".join(lines) + "\n").encode()
