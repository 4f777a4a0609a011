"""Recordings as a data source of Spark: `spark.read.format("highwater").option("path", ...)`, in batch and as a stream.

    from lab.analytics.datasource import register

    register(spark)
    spark.read.format("highwater").option("path", "data/runs/*/*").load().where("kind = 'LogTruncated'")
    spark.readStream.format("highwater").option("path", "data/runs/bcd234/main").load()

A path is the folder of a branch (`runs/<run>/<branch>`) or its `recording`; globs and comma-separated lists are
accepted. The payload is the event as JSON, `["HighWatermarkAdvanced", "orders-0@b1", 41, 42]`, without contents of
records. Each batch of the log is verified: with the option `damaged=skip`, the default, damaged batches are left out;
with `fail` the query fails and reports the position. Other options: `from_seq`, `to_seq`, `kinds` (comma-separated).
"""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    InputPartition,
    LessThan,
    LessThanOrEqual,
)

from lab.analytics.build.segments import SCHEMA, Span, appended, read
from lab.analytics.build.values import UNREADABLE

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession
    from pyspark.sql.types import StructType

NAME = "highwater"
_LOG = "events-0"
_LAST = 2**62


class SourceError(ValueError):
    """An option or a recording cannot be used; the message says what was expected."""


class Place(NamedTuple):
    """A recording: its log and its identity."""

    log: Path
    run: str
    branch: str


class Bounds(NamedTuple):
    """The requested events; all kinds if `kinds` is None."""

    from_seq: int = 1
    to_seq: int = _LAST
    kinds: frozenset[str] | None = None
    branches: frozenset[str] | None = None


class SpanPartition(InputPartition):
    """Complete batches of one segment, read by one task."""

    def __init__(self, place: Place, span: Span, bounds: Bounds, *, fails: bool) -> None:
        super().__init__(None)
        self.place, self.span, self.bounds, self.fails = place, span, bounds, fails


class HighwaterSource(DataSource):
    """The format `highwater`."""

    @classmethod
    def name(cls) -> str:
        return NAME

    def schema(self) -> str:
        return SCHEMA

    def reader(self, schema: "StructType") -> DataSourceReader:
        return _Reader(self.options)

    def streamReader(self, schema: "StructType") -> DataSourceStreamReader:
        return _StreamReader(self.options)


def register(spark: "SparkSession") -> None:
    """Registers `highwater` with a session, with filter push-down enabled."""
    spark.conf.set("spark.sql.python.filterPushdown.enabled", "true")
    spark.dataSource.register(HighwaterSource)


def places(path: str) -> list[Place]:
    """The recordings that match a comma-separated list of paths. Raises SourceError if there are none."""
    found: dict[Path, Place] = {}
    for pattern in filter(None, (one.strip() for one in path.split(","))):
        root = Path(Path(pattern).anchor or ".")
        for folder in sorted(root.glob(str(Path(pattern).relative_to(Path(pattern).anchor)))):
            log = next((one for one in (folder / "recording" / _LOG, folder / _LOG) if one.is_dir()), None)
            if log is not None:
                found[log.resolve()] = _identified(log)
    if not found:
        raise SourceError(f"There is no recording at {path}. Expected folders of branches, as in runs/<run>/<branch>.")
    return list(found.values())


def _identified(log: Path) -> Place:
    try:
        said = json.loads((log.parent / "identity.json").read_bytes())
        return Place(log, str(said["run"]), str(said["branch"]))
    except (OSError, ValueError, KeyError):
        branch = log.parent.parent
        return Place(log, branch.parent.name, f"{branch.parent.name}/{branch.name}")


def _bounds(options: Any) -> tuple[str, Bounds, bool]:
    path = options.get("path", "")
    if not path:
        raise SourceError("The option path is missing. Expected the folder of a branch, as in runs/<run>/<branch>.")
    numbers = {}
    for name, usual in (("from_seq", 1), ("to_seq", _LAST)):
        given = options.get(name, str(usual))
        if not given.isdecimal():
            raise SourceError(f"The option {name} is {given!r}. Expected the number of an event.")
        numbers[name] = int(given)
    damaged = options.get("damaged", "skip")
    if damaged not in ("skip", "fail"):
        raise SourceError(f"The option damaged is {damaged!r}. Expected skip or fail.")
    kinds = frozenset(filter(None, (one.strip() for one in options.get("kinds", "").split(","))))
    return path, Bounds(numbers["from_seq"], numbers["to_seq"], kinds or None), damaged == "fail"


