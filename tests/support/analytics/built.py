"""A growing run, its tables, and builds of them; with two small tables that are easy to check."""

import struct
from collections.abc import Sequence
from pathlib import Path

import msgspec
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from lab.analytics.build.found import Found
from lab.analytics.build.run import Outcome, Wanted, build
from lab.analytics.store.builds import Store
from lab.analytics.store.ledger import BranchEntry
from lab.analytics.store.reading import rows
from lab.analytics.tables import BIGINT, BRANCH, STRING, Table, Tables, c
from lab.analytics.tables.registry import checked
from lab.analytics.tables.table import AT_US, SEQ
from lab.recordings.recording import Recording
from tests.support.recorded_runs import busy_run, run_until_events


def advances(t: Tables) -> DataFrame:
    return t.kind("HighWatermarkAdvanced").select(BRANCH, "seq", "at_us", "replica", "to_offset")


def totals(t: Tables) -> DataFrame:
    ends = t.advances.groupBy(BRANCH, "replica").agg(
        F.max("to_offset").alias("high_watermark"), F.count("*").alias("advances")
    )
    return ends.select(BRANCH, "replica", "high_watermark", "advances")


ADVANCES = Table(
    name="silver.advances", unit="branch", key=("seq",), per_event=True, kinds=("HighWatermarkAdvanced",),
    columns=(SEQ, AT_US, c("replica", STRING), c("to_offset", BIGINT)), make=advances,
)  # fmt: skip
TOTALS = Table(
    name="gold.totals", unit="branch", key=("replica",), needs=("silver.advances",), small=True, make=totals,
    columns=(c("replica", STRING), c("high_watermark", BIGINT), c("advances", BIGINT)),
)  # fmt: skip
REGISTRY = checked((ADVANCES, TOTALS))


def entry(recording: Recording, parent: str = "", parent_seq: int = 0) -> Found:
    folder = recording.folder
    name = f"{folder.run}/{folder.branch}"
    place = folder.recording / "events-0"
    return Found(
        place,
        BranchEntry(name, folder.run, str(place), parent=parent, parent_seq=parent_seq, own_from_seq=parent_seq),
    )


class Lab:
    """A growing run, its tables, and builds of them."""

    def __init__(self, session: SparkSession, root: Path) -> None:
        self.session = session
        self.recording, self.live = busy_run(root / "runs", 1_200)
        self.recording.flush()
        self.root = root
        self.store = Store.at(str(root / "tables"))
        self.asked = 0

    def goes_on(self, events: int) -> None:
        self.live.pacer.set_mode("play")
        run_until_events(self.live, self.recording.last_seq + events)
        self.recording.flush()

    def spark(self) -> SparkSession:
        self.asked += 1
        return self.session

    def build(self, *found: Found, **more: object) -> Outcome:
        return build(self.spark, self.store, Wanted(found or (entry(self.recording),), registry=REGISTRY, **more))  # type: ignore[arg-type]

    def totals(self, branch: str = "r1/main") -> dict[str, tuple[int, int]]:
        newest = self.store.newest()
        assert newest is not None
        found = rows(self.store, newest, "gold.totals", {branch})
        assert found is not None
        return {row["replica"]: (row["high_watermark"], row["advances"]) for row in found.to_pylist()}


def expected(recording: Recording, to_seq: int | None = None) -> dict[str, tuple[int, int]]:
    """By plain Python, from the log."""
    found: dict[str, tuple[int, int]] = {}
    for event in recording.stored(1, to_seq or recording.last_seq):
        kind, *fields = msgspec.json.decode(event.record)[3]
        if kind == "HighWatermarkAdvanced":
            high, count = found.get(fields[0], (0, 0))
            found[fields[0]] = (max(high, fields[2]), count + 1)
    return found


def batches_of(data: bytes) -> Sequence[tuple[int, int, int, int]]:
    """(start, end, first seq, last seq) of each batch."""
    found = []
    position = 0
    while position < len(data):
        base, length = struct.unpack_from(">qi", data, position)
        (delta,) = struct.unpack_from(">i", data, position + 23)
        end = position + 12 + length
        found.append((position, end, base, base + delta))
        position = end
    return found
