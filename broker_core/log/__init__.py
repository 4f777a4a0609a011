"""The log layer: segments, indexes, leader epochs, producers' state. `UnifiedLog` is the facade, one per replica.

A log is a folder of segments; each is a `.log` file of batches with an offset index and a time index, named by its
first offset. Only the last one, the active segment, is written: a batch is validated, receives offsets, is appended,
and every index.interval.bytes an index entry follows. A segment is rolled when it is full or old. A read looks up the
largest indexed offset that is not above its own and scans from there.

A segment is fsynced after it was rolled, at a clean shutdown, and as flush.messages and flush.ms require; the recovery
point, which a checkpoint file holds, is the offset below which everything was. After a crash, recovery scans the
segments above it, truncates at the first invalid batch, and rebuilds indexes, producers' state and leader epochs.
Retention deletes whole segments from the start; compaction copies the last record of each key to new segments and
replaces the old ones.

`unified_log.py`        the facade, built on `readable_log.py` and `appendable_log.py`
`local_log.py`, `segment.py`, `batch_scan.py`, `swap_files.py`  files of one log
`append/`               validation and offsets of new batches
`index/`, `lookup.py`   indexes, and how an offset or a timestamp is found, step by step
`producers/`            sequence numbers and transactions of producers, and their snapshots
`leader_epoch_cache.py` where each leader epoch begins
`recovery/`             what happens at a start
`retention.py`, `cleaner/`  deletion and compaction
`files/`                checkpoint files and others of a broker's directory
`annotate/`, `dump/`    the bytes of a file explained, and kafka-dump-log.sh
"""

from broker_core.log.append.append_info import AppendInfo, ReadInfo
from broker_core.log.config import LogConfig
from broker_core.log.files.checkpoints import LEADER_EPOCH_CHECKPOINT, RECOVERY_POINT_CHECKPOINT, OffsetCheckpoint
from broker_core.log.files.deleted_files import DELETED_SUFFIX
from broker_core.log.files.directory_files import META_PROPERTIES
from broker_core.log.files.partition_metadata import PARTITION_METADATA
from broker_core.log.files.storage_fault import StorageFault
from broker_core.log.index.offset_index import ENTRY_BYTES as OFFSET_ENTRY_BYTES
from broker_core.log.index.time_index import ENTRY_BYTES as TIME_ENTRY_BYTES
from broker_core.log.index.time_index import TimeIndex
from broker_core.log.local_log import RollFact
from broker_core.log.lookup import Lookup, SegmentSizes, look_up_offset, look_up_timestamp
from broker_core.log.producers.producer_snapshot import decode_snapshot
from broker_core.log.recovery.slices import LOG_BATCHES, Slices, Work, at_once
from broker_core.log.segment import LogSegment
from broker_core.log.segment_facts import BatchFact, TimestampAndOffset
from broker_core.log.unified_log import UnifiedLog

__all__ = [
    "DELETED_SUFFIX",
    "LEADER_EPOCH_CHECKPOINT",
    "LOG_BATCHES",
    "META_PROPERTIES",
    "OFFSET_ENTRY_BYTES",
    "PARTITION_METADATA",
    "RECOVERY_POINT_CHECKPOINT",
    "TIME_ENTRY_BYTES",
    "AppendInfo",
    "BatchFact",
    "LogConfig",
    "LogSegment",
    "Lookup",
    "OffsetCheckpoint",
    "ReadInfo",
    "RollFact",
    "SegmentSizes",
    "Slices",
    "StorageFault",
    "TimeIndex",
    "TimestampAndOffset",
    "UnifiedLog",
    "Work",
    "at_once",
    "decode_snapshot",
    "look_up_offset",
    "look_up_timestamp",
]
