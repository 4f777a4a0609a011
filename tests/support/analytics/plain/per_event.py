"""Tables whose rows are events: what each kind is in them."""

from collections.abc import Callable, Sequence
from typing import Any

from tests.support.analytics.plain.dump import Happened, Row, Rows, broker, json_of, where

Said = dict[str, Any]
Maker = Callable[[Said], Row | Rows]


def _taken(*names: str, **renamed: str) -> Callable[[Said], Row]:
    """Fields under their own names, or under others."""
    return lambda said: {name: said[name] for name in names} | {new: said[old] for new, old in renamed.items()}


def _of_replica(*names: str, **more: Any) -> Maker:
    """Of a replica: fields under their own names, and constants."""
    return lambda said: {**where(said["replica"]), **{name: said[name] for name in names}, **more}


def _sum(rows: Sequence[Sequence[Any]], place: int, ending: str = "") -> int:
    return sum(row[place] for row in rows if row[0].endswith(ending))


def _changed(measure: str, to: str, before: str | None = None, lowered: bool | None = False, why: str = "") -> Maker:
    def make(said: Said) -> Row:
        return {
            **where(said["replica"]), "measure": measure, "value": said[to],
            "previous": None if before is None else said[before],
            "lowered": said[to] < said[before or to] if lowered is None else lowered,
            "why": why or said.get("why"),
        }  # fmt: skip

    return make


def _opened(said: Said) -> Rows:
    names = {"log_start": "log_start_offset", "log_end": "log_end_offset", "high_watermark": "high_watermark"}
    return [
        {**where(said["replica"]), "measure": measure, "value": said[name], "lowered": False, "why": "opened"}
        for measure, name in names.items()
    ]


def _appended(said: Said) -> Row:
    return {
        **where(said["replica"]), "measure": "log_end", "value": said["last_offset"] + 1,
        "previous": said["base_offset"], "lowered": False, "why": "appended",
    }  # fmt: skip


def _batch(said: Said) -> Row:
    return {
        **where(said["replica"]), **_taken("base_offset", "last_offset")(said),
        "records": said["last_offset"] - said["base_offset"] + 1,
    }  # fmt: skip


def _isr_change(change: str) -> Maker:
    def make(said: Said) -> Row:
        return {
            **where(said["replica"]), "change": change, "from_isr": said.get("from_isr"),
            "to_isr": said.get("to_isr", said.get("isr")), "partition_epoch": said.get("partition_epoch"),
            "error": said.get("error"),
        }  # fmt: skip

    return make


def _partition_state(source: str) -> Maker:
    def make(said: Said) -> Row | Rows:
        match said["path"].split("/"):
            case ["", "brokers", "topics", topic, "partitions", number, "state"]:
                here = {"topic": topic, "partition": int(number), "source": source}
            case _:
                return []
        if source == "deleted":
            return {**here, "leader": -1, "isr": []}
        state = json_of(said["data"])
        names = ("leader", "leader_epoch", "isr", "controller_epoch")
        version = 0 if source == "created" else said["version"]
        if state.get("leader") is None or state.get("isr") is None:
            return []
        return {**here, **{name: state.get(name) for name in names}, "partition_epoch": version}

    return make


def _settings(said: Said) -> Row | Rows:
    """What ZooKeeper holds below /config."""
    root, _, entity = said["path"].partition("/config/")
    if root or not entity or entity.startswith("changes"):
        return []
    if "data" not in said:
        return {"source": "zookeeper", "entity": entity, "settings": {}}
    held = json_of(said["data"]).get("config")
    return [] if held is None else {"source": "zookeeper", "entity": entity, "settings": held}


def _assigned(said: Said) -> Rows:
    same = {**_taken("group", "broker", "generation_id")(said), "change": "assigned"}
    return [row for member, names in said["assignments"] for row in _each(names, {**same, "member": member})]


