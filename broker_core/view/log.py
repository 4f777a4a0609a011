"""The logs of the replicas: offsets, segments, epochs, checkpoints."""

from typing import Any

from broker_core.events import log
from broker_core.view.patch import Patch, View, escape
from broker_core.view.rules import folds, rule

TAIL_BATCHES = 40

rule(
    log.OffsetIndexEntryAdded,
    ("/replicas/{replica}/segments/{segment}", "[old[0], old[1] + 1, old[2]]"),
)
rule(
    log.TimeIndexEntryAdded,
    ("/replicas/{replica}/segments/{segment}", "[old[0], old[1], old[2] + 1]"),
)
rule(
    log.SegmentRolled,
    ("/replicas/{replica}/segments/{segment}", "[0, 0, 0]"),
    ("/replicas/{replica}/synced/{segment}", "[0, 0, 0]"),
)
rule(
    log.LogStartOffsetIncremented,
    ("/replicas/{replica}/log_start_offset", "event.to_offset"),
    ("/replicas/{replica}/flushed", "max(old, event.to_offset)"),
)
rule(
    log.RefusedAppendWritten,
    (
        "/replicas/{replica}/segments/{segment}",
        "[event.size, event.index_entries, event.time_index_entries]",
    ),
)
rule(log.RetentionFailed)
rule(log.LogUncleanable)
rule(log.LeaderEpochsChanged, ("/replicas/{replica}/epochs", "[list(entry) for entry in event.entries]"))
rule(
    log.CheckpointWritten,
    ("/checkpoints/{broker}/{file}", "{'at_us': at_us, 'entries': [list(entry) for entry in event.entries]}"),
)
rule(log.SegmentChecked, ("/replicas/{replica}/checked", "[*old, event.segment]"))
rule(
    log.LogRepaired,
    (
        "/replicas/{replica}/repairs",
        "[*old, [event.file, event.repair, event.position, event.length, event.rule, event.digest]]",
    ),
)
rule(log.CheckpointReset, ("/checkpoints/{broker}/{file}", "{'at_us': at_us, 'entries': [], 'rule': event.rule}"))
rule(
    log.LogDirectoryFailed,
    (
        "/nodes/{broker}/failure",
        "{'file': event.file, 'position': event.position, 'rule': event.rule, 'what': event.what}",
    ),
)
rule(
    log.LogClosed,
    ("/replicas/{replica}/role", "'offline'"),
    ("/replicas/{replica}/leader", "-1"),
    ("/replicas/{replica}/leader_epoch_start_offset", "-1"),
    ("/replicas/{replica}/isr", "[]"),
    ("/replicas/{replica}/pending_isr", "None"),
    ("/replicas/{replica}/remotes", "{}"),
)


def _segments(rows: tuple[tuple[int, int, int, int], ...]) -> dict[str, list[int]]:
    return {str(base_offset): [size, index, time_index] for base_offset, size, index, time_index in rows}


def _tail(rows: tuple[tuple[int, int, int, int, int, int], ...]) -> dict[str, list[int]]:
    return {str(row[0]): list(row[1:]) for row in rows}


def _markers_below(replica: dict[str, Any] | None, end_offset: int) -> list[list[Any]]:
    """The markers of transactions that are left of a log that ends there; what it had before it was opened stays."""
    return [] if replica is None else [marker for marker in replica["markers"] if marker[0] < end_offset]


