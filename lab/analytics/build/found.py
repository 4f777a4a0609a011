"""A recording that a build reads, and the contents of its first record. Uses neither Django nor Spark."""

import contextlib
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import msgspec

from lab.analytics.store.ledger import BranchEntry


class Found(NamedTuple):
    """A recording: the folder of its events, and the ledger entry of its branch before anything of it has been read."""

    folder: Path
    entry: BranchEntry


def branch_id(run: str, branch: str) -> str:
    """The name of a branch in the tables."""
    return f"{run}/{branch}"


def with_ancestors(found: Iterable[Found], every: Iterable[Found]) -> list[Found]:
    """Recordings together with those they were forked from: a branch sees the events of its ancestors."""
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
