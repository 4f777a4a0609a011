"""`spark.read.format("highwater")`: recordings as rows, verified, in batch and as a stream."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from lab.analytics.datasource import register
from lab.recordings.description import identity_of
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
    own = identity_of(recording.folder)
    assert {(row.run, row.branch) for row in rows} == {("r1", own.branch)}
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


def test_damage_is_left_out_or_fails_as_asked(spark: SparkSession, tmp_path: Path) -> None:
    recording, live = busy_run(tmp_path, 600)
    recording.flush()
    live.abandon()
    recording.close()
    path = recording.folder.recording / "events-0" / f"{0:020d}.log"
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    reader = spark.read.format("highwater").option("path", str(recording.folder.path))
    assert 0 < reader.load().count() < recording.last_seq
    with pytest.raises(PySparkException, match="is damaged"):
        reader.option("damaged", "fail").load().count()


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({}, "The option path is missing"),
        ({"path": "/nowhere/*"}, "There is no recording at"),
        ({"path": ".", "from_seq": "soon"}, "Expected the number of an event"),
        ({"path": ".", "damaged": "perhaps"}, "Expected skip or fail"),
    ],
)
def test_invalid_options_are_reported(spark: SparkSession, options: dict[str, str], problem: str) -> None:
    with pytest.raises(PySparkException, match=problem):
        spark.read.format("highwater").options(**options).load().count()
