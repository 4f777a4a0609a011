"""Quantities of a replica's log."""

from typing import Any

from broker_core.partitions import ReplicaId, topic_of
from broker_core.texts import text
from lab.exercises.dumps import dumps, floor_segment
from lab.exercises.moment import Moment
from lab.exercises.places import Number, Replica, Unresolved, replicas_of, topic_config
from lab.exercises.quantities.registry import quantity

ATTRIBUTES_OFFSET = 21
"""DefaultRecordBatch.ATTRIBUTES_OFFSET"""
DEFAULT_INDEX_BYTES = 10 * 1024 * 1024
OFFSET_INDEX_ENTRY_BYTES = 8


def _replica(moment: Moment, reference: str) -> Any:
    """The first replica that a reference matches. Raises Unresolved."""
    return moment.view["replicas"][replicas_of(moment.view, reference)[0]]


@quantity
def log_end_offset(moment: Moment, replica: Replica) -> int:
    """The offset of the next record that is appended."""
    return int(_replica(moment, replica)["log_end_offset"])


@quantity
def high_watermark(moment: Moment, replica: Replica) -> int:
    """Records below it are committed, as far as this replica knows."""
    return int(_replica(moment, replica)["high_watermark"])


@quantity
def log_start_offset(moment: Moment, replica: Replica) -> int:
    """Records below it can no longer be read."""
    return int(_replica(moment, replica)["log_start_offset"])


@quantity
def last_stable_offset(moment: Moment, replica: Replica) -> int:
    """Every transaction below it is decided: the first unstable offset, if it is below the high watermark."""
    state = _replica(moment, replica)
    unstable = int(state["first_unstable_offset"])
    return int(state["high_watermark"]) if unstable < 0 else min(unstable, int(state["high_watermark"]))


@quantity
def flushed(moment: Moment, replica: Replica) -> int:
    """Records below it were fsynced."""
    return int(_replica(moment, replica)["flushed"])


@quantity
def stored(moment: Moment, replica: Replica) -> int:
    """The offset at which the batches in its files end, also while its broker is down."""
    state = _replica(moment, replica)
    # After a power failure only the fsynced part of the tail remains.
    return max((int(batch[0]) + 1 for batch in state["tail"].values()), default=int(state["flushed"]))


@quantity
def record_count(moment: Moment, replica: Replica) -> int:
    """Log end offset minus log start offset: the records of a log without compaction and transactions."""
    state = _replica(moment, replica)
    return int(state["log_end_offset"]) - int(state["log_start_offset"])


@quantity
def stored_records(moment: Moment, replica: Replica) -> int:
    """The records that a compacted log holds: those that the last pass kept, and those above it."""
    state = _replica(moment, replica)
    cleaned = state["cleaned"]
    if cleaned is None:
        return int(state["log_end_offset"]) - int(state["log_start_offset"])
    return int(cleaned["records"][1]) + int(state["log_end_offset"]) - int(cleaned["to"])


@quantity
def segments(moment: Moment, replica: Replica) -> int:
    """How many segments it has."""
    return len(_replica(moment, replica)["segments"])


@quantity
def last_segment(moment: Moment, replica: Replica) -> int:
    """The base offset of the active segment."""
    return max(int(base) for base in _replica(moment, replica)["segments"])


@quantity
def log_bytes(moment: Moment, replica: Replica) -> int:
    """The bytes of its .log files."""
    return sum(int(row[0]) for row in _replica(moment, replica)["segments"].values())


@quantity
def batches(moment: Moment, replica: Replica) -> int:
    """How many batches it has, of the last 40."""
    return len(_replica(moment, replica)["tail"])


@quantity
def crc_start(moment: Moment, replica: Replica) -> int:
    """The position in a batch (format v2) from which its CRC covers it: that of the attributes."""
    _replica(moment, replica)
    return ATTRIBUTES_OFFSET


@quantity
def epochs(moment: Moment, replica: Replica) -> int:
    """How many leader epochs its cache contains."""
    return len(_replica(moment, replica)["epochs"])


@quantity
def index_bytes(moment: Moment, replica: Replica) -> int:
    """The length of the active segment's .index: segment.index.bytes of its topic, or of the broker."""
    name = ReplicaId.parse(replicas_of(moment.view, replica)[0])
    topic = topic_config(moment.view, topic_of(name.partition)).get("segment.index.bytes")
    node = moment.view["nodes"][name.node]["settings"]
    length = int(topic or node.get("log.index.size.max.bytes") or DEFAULT_INDEX_BYTES)
    return length - length % OFFSET_INDEX_ENTRY_BYTES


@quantity
def scan_start(moment: Moment, replica: Replica, offset: Number) -> int:
    """The byte at which the search for an offset begins to read batches, by the index that the learner dumped."""
    return max((position for at, position in _index(moment, replica, int(offset)) if at <= int(offset)), default=0)


@quantity
def next_entry(moment: Moment, replica: Replica, offset: Number) -> int:
    """The byte of the index entry above an offset, by the index that the learner dumped."""
    wanted, state = int(offset), _replica(moment, replica)
    size = int(state["segments"][str(floor_segment(state["segments"], wanted))][0])
    return min((position for at, position in _index(moment, replica, wanted) if at > wanted), default=size)


@quantity
def batch_position(moment: Moment, replica: Replica, offset: Number) -> int:
    """The byte at which the batch of an offset begins, if it is one of the last 40."""
    wanted, tail = int(offset), _replica(moment, replica)["tail"]
    found = next((int(row[3]) for base, row in tail.items() if int(base) <= wanted <= row[0]), None)
    if found is None:
        raise Unresolved(text("goal.not_in_last_batches", offset=wanted, replica=replica))
    return found


def _index(moment: Moment, reference: str, offset: int) -> list[tuple[int, int]]:
    """The entries of the offset index that covers an offset, if the learner dumped it. Raises Unresolved."""
    name = replicas_of(moment.view, reference)[0]
    segment = floor_segment(moment.view["replicas"][name]["segments"], offset)
    found = next((one for one in dumps(moment.view) if one[:3] == (name, segment, "index")), None)
    if found is None:
        raise Unresolved(text("goal.index_not_dumped", replica=name))
    return found.entries
