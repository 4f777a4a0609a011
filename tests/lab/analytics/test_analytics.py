"""Jobs of the analytics page: a worker with Spark in it, which builds tables, and what becomes of them when it dies."""

import errno
import os
import signal
import stat
import subprocess
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import pytest

from broker_core.texts import render
from lab.analytics import background, class_archive, jobs
from lab.analytics.failures import explained
from lab.analytics.jobs import Analyst, Job
from lab.analytics.orders import BuildTask, Cancel, Order, Report
from lab.analytics.store.builds import Store
from lab.analytics.store.ledger import BranchEntry
from lab.analytics.store.publish import ConflictError
from lab.analytics.tables.registry import TABLES
from lab.recordings.folder import BranchFolder, branch_folder
from lab.runtime.engine import begin_recording
from lab.runtime.headless.rehearsal import rehearsal_run
from lab.texts.refusal import Refusal
from tests.support.lab_server import PATIENCE_S
from tests.support.paths import ROOT

#: (line, milliseconds of simulated time that follow)
SCRIPT = (
    ("kafka-topics.sh --create --topic orders --partitions 1 --replication-factor 3", 500),
    ("producer open p --acks all", 0),
    ("producer send p orders-0 a:1 b:2", 500),
)


class Recorded:
    """A run that has ended, and its recording."""

    def __init__(self, folder: BranchFolder) -> None:
        self.folder = folder
        self.run = rehearsal_run(5)
        recording = begin_recording(folder, self.run.config)
        for line, then_ms in SCRIPT:
            self.run.submit(line)
            self.run.advance(self.run.now_us + 100_000 + then_ms * 1_000)
        recording.append_events(self.run.take())
        self.last_seq = recording.last_seq
        recording.close()

    def task(self, tables_at: Path, *stages: str) -> BuildTask:
        log = self.folder.recording / "events-0"
        entry = BranchEntry("run/main", "run", str(log))
        return BuildTask(str(tables_at), ((str(log), entry),), tuple((stage,) for stage in stages))


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    return Recorded(branch_folder("run", "main", runs=tmp_path_factory.mktemp("runs")))


# Jobs


class Attentive(Analyst):
    """Remembers what each job showed of itself, one report after the other."""

    def __init__(self, log: Path) -> None:
        super().__init__(log)
        self.said: defaultdict[str, list[tuple[str, float]]] = defaultdict(list)

    def _take(self, report: Report) -> None:
        super()._take(report)
        job = self._jobs[report.job]
        self.said[job.id].append((job.stage, job.progress))


@pytest.fixture(scope="module")
def analyst(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Attentive]:
    """Its worker is started by the first job and serves all tests that leave it alive."""
    made = Attentive(tmp_path_factory.mktemp("logs") / "spark.log")
    yield made
    made.stop()


def begin(analyst: Analyst, recorded: Recorded, tables_at: Path) -> Job:
    """A job that makes one table, small and of one kind of events, and one that is made of it."""
    return analyst.build(recorded.folder, recorded.task(tables_at, "silver.rpcs", "gold.rpc_mix"))


def wait(job: Job, limit_s: float = 600) -> Job:
    deadline_s = time.monotonic() + limit_s
    while not job.is_over:
        assert time.monotonic() < deadline_s, f"{job.state} {job.stage} {job.progress}"
        time.sleep(0.05)
    return job


def test_worker_that_dies_fails_its_job_and_the_next_one_publishes_each_of_its_stages(
    analyst: Attentive, recorded: Recorded, tmp_path: Path
) -> None:
    """The JVM that is being started ends with the first worker; the second one serves the tests that follow."""
    analyst.stop()
    failed = begin(analyst, recorded, tmp_path)
    assert analyst._worker is not None
    jvm = child_of(analyst._worker.pid)
    os.kill(analyst._worker.pid, signal.SIGKILL)
    wait(failed)
    assert failed.error is not None
    assert "it ended with code -9" in render(failed.error["what"])
    is_gone(jvm)
    job = begin(analyst, recorded, tmp_path)
    assert job is not failed
    assert begin(analyst, recorded, tmp_path) is job
    wait(job)
    seen = analyst.said[job.id]
    assert (job.state, job.error, job.published) == ("done", None, 2)
    assert [stage for stage, _ in seen].index("start") < [stage for stage, _ in seen].index("read")
    assert all(one[1] <= following[1] for one, following in pairwise(seen))
    newest = Store.at(str(tmp_path)).newest()
    assert newest is not None
    assert newest.made_to("gold.rpc_mix") == {"run/main": recorded.last_seq}
    assert analyst.job_of("run/main", job.id) is job
    assert analyst.job_of("run/other", job.id) is None
    # A visitor who may ask soon does not start it again.
    assert analyst.start() is None