def _spans(place: Place, bounds: Bounds, *, fails: bool) -> tuple[list[SpanPartition], int]:
    """The parts of a recording, and its last event. Raises SourceError for damage if requested."""
    found = appended(place.log, (), (), 0, 0)
    if fails and found.damage:
        lost, _ = found.damage[0]
        where = f"bytes {lost.from_byte} to {lost.to_byte} of {lost.segment}"
        raise SourceError(f"The recording of {place.branch} is damaged ({lost.reason}): {where}.")
    return [SpanPartition(place, span, bounds, fails=fails) for span in found.spans], found.last_seq


def _read(partition: SpanPartition) -> "Iterator[pa.RecordBatch]":
    import pyarrow.compute as pc

    place, bounds = partition.place, partition.bounds
    for batch in read(place.branch, place.run, 0, partition.span):
        is_unreadable = pc.equal(batch.column("kind"), UNREADABLE)
        if partition.fails and pc.any(is_unreadable).as_py():
            first = batch.filter(is_unreadable).column("seq")[0]
            raise SourceError(f"Event {first} of {place.branch} cannot be read.")
        batch = batch.filter(pc.invert(is_unreadable))
        seq = batch.column("seq")
        wanted = pc.and_(pc.greater_equal(seq, bounds.from_seq), pc.less_equal(seq, bounds.to_seq))
        if bounds.kinds is not None:
            wanted = pc.and_(wanted, pc.is_in(batch.column("kind"), value_set=_strings(bounds.kinds)))
        chosen = batch.filter(wanted)
        if chosen.num_rows:
            yield chosen


def _strings(values: frozenset[str]) -> "pa.Array":
    import pyarrow as pa

    return pa.array(sorted(values), pa.string())


class _Reader(DataSourceReader):
    def __init__(self, options: Any) -> None:
        self._path, self._asked, self._fails = _bounds(options)

    def pushFilters(self, filters: list[Filter]) -> Iterator[Filter]:
        """Accepts equality and ranges on seq, kind and branch; Spark applies all filters again."""
        for one in filters:
            self._asked = _narrowed(self._asked, one)
            yield one

    def partitions(self) -> Sequence[InputPartition]:
        chosen = [
            place
            for place in places(self._path)
            if self._asked.branches is None or place.branch in self._asked.branches
        ]
        return [part for place in chosen for part in _spans(place, self._asked, fails=self._fails)[0]]

    def read(self, partition: InputPartition) -> "Iterator[pa.RecordBatch]":
        assert isinstance(partition, SpanPartition)
        return _read(partition)


def _narrowed(bounds: Bounds, one: Filter) -> Bounds:
    column = getattr(one, "attribute", ())
    value = getattr(one, "value", None)
    if column == ("seq",) and isinstance(value, int):
        match one:
            case EqualTo():
                return bounds._replace(from_seq=max(bounds.from_seq, value), to_seq=min(bounds.to_seq, value))
            case GreaterThan():
                return bounds._replace(from_seq=max(bounds.from_seq, value + 1))
            case GreaterThanOrEqual():
                return bounds._replace(from_seq=max(bounds.from_seq, value))
            case LessThan():
                return bounds._replace(to_seq=min(bounds.to_seq, value - 1))
            case LessThanOrEqual():
                return bounds._replace(to_seq=min(bounds.to_seq, value))
    wanted: frozenset[str] | None = None
    if isinstance(one, EqualTo) and isinstance(value, str):
        wanted = frozenset((value,))
    elif isinstance(one, In):
        wanted = frozenset(str(each) for each in getattr(one, "value", ()))
    if wanted is not None and column == ("kind",):
        return bounds._replace(kinds=wanted if bounds.kinds is None else bounds.kinds & wanted)
    if wanted is not None and column == ("branch",):
        return bounds._replace(branches=wanted if bounds.branches is None else bounds.branches & wanted)
    return bounds


class _StreamReader(DataSourceStreamReader):
    """An offset is the last event read of each recording. Recordings are not queues: commit does nothing."""

    def __init__(self, options: Any) -> None:
        self._path, self._asked, self._fails = _bounds(options)

    def initialOffset(self) -> dict[str, int]:
        return {}

    def latestOffset(self, *limits: Any) -> dict[str, int]:
        return {str(place.log): _spans(place, self._asked, fails=self._fails)[1] for place in places(self._path)}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[InputPartition]:
        found = []
        for place in places(self._path):
            after, until = start.get(str(place.log), 0), end.get(str(place.log), 0)
            if until <= after:
                continue
            first, last = max(self._asked.from_seq, after + 1), min(self._asked.to_seq, until)
            bounds = self._asked._replace(from_seq=first, to_seq=last)
            found += _spans(place, bounds, fails=self._fails)[0]
        return found

    def read(self, partition: InputPartition) -> "Iterator[pa.RecordBatch]":
        assert isinstance(partition, SpanPartition)
        return _read(partition)

    def commit(self, end: dict[str, int]) -> None:
        """Does nothing: reading does not consume events."""
