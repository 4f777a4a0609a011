"""The results of a cleaning pass, as plain values; a replica emits events from them."""

from collections import Counter
from collections.abc import Sequence
from enum import StrEnum
from typing import NamedTuple

from broker_core.sim.disk import CutFact
from broker_core.texts import Text


class Uncleanable(Exception):
    """The log cannot be cleaned; the cleaner skips it from now on (`LogCleaningException`).

    `rule`: what is wrong with it; prose where Kafka's code throws.
    """

    def __init__(self, rule: Text | str) -> None:
        super().__init__(rule)
        self.rule = rule


class Fate(StrEnum):
    """Why a record was kept or dropped."""

    KEPT = "kept"
    SUPERSEDED = "superseded"
    """A later record has the same key."""
    TOMBSTONE = "tombstone"
    """Its delete horizon has passed."""
    ABORTED = "aborted"
    """Its transaction was aborted."""
    MARKER = "marker"
    """Its transaction has no records left, and its delete horizon has passed."""
    NO_KEY = "no key"


class RecordFate(NamedTuple):
    """One record: `superseded_by` is the last offset of its key if a later record replaced it, else -1."""

    offset: int
    fate: Fate
    superseded_by: int


class GroupFact(NamedTuple):
    """Segments merged into one: its base offset, and the base offset and size of each source."""

    base_offset: int
    sources: tuple[tuple[int, int], ...]


class CleaningFacts(NamedTuple):
    """One pass over one log, or the part of it in which segments were replaced together. Offsets are those of the log,
    sizes are bytes of `.log` files.

    The dirty section was from `from_offset` to `to_offset`, exclusive; the next one begins there. `counts` has
    a number for each fate that occurred. `fates` lists individual records, oldest first; a pass over many lists only
    the last ones.
    """

    from_offset: int
    to_offset: int
    groups: tuple[GroupFact, ...]
    bytes_before: int
    bytes_after: int
    keys: int
    counts: tuple[tuple[Fate, int], ...]
    empty_batches: int
    """Batches kept without records, because they hold the last sequence number of a producer."""
    delete_horizon_ms: int
    """Delete horizon of the tombstones first seen in this pass; -1 if there were none."""
    fates: tuple[RecordFate, ...]
    cuts: tuple[CutFact, ...]
    """The complete contents of the old segments' files, in one piece each or in several."""


MAX_REPORTED_RECORDS = 256


def whole_pass(parts: Sequence[CleaningFacts]) -> CleaningFacts:
    """The facts of a pass that replaced segments several times."""
    last = parts[-1]
    if len(parts) == 1:
        return last
    counts = sum((Counter(dict(part.counts)) for part in parts), Counter[Fate]())
    return last._replace(
        groups=tuple(group for part in parts for group in part.groups),
        bytes_before=sum(part.bytes_before for part in parts),
        bytes_after=sum(part.bytes_after for part in parts),
        counts=tuple((fate, counts[fate]) for fate in Fate if counts[fate]),
        empty_batches=sum(part.empty_batches for part in parts),
        delete_horizon_ms=max(part.delete_horizon_ms for part in parts),
        fates=tuple(fate for part in parts for fate in part.fates)[-MAX_REPORTED_RECORDS:],
        cuts=tuple(cut for part in parts for cut in part.cuts),
    )