class Hands(Analyst):
    """Its worker takes orders and does nothing: the test decides their results."""

    class Worker:
        def __init__(self) -> None:
            self.stdin = self
            self.sent: list[Order | Cancel] = []
            self.is_killed = False
            self.pid = 0

        def write(self, line: bytes) -> None:
            self.sent.append(msgspec.json.decode(line, type=Order | Cancel))

        def flush(self) -> None:
            """Nothing is kept back."""

        def poll(self) -> int | None:
            return -9 if self.is_killed else None

        def kill(self) -> None:
            self.is_killed = True

    def _start_worker(self) -> Any:
        self.hand = self.Worker()
        return self.hand

    def sent(self) -> list[str]:
        """The jobs that were handed over; those to be cancelled with a minus."""
        return [f"-{one.job}" if isinstance(one, Cancel) else one.job for one in self.hand.sent]

    def report(self, job: Job, **more: Any) -> None:
        with self._lock:
            self._take(Report(job.id, **more))


@pytest.fixture
def hands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Hands:
    monkeypatch.setattr(jobs, "end_group", lambda worker: None)
    monkeypatch.setattr(jobs, "IDLE_S", 3_600.0)
    return Hands(tmp_path / "spark.log")


NOTHING = BuildTask("", ())


def test_job_of_a_waiting_page_runs_before_watchers_and_builds(hands: Hands) -> None:
    first = hands.begin("a", NOTHING, "build")
    nightly = hands.begin("b", NOTHING, "build")
    watched = hands.begin("c", NOTHING, "watch")
    asked = hands.begin("d", NOTHING, "page")
    assert hands.sent() == [first.id]  # one at a time
    hands.report(first, done=True)
    assert hands.sent() == [first.id, asked.id]
    # a page of a waiting build is opened
    assert hands.begin("b", NOTHING, "page") is nightly
    for job in (asked, nightly):
        hands.report(job, done=True)
    assert hands.sent() == [first.id, asked.id, nightly.id, watched.id]
    hands._cancel_idle()


def test_start_ahead_gives_way_to_the_first_question(hands: Hands) -> None:
    ahead = hands.start()
    assert ahead is not None and hands.start() is None
    asked = hands.begin("a", NOTHING)
    assert hands.sent() == [ahead.id, f"-{ahead.id}"]
    hands.report(ahead, cancelled=True)
    assert hands.sent()[2:] == [asked.id] and asked.state == "queued"
    later = hands.begin("b", NOTHING)
    hands.report(asked, done=True)
    assert hands.sent()[3:] == [later.id]  # what was asked for is not interrupted
    hands.report(later, done=True)
    hands._cancel_idle()


@pytest.mark.parametrize(
    ("name", "value"), [("SPARK_MASTER", "spark://owner:7077"), ("SPARK_REMOTE", "sc://owner:15002")]
)
def test_nothing_is_started_on_a_cluster_before_a_question(
    hands: Hands, monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv(name, value)
    assert hands.start() is None and not hands.is_running
    asked = hands.begin("a", NOTHING)
    assert hands.sent() == [asked.id]
    hands.report(asked, done=True)
    hands._cancel_idle()


def test_cancelled_job_stops_at_its_current_stage(hands: Hands, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "CANCEL_TIMEOUT_S", 3_600.0)
    running, waiting, last = (hands.begin(of, NOTHING) for of in "abc")
    hands.report(running, stage="tables", progress=0.5)
    assert hands.cancel("b", waiting.id) is waiting and waiting.state == "cancelled"
    assert hands.cancel("a", running.id) is running and running.state == "running"
    assert hands.cancel("a", "j99") is None and hands.cancel("b", running.id) is None
    assert hands.sent() == [running.id, f"-{running.id}"]
    hands.report(running, cancelled=True)
    assert running.state == "cancelled" and hands.sent()[2:] == [last.id]
    assert hands.begin("a", NOTHING) is not running
    # Spark does not listen: the worker ends with it
    deaf = hands.hand
    hands._end_cancelled(last)
    assert last.state == "cancelled" and deaf.is_killed
    hands._cancel_idle()


def test_jobs_per_person_are_limited_and_others_are_not_affected(hands: Hands) -> None:
    own = [hands.begin(f"own{n}", NOTHING, requester_id=7) for n in range(jobs.MAX_OF_PERSON)]
    with pytest.raises(Refusal) as refused:
        hands.begin("more", NOTHING, requester_id=7)
    assert (refused.value.status, refused.value.id) == (429, "refusal.many_analyses")
    # A job in progress does not count as new; other users and the lab itself are not affected.
    assert hands.begin("own1", NOTHING, requester_id=7) is own[1]
    assert hands.begin("more", NOTHING, requester_id=8).requester_id == 8
    for n in range(jobs.MAX_OF_PERSON + 1):
        hands.begin(f"of the lab {n}", NOTHING, "watch")
    # One that is over makes room for one.
    hands.cancel("own2", own[2].id)
    hands.begin("another", NOTHING, requester_id=7)
    with pytest.raises(Refusal):
        hands.begin("yet another", NOTHING, requester_id=7)


@pytest.mark.parametrize(
    ("error", "id"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), "analysis_disk_full"),
        (RuntimeError("java.io.IOException: No space left on device"), "analysis_disk_full"),
        (PermissionError(errno.EACCES, "Permission denied"), "analysis_unwritable"),
        (RuntimeError("java.lang.OutOfMemoryError: Java heap space"), "analysis_memory"),
        (ConflictError("build 7 is about r1/main, too"), "analysis_overtaken"),
        (ValueError("else"), "analysis_failed"),
    ],
)  # fmt: skip
def test_error_includes_a_remedy(error: Exception, id: str) -> None:
    found = explained(error, "/tables", Path("spark.log"))
    assert found.id == f"refusal.{id}"
    for language in ("en", "zh-CN"):
        said = [render(code, language) for code in found.codes.values()]
        assert len(said) == 3 and all(said) and not any("{" in one or "Traceback" in one for one in said)


