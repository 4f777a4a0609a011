"""What loading a log found wrong, and what it did about it."""

from collections.abc import Iterable
from enum import StrEnum
from typing import NamedTuple

from broker_core.sim.disk import CutFact
from broker_core.texts import Text


class Repair(StrEnum):
    """What was done to a file.

    CUT: it ends at `position` now. DELETED: it is gone. REBUILT: it was written anew from the `.log`.
    """

    CUT = "cut"
    DELETED = "deleted"
    REBUILT = "rebuilt"


class RepairFact(NamedTuple):
    """One repair: the file's path, the byte where it went wrong, how many bytes went, and which rule was broken.

    `digest` names the removed bytes in the archive if there is one.
    """

    file: str
    repair: Repair
    position: int
    length: int
    rule: Text | str
    digest: str | None = None


def deletions(cuts: Iterable[CutFact | None], rule: Text) -> tuple[RepairFact, ...]:
    """Files that were deleted for one and the same reason."""
    found = (cut for cut in cuts if cut is not None)
    return tuple(RepairFact(cut.file, Repair.DELETED, cut.position, cut.length, rule, cut.digest) for cut in found)
