"""The errors found when a log is loaded, and their repairs."""

from collections.abc import Iterable
from enum import StrEnum
from typing import NamedTuple

from broker_core.sim.disk import CutFact
from broker_core.texts import Text


class Repair(StrEnum):
    """The kind of a repair.

    CUT: the file was truncated at `position`. DELETED: it was deleted. REBUILT: it was rebuilt from the `.log`.
    """

    CUT = "cut"
    DELETED = "deleted"
    REBUILT = "rebuilt"


class RepairFact(NamedTuple):
    """One repair: the file's path, the position of the error, the number of removed bytes, and the broken rule.

    `digest` names the removed bytes in the archive if there is one.
    """

    file: str
    repair: Repair
    position: int
    length: int
    rule: Text | str
    digest: str | None = None


def deletions(cuts: Iterable[CutFact | None], rule: Text) -> tuple[RepairFact, ...]:
    """The repairs for files that were deleted for the same reason."""
    found = (cut for cut in cuts if cut is not None)
    return tuple(RepairFact(cut.file, Repair.DELETED, cut.position, cut.length, rule, cut.digest) for cut in found)
