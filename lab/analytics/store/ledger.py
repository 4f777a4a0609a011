"""The ledger: which parts of each recording have been read, so that nothing is read twice or left out."""

import msgspec


class ReadRange(msgspec.Struct, frozen=True, omit_defaults=True):
    """Events of a branch that a build has read: complete batches of one segment, with the digest of their bytes."""

    from_seq: int
    to_seq: int
    segment: str
    from_byte: int
    to_byte: int
    digest: str
    build: int
    kinds: dict[str, int] = {}


class Damage(msgspec.Struct, frozen=True, omit_defaults=True):
    """A part of a segment that could not be read: why, and where its bytes were copied to."""

    segment: str
    from_byte: int
    to_byte: int
    from_seq: int
    to_seq: int
    reason: str
    detail: str
    copy: str = ""
    first_build: int = 0


class BranchEntry(msgspec.Struct, frozen=True, omit_defaults=True):
    """A branch in the tables. It owns the events after `own_from_seq`; earlier ones belong to its parent.

    `state`: `open`, `closed` or `gone`. `identity` and `origin` are from the recording's description: its own id, and
    that of the recording it was forked or copied from. `vocabularies`: the vocabularies of its events, each with its
    first event. `unit` is `log` if the entry is not a branch but a log of acts. `people`: while a branch is read, the
    pseudonyms of those whose commands it may contain, by their source; None for recordings of other labs. A stored
    ledger has none.
    """

    branch: str
    run: str
    place: str
    parent: str = ""
    parent_seq: int = 0
    own_from_seq: int = 0
    last_seq: int = 0
    last_at_us: int = 0
    era: str = ""
    seed: int = 0
    brokers: int = 0
    config: str = "{}"
    created_ms: int = 0
    learner: str = ""
    class_: str = msgspec.field(default="", name="class")
    lesson: str = ""
    state: str = "open"
    identity: str = ""
    origin: str = ""
    vocabularies: tuple[tuple[int, str], ...] = ()
    unit: str = "branch"
    people: dict[str, str] | None = None
    ranges: tuple[ReadRange, ...] = ()
    damage: tuple[Damage, ...] = ()

    def kinds(self) -> dict[str, int]:
        """Number of events of each kind that it owns."""
        counts: dict[str, int] = {}
        for one in self.ranges:
            for kind, count in one.kinds.items():
                counts[kind] = counts.get(kind, 0) + count
        return counts
