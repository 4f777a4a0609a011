"""The verdict on a schedule that was played."""

import msgspec

UNPLAYABLE = "unplayable"
"""The kind of a schedule with a line that means nothing to the shell. It cannot be shrunk."""


class Failure(msgspec.Struct, frozen=True):
    """A failure. `kind` is the same for the same bug, as far as can be determined: an invariant's name, the location of
    an exception, `view`, `not healed`, `logs differ`, `record lost`. `seq`: the event at which it was found.
    """

    kind: str
    seq: int
    detail: str


class Played(msgspec.Struct, frozen=True):
    """What became of a schedule.

    Attributes:
        typed: every line, those too that took the faults back.
        alarms: how often each (invariant, what explains it in short or nothing) was raised.
        found: what an era, an unclean election or a power loss explains: lost records and logs that differ; and what
            Kafka itself would leave behind.
    """

    failure: Failure | None
    events: int
    typed: tuple[str, ...]
    alarms: dict[tuple[str, str], int]
    found: tuple[str, ...] = ()
