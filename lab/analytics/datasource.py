"""Recordings as a data source of Spark: `spark.read.format("highwater").option("path", ...)`, in batch and as a stream.

    from lab.analytics.datasource import register

    register(spark)
    spark.read.format("highwater").option("path", "data/runs/*/*").load().where("kind = 'LogTruncated'")
    spark.readStream.format("highwater").option("path", "data/runs/bcd234/main").load()
    spark.read.format("highwater").option("of", "acts").option("path", "s3://term/classes/*").load()

A path is a folder or an address in an object store; globs and comma-separated lists are accepted. By default it is the
folder of a branch (`runs/<run>/<branch>`) or its `recording`: the payload is the event as JSON,
`["HighWatermarkAdvanced", "orders-0@b1", 41, 42]`, without contents of records. With the option `of=acts` it is the
folder of a class (`classes/<class>`) or of a learner (`learning/<learner>`), and rows are those of `bronze.acts`, with
participants by their numbers. A fork has the events of its parent only if the parent is not among the paths.

Each batch of the log is verified. With the option `damaged=fail`, the default, the query fails if it would read
something damaged, and reports the position; with `mark` there is a row of kind `?` for each damaged part, whose payload
has the reason and the last event; with `skip` damaged parts are left out. Other options: `from_seq`, `to_seq`, `kinds`
(comma-separated).
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

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

from lab.analytics.build import acts
from lab.analytics.build.acts import Clock, FoundLog, clock_of
from lab.analytics.build.segments import ROWS, SCHEMA, Appended, Mark, Span, following, read
from lab.analytics.build.sources import Place, SourceError, logs_of, recordings_of
from lab.analytics.build.values import UNREADABLE, unreadable
from lab.analytics.store.ledger import Damage
from lab.analytics.store.objects import folder_at

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession
    from pyspark.sql.types import StructType

NAME = "highwater"
ACTS_SCHEMA = ", ".join(
    f"`{field.name}` {'bigint' if field.name in ('seq', 'at_ms', 'class_us') else 'string'}" for field in acts.ROWS
)
_LAST = 2**62
_Damaged: TypeAlias = Literal["fail", "mark", "skip"]


class Asked(NamedTuple):
    """The requested rows; all kinds and branches if these are None. `has_acts`: acts, not events."""

    path: str
    has_acts: bool = False
    damaged: _Damaged = "fail"
    from_seq: int = 1
    to_seq: int = _LAST
    kinds: frozenset[str] | None = None
    branches: frozenset[str] | None = None

    def has(self, lost: Damage) -> bool:
        """Whether a damaged part is among the requested events. Its end may be unknown."""
        return lost.from_seq <= self.to_seq and (lost.to_seq or _LAST) >= self.from_seq


class Offset(NamedTuple):
    """How far a log has been read, and the clock of a class then; as a list in Spark's checkpoint."""

    segment: str = ""
    byte: int = 0
    seq: int = 0
    wall_ms: int = 0
    at_us: int = 0

    @property
    def mark(self) -> Mark:
        """The position in the log."""
        return Mark(self.segment, self.byte, self.seq)

    @property
    def clock(self) -> Clock:
        """The clock of the class."""
        return Clock(self.wall_ms, self.at_us)


class EventsPartition(InputPartition):
    """Complete batches of one segment of a recording, read by one task."""

    def __init__(self, place: Place, span: Span, asked: Asked) -> None:
        super().__init__(None)
        self.place, self.span, self.asked = place, span, asked


class ActsPartition(InputPartition):
    """A part of the log of a class or of a learner, read by one task because the clock runs on."""

    def __init__(self, log: FoundLog, spans: Sequence[Span], clock: Clock, asked: Asked) -> None:
        super().__init__(None)
        self.log, self.spans, self.clock, self.asked = log, spans, clock, asked


class DamagePartition(InputPartition):
    """Damaged parts of a log, as rows."""

    def __init__(self, source: Place | FoundLog, damage: Sequence[Damage]) -> None:
        super().__init__(None)
        self.source, self.damage = source, damage


class HighwaterSource(DataSource):
    """The format `highwater`."""

    @classmethod
    def name(cls) -> str:
        return NAME

    def schema(self) -> str:
        return ACTS_SCHEMA if _asked(self.options).has_acts else SCHEMA

    def reader(self, schema: "StructType") -> DataSourceReader:
        return _Reader(_asked(self.options))

    def streamReader(self, schema: "StructType") -> DataSourceStreamReader:
        return _StreamReader(_asked(self.options))


def register(spark: "SparkSession") -> None:
    """Registers `highwater` with a session, with filter push-down enabled."""
    spark.conf.set("spark.sql.python.filterPushdown.enabled", "true")
    spark.dataSource.register(HighwaterSource)


