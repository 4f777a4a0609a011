"""The events that a branch sees: its own, and those of its ancestors up to the fork.

The origin of a branch is taken from its recording (`identity`, `origin`), not from its run: an imported or copied run
does not count events that it shares with an existing one.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import NamedTuple

import msgspec

from lab.analytics.store.ledger import BranchEntry


class Part(NamedTuple):
    """Events after `from_seq`, up to `to_seq`, that are stored under their owner."""

    owner: str
    from_seq: int
    to_seq: int


def lineage(branch: str, ledger: Mapping[str, BranchEntry]) -> list[Part]:
    """The past of a branch, from the root to itself. Unknown ancestors are left out."""
    parts = []
    to_seq = ledger[branch].last_seq
    seen: set[str] = set()
    current: str = branch
    while current in ledger and current not in seen:
        seen.add(current)
        entry = ledger[current]
        if to_seq > entry.own_from_seq:
            parts.append(Part(current, entry.own_from_seq, to_seq))
        to_seq = min(to_seq, entry.own_from_seq)
        current = entry.parent
    return parts[::-1]


def by_identity(
    entries: Iterable[BranchEntry], before: Mapping[str, BranchEntry], ends: Callable[[BranchEntry], int]
) -> dict[str, BranchEntry]:
    """The entries with `parent` and `own_from_seq` from their recordings' identities, by branch.

    If several recordings have the same identity, the first owns the events, and the others what they had in addition
    when they were first seen. If their common origin is missing, the first of them owns the shared past.

    Args:
        entries: all known and found entries.
        before: the ledger.
        ends: returns the last event of a recording.
    """
    # Recordings without an identity come first, then the others by start time.
    ordered = sorted(entries, key=lambda one: (one.identity, one.created_ms, one.branch))
    first: dict[str, BranchEntry] = {}
    heirs: dict[str, BranchEntry] = {}
    found: dict[str, BranchEntry] = {}
    for entry in ordered:
        if entry.identity:
            first.setdefault(entry.identity, entry)
    for entry in ordered:
        owner = first.get(entry.identity)
        if owner is not None and owner is not entry:
            was = before.get(entry.branch)
            is_known = was is not None and was.parent == owner.branch
            shared = was.own_from_seq if was is not None and is_known else ends(owner)
            found[entry.branch] = _child(entry, owner.branch, shared)
        elif entry.origin in first:
            found[entry.branch] = _child(entry, first[entry.origin].branch, entry.parent_seq)
        elif entry.origin:
            heir = heirs.setdefault(entry.origin, entry)
            shared = 0 if heir is entry else min(heir.parent_seq, entry.parent_seq)
            found[entry.branch] = _child(entry, heir.branch if shared else "", shared)
        else:
            found[entry.branch] = entry
    return found


def _child(entry: BranchEntry, parent: str, own_from_seq: int) -> BranchEntry:
    return msgspec.structs.replace(entry, parent=parent, own_from_seq=own_from_seq)


def descendants(branches: Collection[str], ledger: Mapping[str, BranchEntry]) -> set[str]:
    """These branches and all branches that see their events."""
    found = set(branches)
    while more := {branch for branch, entry in ledger.items() if entry.parent in found} - found:
        found |= more
    return found
