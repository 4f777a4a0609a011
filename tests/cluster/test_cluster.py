"""Builds on a cluster: the tables equal those built on this machine, even if workers or drivers are killed. `make
cluster-test` runs this.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest

from lab.analytics.build.found import Found
from lab.analytics.orders import BuildTask, Order, Report
from lab.analytics.store.builds import Store
from lab.analytics.store.ledger import BranchEntry
from lab.analytics.store.reading import rows
from lab.recordings.folder import branch_folder
from lab.recordings.fork import fork_recording
from lab.recordings.recording import Recording
from tests.support.analytics.cluster import Cluster
from tests.support.recorded_runs import busy_run

pytestmark = pytest.mark.cluster

EVENTS = 2_000
ROOT = Path(__file__).parents[2]
#: With all that they are made of: tables that Spark writes and tables that go through the driver, joins and windows.
TABLES = ("gold.role_spans", "gold.offset_steps", "gold.hw_lag")
#: Number of tables that have been built when a process is killed.
IN_THE_MIDDLE = 3
OnReport = Callable[[Report, "subprocess.Popen[bytes]"], None]


class Recorded:
    """A run with a fork, and what a build is asked for."""

    def __init__(self, root: Path) -> None:
        recording, live = busy_run(root / "runs", EVENTS)
        recording.flush()
        forked = fork_recording(recording, EVENTS // 2, branch_folder("r1", "main-2", runs=root / "runs"))
        forked.flush()
        live.abandon()
        self.found = [_found(recording), _found(forked, "r1/main", EVENTS // 2)]
        for one in (recording, forked):
            one.close()


def _found(recording: Recording, parent: str = "", parent_seq: int = 0) -> Found:
    folder = recording.folder
    place = folder.recording / "events-0"
    name = f"{folder.run}/{folder.branch}"
    entry = BranchEntry(name, folder.run, str(place), parent=parent, parent_seq=parent_seq, own_from_seq=parent_seq)
    return Found(place, entry)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    return Recorded(tmp_path_factory.mktemp("recorded"))


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with Cluster(tmp_path_factory.mktemp("cluster"), sys.executable) as cluster:
        yield cluster


def build(
    environment: Mapping[str, str], tables: Path, recorded: Recorded, on_report: OnReport = lambda *_: None
) -> Report | None:
    """Has the worker process of the lab build, where the environment says. Returns its last report, None if it died."""
    task = BuildTask(str(tables), tuple((str(one.folder), one.entry) for one in recorded.found), (TABLES,))
    log = tables.with_suffix(".log")
    with tables.with_suffix(".worker.log").open("wb") as stream:
        worker = subprocess.Popen(
            [sys.executable, "-m", "lab.analytics.worker", str(log)], cwd=ROOT, env=dict(environment),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stream, start_new_session=True,
        )  # fmt: skip
    assert worker.stdin is not None and worker.stdout is not None
    try:
        worker.stdin.write(msgspec.json.encode(Order("j1", task)) + b"\n")
        worker.stdin.flush()
        for line in worker.stdout:
            report = msgspec.json.decode(line, type=Report)
            on_report(report, worker)
            if report.done or report.error is not None:
                return report
        return None
    finally:
        worker.stdin.close()
        worker.wait(120)
        worker.stdout.close()


def tables_of(place: Path) -> dict[str, list[dict[str, Any]]]:
    """All rows of all tables."""
    store = Store.at(str(place))
    newest = store.newest()
    assert newest is not None
    found = {}
    for name in newest.tables:
        table = rows(store, newest, name)
        found[name] = [] if table is None else sorted(table.to_pylist(), key=repr)
    return found


@pytest.fixture(scope="module")
def expected(recorded: Recorded, tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[dict[str, Any]]]:
    """As this machine makes them."""
    place = tmp_path_factory.mktemp("here") / "tables"
    report = build(_here(), place, recorded)
    assert report is not None and report.error is None, report
    made = tables_of(place)
    assert {*TABLES, "bronze.events"} <= {name for name, found in made.items() if found}
    return made


def _here() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name not in ("SPARK_MASTER", "SPARK_REMOTE")}


def assert_same(place: Path, expected: Mapping[str, list[dict[str, Any]]]) -> None:
    made = tables_of(place)
    assert made.keys() == expected.keys()
    for name, found in made.items():
        assert found == expected[name], name


def test_cluster_builds_the_same_tables_as_this_machine(
    cluster: Cluster, recorded: Recorded, expected: dict[str, Any], tmp_path: Path
) -> None:
    """Tasks find the code, though no machine of the cluster has it."""
    report = build({**cluster.environment, "SPARK_MASTER": cluster.master}, tmp_path / "tables", recorded)
    assert report is not None and report.error is None, report
    assert_same(tmp_path / "tables", expected)


def test_lost_worker_does_not_change_the_tables(
    cluster: Cluster, recorded: Recorded, expected: dict[str, Any], tmp_path: Path
) -> None:
    made = 0

    def lose(report: Report, _: Any) -> None:
        nonlocal made
        made += report.stage == "tables"
        if made == IN_THE_MIDDLE:
            cluster.kill("worker-1")

    report = build({**cluster.environment, "SPARK_MASTER": cluster.master}, tmp_path / "tables", recorded, lose)
    cluster.start_worker("worker-1")
    assert made > IN_THE_MIDDLE and report is not None and report.error is None, report
    assert_same(tmp_path / "tables", expected)


def test_killed_driver_leaves_nothing_visible_to_readers(
    cluster: Cluster, recorded: Recorded, expected: dict[str, Any], tmp_path: Path
) -> None:
    environment = {**cluster.environment, "SPARK_MASTER": cluster.master}
    place = tmp_path / "tables"

    made = 0

    def die(report: Report, worker: "subprocess.Popen[bytes]") -> None:
        nonlocal made
        made += report.stage == "tables"
        if made == IN_THE_MIDDLE:
            os.killpg(worker.pid, signal.SIGKILL)

    assert build(environment, place, recorded, die) is None
    store = Store.at(str(place))
    assert store.newest() is None
    left = {name for name in store.files.names("") if name.endswith(".parquet")}
    assert left
    report = build(environment, place, recorded)
    assert report is not None and report.error is None, report
    assert_same(place, expected)
    assert not left & set(store.files.names(""))


def test_connect_server_builds_the_same_tables_as_this_machine(
    cluster: Cluster, recorded: Recorded, expected: dict[str, Any], tmp_path: Path
) -> None:
    cluster.start_connect()
    report = build({**cluster.environment, "SPARK_REMOTE": cluster.remote}, tmp_path / "tables", recorded)
    assert report is not None and report.error is None, report
    assert_same(tmp_path / "tables", expected)
    cluster.kill("connect")