def _each(names: Sequence[str], same: Row) -> Rows:
    """A row for each partition, or one without."""
    return [{**same, **where(name), "is_empty": False} for name in names] or [{**same, "is_empty": True}]


def _owned(said: Said) -> Rows:
    revoked = _each(said["revoked"], {"client": said["client"], "change": "revoked"}) if said["revoked"] else []
    return [*_each(said["partitions"], {"client": said["client"], "change": "owned"}), *revoked]


def _planned(said: Said) -> Rows:
    same = _taken("client", "group", "assignor", "generation_id")(said)
    wrongs = [wrong for wrong in ("twice", "nobody") if said[wrong]]
    return [row for wrong in wrongs for row in _each(said[wrong], {**same, "change": wrong})]


def _member(change: str) -> Maker:
    names = (
        "group", "broker", "member", "client", "instance", "old_member", "session_timeout_ms", "rebalance_timeout_ms",
        "why",
    )  # fmt: skip

    def make(said: Said) -> Row:
        protocols = {"protocols": [name for name, _ in said["protocols"]]} if "protocols" in said else {}
        return {**{name: said[name] for name in names if name in said}, **protocols, "change": change}

    return make


def _commit(step: str, *names: str) -> Maker:
    return lambda said: {
        "step": step, **_taken("group", "broker", *names)(said), **where(said.get("partition"))
    }  # fmt: skip


def _znode_commit(said: Said) -> Rows:
    """Of a group that commits to ZooKeeper."""
    match said["path"].split("/"):
        case ["", "consumers", group, "offsets", topic, number] if number.isdecimal():
            row = {"group": group, "topic": topic, "partition": int(number)}
            if "data" not in said:
                return [{**row, "step": "removed", "why": "deleted"}]
            try:
                return [{**row, "step": "committed", "offset": int(said["data"])}]
            except ValueError:
                return []
    return []


def _accepted(said: Said) -> Rows:
    same = {"step": "accepted", **_taken("group", "broker", "member", "generation_id")(said)}
    return [{**same, **where(name), "offset": offset} for name, offset in said["offsets"]]


def _marker(step: str, *names: str, **more: Callable[[Said], Any]) -> Maker:
    def make(said: Said) -> Row:
        place = where(said["replica"] if "replica" in said else said["partition"])
        node = said["replica"].partition("@")[2] if "replica" in said else said["broker"]
        return {
            **place, "broker": node, "step": step, **_taken(*names)(said),
            **{name: value(said) for name, value in more.items()},
        }  # fmt: skip

    return make


def _transitioned(said: Said) -> Row:
    names = (
        "transactional_id", "producer_id", "producer_epoch", "from_state", "to_state", "timeout_ms", "partitions",
        "why", "broker",
    )  # fmt: skip
    return {"step": "transitioned", **_taken(*names)(said)}


def _unlinked(said: Said) -> Row:
    folder = said["folder"].rpartition("/")[2]
    return {
        "op": "unlinked", "broker": broker(said["broker"]), **(where(folder) if not folder.endswith("-delete") else {}),
        "files": said["count"], "bytes": _sum(said["cuts"], 2), "file": said["folder"],
    }  # fmt: skip


def _op(op: str, make: Callable[[Said], Row]) -> Maker:
    def whole(said: Said) -> Row:
        place = where(said["replica"]) if "replica" in said else {"broker": broker(said["broker"])}
        return {"op": op, **place, **make(said)}

    return whole


def _about(what: str, actor: str, make: Callable[[Said], Row] = lambda said: {}) -> Maker:
    def whole(said: Said) -> Row:
        node = said[actor] if isinstance(said[actor], str) else f"b{said[actor]}"
        return {"what": what, "node": node, "broker": broker(node), **make(said)}

    return whole


def _client(what: str, make: Callable[[Said], Row]) -> Maker:
    return lambda said: {"what": what, "client": said["client"], **make(said)}


