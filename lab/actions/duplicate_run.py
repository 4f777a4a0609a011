"""A run again, with all its branches, to go another way with."""

import asyncio

from asgiref.sync import sync_to_async
from django.db import transaction

from lab.actions.start_run import ensure_few_runs, new_slug
from lab.models import MAX_NAME_LENGTH, Branch, Run
from lab.recordings.copying import copy_tree, link_tree
from lab.recordings.folder import remove_run_folder, run_folder
from lab.recordings.fork import fork_recording
from lab.recordings.recording import Recording
from lab.recordings.summary import write_summary
from lab.runtime.host import Host

_SUFFIX = " (copy)"


async def duplicate_run(host: Host, run: Run) -> Run:
    """The copy ends at the current instant; the run continues meanwhile. Raises Refusal when there are too many."""
    await sync_to_async(ensure_few_runs)(run.owner_id)
    copy = Run(
        slug=new_slug(),
        owner_id=run.owner_id,
        name=run.name[: MAX_NAME_LENGTH - len(_SUFFIX)] + _SUFFIX,
        seed=run.seed,
        brokers=run.brokers,
        era=run.era,
    )
    branches = [branch async for branch in run.branches.order_by("pk")]
    try:
        for branch in branches:
            lab = await host.lab(run.slug, branch.name)
            await asyncio.to_thread(_copy_branch, lab.recording, copy.slug)
        await asyncio.to_thread(_copy_archive, run.slug, copy.slug)
        await sync_to_async(_enter)(copy, branches)
    except BaseException:
        await asyncio.to_thread(remove_run_folder, copy.slug)
        raise
    return copy


def _copy_branch(recording: Recording, slug: str) -> None:
    target = recording.folder.in_run(slug)
    copied = fork_recording(recording, recording.last_seq, target)
    copy_tree(recording.folder.cluster, target.cluster)
    write_summary(copied)
    copied.close()


def _copy_archive(slug: str, copy: str) -> None:
    link_tree(run_folder(slug) / "archive", run_folder(copy) / "archive")


def _enter(copy: Run, branches: list[Branch]) -> None:
    with transaction.atomic():
        ensure_few_runs(copy.owner_id)
        copy.save()
        copies: dict[int, Branch] = {}
        for branch in branches:
            copies[branch.pk] = Branch.objects.create(
                run=copy,
                name=branch.name,
                parent=copies.get(branch.parent_id or 0),
                parent_seq=branch.parent_seq,
                parent_at_us=branch.parent_at_us,
            )
