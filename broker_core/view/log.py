"""The logs of the replicas: offsets, segments, epochs, checkpoints."""

from broker_core.events import log
from broker_core.events.log import TAIL_BATCHES, SegmentRow, TailRow
from broker_core.partitions import ReplicaId, broker_node, replica_name
from broker_core.view.folding import CHECKPOINTS, DELETED_LOGS, NODES, REPLICAS, folds, put, remove, unchanged
from broker_core.view.patch import Patch
from broker_core.view.replica import offline
from broker_core.view.tree import Checkpoint, Cleaning, DeletedLog, Entry, Replica, View

unchanged(log.RetentionFailed, log.LogUncleanable)


@folds
def _index_entry(view: View, event: log.OffsetIndexEntryAdded, at_us: int, seq: int) -> Patch:
    name, segment = event.replica, str(event.segment)
    segments = view["replicas"][name]["segments"]
    old = segments[segment]
    segments[segment] = sizes = [old[0], old[1] + 1, old[2]]
    return [[f"{REPLICAS.pointers[name]}/segments/{segment}", sizes]]


@folds
def _time_index_entry(view: View, event: log.TimeIndexEntryAdded, at_us: int, seq: int) -> Patch:
    size, entries, time_entries = view["replicas"][event.replica]["segments"][str(event.segment)]
    return _put_segment(view, event.replica, event.segment, [size, entries, time_entries + 1])


@folds
def _refused_append(view: View, event: log.RefusedAppendWritten, at_us: int, seq: int) -> Patch:
    segment = [event.size, event.index_entries, event.time_index_entries]
    return _put_segment(view, event.replica, event.segment, segment)


@folds
def _rolled(view: View, event: log.SegmentRolled, at_us: int, seq: int) -> Patch:
    synced, pointer = view["replicas"][event.replica]["synced"], f"{REPLICAS.pointers[event.replica]}/synced"
    return [
        *_put_segment(view, event.replica, event.segment, [0, 0, 0]),
        *put(synced, pointer, str(event.segment), [0, 0, 0]),
    ]


def _put_segment(view: View, replica: str, segment: int, sizes: list[int]) -> Patch:
    pointer = f"{REPLICAS.pointers[replica]}/segments"
    return put(view["replicas"][replica]["segments"], pointer, str(segment), sizes)


@folds
def _start_offset(view: View, event: log.LogStartOffsetIncremented, at_us: int, seq: int) -> Patch:
    flushed = max(view["replicas"][event.replica]["flushed"], event.to_offset)
    return REPLICAS.set(view, event.replica, {"log_start_offset": event.to_offset, "flushed": flushed})


@folds
def _epochs(view: View, event: log.LeaderEpochsChanged, at_us: int, seq: int) -> Patch:
    return REPLICAS.set(view, event.replica, {"epochs": [list(entry) for entry in event.entries]})


@folds
def _checked(view: View, event: log.SegmentChecked, at_us: int, seq: int) -> Patch:
    checked = view["replicas"][event.replica]["checked"]
    return REPLICAS.set(view, event.replica, {"checked": [*checked, event.segment]})


@folds
def _repaired(view: View, event: log.LogRepaired, at_us: int, seq: int) -> Patch:
    repairs = view["replicas"][event.replica]["repairs"]
    repair = [event.file, event.repair, event.position, event.length, event.rule, event.digest]
    return REPLICAS.set(view, event.replica, {"repairs": [*repairs, repair]})


@folds
def _checkpoint_written(view: View, event: log.CheckpointWritten, at_us: int, seq: int) -> Patch:
    return _put_checkpoint(view, event.broker, event.file, {"at_us": at_us, "entries": [*map(list, event.entries)]})


@folds
def _checkpoint_reset(view: View, event: log.CheckpointReset, at_us: int, seq: int) -> Patch:
    return _put_checkpoint(view, event.broker, event.file, {"at_us": at_us, "entries": [], "rule": event.rule})


def _put_checkpoint(view: View, broker: str, file: str, checkpoint: Checkpoint) -> Patch:
    return put(view["checkpoints"][broker], CHECKPOINTS.pointers[broker], file, checkpoint)


@folds
def _directory_failed(view: View, event: log.LogDirectoryFailed, at_us: int, seq: int) -> Patch:
    return NODES.set(
        view,
        event.broker,
        {"failure": {"file": event.file, "position": event.position, "rule": event.rule, "what": event.what}},
    )


