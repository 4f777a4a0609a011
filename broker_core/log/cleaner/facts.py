"""What a cleaning did, as plain values: a replica turns them into events."""

from enum import StrEnum
from typing import NamedTuple

from broker_core.sim.disk import CutFact
from broker_core.texts import Text


class Uncleanable(Exception):
    """The cleaner cannot go on with this log; it leaves it alone from now on (`LogCleaningException`).

    `rule`: what is wrong with it; prose where Kafka's code throws.
    """

    def __init__(self, rule: Text | str) -> None:
        super().__init__(rule)
        self.rule = rule


class Fate(StrEnum):
    """What became of a record.

    Its reasons: a later record with the same key; a tombstone whose delete horizon has passed; its transaction was
    aborted; a marker whose transaction is gone and whose delete horizon has passed; no key.
    """

    KEPT = "kept"
    SUPERSEDED = "superseded"
    TOMBSTONE = "tombstone"
    ABORTED = "aborted"
    MARKER = "marker"
    NO_KEY = "no key"


class RecordFate(NamedTuple):
    """One record: `superseded_by` is the last offset of its key where a later record made it superfluous, else -1."""

    offset: int
    fate: Fate
    superseded_by: int


class GroupFact(NamedTuple):
    """Segments that became one: its base offset, and the base offset and bytes of each of the sources."""

    base_offset: int
    sources: tuple[tuple[int, int], ...]


class CleaningFacts(NamedTuple):
    """One pass over one log. Offsets are those of the log, sizes are bytes of `.log` files.

    The dirty section reached from `from_offset` up to `to_offset`, exclusively: the next one begins there. `counts` has
    a number for each fate that occurred. `fates` tells of single records, oldest first; of a pass over many only the
    last ones.
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
    """When the tombstones that this pass has met for the first time may go; -1 when it met none."""
    fates: tuple[RecordFate, ...]
    cuts: tuple[CutFact, ...]
    """The old segments' files as they were, whole."""
