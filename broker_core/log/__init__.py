"""The log layer: segments, indexes, leader epochs, producers' state. `UnifiedLog` is the facade, one per replica."""

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
