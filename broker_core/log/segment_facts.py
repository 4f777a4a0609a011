"""The values that a segment hands to its log, and the names of its files."""

from typing import NamedTuple

import msgspec

from broker_core.log.config import LogConfig
from broker_core.records.record_batch import crc32c

LOG_SUFFIX = ".log"
INDEX_SUFFIX = ".index"
TIME_INDEX_SUFFIX = ".timeindex"
TRANSACTION_INDEX_SUFFIX = ".txnindex"
SEGMENT_SUFFIXES = (LOG_SUFFIX, INDEX_SUFFIX, TIME_INDEX_SUFFIX, TRANSACTION_INDEX_SUFFIX)


class BatchFact(msgspec.Struct, frozen=True, gc=False):
    """A batch's offsets, leader epoch, and position and size in the segment's `.log`."""

    base_offset: int
    last_offset: int
    leader_epoch: int
    position: int
    size: int
    max_timestamp: int
    crc: int = 0


class IndexEntries(msgspec.Struct, frozen=True, gc=False):
    """The index entries that an append added, with absolute offsets."""

    offsets: tuple[tuple[int, int], ...]
    """(last offset of the batch, position of the batch)"""
    timestamps: tuple[tuple[int, int], ...]
    """(timestamp, offset)"""


class TimestampAndOffset(NamedTuple):
    """A record found by its timestamp (ms), with the leader epoch of its batch."""

    timestamp: int
    offset: int
    leader_epoch: int


NO_ENTRIES = IndexEntries((), ())


def segment_path(directory: str, base_offset: int, suffix: str) -> str:
    """The path of one of a segment's files: the base offset in 20 digits, and the suffix."""
    return f"{directory}/{base_offset:020d}{suffix}"


def roll_jitter_ms(directory: str, base_offset: int, config: LogConfig) -> int:
    """Kafka draws this at random per segment; here it is derived from the segment's name, so that runs repeat."""
    limit = min(config.segment_jitter_ms, config.max_segment_ms)
    return int(crc32c(f"{directory}/{base_offset}".encode())) % limit if limit else 0