def _asked(options: Any) -> Asked:
    """The options. Raises SourceError for a mistake."""
    path = options.get("path", "")
    if not path:
        raise SourceError("The option path is missing. Expected the folder of a branch, as in runs/<run>/<branch>.")
    numbers = {}
    for name, usual in (("from_seq", 1), ("to_seq", _LAST)):
        given = options.get(name, str(usual))
        if not given.isdecimal():
            raise SourceError(f"The option {name} is {given!r}. Expected the number of an event.")
        numbers[name] = int(given)
    damaged, of = options.get("damaged", "fail"), options.get("of", "events")
    if damaged not in ("fail", "mark", "skip"):
        raise SourceError(f"The option damaged is {damaged!r}. Expected fail, mark or skip.")
    if of not in ("events", "acts"):
        raise SourceError(f"The option of is {of!r}. Expected events or acts.")
    kinds = frozenset(filter(None, (one.strip() for one in options.get("kinds", "").split(","))))
    return Asked(path, of == "acts", damaged, numbers["from_seq"], numbers["to_seq"], kinds or None)


# Planning, in the driver


def _sources(asked: Asked) -> "dict[str, Place | FoundLog]":
    """The recordings or logs by address."""
    if asked.has_acts:
        return {str(one.folder): one for one in logs_of(asked.path)}
    chosen = (one for one in recordings_of(asked.path) if asked.branches is None or one.branch in asked.branches)
    return {one.log: one for one in chosen}


def _new(source: Place | FoundLog, since: Offset) -> tuple[Appended, Mark]:
    if isinstance(source, Place):
        return following(folder_at(source.log), since.mark, source.own_from_seq)
    return following(source.folder, since.mark, 0)


def _partitions(
    source: Place | FoundLog, asked: Asked, since: Offset, until: Offset | None = None
) -> list[InputPartition]:
    """The parts of a log after an offset, up to another one. Raises SourceError for damage if requested."""
    new, _ = _new(source, since)
    spans = [span for span in new.spans if _is_before(span.path.rpartition("/")[2], span.start, until)]
    described = source.damage if isinstance(source, Place) and not since.segment else ()
    damage = [*described, *(lost for lost, _ in new.damage if _is_before(lost.segment, lost.from_byte, until))]
    damage = [lost for lost in damage if asked.has(lost)] if asked.damaged != "skip" else []
    if damage and asked.damaged == "fail":
        raise _failed(source, damage[0])
    found: list[InputPartition] = [DamagePartition(source, damage)] if damage else []
    if until is not None:
        asked = asked._replace(to_seq=min(asked.to_seq, until.seq))
    if isinstance(source, Place):
        return [*found, *(EventsPartition(source, span, asked) for span in spans)]
    clock = clock_of(new.first) if new.first is not None else since.clock
    return [*found, ActsPartition(source, spans, clock, asked)] if spans else found


def _is_before(segment: str, byte: int, until: Offset | None) -> bool:
    return until is None or (segment, byte) < (until.segment, until.byte)


def _failed(source: Place | FoundLog, lost: Damage) -> SourceError:
    name = source.branch if isinstance(source, Place) else source.entry.branch
    where = f"bytes {lost.from_byte} to {lost.to_byte} of {lost.segment}"
    return SourceError(
        f"The recording of {name} is damaged ({lost.reason}): {where}. With the option damaged=mark, damaged parts are "
        "rows of kind ?; with skip they are left out."
    )


class _Reader(DataSourceReader):
    def __init__(self, asked: Asked) -> None:
        self._asked = asked

    def pushFilters(self, filters: list[Filter]) -> Iterator[Filter]:
        """Accepts equality and ranges on seq, kind and branch; Spark applies all filters again."""
        for one in filters:
            self._asked = _narrowed(self._asked, one)
            yield one

    def partitions(self) -> Sequence[InputPartition]:
        sources = _sources(self._asked).values()
        return [part for one in sources for part in _partitions(one, self._asked, Offset())]

    def read(self, partition: InputPartition) -> "Iterator[pa.RecordBatch]":
        return _read(partition)


def _narrowed(asked: Asked, one: Filter) -> Asked:
    column = getattr(one, "attribute", ())
    value = getattr(one, "value", None)
    if column == ("seq",) and isinstance(value, int):
        match one:
            case EqualTo():
                return asked._replace(from_seq=max(asked.from_seq, value), to_seq=min(asked.to_seq, value))
            case GreaterThan():
                return asked._replace(from_seq=max(asked.from_seq, value + 1))
            case GreaterThanOrEqual():
                return asked._replace(from_seq=max(asked.from_seq, value))
            case LessThan():
                return asked._replace(to_seq=min(asked.to_seq, value - 1))
            case LessThanOrEqual():
                return asked._replace(to_seq=min(asked.to_seq, value))
    wanted: frozenset[str] | None = None
    if isinstance(one, EqualTo) and isinstance(value, str):
        wanted = frozenset((value,))
    elif isinstance(one, In):
        wanted = frozenset(str(each) for each in getattr(one, "value", ()))
    if wanted is not None and column == ("kind",):
        return asked._replace(kinds=wanted if asked.kinds is None else asked.kinds & wanted)
    if wanted is not None and column == ("branch",):
        return asked._replace(branches=wanted if asked.branches is None else asked.branches & wanted)
    return asked


