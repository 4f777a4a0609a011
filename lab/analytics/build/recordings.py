"""Finds recordings, with their descriptions: branch, run, and what they were forked from."""

from collections.abc import Collection, Sequence
from pathlib import Path

from django.conf import settings

from lab.analytics.build.found import EVENTS_FOLDER, Found, branch_id
from lab.analytics.build.people import forgotten, pseudonym
from lab.analytics.store.ledger import BranchEntry
from lab.models import Branch, Participant, Run, source_name
from lab.recordings.description import identity_of
from lab.recordings.folder import branch_folder


def recordings(runs: Sequence[str] | None = None) -> list[Found]:
    """The recordings of this installation, of all runs or of some, parents before their forks."""
    chosen = Branch.objects.select_related("run", "parent", "run__classroom").order_by("pk")
    if runs is not None:
        chosen = chosen.filter(run__slug__in=runs)
    rooms = {branch.run.classroom_id for branch in chosen if branch.run.classroom_id is not None}
    members = _members(rooms)
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
            people=_owner(branch.run) if branch.run.classroom_id is None else members[branch.run.classroom_id],
        )
        found.append(Found(folder, entry))
    return found


def _members(classes: Collection[int]) -> dict[int, dict[str, str]]:
    """The pseudonyms of the participants of classes by their numbers, without those who must not be in tables."""
    data = Path(settings.DATA)
    left_out = forgotten(data)
    found: dict[int, dict[str, str]] = {one: {} for one in classes}
    taken = Participant.objects.filter(classroom__in=classes, user__isnull=False)
    for classroom_id, number, user_id in taken.order_by().values_list("classroom_id", "number", "user_id"):
        person = pseudonym(data, user_id)
        if person not in left_out:
            found[classroom_id][source_name(number)] = person
    return found


def _owner(run: Run) -> dict[str, str]:
    """The pseudonym of the owner of a run that belongs to no class."""
    data = Path(settings.DATA)
    person = pseudonym(data, run.owner_id)
    return {} if person in forgotten(data) else {source_name(1): person}