def test_cancelled_build_leaves_nothing_and_spark_continues(
    analyst: Attentive, recorded: Recorded, tmp_path: Path
) -> None:
    job = analyst.build(recorded.folder, recorded.task(tmp_path, *TABLES))
    deadline_s = time.monotonic() + PATIENCE_S
    while not job.published:
        assert time.monotonic() < deadline_s and not job.is_over, job.error
        time.sleep(0.01)
    worker = analyst._worker
    analyst.cancel("run/main", job.id)
    assert wait(job).state == "cancelled" and job.error is None
    newest = Store.at(str(tmp_path)).newest()
    assert newest is not None and 1 <= newest.number < len(TABLES)
    listed = {file.path for table in newest.tables for file in newest.files(table)}
    there = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.parquet")}
    assert {path for path in there if path.startswith(("silver", "gold"))} <= {
        path for path in there if any(path.startswith(one) for one in listed)
    }
    assert analyst._worker is worker
    assert wait(begin(analyst, recorded, tmp_path / "other")).state == "done"


def test_java_that_does_not_start_is_one_clear_message(
    recorded: Recorded, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    java = tmp_path / "jdk" / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(
        '#!/bin/sh\n[ "$1" = -version ] && echo \'openjdk version "21.0.1"\' >&2 && exit\necho "no room" >&2\nexit 3\n'
    )
    java.chmod(java.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "jdk"))
    analyst = Analyst(tmp_path / "spark.log")
    job = wait(begin(analyst, recorded, tmp_path / "tables"))
    analyst.stop()
    assert job.state == "failed"
    assert job.error is not None
    assert "it ended with code 3; its last line of output: no room" in render(job.error["what"])
    assert "Java 21.0.1, from JAVA_HOME" in render(job.error["expected"])
    assert "JAVA_HOME" in render(job.error["todo"])


def test_tables_that_cannot_be_written_are_one_clear_message(
    analyst: Analyst, recorded: Recorded, tmp_path: Path
) -> None:
    (tmp_path / "file").write_bytes(b"")
    job = wait(begin(analyst, recorded, tmp_path / "file"))
    assert job.error is not None
    assert render(job.error["what"]).startswith("The tables cannot be written: ")
    assert "Traceback" not in render(job.error["what"])
    # Spark still works.
    assert wait(begin(analyst, recorded, tmp_path)).state == "done"


def test_jvm_ends_with_the_worker_and_nothing_is_left(analyst: Analyst, recorded: Recorded, tmp_path: Path) -> None:
    if analyst._worker is None:
        assert wait(begin(analyst, recorded, tmp_path)).state == "done"
    assert analyst._worker is not None
    jvm = child_of(analyst._worker.pid)
    analyst.stop()
    assert not analyst.is_running
    is_gone(jvm)
    assert sorted(path.name for path in analyst._log.parent.iterdir()) == ["spark.log", "spark.worker.log"]


def test_jvm_that_is_being_started_ends_when_analytics_are_stopped(recorded: Recorded, tmp_path: Path) -> None:
    analyst = Analyst(tmp_path / "logs" / "spark.log")
    job = begin(analyst, recorded, tmp_path / "tables")
    assert analyst._worker is not None
    jvm = child_of(analyst._worker.pid)
    analyst.stop()
    assert wait(job).state == "failed"
    is_gone(jvm)
    assert list((tmp_path / "logs").glob("spark-*")) == []


