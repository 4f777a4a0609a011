"""Jobs of the analytics pages: one worker process for all, started by the first request, stopped when idle.

Results are in the tables, from which pages read them, also while the job is running.
"""

import atexit
import contextlib
import itertools
import shutil
import subprocess
import sys
import tempfile
import threading
from dataclasses import dataclass, field
from functools import cache
from http import HTTPStatus
from pathlib import Path
from typing import Any, Literal

import msgspec
from django.conf import settings

from broker_core.texts import Value, text
from lab.analytics import place
from lab.analytics.build.found import branch_id
from lab.analytics.jvm import SparkError, end_group, worker_environment
from lab.analytics.orders import BuildTask, Cancel, Order, Report, StartTask, Task
from lab.recordings.folder import BranchFolder
from lab.texts.refusal import Refusal

IDLE_S = 600.0
"""A worker that is idle for this long ends: Spark holds several hundred MB."""
STOP_TIMEOUT_S = 15.0
MAX_JOBS = 64
MAX_OF_PERSON = 3
"""Jobs that one person may have waiting and running at a time."""
SCRATCH = "spark-scratch-"
"""How folders for temporary files of the worker begin."""

START = "start"
"""The subject of the job that starts Spark ahead."""
CANCEL_TIMEOUT_S = 10.0
"""A job that still runs this long after it was cancelled is ended together with the worker."""

Phase = Literal["queued", "running", "done", "failed", "cancelled"]
Priority = Literal["page", "watch", "build"]
PRIORITIES: tuple[Priority, ...] = ("page", "watch", "build")
"""Why a job was requested, by descending priority: a waiting page, a page that polls, a build in the background."""


@dataclass
class Job:
    """A task of the worker. `of`: its subject, `run/branch` or the name of a log."""

    id: str
    of: str
    task: Task
    priority: Priority = "page"
    state: Phase = "queued"
    progress: float = 0.0
    stage: str = ""
    published: int = 0
    error: dict[str, str] | None = None
    tables: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    cpu_s: float = 0.0
    """As reported: only for live tasks."""
    is_first: bool = False
    """Whether Spark was started for it."""
    worker: "subprocess.Popen[bytes] | None" = None
    requester_id: int | None = None
    """The account that requested it; None for the lab itself."""

    @property
    def is_over(self) -> bool:
        return self.state in ("done", "failed", "cancelled")