@folds(log.LogOpened)
def _opened(view: View, event: log.LogOpened, seq: int, at_us: int, node: str) -> Patch:
    partition, _, broker = event.replica.rpartition("@")
    replica: dict[str, Any] = {
        "partition": partition,
        "node": broker,
        "broker_id": int(broker[1:]),
        "role": "offline",
        "leader": -1,
        "leader_epoch": -1,
        "leader_epoch_start_offset": -1,
        "log_start_offset": event.log_start_offset,
        "log_end_offset": event.log_end_offset,
        "high_watermark": event.high_watermark,
        "first_unstable_offset": -1,
        "markers": _markers_below(view["replicas"].get(event.replica), event.log_end_offset),
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
    view["replicas"][event.replica] = replica
    shown = {
        key: dict(value) if key in ("remotes", "tail", "segments", "synced", "deleted_files") else value
        for key, value in replica.items()
    }
    return [[f"/replicas/{event.replica}", shown]]


@folds(log.BatchAppended)
def _appended(view: View, event: log.BatchAppended, seq: int, at_us: int, node: str) -> Patch:
    name = event.replica
    replica = view["replicas"][name]
    replica["log_end_offset"] = log_end_offset = event.last_offset + 1
    segments = replica["segments"]
    key = str(event.segment)
    old = segments[key]
    segments[key] = segment = [event.position + event.size, old[1], old[2]]
    tail = replica["tail"]
    base = str(event.base_offset)
    tail[base] = batch = [event.last_offset, event.leader_epoch, event.segment, event.position, event.size]
    pointer = f"/replicas/{name}/"
    patch: Patch = [
        [pointer + "log_end_offset", log_end_offset],
        [f"{pointer}segments/{key}", segment],
        [f"{pointer}tail/{base}", batch],
    ]
    if len(tail) > TAIL_BATCHES:
        oldest = next(iter(tail))
        del tail[oldest]
        patch.append([f"{pointer}tail/{oldest}"])
    return patch


@folds(log.LogTruncated)
def _truncated(view: View, event: log.LogTruncated, seq: int, at_us: int, node: str) -> Patch:
    name = event.replica
    replica = view["replicas"][name]
    cut = {"from": event.from_offset, "to": event.to_offset, "at_us": at_us, "why": event.why}
    replica["log_end_offset"] = event.to_offset
    replica["tail"] = _tail(event.tail)
    replica["segments"] = _segments(event.segments)
    replica["cut"] = cut
    start = (
        event.to_offset if event.to_offset > event.from_offset else min(replica["log_start_offset"], event.to_offset)
    )
    replica["log_start_offset"] = start
    replica["flushed"] = flushed = min(replica["flushed"], event.to_offset)
    replica["synced"] = _segments(event.synced)
    replica["markers"] = markers = _markers_below(replica, event.to_offset)
    return [
        [f"/replicas/{name}/log_end_offset", event.to_offset],
        [f"/replicas/{name}/markers", markers],
        [f"/replicas/{name}/log_start_offset", start],
        [f"/replicas/{name}/flushed", flushed],
        [f"/replicas/{name}/tail", dict(replica["tail"])],
        [f"/replicas/{name}/segments", dict(replica["segments"])],
        [f"/replicas/{name}/synced", dict(replica["synced"])],
        [f"/replicas/{name}/cut", cut],
    ]


@folds(log.LogCleaned)
def _cleaned(view: View, event: log.LogCleaned, seq: int, at_us: int, node: str) -> Patch:
    """`cleaned`: the last pass, with the segments before it (base offset -> bytes) and those that they became."""
    name = event.replica
    replica = view["replicas"][name]
    replica["segments"] = _segments(event.segments)
    replica["synced"] = _segments(event.synced)
    replica["tail"] = _tail(event.tail)
    sizes = {base_offset: size for base_offset, size, _, _ in event.segments}
    replica["cleaned"] = cleaned = {
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
    return [
        [f"/replicas/{name}/segments", dict(replica["segments"])],
        [f"/replicas/{name}/synced", dict(replica["synced"])],
        [f"/replicas/{name}/tail", dict(replica["tail"])],
        [f"/replicas/{name}/cleaned", cleaned],
    ]


@folds(log.SegmentsDeleted)
def _segments_deleted(view: View, event: log.SegmentsDeleted, seq: int, at_us: int, node: str) -> Patch:
    name = event.replica
    replica = view["replicas"][name]
    patch: Patch = []
    for segment in map(str, event.segments):
        for part in ("segments", "synced"):
            del replica[part][segment]
            patch.append([f"/replicas/{name}/{part}/{segment}"])
    gone = [base for base, batch in replica["tail"].items() if batch[2] in event.segments]
    for base in gone:
        del replica["tail"][base]
        patch.append([f"/replicas/{name}/tail/{base}"])
    return patch


@folds(log.FilesMarkedDeleted)
def _files_marked_deleted(view: View, event: log.FilesMarkedDeleted, seq: int, at_us: int, node: str) -> Patch:
    """`deleted_files`: name -> [bytes, when it leaves the disk]."""
    waiting = view["replicas"][event.replica]["deleted_files"]
    patch: Patch = []
    for path, size in event.files:
        name = path.rpartition("/")[2] + ".deleted"
        waiting[name] = [size, event.due_us]
        patch.append([f"/replicas/{event.replica}/deleted_files/{name}", waiting[name]])
    return patch


@folds(log.FilesUnlinked)
def _files_unlinked(view: View, event: log.FilesUnlinked, seq: int, at_us: int, node: str) -> Patch:
    folder = event.folder
    if folder in view["deleted_logs"]:
        del view["deleted_logs"][folder]
        return [[f"/deleted_logs/{escape(folder)}"]]
    replica = f"{folder.partition('/')[2]}@{event.broker}"
    if replica not in view["replicas"]:
        return []
    waiting = view["replicas"][replica]["deleted_files"]
    patch: Patch = []
    for path, _, _, _ in event.cuts:
        name = path.rpartition("/")[2]
        if waiting.pop(name, None) is not None:
            patch.append([f"/replicas/{replica}/deleted_files/{name}"])
    return patch


@folds(log.LogDeleted)
def _deleted(view: View, event: log.LogDeleted, seq: int, at_us: int, node: str) -> Patch:
    """`deleted_logs`: folder -> whose it was, its files (name -> bytes), and when it leaves the disk."""
    partition, _, broker = event.replica.rpartition("@")
    view["replicas"].pop(event.replica, None)
    log_folder = {"node": broker, "partition": partition, "files": dict(event.files), "due_us": event.due_us}
    view["deleted_logs"][event.folder] = log_folder
    return [[f"/replicas/{event.replica}"], [f"/deleted_logs/{escape(event.folder)}", log_folder]]


@folds(log.LogFlushed)
def _flushed(view: View, event: log.LogFlushed, seq: int, at_us: int, node: str) -> Patch:
    """`synced`: how much of each segment's files a power loss would leave, as `segments` says how much there is."""
    name = event.replica
    replica = view["replicas"][name]
    replica["flushed"] = event.offset
    patch: Patch = [[f"/replicas/{name}/flushed", event.offset]]
    for segment in map(str, event.segments):
        replica["synced"][segment] = size = list(replica["segments"][segment])
        patch.append([f"/replicas/{name}/synced/{segment}", size])
    return patch


@folds(log.PowerLost)
def _power_lost(view: View, event: log.PowerLost, seq: int, at_us: int, node: str) -> Patch:
    """The files of the broker's replicas are as long as they were at the last fsync."""
    patch: Patch = []
    for name, replica in view["replicas"].items():
        if replica["node"] == event.broker:
            synced = replica["synced"]
            replica["segments"] = {segment: list(size) for segment, size in synced.items()}
            replica["tail"] = {
                base: batch
                for base, batch in replica["tail"].items()
                if batch[3] + batch[4] <= synced[str(batch[2])][0]
            }
            patch += [[f"/replicas/{name}/{part}", dict(replica[part])] for part in ("segments", "tail")]
    return patch
