"""Whose events a branch sees: its own, and those of its ancestors up to where it was forked."""

from collections.abc import Mapping
from typing import NamedTuple

from lab.analytics.store.ledger import BranchEntry


class Part(NamedTuple):
    """Events after `from_seq`, up to `to_seq`, that are stored under their owner."""

    owner: str
    from_seq: int
    to_seq: int


def lineage(branch: str, ledger: Mapping[str, BranchEntry]) -> list[Part]:
    """The past of a branch, from the root to itself. An ancestor that the ledger does not know is left out."""
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
