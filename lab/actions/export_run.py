"""Exports a run as one file."""

from typing import IO

from asgiref.sync import sync_to_async

from lab.archives.manifest import ArchivedBookmark, ArchivedBranch
from lab.archives.pack import RunFacts, pack_run
from lab.archives.temporary import written
from lab.models import Branch, Run
from lab.recordings.recording import Recording
from lab.runtime.host import Host


async def export_run(host: Host, run: Run) -> IO[bytes]:
    """A temporary file with all branches and their bookmarks, as they are now, at its start. Raises Refusal."""
    branches = await sync_to_async(_branches)(run)
    recordings: list[tuple[Recording, ArchivedBranch]] = []
    for archived in branches:
        lab = await host.lab(run.slug, archived.name)
        recordings.append((lab.recording, archived))
    facts = RunFacts(run.name, run.era, run.seed, run.brokers)
    return await written(lambda target: pack_run(facts, recordings, target))


def _branches(run: Run) -> list[ArchivedBranch]:
    """Branches, parents before their forks."""
    branches = Branch.objects.filter(run=run).select_related("parent").prefetch_related("bookmarks").order_by("pk")
    return [
        ArchivedBranch(
            name=branch.name,
            last_seq=0,
            parent=branch.parent.name if branch.parent else "",
            parent_seq=branch.parent_seq,
            parent_at_us=branch.parent_at_us,
            bookmarks=tuple(ArchivedBookmark(one.name, one.seq, one.at_us) for one in branch.bookmarks.all()),
        )
        for branch in branches
    ]
