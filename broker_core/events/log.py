"""What happens to the files of a replica. `replica` is `topic-partition@node`; `segment` is a base offset."""

from broker_core.events.envelope import Event, kind

#: (file name, position, length, digest of the removed bytes in the branch's archive)
Cut = tuple[str, int, int, str]


@kind(
    "log",
    en="{replica}: log opened, {log_start_offset} to {log_end_offset}",
    zh="{replica}：日志打开，{log_start_offset} 至 {log_end_offset}",
)
class LogOpened(Event):
    """A log folder was created or loaded.

    `recovery_point`: what lies below it is known to be on disk. `epochs`: (leader epoch, start offset). `segments`:
    (base offset, bytes of the .log, entries of the .index, entries of the .timeindex). `tail`: the last batches:
    (base offset, last offset, leader epoch, segment, position, size).
    """

    replica: str
    topic_id: str
    log_start_offset: int
    log_end_offset: int
    high_watermark: int
    recovery_point: int
    epochs: tuple[tuple[int, int], ...]
    segments: tuple[tuple[int, int, int, int], ...]
    tail: tuple[tuple[int, int, int, int, int, int], ...]


@kind(
    "log",
    en="{replica}: batch {base_offset} to {last_offset} appended",
    zh="{replica}：追加批次 {base_offset} 至 {last_offset}",
)
class BatchAppended(Event):
    """One batch of records lies at `position` of the segment's .log, `size` bytes long."""

    replica: str
    base_offset: int
    last_offset: int
    leader_epoch: int
    segment: int
    position: int
    size: int
    max_timestamp: int


@kind("log", en="{replica}: rolled a new segment at {segment}", zh="{replica}：在 {segment} 处滚动新日志段")
class SegmentRolled(Event):
    replica: str
    segment: int
    previous_segment: int
    previous_size: int


@kind(
    "log", en="{replica}: index entry {offset} at byte {position}", zh="{replica}：索引项 {offset} 指向字节 {position}"
)
class OffsetIndexEntryAdded(Event):
    replica: str
    segment: int
    offset: int
    position: int


@kind(
    "log",
    en="{replica}: time index entry {timestamp} up to {offset}",
    zh="{replica}：时间索引项 {timestamp} 至 {offset}",
)
class TimeIndexEntryAdded(Event):
    replica: str
    segment: int
    timestamp: int
    offset: int


@kind(
    "log",
    en="{replica}: truncated from {from_offset} to {to_offset}, {why}",
    zh="{replica}：从 {from_offset} 截断到 {to_offset}，{why}",
)
class LogTruncated(Event):
    """Everything at and above `to_offset` is gone. `segments` and `tail` are what is left, as in LogOpened."""

    replica: str
    from_offset: int
    to_offset: int
    why: str
    cuts: tuple[Cut, ...]
    segments: tuple[tuple[int, int, int, int], ...]
    tail: tuple[tuple[int, int, int, int, int, int], ...]


@kind("log", en="{replica}: leader epochs are now {entries}", zh="{replica}：首领纪元记录为 {entries}")
class LeaderEpochsChanged(Event):
    """The replica's leader-epoch-checkpoint: (leader epoch, start offset), ascending."""

    replica: str
    entries: tuple[tuple[int, int], ...]


@kind("log", en="{replica}: everything below {offset} is on disk", zh="{replica}：{offset} 之前已刷盘")
class LogFlushed(Event):
    replica: str
    offset: int


@kind("log", en="{broker} wrote {file}", zh="{broker} 写入 {file}")
class CheckpointWritten(Event):
    """`entries`: (topic-partition, offset)."""

    broker: str
    file: str
    entries: tuple[tuple[str, int], ...]


@kind("log", en="{replica}: log closed", zh="{replica}：日志关闭")
class LogClosed(Event):
    replica: str
    clean: bool


@kind("log", en="{replica}: log deleted", zh="{replica}：日志删除")
class LogDeleted(Event):
    """`cuts`: the files as they were, whole."""

    replica: str
    cuts: tuple[Cut, ...]
