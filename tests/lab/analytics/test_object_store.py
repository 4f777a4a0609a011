"""Tables and recordings in an object store, on a server that speaks S3: as in folders; and the messages of failures."""

import shutil
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from io import StringIO
from pathlib import Path
from typing import Any
from uuid import uuid4

import boto3
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from django.core.management import CommandError, call_command
from moto.server import ThreadedMotoServer
from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from lab.analytics.build import held
from lab.analytics.build.events import EVENTS
from lab.analytics.build.found import recordings_at
from lab.analytics.build.sources import SourceError
from lab.analytics.datasource import HighwaterSource
from lab.analytics.failures import explained
from lab.analytics.store import attempts
from lab.analytics.store.builds import Store, StoredFile, TableState
from lab.analytics.store.files import Files, files_at
from lab.analytics.store.ledger import BranchEntry
from lab.analytics.store.objects import PlaceError, folder_at
from lab.analytics.store.publish import Changes, ConflictError, TableChange, publish
from lab.analytics.store.reading import rows
from lab.analytics.store.vacuum import vacuum
from lab.recordings.folder import branch_folder
from lab.recordings.fork import fork_recording
from tests.support.analytics.built import Lab, expected

BUCKET = "course"
TABLES = f"s3://{BUCKET}/term/tables"


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """Its address. The environment names it, as it would name another one."""
    moto = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    moto.start()
    host, port = moto.get_host_and_port()
    address = f"http://{host}:{port}"
    with pytest.MonkeyPatch.context() as patched:
        for name, value in (
            ("AWS_ENDPOINT_URL", address), ("AWS_ACCESS_KEY_ID", "key"), ("AWS_SECRET_ACCESS_KEY", "secret"),
            ("AWS_REGION", "us-east-1"),
        ):  # fmt: skip
            patched.setenv(name, value)
        yield address
    moto.stop()


@pytest.fixture
def bucket(server: str) -> Iterator[Any]:
    """An empty bucket, as another client sees it."""
    objects = boto3.resource("s3", endpoint_url=server).Bucket(BUCKET)
    objects.create()
    yield objects
    objects.objects.delete()
    objects.delete()


@pytest.fixture
def lab(session: SparkSession, tmp_path: Path, bucket: Any) -> Iterator[Lab]:
    lab = Lab(session, tmp_path)
    yield lab
    lab.live.abandon()
    lab.recording.close()


def names(bucket: Any) -> list[str]:
    return sorted(one.key for one in bucket.objects.all())


def put_folder(bucket: Any, folder: Path, to: str) -> None:
    for path in folder.rglob("*"):
        if path.is_file():
            bucket.upload_file(str(path), f"{to}/{path.relative_to(folder).as_posix()}")


def test_files_are_created_once_listed_replaced_and_deleted(bucket: Any) -> None:
    files = files_at(f"{TABLES}/")
    assert files.address == TABLES and files.names("") == []
    files.create("_builds/1.json", b"first")
    with pytest.raises(FileExistsError):
        files.create("_builds/1.json", b"second")
    assert files.read("_builds/1.json") == b"first"
    files.write("_pins/1", b"")
    files.write("_pins/1", b"again")
    assert (files.read("_pins/1"), files.size("_pins/1")) == (b"again", 5)
    assert files.names("") == ["_builds/1.json", "_pins/1"] and files.names("_pins") == ["_pins/1"]
    assert names(bucket) == ["term/tables/_builds/1.json", "term/tables/_pins/1"]
    files.delete("_builds")
    files.delete("nothing")
    assert files.names("") == ["_pins/1"]
    for read in (files.read, files.size, files.local):
        with pytest.raises(FileNotFoundError):
            read("gold.none/a.parquet")
    with pytest.raises(FileNotFoundError), files.dataset("gold.none/a.parquet"):
        pass


def stored(files: Files, name: str, *numbers: int) -> StoredFile:
    """A file of a table with a column of numbers."""
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({"branch": ["b"] * len(numbers), "n": numbers}), sink)
    data = sink.getvalue().to_pybytes()
    files.create(name, data)
    return StoredFile(name, len(numbers), len(data), {"b": 1}, 1)


