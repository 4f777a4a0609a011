"""Finds recordings, with their descriptions: branch, run, and what they were forked from."""

from collections.abc import Sequence

from django.conf import settings

from lab.analytics.build.found import EVENTS_FOLDER, Found, branch_id
from lab.analytics.store.ledger import BranchEntry
from lab.models import Branch
from lab.recordings.description import identity_of
from lab.recordings.folder import branch_folder


def recordings(runs: Sequence[str] | None = None) -> list[Found]:
    """The recordings of this installation, of all runs or of some, parents before their forks."""
    chosen = Branch.objects.select_related("run", "parent", "run__classroom").order_by("pk")
    if runs is not None:
        chosen = chosen.filter(run__slug__in=runs)
    found = []
    for branch in chosen:
        place = branch_folder(branch.run.slug, branch.name, runs=settings.RUNS)
        folder = place.recording / EVENTS_FOLDER
        if not folder.is_dir():
            continue
        said = identity_of(place)
        entry = BranchEntry(
            branch=branch_id(branch.run.slug, branch.name),
            run=branch.run.slug,
            place=str(folder),
            parent=branch_id(branch.run.slug, branch.parent.name) if branch.parent is not None else "",
            parent_seq=said.parent_seq if said.parent else branch.parent_seq,
            own_from_seq=branch.parent_seq,
            era=branch.run.era,
            seed=branch.run.seed,
            brokers=branch.run.brokers,
            created_ms=int(branch.created_at.timestamp() * 1_000),
            identity=said.branch,
            origin=said.parent,
            class_=branch.run.classroom.slug if branch.run.classroom is not None else "",
        )
        found.append(Found(folder, entry))
    return found