@folds
def _closed(view: View, event: log.LogClosed, at_us: int, seq: int) -> Patch:
    return offline(view, event.replica)


def _segments(rows: tuple[SegmentRow, ...]) -> dict[str, list[int]]:
    return {str(base_offset): [size, index, time_index] for base_offset, size, index, time_index in rows}


def _tail(rows: tuple[TailRow, ...]) -> dict[str, list[int]]:
    """The batches by base offset. The CRC is 0 in journals that do not have it."""
    return {str(row[0]): [*row[1:7], *(() if len(row) == 7 else (0,))] for row in rows}


def _markers_below(replica: Replica, end_offset: int) -> list[Entry]:
    """The markers of transactions that remain in a log that ends at `end_offset`."""
    return [marker for marker in replica["markers"] if marker[0] < end_offset]


@folds
def _opened(view: View, event: log.LogOpened, at_us: int, seq: int) -> Patch:
    """Keeps the state of a reopened log as far as the events do not contain it: the markers."""
    partition, broker_id = ReplicaId.parse(event.replica)
    known = view["replicas"].get(event.replica)
    replica: Replica = {
        "partition": partition,
        "node": broker_node(broker_id),
        "broker_id": broker_id,
        "role": "offline",
        "leader": -1,
        "leader_epoch": -1,
        "leader_epoch_start_offset": -1,
        "log_start_offset": event.log_start_offset,
        "log_end_offset": event.log_end_offset,
        "high_watermark": event.high_watermark,
        "first_unstable_offset": -1,
        "markers": [] if known is None else _markers_below(known, event.log_end_offset),
        "isr": [],
        "pending_isr": None,
        "partition_epoch": -1,
        "remotes": {},
        "epochs": [list(entry) for entry in event.epochs],
        "tail": _tail(event.tail),
        "segments": _segments(event.segments),
        "cut": None,
        "cleaned": None,
        "flushed": event.recovery_point,
        "synced": _segments(event.synced),
        "deleted_files": {},
        "checked": [],
        "repairs": [],
    }
    return REPLICAS.put(view, event.replica, replica)


@folds
def _appended(view: View, event: log.BatchAppended, at_us: int, seq: int) -> Patch:
    name = event.replica
    replica = view["replicas"][name]
    replica["log_end_offset"] = log_end_offset = event.last_offset + 1
    segments = replica["segments"]
    key = str(event.segment)
    old = segments[key]
    segments[key] = segment = [event.position + event.size, old[1], old[2]]
    tail = replica["tail"]
    base = str(event.base_offset)
    last_offset, segment_base = event.last_offset, event.segment
    tail[base] = batch = [last_offset, event.leader_epoch, segment_base, event.position, event.size, event.crc]
    pointer = REPLICAS.pointers[name]
    patch: Patch = [
        [f"{pointer}/log_end_offset", log_end_offset],
        [f"{pointer}/segments/{key}", segment],
        [f"{pointer}/tail/{base}", batch],
    ]
    if len(tail) > TAIL_BATCHES:
        oldest = next(iter(tail))
        del tail[oldest]
        patch.append([f"{pointer}/tail/{oldest}"])
    return patch


@folds
def _truncated(view: View, event: log.LogTruncated, at_us: int, seq: int) -> Patch:
    replica = view["replicas"][event.replica]
    start_offset = event.to_offset
    if event.to_offset <= event.from_offset:
        start_offset = min(replica["log_start_offset"], event.to_offset)
    return REPLICAS.set(
        view,
        event.replica,
        {
            "log_end_offset": event.to_offset,
            "markers": _markers_below(replica, event.to_offset),
            "log_start_offset": start_offset,
            "flushed": min(replica["flushed"], event.to_offset),
            "tail": _tail(event.tail),
            "segments": _segments(event.segments),
            "synced": _segments(event.synced),
            "cut": {"from": event.from_offset, "to": event.to_offset, "at_us": at_us, "why": event.why},
        },
    )