class Analyst:
    """All jobs of this process. Thread-safe."""

    def __init__(self, log: Path) -> None:
        """`log`: the file for errors of the worker and of Spark."""
        self._log = log
        self._lock = threading.Lock()
        self._jobs: dict[str, Job] = {}
        self._numbers = itertools.count(1)
        self._worker: subprocess.Popen[bytes] | None = None
        self._current: Job | None = None
        """The job that the worker has."""
        self._scratch: Path | None = None
        self._idle: threading.Timer | None = None

    def start(self) -> Job | None:
        """A job that starts Spark and warms it up before the first question. The first other job cancels it. None if
        the worker is running, and on a cluster, which is used only for questions.
        """
        if not place.is_local():
            return None
        with self._lock:
            if self.is_running:
                return None
        return self.begin(START, StartTask(), "build")

    def build(
        self, folder: BranchFolder, task: BuildTask, priority: Priority = "page", requester_id: int | None = None
    ) -> Job:
        """A job that updates the tables from a branch, or the one in progress. Raises Refusal as `begin`."""
        return self.begin(branch_id(folder.run, folder.branch), task, priority, requester_id)

    def begin(self, of: str, task: Task, priority: Priority = "page", requester_id: int | None = None) -> Job:
        """A job for a subject, or the one in progress for it, which then gets the higher of both priorities. The worker
        runs one job at a time; waiting jobs are ordered by priority, then by age.

        Raises Refusal (429) if `requester_id`, an account, has begun `MAX_OF_PERSON` jobs that are not over.
        """
        with self._lock:
            for job in self._jobs.values():
                if job.of == of and not job.is_over:
                    job.priority = min(job.priority, priority, key=PRIORITIES.index)
                    return job
            self._limit_jobs_per_user(requester_id)
            self._cancel_warm_up()
            job = Job(
                f"j{next(self._numbers)}", of, task, priority, is_first=not self.is_running, requester_id=requester_id
            )
            self._keep(job)
            self._next()
            return job

    def cancel(self, of: str, id: str) -> Job | None:
        """Ends a job about something: at once while it waits, else as soon as the worker comes to it; what it has
        published stays. None when there is none (any more).
        """
        job = self.job_of(of, id)
        if job is None:
            return None
        with self._lock:
            if job.is_over:
                return job
            if job is not self._current:
                job.state = "cancelled"
                return job
            self._send_cancel(job)
        patience = threading.Timer(CANCEL_TIMEOUT_S, self._end_cancelled, (job,))
        patience.daemon = True
        patience.start()
        return job

    def _end_cancelled(self, job: Job) -> None:
        """Spark does not respond, so the worker is killed. Unpublished files are swept by the next build."""
        with self._lock:
            if job.is_over:
                return
            job.state = "cancelled"
            if job.worker is not None:
                if self._worker is job.worker:
                    # Waiting jobs need another worker, which is started when this one's listener sees its end.
                    self._worker = None
                job.worker.kill()
                end_group(job.worker)

    def job_of(self, of: str, id: str) -> Job | None:
        """A job about something; None when there is none (any more)."""
        with self._lock:
            job = self._jobs.get(id)
        return job if job is not None and job.of == of else None

    def stop(self) -> None:
        """Ends the worker and its JVM, and fails the job in progress."""
        with self._lock:
            worker, self._worker, self._scratch = self._worker, None, None
            self._cancel_idle()
            self._current = None
            for job in self._jobs.values():
                if not job.is_over:
                    self._fail(job, text("refusal.process_stopped"))
        if worker is not None:
            _end(worker)
        with self._lock:
            self._clear_scratch()

    @property
    def is_running(self) -> bool:
        """Whether a worker process runs."""
        return self._worker is not None and self._worker.poll() is None

    # Below, the caller holds the lock.

    def _cancel_warm_up(self) -> None:
        """Ends the warming up of Spark, if that is what the worker does."""
        if self._current is not None and isinstance(self._current.task, StartTask) and not self._current.is_over:
            self._send_cancel(self._current)

    def _send_cancel(self, job: Job) -> None:
        worker = job.worker
        assert worker is not None and worker.stdin is not None
        # A worker that has ended fails its job itself.
        with contextlib.suppress(OSError):
            worker.stdin.write(msgspec.json.encode(Cancel(job.id)) + b"\n")
            worker.stdin.flush()

    def _limit_jobs_per_user(self, requester_id: int | None) -> None:
        if requester_id is None:
            return
        count = sum(job.requester_id == requester_id and not job.is_over for job in self._jobs.values())
        if count >= MAX_OF_PERSON:
            raise Refusal("refusal.many_analyses", HTTPStatus.TOO_MANY_REQUESTS, count=count, max=MAX_OF_PERSON)

    def _keep(self, job: Job) -> None:
        self._jobs[job.id] = job
        over = [old for old in self._jobs.values() if old.is_over]
        for old in over[: len(self._jobs) - MAX_JOBS]:
            del self._jobs[old.id]

    def _next(self) -> None:
        """Gives the worker the job with the highest priority, if it is idle."""
        while self._current is None or self._current.is_over:
            waiting = [job for job in self._jobs.values() if job.state == "queued"]
            if not waiting:
                self._current = None
                return
            # Of the same priority the oldest: `min` takes the first.
            self._current = min(waiting, key=lambda job: PRIORITIES.index(job.priority))
            self._send(self._current)

    def _send(self, job: Job) -> None:
        self._cancel_idle()
        order = msgspec.json.encode(Order(job.id, job.task)) + b"\n"
        for _ in range(2):
            try:
                if self._worker is None or self._worker.poll() is not None:
                    self._worker = self._start_worker()
                job.worker = self._worker
                assert self._worker.stdin is not None
                self._worker.stdin.write(order)
                self._worker.stdin.flush()
                return
            except BrokenPipeError:
                # It ended between two jobs; another worker is started.
                self._worker = None
            except OSError as error:
                self._fail(job, error.strerror or str(error))
                return
        self._fail(job, text("refusal.process_ends_at_once"))

    def _start_worker(self) -> "subprocess.Popen[bytes]":
        self._log.parent.mkdir(parents=True, exist_ok=True)
        if self._worker is not None:
            end_group(self._worker)
        self._scratch = Path(tempfile.mkdtemp(prefix=SCRATCH, dir=self._log.parent))
        self._clear_scratch()
        with self._log.with_suffix(".worker.log").open("wb") as stream:
            # A session of its own: Ctrl-C in the terminal goes to the lab, which ends the worker and its group.
            worker = subprocess.Popen(
                [sys.executable, "-m", "lab.analytics.worker", str(self._log)],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stream, start_new_session=True,
                env=worker_environment(self._scratch),
            )  # fmt: skip
        threading.Thread(target=self._listen, args=(worker,), daemon=True, name="analytics").start()
        return worker

    def _clear_scratch(self) -> None:
        """Deletes the temporary files of earlier workers, including those of a killed lab."""
        for left in self._log.parent.glob(f"{SCRATCH}*"):
            if left != self._scratch:
                shutil.rmtree(left, ignore_errors=True)

    def _cancel_idle(self) -> None:
        if self._idle is not None:
            self._idle.cancel()
            self._idle = None

    def _fail(self, job: Job, why: Value) -> None:
        job.state = "failed"
        job.error = SparkError("refusal.analysis_ended", problem=why, log=str(self._log)).codes

    # In the worker's thread

    def _listen(self, worker: "subprocess.Popen[bytes]") -> None:
        assert worker.stdout is not None
        decode = msgspec.json.Decoder(Report).decode
        for line in worker.stdout:
            with self._lock:
                self._take(decode(line))
        code = worker.wait()
        end_group(worker)
        with self._lock:
            if self._worker is worker:
                self._worker = None
            for job in [job for job in self._jobs.values() if job.worker is worker]:
                if job.state == "queued" and code == 0:
                    # The worker ended after the previous job because Spark was lost: starts another one.
                    self._send(job)
                elif not job.is_over:
                    self._fail(job, text("refusal.process_ended", code=code))
            self._next()

    def _take(self, report: Report) -> None:
        job = self._jobs.get(report.job)
        if job is None or job.is_over:
            return
        job.cpu_s = report.cpu_s
        if report.error is not None:
            job.state, job.error = "failed", report.error
        elif report.cancelled:
            job.state = "cancelled"
        else:
            job.state = "done" if report.done else "running"
            job.stage, job.progress = report.stage, max(job.progress, report.progress)
            job.published = max(job.published, report.published)
            job.tables = report.tables
        self._next()
        if all(other.is_over for other in self._jobs.values()):
            self._idle = threading.Timer(IDLE_S, self.stop)
            self._idle.daemon = True
            self._idle.start()


def _end(worker: "subprocess.Popen[bytes]") -> None:
    """Closes the worker's standard input, so that it and its JVM end; a busy worker and its JVM are killed."""
    assert worker.stdin is not None
    with contextlib.suppress(OSError):
        worker.stdin.close()
    try:
        worker.wait(STOP_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        worker.kill()
        worker.wait()
    end_group(worker)


@cache
def analyst() -> Analyst:
    """The analyst of this process; its worker ends with the process."""
    made = Analyst(settings.DATA / "logs" / "spark.log")
    atexit.register(made.stop)
    return made
