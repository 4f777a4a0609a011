"""The logs of the replicas: offsets, segments, epochs, checkpoints."""

from typing import Any

from broker_core.events import log
from broker_core.view.patch import Patch, View
from broker_core.view.rules import REMOVE, folds, rule

TAIL_BATCHES = 40

rule(
    log.OffsetIndexEntryAdded,
    ("/replicas/{replica}/segments/{segment}", "[old[0], old[1] + 1, old[2]]"),
)
rule(
    log.TimeIndexEntryAdded,
    ("/replicas/{replica}/segments/{segment}", "[old[0], old[1], old[2] + 1]"),
)
rule(log.SegmentRolled, ("/replicas/{replica}/segments/{segment}", "[0, 0, 0]"))
rule(log.LeaderEpochsChanged, ("/replicas/{replica}/epochs", "[list(entry) for entry in event.entries]"))
rule(log.LogFlushed, ("/replicas/{replica}/flushed", "event.offset"))
rule(
    log.CheckpointWritten,
    ("/checkpoints/{broker}/{file}", "{'at_us': at_us, 'entries': [list(entry) for entry in event.entries]}"),
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
rule(log.LogDeleted, ("/replicas/{replica}", REMOVE))


def _segments(rows: tuple[tuple[int, int, int, int], ...]) -> dict[str, list[int]]:
    return {str(base_offset): [size, index, time_index] for base_offset, size, index, time_index in rows}


def _tail(rows: tuple[tuple[int, int, int, int, int, int], ...]) -> dict[str, list[int]]:
    return {str(row[0]): list(row[1:]) for row in rows}


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
        "isr": [],
        "pending_isr": None,
        "partition_epoch": -1,
        "remotes": {},
        "epochs": [list(entry) for entry in event.epochs],
        "tail": _tail(event.tail),
        "segments": _segments(event.segments),
        "cut": None,
        "flushed": event.recovery_point,
    }
    view["replicas"][event.replica] = replica
    shown = {**replica, "remotes": {}, "tail": dict(replica["tail"]), "segments": dict(replica["segments"])}
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
    patch: Patch = [
        [f"/replicas/{name}/log_end_offset", log_end_offset],
        [f"/replicas/{name}/segments/{key}", segment],
        [f"/replicas/{name}/tail/{base}", batch],
    ]
    if len(tail) > TAIL_BATCHES:
        oldest = next(iter(tail))
        del tail[oldest]
        patch.append([f"/replicas/{name}/tail/{oldest}"])
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
    return [
        [f"/replicas/{name}/log_end_offset", event.to_offset],
        [f"/replicas/{name}/log_start_offset", start],
        [f"/replicas/{name}/flushed", flushed],
        [f"/replicas/{name}/tail", dict(replica["tail"])],
        [f"/replicas/{name}/segments", dict(replica["segments"])],
        [f"/replicas/{name}/cut", cut],
    ]