@folds
def _cleaned(view: View, event: log.LogCleaned, at_us: int, seq: int) -> Patch:
    """`cleaned`: the last pass, with the segments before it (base offset -> bytes) and those that they became."""
    sizes = {base_offset: size for base_offset, size, _, _ in event.segments}
    cleaned: Cleaning = {
        "at_us": at_us,
        "from": event.from_offset,
        "to": event.to_offset,
        "groups": [
            {"segment": base, "bytes": sizes[base], "sources": [list(source) for source in sources]}
            for base, sources in event.groups
        ],
        "bytes": [event.bytes_before, event.bytes_after],
        "records": [event.records_before, event.records_after],
        "counts": dict(event.counts),
        "fates": [list(fate) for fate in event.fates],
        "delete_horizon_ms": event.delete_horizon_ms,
    }
    return REPLICAS.set(
        view,
        event.replica,
        {
            "segments": _segments(event.segments),
            "synced": _segments(event.synced),
            "tail": _tail(event.tail),
            "cleaned": cleaned,
        },
    )


@folds
def _segments_deleted(view: View, event: log.SegmentsDeleted, at_us: int, seq: int) -> Patch:
    replica, pointer = view["replicas"][event.replica], REPLICAS.pointers[event.replica]
    patch: Patch = []
    for segment in map(str, event.segments):
        patch += remove(replica["segments"], f"{pointer}/segments", segment)
        patch += remove(replica["synced"], f"{pointer}/synced", segment)
    for base in [base for base, batch in replica["tail"].items() if batch[2] in event.segments]:
        patch += remove(replica["tail"], f"{pointer}/tail", base)
    return patch


@folds
def _files_marked_deleted(view: View, event: log.FilesMarkedDeleted, at_us: int, seq: int) -> Patch:
    """`deleted_files`: name -> [bytes, when it is unlinked]."""
    waiting = view["replicas"][event.replica]["deleted_files"]
    pointer = f"{REPLICAS.pointers[event.replica]}/deleted_files"
    patch: Patch = []
    for path, size in event.files:
        patch += put(waiting, pointer, path.rpartition("/")[2] + ".deleted", [size, event.due_us])
    return patch


@folds
def _files_unlinked(view: View, event: log.FilesUnlinked, at_us: int, seq: int) -> Patch:
    deleted = view["deleted_logs"].get(event.folder)
    if deleted is not None:
        names = {path.rpartition("/")[2] for path, _, _, _ in event.cuts}
        files = {name: size for name, size in deleted["files"].items() if name not in names}
        if not files:
            return DELETED_LOGS.remove(view, event.folder)
        return DELETED_LOGS.set(view, event.folder, {"files": files})
    replica = replica_name(event.folder.partition("/")[2], event.broker)
    if replica not in view["replicas"]:
        return []
    waiting, pointer = view["replicas"][replica]["deleted_files"], f"{REPLICAS.pointers[replica]}/deleted_files"
    patch: Patch = []
    for path, _, _, _ in event.cuts:
        patch += remove(waiting, pointer, path.rpartition("/")[2])
    return patch


@folds
def _deleted(view: View, event: log.LogDeleted, at_us: int, seq: int) -> Patch:
    """`deleted_logs`: folder -> its partition, its files (name -> bytes), and when it is removed."""
    partition, broker_id = ReplicaId.parse(event.replica)
    deleted: DeletedLog = {
        "node": broker_node(broker_id),
        "partition": partition,
        "files": dict(event.files),
        "due_us": event.due_us,
    }
    return [
        *REPLICAS.remove(view, event.replica),
        *DELETED_LOGS.put(view, event.folder, deleted),
    ]


@folds
def _flushed(view: View, event: log.LogFlushed, at_us: int, seq: int) -> Patch:
    """`synced`: the part of each segment's files that survives a power loss, in the format of `segments`."""
    replica, pointer = view["replicas"][event.replica], f"{REPLICAS.pointers[event.replica]}/synced"
    patch = REPLICAS.set(view, event.replica, {"flushed": event.offset})
    for segment in map(str, event.segments):
        patch += put(replica["synced"], pointer, segment, replica["segments"][segment])
    return patch


@folds
def _power_lost(view: View, event: log.PowerLost, at_us: int, seq: int) -> Patch:
    """The files of the broker's replicas have the length of the last fsync."""
    patch: Patch = []
    for name, replica in view["replicas"].items():
        if replica["node"] == event.broker:
            synced = replica["synced"]
            tail = {
                base: batch
                for base, batch in replica["tail"].items()
                if batch[3] + batch[4] <= synced[str(batch[2])][0]
            }
            patch += REPLICAS.set(view, name, {"segments": synced.copy(), "tail": tail})
    return patch
