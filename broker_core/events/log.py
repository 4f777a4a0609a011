"""What happens to the files of a replica. `replica` is `topic-partition@node`; `segment` is a base offset."""

from broker_core.events.envelope import Event, kind

#: (file name, position, length, digest of the removed bytes in the branch's archive)
Cut = tuple[str, int, int, str]

#: (base offset, bytes of the .log, entries of the .index, entries of the .timeindex)
SegmentRow = tuple[int, int, int, int]

#: A batch: (base offset, last offset, leader epoch, segment, position, size, CRC). Journals of before lack the CRC.
TailRow = tuple[int, ...]

TAIL_BATCHES = 40
"""Number of the last batches of a log in a `tail`."""


@kind("log")
class LogOpened(Event):
    """A log folder was created or loaded.

    `recovery_point`: offsets below it are known to be on disk. `epochs`: (leader epoch, start offset). `segments`: what
    each contains; `synced`: how much of it a power loss would leave. `tail`: the last batches: (base offset, last
    offset, leader epoch, segment, position, size, CRC of its header).
    """

    replica: str
    topic_id: str
    log_start_offset: int
    log_end_offset: int
    high_watermark: int
    recovery_point: int
    epochs: tuple[tuple[int, int], ...]
    segments: tuple[SegmentRow, ...]
    tail: tuple[TailRow, ...]
    synced: tuple[SegmentRow, ...] = ()


@kind("log")
class BatchAppended(Event):
    """One batch of records is at `position` of the segment's .log, `size` bytes long. `crc` is that of its header."""

    replica: str
    base_offset: int
    last_offset: int
    leader_epoch: int
    segment: int
    position: int
    size: int
    max_timestamp: int
    crc: int = 0


@kind("log")
class RefusedAppendWritten(Event):
    """A damaged index rejected an entry for bytes that the segment's .log already contains. The log end offset stays,
    and the next append is written after these bytes. The numbers are bytes of the .log and entries of the .index and of
    the .timeindex.
    """

    replica: str
    segment: int
    size: int
    index_entries: int
    time_index_entries: int


@kind("log")
class SegmentRolled(Event):
    replica: str
    segment: int
    previous_segment: int
    previous_size: int


@kind("log")
class OffsetIndexEntryAdded(Event):
    replica: str
    segment: int
    offset: int
    position: int


@kind("log")
class TimeIndexEntryAdded(Event):
    replica: str
    segment: int
    timestamp: int
    offset: int


@kind("log")
class LogTruncated(Event):
    """Everything at and above `to_offset` is removed. `segments`, `tail` and `synced` are what is left, as in
    LogOpened. `cuts`: the bytes removed from files that still exist.
    """

    replica: str
    from_offset: int
    to_offset: int
    why: str
    cuts: tuple[Cut, ...]
    segments: tuple[SegmentRow, ...]
    tail: tuple[TailRow, ...]
    synced: tuple[SegmentRow, ...] = ()


@kind("log")
class LogStartOffsetIncremented(Event):
    """Offsets below `to_offset` can no longer be read. Segments wholly below it are deleted at the next retention
    check.
    """

    replica: str
    from_offset: int
    to_offset: int
    why: str


@kind("log")
class SegmentsDeleted(Event):
    """Old segments (base offsets) left the log. `why`: the rule that let them go."""

    replica: str
    segments: tuple[int, ...]
    why: str


@kind("log")
class RetentionFailed(Event):
    """Old segments of a log could not be deleted. As in Kafka the pass over the broker's logs ends with that."""

    replica: str
    why: str


@kind("log")
class FilesMarkedDeleted(Event):
    """Files got the suffix `.deleted`; they leave the disk at `due_us`.

    `files`: (path before, bytes). `cuts`: earlier files that bore the new names, and were replaced.
    """

    replica: str
    count: int
    files: tuple[tuple[str, int], ...]
    due_us: int
    cuts: tuple[Cut, ...] = ()