def test_concurrent_publishers_leave_one_complete_version(bucket: Any) -> None:
    """Each publishes two files of the same table for the same branch, and plans again where another one was first."""
    state = TableState((), "branch", ("n",), ("n",), ())
    are_done = threading.Event()

    def publisher(number: int) -> int:
        store = Store.at(TABLES)
        while True:
            base = store.newest()
            files = [stored(store.files, f"gold.x/{uuid4().hex}.parquet", number) for _ in range(2)]
            change = TableChange(state, files, {"b"})
            changes = Changes({"gold.x": change}, {"b": BranchEntry("b", "r", "")}, touched={"b"})
            try:
                return publish(store, base, changes).number
            except ConflictError:
                continue

    def reader() -> list[int]:
        seen = []
        while not are_done.is_set():
            store = Store.at(TABLES)
            build = store.newest()
            if build is not None:
                found = rows(store, build, "gold.x")
                assert found is not None
                numbers = found.column("n").to_pylist()
                assert len(numbers) == 2 and len(set(numbers)) == 1
                seen.append(build.number)
        return seen

    with ThreadPoolExecutor(6) as pool:
        seen = pool.submit(reader)
        published = list(pool.map(publisher, range(5)))
        are_done.set()
        assert seen.result() == sorted(seen.result())
    assert sorted(published) == [1, 2, 3, 4, 5]


def test_failure_while_rows_are_read_is_reported_like_an_earlier_one(bucket: Any) -> None:
    files = files_at(TABLES)
    stored(files, "gold.x/a.parquet", 1)
    with (
        pytest.raises(PlaceError, match=r"The object store failed.*reset by peer"),
        files.dataset("gold.x/a.parquet"),
    ):
        raise OSError("reset by peer")
    with pytest.raises(PlaceError) as raised:
        files_at("s3://nowhere/tables").read("a")
    assert raised.value.id == "refusal.place_no_bucket"


