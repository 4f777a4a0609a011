"""Takes the folder of a run away."""

import shutil

from lab.recordings.folder import run_folder


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
