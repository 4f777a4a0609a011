"""Imports an exported run as a new run of the user."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO

import msgspec
from asgiref.sync import sync_to_async
from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction

from lab.actions.execution import ExecutionEnded, ImportProgress, imported
from lab.actions.start_run import ensure_few_runs, new_slug
from lab.archives.foreign import FOREIGN_DATA_ERRORS, problem_of
from lab.archives.manifest import Manifest
from lab.archives.progress import Share, shares_of
from lab.archives.unfinished import UnfinishedFolder
from lab.archives.unpack import unpack_run
from lab.models import MAX_NAME_LENGTH, Bookmark, Branch, Run
from lab.recordings.folder import BranchFolder, branch_folder, run_folder
from lab.recordings.recording import Recording
from lab.recordings.summary import write_summary
from lab.rights import require
from lab.runtime import engine
from lab.runtime.host import RunConfig
from lab.runtime.pacer import Pacer
from lab.texts.refusal import Refusal

MAX_EVENTS_BEYOND = 10_000
"""Events that inputs may make after those that are recorded, which are kept in memory. A lab writes its events each
second of simulated time, so an input that it recorded is followed by fewer.
"""


class _BeyondRecording(Exception):
    """An input is too far from the end of its recording."""


async def import_run(user: User, source: IO[bytes], progress: ImportProgress | None = None) -> Branch:
    """Returns the run's first branch. Engines are made from the recorded inputs; nothing else of the file is executed.

    Raises Refusal for a file that is not an export of a run, for inputs that take too long, when there are too many
    runs, and during another import of the same user. Nothing is left of a refused import.
    """
    await sync_to_async(require)(user, None, "act")
    await sync_to_async(ensure_few_runs)(user.pk)
    slug = new_slug()
    return await imported(
        user.pk,
        UnfinishedFolder(run_folder(slug)),
        lambda progress: _rebuild(source, slug, progress),
        lambda manifest: _enter(user, slug, manifest),
        progress,
    )


@contextmanager
def rebuilt(folder: BranchFolder, name: str, progress: ImportProgress, share: Share) -> Iterator[Recording]:
    """An unpacked recording, called `name`, after its inputs have been executed, which makes the brokers' disks.
    `share`: of the events of the import.

    Raises Refusal for a recording of which no engine can be made, or not within the limit.
    """
    recording = Recording(folder)
    try:
        msgspec.convert(recording.config, RunConfig)
        _execute(recording, name, progress, share)
        yield recording
    except msgspec.ValidationError as error:
        raise Refusal("refusal.archive_log", field="file", branch=name, problem=str(error)[:200]) from None
    finally:
        recording.close()


def _execute(recording: Recording, name: str, progress: ImportProgress, share: Share) -> None:
    executed = 0

    def check(seq: int) -> None:
        nonlocal executed
        executed = seq
        if seq > recording.last_seq + MAX_EVENTS_BEYOND:
            raise _BeyondRecording
        progress.report("execute", share.before + min(seq, recording.last_seq), share.of)
        progress.check()

    # A short recording is at its end before the first check.
    progress.report("execute", share.before, share.of)
    try:
        engine.wake(recording, Pacer(), "", check=check).close()
    except ExecutionEnded:
        raise progress.refusal(name, executed, recording.last_seq) from None
    except _BeyondRecording:
        raise Refusal(
            "refusal.import_beyond", field="file", branch=name, events=recording.last_seq, max=MAX_EVENTS_BEYOND
        ) from None
    except Refusal:
        # A run of another version of the core is shown as recorded; waking it is refused with the reason.
        return
    except FOREIGN_DATA_ERRORS as error:
        raise Refusal("refusal.archive_log", field="file", branch=name, problem=problem_of(error)) from error


def _rebuild(source: IO[bytes], slug: str, progress: ImportProgress) -> Manifest:
    """Unpacks the file; makes the brokers' disks of all branches, and the summary that lists show."""
    progress.check_cancelled()
    manifest = unpack_run(source, settings.RUNS, slug, progress.report).manifest
    for branch, share in shares_of(manifest.branches, [branch.last_seq for branch in manifest.branches]):
        with rebuilt(branch_folder(slug, branch.name), branch.name, progress, share) as recording:
            progress.report("finish", share.before, share.of)
            write_summary(recording)
    return manifest


def _enter(user: User, slug: str, manifest: Manifest) -> Branch:
    with transaction.atomic():
        ensure_few_runs(user.pk)
        run = Run.objects.create(
            slug=slug,
            owner=user,
            name=manifest.name[:MAX_NAME_LENGTH],
            seed=manifest.seed,
            brokers=manifest.brokers,
            era=manifest.era,
        )
        entered: dict[str, Branch] = {}
        for archived in manifest.branches:
            branch = Branch.objects.create(
                run=run,
                name=archived.name,
                parent=entered.get(archived.parent),
                parent_seq=archived.parent_seq,
                parent_at_us=archived.parent_at_us,
            )
            entered[archived.name] = branch
            Bookmark.objects.bulk_create(
                Bookmark(branch=branch, owner=user, seq=one.seq, at_us=one.at_us, name=one.name[:MAX_NAME_LENGTH])
                for one in archived.bookmarks
                if 0 <= one.seq <= archived.last_seq
            )
    return next(iter(entered.values()))
