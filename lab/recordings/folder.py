"""The paths of a run's files.

DATA/runs/<run>/archive/                 bytes that were removed from files, by digest; shared by the run's branches
DATA/runs/<run>/<branch>/cluster/        the brokers' disks
DATA/runs/<run>/<branch>/recording/      events-0 and inputs-0, two Kafka logs, and what was derived from them
"""

import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings

from broker_core.sim.disk import DirectoryArchive
from lab.texts.refusal import Refusal

_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,31}")
_RESERVED = frozenset({"archive"})


@dataclass(frozen=True)
class BranchFolder:
    """The folder of one branch."""

    run: str
    branch: str
    path: Path

    @property
    def recording(self) -> Path:
        return self.path / "recording"

    @property
    def cluster(self) -> Path:
        return self.path / "cluster"

    @property
    def checkpoints(self) -> Path:
        return self.recording / "checkpoints"

    @property
    def archive(self) -> DirectoryArchive:
        return DirectoryArchive(self.path.parent / "archive")

    def in_run(self, run: str) -> "BranchFolder":
        """The folder of the branch of this name in another run."""
        return branch_folder(run, self.branch, runs=self.path.parent.parent)


def run_folder(run: str, *, runs: Path | None = None) -> Path:
    """The folder of a run. Raises Refusal (404) for an invalid name: names become paths."""
    return (runs or settings.RUNS) / _checked(run)


def branch_folder(run: str, branch: str, *, runs: Path | None = None) -> BranchFolder:
    """The folder of a branch, which need not exist. Raises Refusal (404) for an invalid name."""
    if branch in _RESERVED:
        raise Refusal("refusal.no_branch", 404, branch=branch)
    return BranchFolder(run, branch, run_folder(run, runs=runs) / _checked(branch))


def _checked(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise Refusal("refusal.no_run_or_branch", 404, name=name)
    return name


def remove_run_folder(run: str) -> None:
    """Deletes everything that a run has on disk. Renamed first, so that a crash leaves no half of it under its name."""
    folder = run_folder(run)
    if folder.exists():
        doomed = folder.with_name(f".deleted-{folder.name}")
        shutil.rmtree(doomed, ignore_errors=True)
        folder.rename(doomed)
        shutil.rmtree(doomed, ignore_errors=True)


def finish_removals() -> None:
    """Deletes what an earlier process had begun to delete."""
    for doomed in run_folder("any").parent.glob(".deleted-*"):
        shutil.rmtree(doomed, ignore_errors=True)
