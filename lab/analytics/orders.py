"""What the web process and the worker say to each other: JSON lines. Imports nothing of Spark."""

import msgspec

from lab.analytics.store.ledger import BranchEntry


class BuildTask(msgspec.Struct, frozen=True):
    """What to bring the tables up to: recordings, each the folder of its events and its entry in the ledger.

    `tables_at` is the place of the tables. Each of `stages` lists tables that are made and published before those of
    the next one; an empty list stands for all.
    """

    tables_at: str
    found: tuple[tuple[str, BranchEntry], ...]
    stages: tuple[tuple[str, ...], ...] = ((),)


class Order(msgspec.Struct):
    """A line to the worker."""

    job: str
    task: BuildTask


class Report(msgspec.Struct, omit_defaults=True):
    """A line of the worker: how far it is, how many builds it has published, that it is done, or why it failed
    (codes of texts).
    """

    job: str
    stage: str = ""
    progress: float = 0.0
    published: int = 0
    done: bool = False
    error: dict[str, str] | None = None