def _stream(said: Said) -> Row:
    place = {"topic": said["partition"]} if said["is_topic"] else where(said["partition"])
    return {**place, "rate": said["rate"], "state": "streams" if said["rate"] else "stopped"}


_INDEX = _taken("segment", from_offset="offset")
_CLEANED = _taken("records_before", "records_after", "from_offset", "to_offset")
_LOAD = _taken(about="partition", epoch="leader_epoch")
_READS = _taken("replica")

TABLES: dict[str, dict[str, Maker]] = {
    "silver.replica_offsets": {
        "LogOpened": _opened,
        "BatchAppended": _appended,
        "LogTruncated": _changed("log_end", "to_offset", "from_offset", None),
        "LogStartOffsetIncremented": _changed("log_start", "to_offset", "from_offset"),
        "HighWatermarkAdvanced": _changed("high_watermark", "to_offset", "from_offset"),
        "HighWatermarkLowered": _changed("high_watermark", "to_offset", "from_offset", True),
        "FirstUnstableOffsetChanged": _changed("first_unstable", "to_offset", "from_offset"),
        "LogClosed": _of_replica(measure="log_end", value=None, lowered=False, why="closed"),
        "LogDeleted": lambda said: [
            {**where(said["replica"]), "measure": measure, "value": None, "lowered": False, "why": "deleted"}
            for measure in ("log_start", "log_end", "high_watermark")
        ],
    },
    "silver.batches": {
        "BatchAppended": lambda said: {
            **_batch(said), **_taken("leader_epoch", "segment", size_bytes="size", position_bytes="position")(said)
        },
    },
    "silver.producer_batches": {
        "ProducerBatchAppended": lambda said: {
            **_batch(said), **_taken("producer_id", "producer_epoch", "first_sequence", "is_transactional")(said)
        },
    },
    "silver.beliefs": {
        "RemoteReplicaUpdated": lambda said: {
            **where(said["replica"]), "follower": broker(said["follower"]),
            **_taken("from_offset", "log_end_offset", caught_up_us="last_caught_up_us")(said),
        },
    },
    "silver.isr_changes": {
        "IsrChangeProposed": _isr_change("proposed"), "IsrShrunk": _isr_change("shrunk"),
        "IsrExpanded": _isr_change("expanded"), "IsrChangeRefused": _isr_change("refused"),
    },
    "silver.partition_states": {
        "ZnodeCreated": _partition_state("created"), "ZnodeChanged": _partition_state("changed"),
        "ZnodeDeleted": _partition_state("deleted"),
        "PartitionStateChanged": lambda said: {
            **where(said["partition"]), "source": "controller", "state": said["state"]
        },
    },
    "silver.leader_epochs": {
        "LeaderElected": lambda said: {
            **where(said["partition"]), "role": "elected", "broker": said["leader"],
            **_taken("leader_epoch", "strategy", "unclean", "isr")(said),
        },
        "ReplicaBecameLeader": lambda said: {
            **where(said["replica"]), "role": "leads",
            **_taken("leader_epoch", "isr", start_offset="leader_epoch_start_offset")(said),
        },
        "ReplicaBecameFollower": _of_replica("leader_epoch", "leader", role="follows"),
        "ReplicaWentOffline": _of_replica(role="offline"),
        "LeaderEpochsChanged": lambda said: {
            **where(said["replica"]), "role": "checkpoint",
            **dict(zip(("leader_epoch", "start_offset"), (said["entries"] or [()])[-1], strict=False)),
        },
        "FetcherFailed": _of_replica("leader", "why", role="fetch failed"),
    },
    "silver.settings": {
        "ZnodeCreated": _settings, "ZnodeChanged": _settings, "ZnodeDeleted": _settings,
        "NodeAdded": lambda said: {"source": "node", "entity": said["node"], "settings": dict(said["settings"])},
        "ConfigurationApplied": lambda said: {
            "source": "applied", **_taken("entity", "broker")(said), "settings": dict(said["configs"])
        },
    },
    "silver.group_assignments": {
        "GroupAssigned": _assigned, "ConsumerAssigned": _owned, "AssignmentPlanned": _planned,
        "AssignorDefined": lambda said: {"assignor": said["assignor"], "change": "defined"},
    },
    "silver.group_members": {
        "GroupMemberAdded": _member("added"), "GroupMemberUpdated": _member("updated"),
        "GroupMemberReplaced": _member("replaced"), "GroupMemberRemoved": _member("removed"),
    },
    "silver.offset_commits": {
        "OffsetCommitAccepted": _accepted, "OffsetCommitted": _commit("committed", "offset"),
        "TransactionalOffsetPending": _commit("pending", "offset", "producer_id"),
        "TransactionalOffsetsDecided": _commit("decided", "producer_id", "result"),
        "OffsetRemoved": _commit("removed", "why"),
        "ZnodeCreated": _znode_commit, "ZnodeChanged": _znode_commit, "ZnodeDeleted": _znode_commit,
    },
    "silver.transactions": {
        "TransactionTransitioned": _transitioned,
        "TransactionMarkerAppended": _marker(
            "marker", "producer_id", "producer_epoch", "offset", "first_offset", "result"
        ),
        "ProducerIdsAllocated": lambda said: {
            "step": "allocated", **_taken("broker", producer_id="first", offset="last")(said)
        },
        "ProducersExpired": _marker("expired", count=lambda said: len(said["producer_ids"])),
        "TransactionsLoadStarted": _marker("load started"), "TransactionsLoaded": _marker("loaded", "count"),
        "TransactionsUnloaded": _marker("unloaded", count=lambda said: len(said["transactional_ids"])),
    },
    "silver.consumes": {
        "RecordsConsumed": lambda said: {
            **where(said["partition"]), **_taken("client", "position", "high_watermark")(said),
            "records": len(said["records"]),
        },
        "ConsumerPositionReset": lambda said: {
            **where(said["partition"]), **_taken("client", "from_offset", "why", position="to_offset")(said)
        },
    },
    "silver.client_states": {
        "ProducerBlocked": _client("send", lambda said: {"state": "blocked", "why": said["why"]}),
        "ProducerUnblocked": _client("send", lambda said: {"state": "goes on"}),
        "ProduceFailed": lambda said: [] if said["sequence"] else {
            "client": said["client"], "what": "send", "state": "refused", "records": said["count"],
            "why": said["error"],
        },
        "ProducerStreamChanged": _client("stream", _stream),
        "ProducerStateChanged": _client(
            "producer", _taken("state", "why", "transactional_id", "producer_id", "producer_epoch")
        ),
        "ConsumerStateChanged": _client("consumer", _taken("state", "why", "generation_id", member="member_id")),
        "PipelineStageChanged": _client(
            "pipeline", _taken("state", "why", "handled", records="in_hand", is_rewinding="rewinds")
        ),
        "ReadReplicaNamed": _client(
            "read replica", lambda said: {**where(said["partition"]), **_READS(said), "state": "named"}
        ),
        "ReadReplicaCleared": _client(
            "read replica",
            lambda said: {**where(said["partition"]), **_READS(said), "state": "cleared", "why": said["why"]},
        ),
    },
    "silver.control": {
        "SessionOpened": _about("session opened", "owner", _taken("session")),
        "SessionClosed": _about("session closed", "owner", _taken("session", "why")),
        "ZooKeeperAsked": _about("asked", "client", _taken("count")),
        "WatchArmed": _about("watch armed", "owner", _taken(name="of", about="path")),
        "WatchFired": _about("watch fired", "owner", _taken(name="change", about="path")),
        "ControllerEventProcessed": _about("processed", "broker", _taken("name", "about")),
        "ControllerElected": _about("elected", "broker", _taken(epoch="controller_epoch")),
        "ControllerResigned": _about("resigned", "broker", _taken("why")),
        "MetadataUpdated": _about(
            "metadata", "broker", _taken("controller", brokers="live_brokers", count="partitions")
        ),
        "GroupsLoadStarted": _about("groups load started", "broker", _LOAD),
        "GroupsLoaded": _about("groups loaded", "broker", lambda said: {**_LOAD(said), "count": said["group_count"]}),
        "GroupsUnloaded": _about(
            "groups unloaded", "broker", lambda said: {"about": said["partition"], "count": len(said["groups"])}
        ),
    },
    "silver.disk_ops": {
        "SegmentRolled": _op("rolled", _taken("segment", bytes="previous_size")),
        "OffsetIndexEntryAdded": _op("index entry", _INDEX),
        "TimeIndexEntryAdded": _op("time index entry", _INDEX),
        "RefusedAppendWritten": _op("refused append", _taken("segment", bytes="size")),
        "LogTruncated": _op("truncated", lambda said: {
            "from_offset": said["to_offset"], "to_offset": said["from_offset"], "bytes": _sum(said["cuts"], 2),
            "log_bytes": _sum(said["cuts"], 2, ".log"), "why": said["why"],
        }),
        "SegmentsDeleted": _op("segments deleted", lambda said: {"files": len(said["segments"]), "why": said["why"]}),
        "RetentionFailed": _op("retention failed", _taken("why")),
        "FilesMarkedDeleted": _op("marked deleted", lambda said: {
            "files": said["count"], "bytes": _sum(said["files"], 1), "log_bytes": _sum(said["files"], 1, ".log"),
        }),
        "FilesUnlinked": _unlinked,
        "LogDeleted": _op("deleted", lambda said: {
            "bytes": _sum(said["files"], 1), "log_bytes": _sum(said["files"], 1, ".log"), "file": said["folder"],
        }),
        "LogCleaned": _op("cleaned", lambda said: {
            **_CLEANED(said),
            **dict.fromkeys(("bytes", "log_bytes"), said["bytes_before"] - said["bytes_after"]),
        }),
        "LogUncleanable": _op("uncleanable", _taken("why")),
        "SegmentChecked": _op("checked", _taken("segment", bytes="size")),
        "LogRepaired": _op("repaired", lambda said: {
            "file": said["file"], "bytes": said["length"], "why": said["rule"],
            "log_bytes": said["length"] if said["file"].endswith(".log") else None,
        }),
        "CheckpointWritten": _op(
            "checkpoint written", lambda said: {"file": said["file"], "files": len(said["entries"])}
        ),
        "CheckpointReset": _op("checkpoint reset", _taken("file", why="rule")),
        "LogDirectoryFailed": _op("directory failed", _taken("file", why="rule")),
        "LogFlushed": _op("flushed", lambda said: {"to_offset": said["offset"], "files": len(said["segments"])}),
        "PowerLost": _op("power lost", lambda said: {
            "bytes": said["byte_count"], "log_bytes": _sum(said["cuts"], 2, ".log")
        }),
    },
    "silver.alarms": {
        "InvariantViolated": _taken("invariant", "subject", "explained_by", "setting", "cause", "promise"),
        "AcknowledgedRecordsLost": lambda said: {
            **where(said["partition"]), "invariant": "records lost", "subject": said["partition"],
            **_taken("first_offset", explained_by="why", cause="acknowledged_seq", records="count",
                     committed_records="committed")(said),
        },
    },
}  # fmt: skip


def rows(name: str, events: Sequence[Happened]) -> Rows:
    """The rows of a table, in the order of the events."""
    makers, found = TABLES[name], []
    for event in events:
        if event.kind in makers:
            made = makers[event.kind](event.said)
            for row in made if isinstance(made, list) else [made]:
                found.append({"seq": event.seq, "at_us": event.at_us, "cause_seq": event.cause_seq, **row})
    return found
