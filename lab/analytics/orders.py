"""What the web process and the worker say to each other: JSON lines. Imports nothing of Spark."""

from typing import Any, NamedTuple, TypeAlias

import msgspec

from lab.analytics.store.ledger import BranchEntry

Rows: TypeAlias = list[list[Any]]

#: The charts of a run, the cheapest first; rows as `gold` describes them.
CHARTS = ("rpcs", "isr", "offsets", "latency")


class Task(NamedTuple):
    """What to analyse: the events 1 to `last_seq` of the log in `folder`; the last instant of the run is `end_us`."""

    folder: str
    last_seq: int
    end_us: int


class BuildTask(msgspec.Struct, frozen=True):
    """What to bring the tables up to: recordings, each the folder of its events and its entry in the ledger.

    `tables_at` is the place of the tables.
    """

    tables_at: str
    found: tuple[tuple[str, BranchEntry], ...]


class Order(msgspec.Struct):
    """A line to the worker."""

    job: str
    task: Task | BuildTask


class Report(msgspec.Struct, omit_defaults=True):
    """A line of the worker: how far it is, a chart's rows, that it is done, or why it failed (codes of texts)."""

    job: str
    stage: str = ""
    progress: float = 0.0
    chart: str = ""
    rows: Rows | None = None
    done: bool = False
    error: dict[str, str] | None = None
