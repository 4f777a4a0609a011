"""Which recordings there are, and what each says of itself: its branch, its run, and what it was forked from."""

import contextlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec
from django.conf import settings

from lab.analytics.store.ledger import BranchEntry
from lab.models import Branch
from lab.recordings.folder import branch_folder

EVENTS_FOLDER = "events-0"


class Found(NamedTuple):
    """A recording: the folder of its events, and what the tables say of its branch when nothing of it has been read."""

    folder: Path
    entry: BranchEntry


def recordings(runs: Sequence[str] | None = None) -> list[Found]:
    """The recordings of this installation, of all runs or of some, parents before what was forked of them."""
    chosen = Branch.objects.select_related("run", "parent", "run__classroom").order_by("pk")
    if runs is not None:
        chosen = chosen.filter(run__slug__in=runs)
    found = []
    for branch in chosen:
        folder = branch_folder(branch.run.slug, branch.name, runs=settings.RUNS).recording / EVENTS_FOLDER
        if not folder.is_dir():
            continue
        entry = BranchEntry(
            branch=branch_id(branch.run.slug, branch.name),
            run=branch.run.slug,
            place=str(folder),
            parent=branch_id(branch.run.slug, branch.parent.name) if branch.parent is not None else "",
            parent_seq=branch.parent_seq,
            own_from_seq=branch.parent_seq,
            era=branch.run.era,
            seed=branch.run.seed,
            brokers=branch.run.brokers,
            created_ms=int(branch.created_at.timestamp() * 1_000),
            class_=branch.run.classroom.slug if branch.run.classroom is not None else "",
        )
        found.append(Found(folder, entry))
    return found


def branch_id(run: str, branch: str) -> str:
    """What the tables call a branch."""
    return f"{run}/{branch}"


def with_ancestors(found: Iterable[Found], every: Iterable[Found]) -> list[Found]:
    """Some recordings and those that they were forked from: a branch sees the events of its ancestors."""
    by_branch = {one.entry.branch: one for one in every}
    wanted: dict[str, Found] = {}
    for one in found:
        current: Found | None = one
        while current is not None and current.entry.branch not in wanted:
            wanted[current.entry.branch] = current
            current = by_branch.get(current.entry.parent)
    return [one for branch, one in by_branch.items() if branch in wanted]


def config_of(value: bytes) -> str:
    """The configuration in a recording's first record, as JSON; empty if it has none."""
    with contextlib.suppress(msgspec.MsgspecError):
        return bytes(msgspec.json.decode(value, type=_Header).config).decode()
    return "{}"


class _Header(msgspec.Struct):
    config: msgspec.Raw