def test_job_started_while_a_worker_ends_keeps_its_own_worker(
    recorded: Recorded, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither its folder for temporary files goes with the worker before it, nor does it fail with that."""
    analyst = Analyst(tmp_path / "logs" / "spark.log")
    popen, end = subprocess.Popen, jobs._end
    begun: list[Job] = []

    def waits_for_the_end(_: list[str], **options: Any) -> "subprocess.Popen[bytes]":
        return popen([sys.executable, "-c", "import sys; sys.stdin.read()"], **options)

    def ends_slowly(worker: "subprocess.Popen[bytes]") -> None:
        begun.append(begin(analyst, recorded, tmp_path / "tables"))
        begun[-1].state = "running"
        end(worker)
        listener.join(PATIENCE_S)

    monkeypatch.setattr(subprocess, "Popen", waits_for_the_end)
    others = threading.enumerate()
    begin(analyst, recorded, tmp_path / "tables")
    [listener] = [one for one in threading.enumerate() if one.name == "analytics" and one not in others]
    monkeypatch.setattr(jobs, "_end", ends_slowly)
    analyst.stop()
    monkeypatch.setattr(jobs, "_end", end)
    scratch = list((tmp_path / "logs").glob("spark-scratch-*"))
    state = begun[0].state
    analyst.stop()
    assert len(scratch) == 1
    assert state == "running"
    assert list((tmp_path / "logs").glob("spark-scratch-*")) == []


# The class archive, which a lab has made beside it


def test_class_archive_is_abandoned_when_its_lab_is_killed() -> None:
    program = (
        "import signal, subprocess; from lab.analytics.class_archive import end_with_lab;"
        "print(subprocess.Popen(['sleep', '600']).pid, flush=True); end_with_lab(); signal.pause()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program],
        cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True,
    ) as maker:  # fmt: skip
        assert maker.stdin is not None and maker.stdout is not None
        java = int(maker.stdout.readline())
        maker.stdin.close()
        assert maker.wait(PATIENCE_S) == -signal.SIGKILL
        is_gone(java)


def test_class_archive_that_is_made_ends_its_process_beside_a_running_lab() -> None:
    # The thread waits for more input once it has taken the byte.
    program = """
import os, select
from lab.analytics.class_archive import end_with_lab
end, lab = os.pipe()
os.write(lab, b"x")
os.dup2(end, 0)
end_with_lab()
while select.select([0], [], [], 0)[0]:
    pass
"""
    assert subprocess.run([sys.executable, "-c", program], cwd=ROOT, timeout=PATIENCE_S, check=False).returncode == 0


@pytest.mark.parametrize(("after_s", "starts"), [(0.0, True), (600.0, False)])
def test_class_archive_starts_some_time_after_the_lab_and_ends_with_it(
    tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch, after_s: float, starts: bool
) -> None:
    settings.DATA = tmp_path
    ready = threading.Event()
    begun: list[subprocess.Popen[bytes]] = []

    def start(scratch: Path) -> "subprocess.Popen[bytes]":
        scratch.mkdir()
        begun.append(subprocess.Popen(["sleep", "600"], start_new_session=True))
        ready.set()
        return begun[0]

    monkeypatch.setattr(background, "BEGINS_AFTER_S", after_s)
    monkeypatch.setattr(background, "_start", start)
    with background.class_archive_in_background():
        assert ready.wait(PATIENCE_S if starts else 0.0) is starts
    assert [process.returncode for process in begun] == [-signal.SIGTERM] * starts
    assert list(tmp_path.iterdir()) == []


def test_class_archive_is_made_by_one_of_several_labs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    archive = tmp_path / "spark.jsa"
    made: list[Path] = []

    def make(java: Any, archive: Path) -> Path:
        with pytest.raises(class_archive.AlreadyBeingMadeError):
            class_archive.make_class_archive()
        archive.touch()
        made.append(archive)
        return archive

    monkeypatch.setattr(class_archive, "archive_path", lambda java: archive)
    monkeypatch.setattr(class_archive, "_make", make)
    assert [class_archive.make_class_archive() for _ in range(2)] == [archive, archive]
    assert made == [archive]


def is_gone(pid: int) -> None:
    """Waits for a process to end. A process without a parent may never be reaped."""
    deadline_s = time.monotonic() + PATIENCE_S
    while True:
        try:
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return
        except (FileNotFoundError, ProcessLookupError):
            return
        assert time.monotonic() < deadline_s
        time.sleep(0.05)


def child_of(pid: int) -> int:
    """The JVM of a worker. What /proc lists may miss a process once while others come and go."""
    deadline_s = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline_s:
        for path in Path("/proc").glob("[0-9]*/stat"):
            try:
                fields = path.read_text().rpartition(")")[2].split()
                command = (path.parent / "cmdline").read_text()
            except OSError:
                continue
            if int(fields[1]) == pid and "PythonGatewayServer" in command:
                return int(path.parent.name)
        time.sleep(0.01)
    raise AssertionError(f"{pid} has no JVM")