@kind("log")
class FilesUnlinked(Event):
    """`folder`: that of a replica, or of a deleted log, which is deleted with the last of them. `count`: of files.
    `cuts`: the whole files, in one piece or in several.
    """

    broker: str
    folder: str
    count: int
    cuts: tuple[Cut, ...]


@kind("log")
class LogCleaned(Event):
    """Compaction rewrote the closed segments, without the records that are no longer needed.

    The dirty section reached from `from_offset` to `to_offset`, where the next pass begins. `groups`: the sources of
    each new segment: (its base offset, its sources as (base offset, bytes)). Bytes and records count these segments,
    before and after; `counts`: (fate, records). Fates: kept, superseded, tombstone, aborted, marker, no key. `fates`
    lists the last 256 records: (offset, fate, offset of the later record with its key or -1). `keys`: how many the
    dirty section has. `empty_batches`: kept for the sequence number of their producer. `delete_horizon_ms`: when the
    tombstones found for the first time may be removed, -1 without any. `cuts`: the old files, whole. `segments`, `tail`
    and `synced` are those of the log afterwards, as in LogOpened.
    """

    replica: str
    from_offset: int
    to_offset: int
    groups: tuple[tuple[int, tuple[tuple[int, int], ...]], ...]
    bytes_before: int
    bytes_after: int
    records_before: int
    records_after: int
    counts: tuple[tuple[str, int], ...]
    fates: tuple[tuple[int, str, int], ...]
    keys: int
    empty_batches: int
    delete_horizon_ms: int
    cuts: tuple[Cut, ...]
    segments: tuple[SegmentRow, ...]
    tail: tuple[TailRow, ...]
    synced: tuple[SegmentRow, ...]


@kind("log")
class LogUncleanable(Event):
    """The cleaner could not read the log and skips it until the broker restarts."""

    replica: str
    why: str


@kind("log")
class SegmentChecked(Event):
    """Recovery read all of a segment, `size` bytes of which are valid."""

    replica: str
    segment: int
    size: int


@kind("log")
class LogRepaired(Event):
    """What loading the log found wrong. `repair`: cut (the file ends at `position` now), deleted, or rebuilt (from the
    .log). `length`: the bytes removed, `digest` their name in the branch's archive. `rule`: what was violated.
    """

    replica: str
    file: str
    repair: str
    position: int
    length: int
    rule: str
    digest: str = ""


@kind("log")
class CheckpointReset(Event):
    broker: str
    file: str
    rule: str


@kind("log")
class LogDirectoryFailed(Event):
    """A file keeps the broker from starting. `what` is Kafka's last word on it."""

    broker: str
    file: str
    position: int
    rule: str
    what: str


@kind("log")
class LeaderEpochsChanged(Event):
    """The replica's leader-epoch-checkpoint: (leader epoch, start offset), ascending."""

    replica: str
    entries: tuple[tuple[int, int], ...]


@kind("log")
class LogFlushed(Event):
    """`segments`: base offsets of those whose files were fsynced, as long as they are."""

    replica: str
    offset: int
    segments: tuple[int, ...] = ()


@kind("log")
class PowerLost(Event):
    """What had not been fsynced is lost. `cuts`: the ends of files, and what had overwritten fsynced bytes."""

    broker: str
    byte_count: int
    cuts: tuple[Cut, ...]


@kind("log")
class CheckpointWritten(Event):
    """`entries`: (topic-partition, offset)."""

    broker: str
    file: str
    entries: tuple[tuple[str, int], ...]


@kind("log")
class LogClosed(Event):
    replica: str
    clean: bool


@kind("log")
class LogDeleted(Event):
    """The replica's folder was renamed to `folder`, `files` (name, bytes) with it; it leaves the disk at `due_us`."""

    replica: str
    folder: str
    files: tuple[tuple[str, int], ...]
    due_us: int
