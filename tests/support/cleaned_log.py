"""A compacted log for tests of the cleaner."""

from typing import Any

from broker_core.log import LogConfig, UnifiedLog
from broker_core.log.cleaner import CleaningFacts, OffsetMap, clean, cleanable_offsets, log_to_clean
from broker_core.records.record_batch import BatchHeader, Record, build_batch, iterate
from broker_core.sim.simulated_disk import SimulatedDisk

DIRECTORY = "broker-1/prices-0"
NOW_MS = 1_000_000
RETENTION_MS = 5_000


def text(part: bytes | None) -> str:
    return "null" if part is None else part.decode()


class CleanedLog:
    """A log of small segments, and its cleaner with a checkpoint."""

    def __init__(self, disk: SimulatedDisk | None = None, **settings: Any) -> None:
        self.disk = disk or SimulatedDisk()
        chosen: dict[str, Any] = {
            "segment_bytes": 300,
            "cleanup_policy": "compact",
            "delete_retention_ms": RETENTION_MS,
        } | settings
        self.config = LogConfig(**chosen)
        self.checkpoint: int | None = None
        self.log = self.open()

    def open(self, clean_shutdown: bool = True) -> UnifiedLog:
        return UnifiedLog.load(
            self.disk, DIRECTORY, "prices", 0, self.config, now_ms=NOW_MS, clean_shutdown=clean_shutdown
        )

    def put(self, *pairs: str, **batch: Any) -> None:
        """One batch of `key:value` records; the value null is a tombstone."""
        records = [
            (NOW_MS, key.encode(), None if value == "null" else value.encode(), ())
            for key, _, value in (pair.partition(":") for pair in pairs)
        ]
        self.log.append_as_leader(build_batch(records, **batch), 0, NOW_MS)

    def put_each(self, pairs: str) -> None:
        for pair in pairs.split():
            self.put(pair)

    def roll(self) -> None:
        self.log.roll(NOW_MS)

    def clean(self, now_ms: int = NOW_MS, offset_map: OffsetMap | None = None) -> CleaningFacts:
        offsets = cleanable_offsets(
            self.log, self.checkpoint, self.log.last_stable_offset(self.log.log_end_offset), now_ms
        )
        facts = clean(log_to_clean(self.log, offsets, now_ms), now_ms, offset_map or OffsetMap())
        self.checkpoint = facts.to_offset
        self.log.high_watermark_moved(self.log.log_end_offset)
        return facts

    @property
    def batches(self) -> list[BatchHeader]:
        return [header for segment in self.log.segments for _, header in segment.headers()]

    @property
    def records(self) -> list[Record]:
        return [record for segment in self.log.segments for record in iterate(segment.log.read(0, segment.size))]

    @property
    def pairs(self) -> str:
        """`offset=key:value` of each record."""
        return " ".join(f"{record.offset}={text(record.key)}:{text(record.value)}" for record in self.records)
