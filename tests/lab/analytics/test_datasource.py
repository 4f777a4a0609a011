"""`spark.read.format("highwater")`: recordings as rows, verified, in batch and as a stream."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from broker_core.events import CORE
from lab.analytics.datasource import HighwaterSource, register
from lab.classroom.events import help
from lab.classroom.journal import FORMAT, ClassJournal, Header
from lab.recordings.description import VOCABULARY, vocabularies_of
from lab.recordings.folder import branch_folder
from lab.recordings.fork import fork_recording
from lab.recordings.recording import Recording
from lab.runtime.live_run import LiveRun
from tests.support.recorded_runs import busy_run, run_for, run_lines, run_until_events

SECRET = "quietly-said"


@pytest.fixture(scope="module")
def spark(session: SparkSession) -> SparkSession:
    register(session)
    return session


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Recording, LiveRun]]:
    """A run with a consumer that reads a record with a secret value."""
    recording, live = busy_run(tmp_path_factory.mktemp("runs"), 900)
    consumer = "consumer start c1 --group g --topic orders --from beginning"
    run_lines(live, [f"producer send p1 orders-0 k:{SECRET}", consumer])
    run_for(live, 6_000_000)
    recording.flush()
    yield recording, live
    live.abandon()
    recording.close()


def kinds_of(recording: Recording) -> Counter[str]:
    """By plain Python, from the log."""
    return Counter(msgspec.json.decode(one.record)[3][0] for one in recording.stored(1, recording.last_seq))


def test_rows_are_the_events_without_the_contents_of_records(
    spark: SparkSession, recorded: tuple[Recording, LiveRun]
) -> None:
    recording, _ = recorded
    rows = spark.read.format("highwater").option("path", str(recording.folder.path.parent / "*")).load().collect()
    assert sorted(row.seq for row in rows) == list(range(1, recording.last_seq + 1))
    assert Counter(row.kind for row in rows) == kinds_of(recording)
    assert {(row.run, row.branch, row.vocabulary) for row in rows} == {("r1", "r1/main", CORE.hash)}
    consumed = [msgspec.json.decode(row.payload) for row in rows if row.kind == "RecordsConsumed"]
    assert consumed and all(isinstance(one[-1], int) for one in consumed)
    assert not any(SECRET in row.payload for row in rows if row.kind == "RecordsConsumed")


def test_filters_and_options_choose_the_same_rows(spark: SparkSession, recorded: tuple[Recording, LiveRun]) -> None:
    recording, _ = recorded
    reader = spark.read.format("highwater").option("path", str(recording.folder.path))
    by_filter = reader.load().where("seq > 300 and seq <= 700 and kind in ('BatchAppended', 'RpcSent')")
    options = {"from_seq": "301", "to_seq": "700", "kinds": "BatchAppended,RpcSent"}
    by_option = reader.options(**options).load()
    assert by_filter.count() == by_option.count() > 10
    assert {row.kind for row in by_option.select("kind").distinct().collect()} == {"BatchAppended", "RpcSent"}


def test_stream_continues_at_its_offset(spark: SparkSession, tmp_path: Path) -> None:
    recording, live = busy_run(tmp_path / "runs", 400)
    recording.flush()
    found = str(tmp_path / "rows")
    stream = spark.readStream.format("highwater").option("path", str(recording.folder.path)).load()

    def catch_up() -> list[int]:
        writer = stream.select("seq").writeStream.option("checkpointLocation", str(tmp_path / "checkpoint"))
        query = writer.trigger(availableNow=True).format("parquet").start(found)
        query.awaitTermination()
        return sorted(row.seq for row in spark.read.parquet(found).collect())

    assert catch_up() == list(range(1, recording.last_seq + 1))
    live.pacer.set_mode("play")
    run_until_events(live, recording.last_seq + 300)
    recording.flush()
    assert catch_up() == list(range(1, recording.last_seq + 1))
    live.abandon()
    recording.close()


def test_stream_reads_only_what_was_written_since(tmp_path: Path) -> None:
    recording, live = busy_run(tmp_path / "runs", 400)
    recording.flush()
    source = HighwaterSource({"path": str(recording.folder.path)})
    stream: Any = source.streamReader(StructType())
    first = stream.latestOffset()
    before = recording.last_seq
    live.pacer.set_mode("play")
    run_until_events(live, before + 300)
    recording.flush()
    # What it has read is not there any more.
    path = recording.folder.recording / "events-0" / f"{0:020d}.log"
    data = path.read_bytes()
    ((_, (segment, byte, *_)),) = first.items()
    assert segment == path.name and 0 < byte < len(data)
    path.write_bytes(bytes(byte) + data[byte:])
    second = stream.latestOffset()
    read = [batch for part in stream.partitions(first, second) for batch in stream.read(part)]
    seqs = [seq for batch in read for seq in batch.column("seq").to_pylist()]
    assert seqs == list(range(before + 1, recording.last_seq + 1))
    assert stream.partitions(second, second) == []
    live.abandon()
    recording.close()


def test_shared_past_of_a_fork_is_there_once(spark: SparkSession, tmp_path: Path) -> None:
    recording, live = busy_run(tmp_path / "runs", 500)
    recording.flush()
    fork = fork_recording(recording, 300, branch_folder("r1", "fork", runs=tmp_path / "runs"))
    last_seq = recording.last_seq
    live.abandon()
    recording.close()
    fork.close()
    both = spark.read.format("highwater").option("path", str(tmp_path / "runs" / "*" / "*")).load()
    assert both.count() == both.select("branch", "seq").distinct().count() == last_seq + fork.last_seq - 300
    alone = spark.read.format("highwater").option("path", str(fork.folder.path)).load().collect()
    assert [row.seq for row in alone] == list(range(1, fork.last_seq + 1))
    assert {row.branch for row in alone} == {"r1/fork"}


def test_events_are_read_with_the_vocabulary_of_their_recording(spark: SparkSession, tmp_path: Path) -> None:
    recording, live = busy_run(tmp_path / "runs", 400)
    recording.flush()
    live.abandon()
    recording.close()
    (line,) = vocabularies_of(recording.folder.recording)
    kinds = {name: fields for name, fields in line.kinds.items() if name != "RpcSent"}
    other = msgspec.structs.replace(line, hash="0123456789ab", kinds=kinds)
    (recording.folder.recording / VOCABULARY).write_bytes(msgspec.json.encode(other) + b"\n")
    reader = spark.read.format("highwater").option("path", str(recording.folder.path))
    with pytest.raises(PySparkException, match=r"cannot be read"):
        reader.load().count()
    rows = reader.option("damaged", "mark").load().collect()
    assert {row.vocabulary for row in rows} == {"0123456789ab"}
    unknown = [msgspec.json.decode(row.payload)["reason"] for row in rows if row.kind == "?"]
    assert unknown and set(unknown) == {"vocabulary"} and not [row for row in rows if row.kind == "RpcSent"]


def test_acts_of_a_class_are_rows_with_numbers_of_participants(spark: SparkSession, tmp_path: Path) -> None:
    journal = ClassJournal(tmp_path / "classes" / "kite", Header(FORMAT, "kite", 1_780_000_000_000))
    for seq in (1, 2):
        raised = help.HandRaised(f"p{seq}", "r1/main", 3, 9, "", "")
        journal.append([(seq, seq * 1_000_000, f"p{seq}", "", raised)])
    journal.close()
    reader = spark.read.format("highwater").options(of="acts", path=str(tmp_path / "classes" / "*"))
    rows = reader.load().orderBy("seq").collect()
    assert [(row.log, row.seq, row.who, row.kind) for row in rows] == [
        ("class:kite", 1, "p1", "HandRaised"), ("class:kite", 2, "p2", "HandRaised"),
    ]  # fmt: skip
    assert [row.at_ms for row in rows] == [1_780_000_001_000, 1_780_000_002_000]
    source = HighwaterSource({"of": "acts", "path": str(tmp_path / "classes" / "kite")})
    stream: Any = source.streamReader(StructType())
    end = stream.latestOffset()
    (part,) = stream.partitions({}, end)
    assert [batch.num_rows for batch in stream.read(part)] == [2]


def test_damage_is_marked_left_out_or_fails_as_asked(spark: SparkSession, tmp_path: Path) -> None:
    recording, live = busy_run(tmp_path, 600)
    recording.flush()
    live.abandon()
    recording.close()
    path = recording.folder.recording / "events-0" / f"{0:020d}.log"
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    reader = spark.read.format("highwater").option("path", str(recording.folder.path))
    with pytest.raises(PySparkException, match=r"r1/main is damaged \(crc\)"):
        reader.load().count()
    read = reader.option("damaged", "skip").load().count()
    assert 0 < read < recording.last_seq
    rows = reader.option("damaged", "mark").load().collect()
    (mark,) = [row for row in rows if row.kind == "?"]
    why = msgspec.json.decode(mark.payload)
    assert len(rows) == read + 1 and why["reason"] == "crc"
    assert why["to_seq"] - mark.seq + 1 == recording.last_seq - read
    # Not among what is asked for.
    assert reader.options(damaged="fail", to_seq=str(mark.seq - 1)).load().count() == mark.seq - 1


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({}, "The option path is missing"),
        ({"path": "/nowhere/*"}, "There is no recording at"),
        ({"path": ".", "from_seq": "soon"}, "Expected the number of an event"),
        ({"path": ".", "of": "pictures"}, "Expected events or acts"),
        ({"path": ".", "damaged": "perhaps"}, "Expected fail, mark or skip"),
    ],
)
def test_invalid_options_are_reported(spark: SparkSession, options: dict[str, str], problem: str) -> None:
    with pytest.raises(PySparkException, match=problem):
        spark.read.format("highwater").options(**options).load().count()