class _StreamReader(DataSourceStreamReader):
    """An offset is how far each log has been read, by address. Recordings are not queues: commit does nothing."""

    def __init__(self, asked: Asked) -> None:
        self._asked = asked
        self._read: dict[str, Offset] = {}

    def initialOffset(self) -> dict[str, list[Any]]:
        return {}

    def latestOffset(self, start: dict[str, list[Any]] | None = None, limit: Any = None) -> dict[str, list[Any]]:
        """Reads only what was written since it was last called or, after a restart, since `start`."""
        for address, source in _sources(self._asked).items():
            before = self._read.get(address, Offset(*(start or {}).get(address, ())))
            new, mark = _new(source, before)
            clock = before.clock
            if isinstance(source, FoundLog) and mark != before.mark:
                clock = clock_of(new.first) if new.first is not None else clock
                _, clock = acts.rows_of(source, new.spans, clock)
            self._read[address] = Offset(*mark, clock.wall_ms, clock.at_us)
        return {address: list(offset) for address, offset in self._read.items()}

    def partitions(self, start: dict[str, list[Any]], end: dict[str, list[Any]]) -> Sequence[InputPartition]:
        found: list[InputPartition] = []
        for address, source in _sources(self._asked).items():
            since, until = Offset(*start.get(address, ())), Offset(*end.get(address, ()))
            # After a restart, what the checkpoint has is not read again.
            self._read[address] = max(until, self._read.get(address, Offset()))
            if until.mark != since.mark:
                found += _partitions(source, self._asked, since, until)
        return found

    def read(self, partition: InputPartition) -> "Iterator[pa.RecordBatch]":
        return _read(partition)

    def commit(self, end: dict[str, list[Any]]) -> None:
        """Does nothing: reading does not consume events."""


# Reading, in tasks


def _read(partition: InputPartition) -> "Iterator[pa.RecordBatch]":
    if isinstance(partition, DamagePartition):
        yield _rows_of_damage(partition)
    elif isinstance(partition, ActsPartition):
        rows, _ = acts.rows_of(partition.log, partition.spans, partition.clock)
        for batch in rows.to_batches():
            yield from _chosen(batch, partition.asked, partition.log.entry.branch)
    else:
        assert isinstance(partition, EventsPartition)
        place = partition.place
        for batch in read(place.branch, place.run, place.own_from_seq, partition.span, place.vocabularies):
            yield from _chosen(batch, partition.asked, place.branch)


def _chosen(batch: "pa.RecordBatch", asked: Asked, name: str) -> "Iterator[pa.RecordBatch]":
    """The requested rows of a batch, if there are any. Raises SourceError for an unreadable one if requested."""
    import pyarrow as pa
    import pyarrow.compute as pc

    seq = batch.column("seq")
    batch = batch.filter(pc.and_(pc.greater_equal(seq, asked.from_seq), pc.less_equal(seq, asked.to_seq)))
    is_unreadable = pc.equal(batch.column("kind"), UNREADABLE)
    if asked.damaged == "fail" and pc.any(is_unreadable).as_py():
        first = batch.filter(is_unreadable).column("seq")[0]
        raise SourceError(f"Event {first} of {name} cannot be read. Expected damaged=mark or skip to read the others.")
    wanted = pc.invert(is_unreadable)
    if asked.kinds is not None:
        wanted = pc.and_(wanted, pc.is_in(batch.column("kind"), value_set=pa.array(sorted(asked.kinds), pa.string())))
    if asked.damaged == "mark":
        wanted = pc.or_(wanted, is_unreadable)
    chosen = batch.filter(wanted)
    if chosen.num_rows:
        yield chosen


def _rows_of_damage(partition: DamagePartition) -> "pa.RecordBatch":
    import pyarrow as pa

    source = partition.source
    shared = {"branch": source.branch, "run": source.run} if isinstance(source, Place) else {"log": source.entry.branch}
    rows = [
        {
            **shared, "seq": lost.from_seq, "kind": UNREADABLE,
            "payload": unreadable(b"", lost.reason, lost.detail, lost.to_seq),
        }
        for lost in partition.damage
    ]  # fmt: skip
    schema = ROWS if isinstance(source, Place) else acts.ROWS
    filled = [{**dict.fromkeys(schema.names), **row} for row in rows]
    return pa.RecordBatch.from_pylist(filled, schema=schema)