@pytest.mark.parametrize("most", [held.MAX_EVENTS, 0], ids=["through the driver", "by Spark"])
def test_builds_match_those_in_a_folder(lab: Lab, bucket: Any, monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    monkeypatch.setattr(held, "MAX_EVENTS", most)
    here = lab.store
    lab.build()
    lab.store = Store.at(TABLES)
    assert lab.build().published == [1]
    assert lab.totals() == expected(lab.recording)
    lab.goes_on(300)
    # Another process, which has copied no file yet.
    lab.store = Store.at(TABLES)
    assert lab.build().published == [2]
    assert lab.totals() == expected(lab.recording)
    stored = Store.at(TABLES)
    newest = stored.newest()
    assert newest is not None
    assert not attempts.attempts(stored)
    lab.store = here
    lab.build()
    before = here.newest()
    assert before is not None
    for table in before.tables:
        far, near = rows(stored, newest, table), rows(here, before, table)
        assert far is not None and near is not None
        assert [far.num_rows, far.column_names] == [near.num_rows, near.column_names], table
    assert newest.ledger()["r1/main"].kinds() == before.ledger()["r1/main"].kinds()
    listed = {f"term/tables/{file.path}" for name in newest.tables for file in newest.files(name)}
    assert all(any(name.startswith(one) for name in names(bucket)) for one in listed)
    done = vacuum(stored, keep=1, young_s=0)
    assert done.builds == 1 and stored.newest() is not None and stored.numbers() == [2]


def test_recordings_are_read_in_place(lab: Lab, bucket: Any, tmp_path: Path) -> None:
    forked = fork_recording(lab.recording, 900, branch_folder("r1", "main-2", runs=lab.root / "runs"))
    forked.flush()
    put_folder(bucket, lab.root / "runs", "term/runs")
    lab.store = Store.at(TABLES)
    found = recordings_at(f"s3://{BUCKET}/term/runs")
    assert [(one.entry.branch, one.entry.seed, one.entry.brokers) for one in found] == [
        ("r1/main", lab.live.run.config.seed, 3), ("r1/main-2", lab.live.run.config.seed, 3),
    ]  # fmt: skip
    shutil.rmtree(lab.root / "runs" / "r1" / "main-2")
    lab.build(*found)
    assert lab.totals() == expected(lab.recording)
    assert lab.totals("r1/main-2") == expected(lab.recording, 900)
    newest = lab.store.newest()
    assert newest is not None
    events = rows(lab.store, newest, EVENTS.name, columns=["seq"])
    # What the fork shares with its parent counts once.
    assert events is not None and events.num_rows == lab.recording.last_seq
    assert newest.ledger()["r1/main"].place == f"s3://{BUCKET}/term/runs/r1/main/recording/events-0"
    # A digit that was changed in transit is detected and reported with its place.
    (log,) = folder_at(newest.ledger()["r1/main"].place).glob("*.log")
    data = bytearray(log.read_bytes())
    data[len(data) // 2] ^= 1
    bucket.put_object(Key=str(log).removeprefix(f"s3://{BUCKET}/"), Body=bytes(data))
    lab.store = Store.at(f"s3://{BUCKET}/other")
    lab.build(*recordings_at(f"s3://{BUCKET}/term/runs"))
    newest = lab.store.newest()
    assert newest is not None
    assert [one.reason for one in newest.ledger()["r1/main"].damage] == ["crc"]
    forked.close()


# What cannot be used


def said(*words: str) -> str:
    out = StringIO()
    call_command("analytics", *words, stdout=out)
    return out.getvalue()


@pytest.mark.parametrize(
    ("place", "problem"),
    [
        ("s3://nowhere/tables", "There is no bucket nowhere. .*Create the bucket"),
        ("s3:///tables", "names no bucket"),
        ("gs://course/tables", "gs is not supported"),
    ],
)  # fmt: skip
def test_invalid_place_is_refused_with_a_message(bucket: Any, place: str, problem: str) -> None:
    with pytest.raises(CommandError, match=problem):
        said("--tables-at", place, "status")


def test_missing_recordings_are_reported(bucket: Any, database: None) -> None:
    with pytest.raises(CommandError, match=r"no recordings at s3://course/runs.*RUN/BRANCH/recording"):
        said("build", "--recordings", f"s3://{BUCKET}/runs")
    with pytest.raises(CommandError, match="no recordings at /nowhere"):
        said("build", "--recordings", "/nowhere")


def test_unreachable_store_is_reported(bucket: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    with pytest.raises(CommandError, match=r"The object store failed.*s3://course/term/tables.*AWS_ENDPOINT_URL"):
        said("--tables-at", TABLES, "status")
    with pytest.raises(PlaceError) as failed:
        recordings_at(f"s3://{BUCKET}/term/runs")
    assert explained(failed.value, TABLES, Path()).id == "refusal.place_failed"


@pytest.mark.parametrize("place", ["folder", TABLES])
def test_damaged_tables_are_reported(lab: Lab, bucket: Any, place: str, tmp_path: Path) -> None:
    where = str(tmp_path / place) if place == "folder" else place
    lab.store = Store.at(where)
    lab.build()
    newest = lab.store.newest()
    assert newest is not None
    (file,) = newest.files("gold.totals")
    fresh = Store.at(where)
    fresh.files.write(file.path, fresh.files.read(file.path)[:-40])
    with pytest.raises(PlaceError, match=f"damaged: {file.path}.*analytics build"):
        rows(fresh, newest, "gold.totals")
    fresh.files.write("_builds/000000000001.json.zst", b"not what it was")
    with pytest.raises(CommandError, match=r"damaged: _builds/000000000001\.json\.zst"):
        said("--tables-at", where, "status")


def test_damaged_tables_are_reported_on_the_page(
    bucket: Any, visitor: Any, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = visitor.new_run(brokers="1")
    settings.TABLES = "s3://nowhere/tables"
    answer = visitor.get(f"/api/runs/{run}/main/analytics/tables.json")
    assert answer.status == 503 and answer.json["what"] == "There is no bucket nowhere."
    assert "s3://nowhere/tables" in answer.json["expected"]


def test_failed_copy_of_a_folder_is_repeated_completely(bucket: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    files = files_at(TABLES)
    for number in range(2):
        sink = pa.BufferOutputStream()
        pq.write_table(pa.table({"n": [number]}), sink)
        files.create(f"gold.x/parts/{number}.parquet", sink.getvalue().to_pybytes())
    with monkeypatch.context() as patched:
        parts = ["gold.x/parts/0.parquet", "gold.x/parts/gone.parquet", "gold.x/parts/1.parquet"]
        patched.setattr(type(files), "names", lambda files, folder: parts)
        with pytest.raises(FileNotFoundError):
            files.local("gold.x/parts")
    with files.dataset("gold.x/parts") as found:
        assert found.count_rows() == 2
    assert pq.read_table(files.local("gold.x/parts")).num_rows == 2


def test_copies_are_deleted_with_their_files(bucket: Any) -> None:
    files = files_at(TABLES)
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({"n": [1, 2]}), sink)
    files.create("gold.x/a.parquet", sink.getvalue().to_pybytes())
    copy = Path(files.local("gold.x/a.parquet"))
    with files.dataset("gold.x/a.parquet") as found:
        assert pq.read_table(copy).num_rows == found.count_rows() == 2
    files.delete("gold.x/a.parquet")
    assert not copy.exists()


def test_recordings_are_read_by_address(lab: Lab, bucket: Any) -> None:
    put_folder(bucket, lab.root / "runs", "term/runs")
    reader: Any = HighwaterSource({"path": f"s3://{BUCKET}/term/runs/*/*"}).reader(StructType())
    read = [batch for part in reader.partitions() for batch in reader.read(part)]
    assert {branch for batch in read for branch in batch.column("branch").to_pylist()} == {"r1/main"}
    assert sum(batch.num_rows for batch in read) == lab.recording.last_seq
    with pytest.raises(SourceError, match="no recording at s3://course/nowhere"):
        HighwaterSource({"path": f"s3://{BUCKET}/nowhere/*"}).reader(StructType()).partitions()
