"""Runs that `manage.py cluster` records, in a process of its own: a note beside the branch announces each to the list
of runs, and is deleted when the run is in the list.
"""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import msgspec
from django.conf import settings

from lab.recordings.folder import run_folder

_NOTE = "cluster.json"


class ClusterNote(msgspec.Struct):
    """What the cluster was started with, and when."""

    seed: int
    brokers: int
    era: str
    start_wall_ms: int


@contextmanager
def noted(run: str, note: ClusterNote) -> Iterator[None]:
    """Leaves the note. The run is not listed while the block runs and its process is alive: it has one writer."""
    folder = run_folder(run)
    folder.mkdir(parents=True)
    with (folder / _NOTE).open("wb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.write(msgspec.json.encode(note))
        file.flush()
        yield


def forget_cluster(run: str) -> None:
    """Deletes the note of a run that is in the list, or deleted."""
    (run_folder(run) / _NOTE).unlink(missing_ok=True)


def ended_clusters() -> dict[str, ClusterNote]:
    """The notes of clusters that have ended, by run, oldest first."""
    found = {}
    # not those whose folder is being deleted, which begins with a dot
    for path in settings.RUNS.glob(f"[!.]*/{_NOTE}"):
        with suppress(OSError, msgspec.MsgspecError), path.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            found[path.parent.name] = msgspec.json.decode(file.read(), type=ClusterNote)
    return dict(sorted(found.items(), key=lambda row: row[1].start_wall_ms))
