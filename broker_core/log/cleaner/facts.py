"""The results of a cleaning pass, as plain values; a replica emits events from them."""

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
    """One pass over one log. Offsets are those of the log, sizes are bytes of `.log` files.

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
    """The complete contents of the old segments' files."""
