"""Analytics: Spark on a recording of a real run, held against the run's own view and events."""

import json
import os
import re
import signal
import stat
import subprocess
import sys
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import pytest
from pyspark.sql import DataFrame, SparkSession

from broker_core.events import Envelope
from broker_core.events.client import ProduceAcknowledged
from broker_core.events.replica import HighWatermarkAdvanced
from broker_core.events.rpc import RpcSent
from broker_core.texts import render
from lab.analytics import bronze, jobs
from lab.analytics import chart_gold as gold
from lab.analytics import chart_silver as silver
from lab.analytics.figures import figures, internal_partitions
from lab.analytics.jobs import Analyst, Job
from lab.analytics.orders import CHARTS, Report, Task
from lab.analytics.pipeline import run as run_pipeline
from lab.recordings.folder import BranchFolder, branch_folder
from lab.recordings.recording import Recording
from lab.runtime.engine import begin_recording
from lab.runtime.rehearsal import rehearsal_run
from tests.support.lab_server import PATIENCE_S
from tests.support.paths import ROOT

#: (line, milliseconds of simulated time that follow)
SCRIPT = (
    ("kafka-topics.sh --create --topic orders --partitions 2 --replication-factor 3", 500),
    ("producer open p-all --acks all", 0),
    ("producer open p-one --acks 1", 0),
    ("producer open p-none --acks 0", 0),
    ("consumer follow c1 orders-0 --from earliest", 100),
    ("producer stream p-all orders-0 20", 0),
    ("producer stream p-one orders-1 15", 0),
    ("producer stream p-none orders-1 10", 3_000),
    ("broker kill 2", 12_000),
    ("broker start 2", 4_000),
    ("producer stream p-all orders-0 0", 0),
    ("producer stream p-one orders-1 0", 0),
    ("producer stream p-none orders-1 0", 2_000),
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
        self.envelopes: list[Envelope] = []
        made = self.run.take()
        recording.append_events(made)
        self.envelopes += [envelope for envelope, _, _ in made]
        recording.close()
        self.task = Task(str(folder.recording / "events-0"), self.envelopes[-1][0], self.envelopes[-1][1])

    def of(self, kind: type) -> list[tuple[int, Any]]:
        return [(at_us, event) for _, at_us, _, _, event in self.envelopes if type(event) is kind]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    return Recorded(branch_folder("run", "main", runs=tmp_path_factory.mktemp("runs")))


@pytest.fixture(scope="module")
def events(session: SparkSession, recorded: Recorded) -> Iterator[DataFrame]:
    table = bronze.events(session, Path(recorded.task.folder), recorded.task.last_seq).cache()
    yield table
    table.unpersist()


@pytest.fixture(scope="module")
def rows(session: SparkSession, recorded: Recorded) -> dict[str, list[list[Any]]]:
    return dict(run_pipeline(session, recorded.task))


# The source


def test_spark_reads_each_event_as_it_was_recorded(events: DataFrame, recorded: Recorded) -> None:
    found = {row.seq: row for row in events.collect()}
    assert sorted(found) == [envelope[0] for envelope in recorded.envelopes]
    for seq, at_us, node, cause_seq, event in recorded.envelopes:
        row = found[seq]
        kind, *fields = msgspec.to_builtins(event)
        assert (row.at_us, row.node, row.cause_seq, row.kind) == (at_us, node, cause_seq, kind)
        assert row.fields == [
            one if one is None or isinstance(one, str) else msgspec.json.encode(one).decode() for one in fields
        ]


def test_events_after_the_last_seq_are_omitted(session: SparkSession, recorded: Recorded) -> None:
    table = bronze.events(session, Path(recorded.task.folder), 777)
    assert sorted(row.seq for row in table.select("seq").collect()) == list(range(1, 778))


def test_log_is_read_in_partitions_without_its_torn_tail(
    session: SparkSession, recorded: Recorded, tmp_path: Path
) -> None:
    data = next(Path(recorded.task.folder).glob("*.log")).read_bytes()
    (tmp_path / f"{0:020}.log").write_bytes(data[:-5])
    table = bronze.events(session, tmp_path, 10**9)
    assert table.rdd.getNumPartitions() > 1
    seqs = sorted(row.seq for row in table.select("seq").collect())
    # The last batch holds up to 512 events.
    assert seqs == list(range(1, len(seqs) + 1))
    assert recorded.task.last_seq - 512 <= len(seqs) < recorded.task.last_seq


# The layers


@pytest.mark.parametrize("name", ["offsets", "states", "assignments", "produces", "commits", "messages"])
def test_each_silver_table_keeps_its_contract(events: DataFrame, name: str) -> None:
    table = getattr(silver, name)(events)
    assert ddl(table) == getattr(silver, name.upper())
    assert table.count() > 0


def test_each_gold_table_keeps_its_contract(events: DataFrame, recorded: Recorded) -> None:
    end_us = recorded.task.end_us
    assert ddl(gold.offsets(silver.offsets(events), end_us)) == gold.OFFSETS
    assert ddl(gold.isr(silver.states(events), silver.assignments(events), end_us)) == gold.ISR
    assert ddl(gold.latency(silver.produces(events), silver.commits(events))) == gold.LATENCY
    assert ddl(gold.rpcs(silver.messages(events), end_us)) == gold.RPCS


def ddl(table: DataFrame) -> str:
    return ", ".join(f"{column.name} {column.dataType.simpleString()}" for column in table.schema)


def test_last_steps_match_the_positions_of_the_replicas(rows: dict[str, list[list[Any]]], recorded: Recorded) -> None:
    last = {(replica, measure): value for replica, measure, _, value in rows["offsets"]}
    replicas = recorded.run.view["replicas"]
    assert len(replicas) == 6
    for name, replica in replicas.items():
        assert last[name, "log_end_offset"] == replica["log_end_offset"]
        assert last[name, "high_watermark"] == replica["high_watermark"]


def test_steps_are_few_and_in_order(rows: dict[str, list[list[Any]]]) -> None:
    count = Counter((replica, measure) for replica, measure, _, _ in rows["offsets"])
    assert max(count.values()) <= gold.BUCKETS + 20
    for one, following in pairwise(rows["offsets"]):
        if one[:2] == following[:2]:
            assert one[2] <= following[2]


def test_isr_timeline_has_no_gaps_and_ends_as_in_zookeeper(
    rows: dict[str, list[list[Any]]], recorded: Recorded
) -> None:
    spans: dict[tuple[str, int], list[tuple[str, int, int]]] = {}
    for partition, broker, role, from_us, to_us in rows["isr"]:
        spans.setdefault((partition, broker), []).append((role, from_us, to_us))
    assert len(spans) == 6
    for (partition, broker), own in spans.items():
        state = recorded.run.view["partitions"][partition]
        expected = "leader" if state["leader"] == broker else "isr" if broker in state["isr"] else "outisr"
        assert own[-1][0] == expected
        assert own[-1][2] == recorded.task.end_us
        assert all(one[2] == following[1] for one, following in pairwise(own))
    assert "outisr" in {role for role, _, _ in spans["orders-0", 2]}


def test_latencies_are_those_of_the_batches(rows: dict[str, list[list[Any]]], recorded: Recorded) -> None:
    curves: dict[int, list[list[Any]]] = {}
    for acks, *point in rows["latency"]:
        curves.setdefault(acks, []).append(point)
    assert set(curves) == {-1, 0, 1}
    for curve in curves.values():
        assert curve[-1][1] == 1.0
        assert all(one[0] <= following[0] and one[1] < following[1] for one, following in pairwise(curve))
    # A batch with acks=all is answered when it is committed, half a millisecond of network after it.
    answered = sorted(event.latency_us for _, event in recorded.of(ProduceAcknowledged) if event.acks == -1)
    median = next(latency_us for latency_us, share, _, _ in curves[-1] if share >= 0.5)
    assert 300 <= answered[len(answered) // 2] - median <= 800
    assert curves[-1][0][2] >= 0.9 * len(answered)


def test_latency_ends_with_an_advance_of_the_high_watermark(
    rows: dict[str, list[list[Any]]], recorded: Recorded
) -> None:
    advances = {at_us for at_us, _ in recorded.of(HighWatermarkAdvanced)}
    for _, latency_us, _, _, sent_us in rows["latency"]:
        assert sent_us + latency_us in advances


def test_rpc_mix_counts_each_request_once(rows: dict[str, list[list[Any]]], recorded: Recorded) -> None:
    counted: Counter[str] = Counter()
    for api, _, messages in rows["rpcs"]:
        counted[api] += messages
    sent = Counter(
        "Fetch (consumer)" if event.api == "Fetch" and event.source == "c1" else event.api
        for _, event in recorded.of(RpcSent)
        if event.kind != "response"
    )
    assert counted == sent
    assert {"Fetch", "Fetch (consumer)", "Produce", "LeaderAndIsr"} <= set(counted)


# Figures


def test_figures_are_plain_json_in_both_languages(rows: dict[str, list[list[Any]]], recorded: Recorded) -> None:
    english, chinese = (figures(rows, recorded.task.end_us, language) for language in ("en", "zh-CN"))
    assert set(english) == set(CHARTS)
    json.dumps([english, chinese], allow_nan=False)
    assert english["isr"]["layout"]["xaxis"]["title"] == "simulated seconds"
    assert chinese["isr"]["layout"]["xaxis"]["title"] == "模拟秒"
    assert figures(rows, recorded.task.end_us, "en", ["isr"]).keys() == set(CHARTS) - {"isr"}


def test_internal_topics_are_drawn_on_request_or_if_there_are_no_others() -> None:
    own = [[f"__consumer_offsets-{n}", 1, "leader", 0, 1_000_000] for n in range(50)]
    ours = [["orders-0", 2, "leader", 0, 1_000_000]]
    offsets = [[f"{row[0]}@b{row[1]}", "log_end_offset", 0, 0] for row in [*own, *ours]]
    rows: dict[str, list[list[Any]]] = {"isr": [*own, *ours], "offsets": offsets}

    def labels(found: dict[str, Any]) -> set[str]:
        return {label for trace in found["isr"]["data"] for label in trace["y"]}

    drawn = figures(rows, 1_000_000, "en")
    assert labels(drawn) == {"orders-0 · b2"}
    assert "annotations" not in drawn["isr"]["layout"]
    assert len(labels(figures(rows, 1_000_000, "en", internal=True))) > 1
    assert internal_partitions(rows) == 50
    assert len(labels(figures({"isr": own}, 1_000_000, "en"))) > 1
    assert internal_partitions({"isr": own}) == 0


def test_each_point_has_its_instant(rows: dict[str, list[list[Any]]], recorded: Recorded) -> None:
    for figure in figures(rows, recorded.task.end_us, "en").values():
        assert figure["data"]
        for trace in figure["data"]:
            assert len(trace["customdata"]) == len(trace["x"]) == len(trace["y"])
            for at in trace["customdata"]:
                at_us = at[0] if isinstance(at, list) else at
                assert at_us is None or 0 <= at_us <= recorded.task.end_us


def test_colours_are_tokens_of_the_design(rows: dict[str, list[list[Any]]], recorded: Recorded) -> None:
    tokens = set(re.findall(r"(--[a-z0-9-]+):", (ROOT / "static/lab/css/base/tokens.css").read_text()))
    named = set(re.findall(r'"color": "([^"]+)"', json.dumps(figures(rows, recorded.task.end_us, "en"))))
    assert {"--leader", "--isr", "--hw", "--fetch"} <= named <= tokens


def test_empty_run_is_explained(session: SparkSession, tmp_path: Path) -> None:
    drawn = figures({name: [] for name in CHARTS}, 1_000_000, "en")
    for figure in drawn.values():
        assert figure["data"] == []
        assert "no data for this chart" in figure["layout"]["annotations"][0]["text"]


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


def begin(analyst: Analyst, recorded: Recorded) -> Job:
    return analyst.start(recorded.folder, recorded.task.last_seq, recorded.task.end_us)


def begin_anew(analyst: Analyst, recorded: Recorded, earlier: int) -> Job:
    """A job that no one has asked for: the run as it was some events earlier."""
    return analyst.start(recorded.folder, recorded.task.last_seq - earlier, recorded.task.end_us)


def wait(job: Job, limit_s: float = 600) -> Job:
    deadline_s = time.monotonic() + limit_s
    while not job.is_over:
        assert time.monotonic() < deadline_s, f"{job.state} {job.stage} {job.progress}"
        time.sleep(0.05)
    return job


def test_job_goes_through_its_stages_and_is_kept(
    analyst: Attentive, recorded: Recorded, rows: dict[str, list[list[Any]]], tmp_path: Path
) -> None:
    job = begin(analyst, recorded)
    assert begin(analyst, recorded) is job
    wait(job)
    seen = analyst.said[job.id]
    assert (job.state, job.error) == ("done", None)
    assert [stage for stage, _ in seen].index("start") < [stage for stage, _ in seen].index("read")
    assert all(one[1] <= following[1] for one, following in pairwise(seen))
    assert job.rows == rows
    assert analyst.job("run", "main", job.id) is job
    assert analyst.job("run", "other", job.id) is None

    later = Analyst(tmp_path / "logs" / "later.log")
    kept = begin(later, recorded)
    assert (kept.state, kept.rows) == ("done", rows)
    assert not later.is_running


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
    spoil_cache(recorded)
    analyst = Analyst(tmp_path / "spark.log")
    job = wait(begin(analyst, recorded))
    analyst.stop()
    assert job.state == "failed"
    assert job.error is not None
    assert "it ended with code 3; its last line: no room" in render(job.error["what"])
    assert "Java 21.0.1, from JAVA_HOME" in render(job.error["expected"])
    assert "JAVA_HOME" in render(job.error["todo"])


def test_worker_that_dies_fails_its_job_and_the_next_one_starts_another(analyst: Analyst, recorded: Recorded) -> None:
    if analyst._worker is not None:
        # else it might be done before it is killed
        os.kill(analyst._worker.pid, signal.SIGSTOP)
    job = begin_anew(analyst, recorded, 1)
    assert analyst._worker is not None
    os.kill(analyst._worker.pid, signal.SIGKILL)
    wait(job)
    assert job.error is not None
    assert "it ended with code -9" in render(job.error["what"])
    again = begin_anew(analyst, recorded, 1)
    assert again is not job
    assert wait(again).state == "done"


def test_missing_log_is_one_clear_message(analyst: Analyst, recorded: Recorded, tmp_path: Path) -> None:
    job = wait(analyst.start(branch_folder("gone", "main", runs=tmp_path), 10, 10))
    assert job.error is not None
    assert render(job.error["what"]).startswith("The analysis failed: ")
    assert "Traceback" not in render(job.error["what"])
    # Spark is none the worse for it.
    assert wait(begin_anew(analyst, recorded, 3)).state == "done"


def test_jvm_ends_with_the_worker_and_nothing_is_left(analyst: Analyst, recorded: Recorded) -> None:
    if analyst._worker is None:
        assert wait(begin_anew(analyst, recorded, 2)).state == "done"
    assert analyst._worker is not None
    jvm = child_of(analyst._worker.pid)
    analyst.stop()
    assert not analyst.is_running
    is_gone(jvm)
    assert sorted(path.name for path in analyst._log.parent.iterdir()) == ["spark.log", "spark.worker.log"]


@pytest.mark.parametrize("ends", [lambda analyst: os.kill(analyst._worker.pid, signal.SIGKILL), Analyst.stop])
def test_jvm_that_is_being_started_ends_with_the_worker(
    recorded: Recorded, tmp_path: Path, ends: Callable[[Analyst], None]
) -> None:
    analyst = Analyst(tmp_path / "logs" / "spark.log")
    spoil_cache(recorded)
    job = begin(analyst, recorded)
    assert analyst._worker is not None
    jvm = child_of(analyst._worker.pid)
    ends(analyst)
    assert wait(job).state == "failed"
    is_gone(jvm)
    analyst.stop()
    assert list((tmp_path / "logs").glob("spark-*")) == []


def test_job_that_is_begun_while_a_worker_ends_keeps_its_own_worker(
    recorded: Recorded, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither its folder for temporary files goes with the worker before it, nor does it fail with that."""
    analyst = Analyst(tmp_path / "logs" / "spark.log")
    popen, end = subprocess.Popen, jobs._end
    begun: list[Job] = []

    def waits_for_the_end(_: list[str], **options: Any) -> "subprocess.Popen[bytes]":
        return popen([sys.executable, "-c", "import sys; sys.stdin.read()"], **options)

    def ends_slowly(worker: "subprocess.Popen[bytes]") -> None:
        begun.append(begin_anew(analyst, recorded, 5))
        begun[-1].state = "running"
        end(worker)
        listener.join(PATIENCE_S)

    monkeypatch.setattr(subprocess, "Popen", waits_for_the_end)
    others = threading.enumerate()
    begin_anew(analyst, recorded, 4)
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


def is_gone(pid: int) -> None:
    """Waits for a process to end. Nobody may ever ask how one without a parent has ended."""
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


def spoil_cache(recorded: Recorded) -> None:
    for path in (recorded.folder.path / "analytics").glob("*.json"):
        path.unlink()


def test_live_recording_is_analysed_as_far_as_it_is_flushed(session: SparkSession, tmp_path: Path) -> None:
    run = rehearsal_run(2)
    recording: Recording = begin_recording(branch_folder("live", "main", runs=tmp_path), run.config)
    made = run.take()
    recording.append_events(made[:-3])
    recording.flush()
    last_seq = recording.last_seq
    recording.append_events(made[-3:])
    recording.flush()
    table = bronze.events(session, recording.folder.recording / "events-0", last_seq)
    assert table.count() == last_seq
    recording.close()
