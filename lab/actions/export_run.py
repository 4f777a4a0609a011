"""A run as one file, to be carried away."""

import asyncio
from contextlib import ExitStack
from tempfile import TemporaryFile
from typing import IO

from asgiref.sync import sync_to_async

from lab.archives.manifest import CarriedBookmark, CarriedBranch
from lab.archives.pack import RunFacts, pack_run
from lab.models import Branch, Run
from lab.recordings.recording import Recording
from lab.runtime.host import Host


async def export_run(host: Host, run: Run) -> IO[bytes]:
    """An unnamed file with all branches and their bookmarks, as they are now, at its beginning. Raises Refusal."""
    branches = await sync_to_async(_branches)(run)
    recordings: list[tuple[Recording, CarriedBranch]] = []
    for carried in branches:
        lab = await host.lab(run.slug, carried.name)
        recordings.append((lab.recording, carried))
    facts = RunFacts(run.name, run.era, run.seed, run.brokers)
    return await asyncio.to_thread(_packed, facts, recordings)


def _packed(facts: RunFacts, recordings: list[tuple[Recording, CarriedBranch]]) -> IO[bytes]:
    with ExitStack() as stack:
        target = stack.enter_context(TemporaryFile())
        pack_run(facts, recordings, target)
        target.seek(0)
        # The caller closes it.
        stack.pop_all()
        return target


def _branches(run: Run) -> list[CarriedBranch]:
    """Branches, parents before their forks."""
    branches = Branch.objects.filter(run=run).select_related("parent").prefetch_related("bookmarks").order_by("pk")
    return [
        CarriedBranch(
            name=branch.name,
            last_seq=0,
            parent=branch.parent.name if branch.parent else "",
            parent_seq=branch.parent_seq,
            parent_at_us=branch.parent_at_us,
            bookmarks=tuple(CarriedBookmark(one.name, one.seq, one.at_us) for one in branch.bookmarks.all()),
        )
        for branch in branches
    ]
